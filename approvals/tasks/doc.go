// Package tasks keeps held calls that were handed over to their clients (MCP tasks).
//
// # What is stored
//
//	task/ID              a held call that its client asks about from time to time
//	task-part/ID/PART    what it takes to make it, and what came of it, sealed
//	task-of/OWNER/ID     the tasks of one client
//	task-end/TIME/ID     when they are forgotten
package tasks
