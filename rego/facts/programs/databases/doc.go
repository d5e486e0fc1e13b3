// Package databases reads what lines say to databases: SQL by the shells of PostgreSQL, MySQL,
// SQLite and SQL Server, programs of MongoDB's shell, and commands of Redis.
package databases
