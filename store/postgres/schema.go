package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A migration moves the tables one version forward.
type migration struct {
	// serves is the oldest version whose programs can still read and write
	// the tables afterwards.
	serves     int
	statements []string
}

// migrations are the versions of the tables, the first to the newest. One that
// has been released is never changed.
//
// A key is kept as its first 1,024 bytes (head) and the rest (tail), for an
// index takes 2,704 bytes; hash is the SHA-256 of the tail, or empty.
var migrations = []migration{
	{serves: 1, statements: []string{
		`CREATE TABLE holdgate_pairs (
			head bytea NOT NULL, hash bytea NOT NULL, tail bytea NOT NULL, value bytea NOT NULL,
			PRIMARY KEY (head, hash))`,
		`CREATE SEQUENCE holdgate_change_ids`,
		`CREATE TABLE holdgate_changes (
			id bigint PRIMARY KEY, batch bytea NOT NULL UNIQUE, keys bytea[] NOT NULL,
			at timestamptz NOT NULL DEFAULT now())`,
		`CREATE TABLE holdgate_lease (
			id int PRIMARY KEY, holder bytea NOT NULL, member text NOT NULL, until timestamptz NOT NULL)`,
	}},
	{serves: 1, statements: []string{
		`CREATE TABLE holdgate_members (
			token bytea PRIMARY KEY, member text NOT NULL, about bytea NOT NULL,
			started timestamptz NOT NULL DEFAULT now(), seen timestamptz NOT NULL DEFAULT now())`,
	}},
	// Batches lock holdgate_turn, so that they come one after the other.
	{serves: 1, statements: []string{
		`CREATE TABLE holdgate_turn ()`,
		`ALTER TABLE holdgate_members ADD works boolean NOT NULL DEFAULT false`,
	}},
}

// migrate makes the tables those of this program, under a lock on a row of
// holdgate_schema that lets one process do it. Newer tables that do not serve
// this program are refused.
func migrate(ctx context.Context, conn *pgx.Conn) error {
	if err := makeSchemaTable(ctx, conn); err != nil {
		return fmt.Errorf("making the table of versions: %w", err)
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT version FROM holdgate_schema WHERE version = 0 FOR UPDATE`); err != nil {
			return err
		}
		var version, serves int
		err := tx.QueryRow(ctx, `SELECT version, serves FROM holdgate_schema ORDER BY version DESC LIMIT 1`).Scan(&version, &serves)
		if err != nil {
			return err
		}
		if version > len(migrations) && serves > len(migrations) {
			return fmt.Errorf("the tables have version %d, which serves programs from version %d on; this holdgate has version %d: install a newer one",
				version, serves, len(migrations))
		}
		for n := version + 1; n <= len(migrations); n++ {
			if err := apply(ctx, tx, n); err != nil {
				return fmt.Errorf("moving the tables to version %d: %w", n, err)
			}
		}
		return nil
	})
}

func apply(ctx context.Context, tx pgx.Tx, n int) error {
	m := migrations[n-1]
	for _, statement := range m.statements {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, `INSERT INTO holdgate_schema (version, serves) VALUES ($1, $2)`, n, m.serves)
	return err
}

// makeSchemaTable makes the table whose row 0 is locked to migrate. Two that do
// so at once get in each other's way on the server's own tables: one tries
// again.
func makeSchemaTable(ctx context.Context, conn *pgx.Conn) error {
	for {
		_, err := conn.Exec(ctx, `CREATE TABLE IF NOT EXISTS holdgate_schema (
			version int PRIMARY KEY, serves int NOT NULL, at timestamptz NOT NULL DEFAULT now())`)
		if err == nil {
			_, err = conn.Exec(ctx, `INSERT INTO holdgate_schema (version, serves) VALUES (0, 0) ON CONFLICT DO NOTHING`)
		}
		if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != codeUniqueConflict {
			return err
		}
	}
}

// inspect refuses a server that loses what it acknowledged, and says what else
// an operator should know.
func inspect(ctx context.Context, conn *pgx.Conn) (warnings []string, err error) {
	var fsync, commit, standbys string
	err = conn.QueryRow(ctx, `SELECT current_setting('fsync', true), current_setting('synchronous_commit', true),
		coalesce(current_setting('synchronous_standby_names', true), '')`).Scan(&fsync, &commit, &standbys)
	if err != nil {
		return nil, fmt.Errorf("reading the server's settings: %w", err)
	}
	if fsync == "off" {
		return nil, errors.New("the server runs with fsync = off, so a power cut takes answers that people were told are kept: set it to on")
	}
	if commit == "off" {
		return nil, errors.New("the server runs with synchronous_commit = off, so a crash takes answers that people were told are kept: set it to on for this role or database")
	}
	var replicas, waitedFor int
	err = conn.QueryRow(ctx, `SELECT count(*), count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')) FROM pg_stat_replication`).Scan(&replicas, &waitedFor)
	if err != nil {
		return nil, fmt.Errorf("reading the server's replicas: %w", err)
	}
	const lost = "a failover can lose the last answers, and a used approval could be used again. "
	switch {
	case standbys == "" && replicas > 0:
		warnings = append(warnings, "the database's replicas are asynchronous: "+lost+"Set synchronous_standby_names")
	case standbys != "" && commit == "local":
		warnings = append(warnings, "synchronous_commit = local waits for no replica: "+lost+"Set it to on for this role or database")
	case standbys != "" && commit == "remote_write":
		warnings = append(warnings, "synchronous_commit = remote_write does not wait for the replica's disk: where both machines lose their power, "+lost+"Set it to on for this role or database")
	case standbys != "" && waitedFor == 0:
		warnings = append(warnings, "synchronous_standby_names names replicas, and none is connected, as far as this role may see: as long as none is, nothing can be written")
	}
	return warnings, nil
}
