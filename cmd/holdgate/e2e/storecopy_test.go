package e2e_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/badger"
	"github.com/holdgate/holdgate/store/postgres/pgtest"
)

// heavy gives a stopped sidecar's database so much that a copy of it takes a while.
func heavy(t *testing.T, dir string) {
	t.Helper()
	st, err := badger.Open(filepath.Join(dir, "db"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		err := st.Update(t.Context(), func(tx store.Tx) error {
			for j := range 500 {
				if err := tx.Set(fmt.Sprintf("zz/%d/%d", i, j), make([]byte, 100)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}

// An approval that was given on Badger is used once on PostgreSQL, and at no
// moment of the copy, killed in the middle or not, does either of them open.
func TestStoreCopy(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t, t.TempDir())
	file := write(t, "holdgate.yaml", fmt.Sprintf("store: {postgres: {url: %q, take_over: 1s}}\n", url))
	p := newProvider(t)
	upstream := []string{"--upstream", "anthropic=" + p.URL}
	s := serve(t, nil, upstream...)
	s.asks("rm -rf used")
	s.asks("rm -rf waits")
	used, waits := s.held("rm -rf used"), s.held("rm -rf waits")
	s.stop()
	s = serveIn(t, s.dir, nil, upstream...)
	s.answer(used.ID, "approve") // its agent is away
	s.stop()
	heavy(t, s.dir)

	env := []string{"HOLDGATE_STATE_DIR=" + s.dir}
	refuses := func(when, want string, args ...string) {
		t.Helper()
		r := holdgate(t, env, append([]string{"serve", "--agents", "127.0.0.1:0", "--approvers", "127.0.0.1:0"}, args...)...)
		if r.code != 1 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: %v", when, r)
		}
	}
	copying := exec.Command(binary, "store", "copy", "--to", "postgres", "--config", file)
	copying.Env = append(environment(), env...)
	if err := copying.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	until(t, "the first records", func() bool {
		var n int
		return conn.QueryRow(t.Context(), `SELECT count(*) FROM holdgate_pairs`).Scan(&n) == nil && n > 1
	})
	if err := copying.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	copying.Wait()
	refuses("Badger, half way", "is being moved to PostgreSQL", "--config", "")
	refuses("PostgreSQL, half way", "is being moved to PostgreSQL", "--config", file)
	for _, command := range []string{"audit verify", "store check"} {
		for _, config := range []string{"", file} {
			r := holdgate(t, env, append(strings.Fields(command), "--config", config)...)
			if r.code == 0 || !strings.Contains(r.stderr, "store copy --to postgres --cancel") {
				t.Errorf("%s, half way, with the configuration %q: %v", command, config, r)
			}
		}
	}
	if out := s.must("store", "copy", "--to", "postgres", "--config", file); !strings.Contains(out, "entries are in order, as before") {
		t.Errorf("it says %s", out)
	}
	refuses("Badger, afterwards", "was moved to PostgreSQL", "--config", "")
	if r := s.run("store", "copy", "--to", "postgres", "--config", file); r.code != 1 || !strings.Contains(r.stderr, "was moved to PostgreSQL") {
		t.Errorf("a second time: %v", r)
	}
	if r := s.run("store", "copy", "--to", "postgres", "--cancel", "--config", file); r.code != 1 || !strings.Contains(r.stderr, "the copy has ended") {
		t.Errorf("cancelling it afterwards: %v", r)
	}
	s = serveIn(t, s.dir, nil, slices.Concat(upstream, []string{"--config", file})...)
	s.must("audit", "verify")
	if got := askTurn(s, "rm -rf used"); !strings.Contains(got, "rm -rf used") {
		t.Errorf("what was approved before is not released: %s", got)
	}
	if types := s.typesOf(used); !slices.Contains(types, "used") {
		t.Errorf("the log has %v of what was released", types)
	}
	if !slices.ContainsFunc(s.pending(), func(r request) bool { return r.ID == waits.ID }) {
		t.Error("what waited does not wait any more")
	}
	again := s.asks("rm -rf used")
	if r := again.held(); r.ID == used.ID {
		t.Error("the same approval is asked about again")
	}
}

// A copy that can't begin changes nothing, and no sidecar begins anew meanwhile: neither in
// the empty target, nor in one that a copy was to be made to.
func TestStoreCopyIsTakenBack(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	at := func(url string) string {
		return write(t, "holdgate.yaml", fmt.Sprintf("store: {postgres: {url: %q, take_over: 1s}}\n", url))
	}
	file := at(pgtest.Address(server.Socket, "postgres"))
	p := newProvider(t)
	s := serve(t, nil, "--upstream", "anthropic="+p.URL)
	s.asks("rm -rf waits")
	waits := s.held("rm -rf waits")
	s.stop()
	refuses := func(when, want, config string) {
		t.Helper()
		r := s.run("serve", "--agents", "127.0.0.1:0", "--approvers", "127.0.0.1:0", "--config", config)
		if r.code != 1 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: %v", when, r)
		}
	}
	for when, elsewhere := range map[string]string{
		"no server":   at(pgtest.Address(t.TempDir(), "postgres")),
		"no database": at(pgtest.Address(server.Socket, "misspelt")),
	} {
		if r := s.run("store", "copy", "--to", "postgres", "--config", elsewhere); r.code != 1 || !strings.Contains(r.stderr, "nothing was moved") {
			t.Errorf("%s: %v", when, r)
		}
		if _, err := os.Stat(filepath.Join(s.dir, "db")); err != nil {
			t.Fatalf("%s: the database was moved away: %v", when, err)
		}
	}
	refuses("an empty database", "take it along with `holdgate store copy --to postgres`", file)
	if r := s.run("store", "copy", "--to", "postgres", "--cancel", "--config", file); r.code != 1 || !strings.Contains(r.stderr, "no move of") {
		t.Error(r)
	}
	mark := filepath.Join(s.dir, "moved.json") // as a copy leaves it that is killed before it writes to the target
	err := errors.Join(os.WriteFile(mark, []byte(`{"id":"one","begun":"2026-11-27T09:00:00Z"}`), 0o600),
		os.Rename(filepath.Join(s.dir, "db"), filepath.Join(s.dir, "db.moved")))
	if err != nil {
		t.Fatal(err)
	}
	refuses("a copy that has begun", "`holdgate store copy --to postgres --cancel`", file)
	if r := s.run("store", "copy", "--to", "postgres", "--cancel", "--config", file); r.code != 0 {
		t.Fatal(r)
	}
	s = serveIn(t, s.dir, nil, "--config", "", "--upstream", "anthropic="+p.URL)
	if list := s.pending(); len(list) != 1 || list[0].ID != waits.ID {
		t.Errorf("%v waits", list)
	}
	s.stop()
	s.must("store", "copy", "--to", "postgres", "--config", file)
	refuses("another database, afterwards", "names an empty database", at(pgtest.URL(t, t.TempDir())))
}
