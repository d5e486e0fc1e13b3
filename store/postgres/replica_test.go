package postgres_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdgate/holdgate/store/postgres"
	"github.com/holdgate/holdgate/store/postgres/pgtest"
)

// What a failover could lose is said when the store is opened.
func TestReplicasThatAreNotWaitedForAreWarnedOf(t *testing.T) {
	t.Parallel()
	primary := pgtest.Start(t)
	url := pgtest.Address(primary.Socket, "postgres")
	says := func(when, url, want string) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var got []string
		s, err := postgres.Open(ctx, postgres.Config{URL: url, Logger: slog.New(slog.DiscardHandler), OnWarning: func(w string) {
			got = append(got, w)
			cancel() // where no replica is there, nothing can be written, and Open waits
		}})
		if err == nil {
			err = s.Close()
		}
		if all := strings.Join(got, "; "); want == "" && (all != "" || err != nil) || !strings.Contains(all, want) {
			t.Errorf("%s: it says %q and %v, want %q", when, all, err, want)
		}
	}
	says("one server alone", url, "")
	replica := pgtest.StartReplica(t, primary)
	says("a replica", url, "the database's replicas are asynchronous")
	if err := primary.Synchronize(); err != nil {
		t.Fatal(err)
	}
	says("a synchronous replica", url, "")
	says("one that is not waited for", url+"&options=-csynchronous_commit%3Dlocal", "waits for no replica")
	says("one whose disk is not waited for", url+"&options=-csynchronous_commit%3Dremote_write", "does not wait for the replica's disk")
	if err := replica.Kill(); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for left := 1; left > 0; {
		if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_replication`).Scan(&left); err != nil {
			t.Fatal(err)
		}
	}
	says("a replica that is gone", url, "none is connected")
}
