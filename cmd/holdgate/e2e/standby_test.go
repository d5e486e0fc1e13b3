package e2e_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdgate/holdgate/store/postgres/pgtest"
)

// twins makes the state folders of two sidecars that keep their state in one
// database, and what their configuration says of it: how long one must be silent until
// the other takes over.
func twins(t *testing.T, takeOver string) (config string, dirs []string) {
	t.Helper()
	url := pgtest.URL(t, t.TempDir())
	return fmt.Sprintf("store: {postgres: {url: %q, take_over: %s}}\n", url, takeOver), twinFolders(t)
}

// twinFolders makes two state folders with the same secret.
func twinFolders(t *testing.T) (dirs []string) {
	t.Helper()
	secret := []byte(strings.Repeat("5e", 32) + "\n")
	for range 2 {
		dir := stateDir(t)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "secret.key"), secret, 0o600); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// Whichever of two sidecars is killed whenever, the other one goes on with what
// was acknowledged, and nothing arrives twice.
func TestCrashOnPostgreSQL(t *testing.T) {
	t.Parallel()
	config, dirs := twins(t, "1s")
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	newCrash(t, seed, config, dirs...).rounds(rounds)
}

// The same where the database's server is killed first, and started again.
func TestCrashWithTheDatabase(t *testing.T) {
	t.Parallel()
	dirs := twinFolders(t)
	server := pgtest.Start(t)
	config := fmt.Sprintf("store: {postgres: {url: %q, take_over: 1s}}\n", pgtest.Address(server.Socket, "postgres"))
	c := newCrash(t, uint64(time.Now().UnixNano()), config, dirs...)
	c.outage = func() {
		if err := errors.Join(server.Kill(), server.Start()); err != nil {
			t.Fatal(err)
		}
		c.wait()
	}
	c.rounds(3)
}

// The same where the database's server is lost for good, and its synchronous
// replica takes its place.
func TestCrashWithAFailover(t *testing.T) {
	t.Parallel()
	dirs := twinFolders(t)
	primary := pgtest.Start(t)
	replica := pgtest.StartReplica(t, primary)
	if err := primary.Synchronize(); err != nil {
		t.Fatal(err)
	}
	url := pgtest.Address(primary.Socket+","+replica.Socket, "postgres")
	c := newCrash(t, uint64(time.Now().UnixNano()), fmt.Sprintf("store: {postgres: {url: %q, take_over: 1s}}\n", url), dirs...)
	c.outage = func() {
		lost := primary
		if err := errors.Join(lost.Kill(), replica.Promote()); err != nil {
			t.Fatal(err)
		}
		primary, replica = replica, lost
		c.wait()
		if err := errors.Join(replica.Follow(primary), primary.Synchronize()); err != nil {
			t.Fatal(err)
		}
	}
	c.rounds(3)
}

// While the database is away nothing passes, not even what policy allows, for
// nothing could be written of it. A held call waits on, and is answered once the
// database is back.
func TestADatabaseThatIsAway(t *testing.T) {
	t.Parallel()
	dirs := twinFolders(t)
	server := pgtest.Start(t)
	file := write(t, "holdgate.yaml", fmt.Sprintf("store: {postgres: {url: %q, take_over: 1s}}\n", pgtest.Address(server.Socket, "postgres")))
	p := newProvider(t)
	s := serveIn(t, dirs[0], nil, "--config", file, "--upstream", "anthropic="+p.URL)
	waiting := s.asks("rm -rf waits")
	r := s.held("rm -rf waits")
	awaitKeptAnswer(t, pgtest.Address(server.Socket, "postgres"))
	if err := server.Halt(); err != nil {
		t.Log(err)
	}
	for _, command := range []string{"ls allowed", "rm -rf held"} {
		if got := askTurn(s, command); strings.Contains(got, "tool_use") && strings.Contains(got, command) {
			t.Errorf("%s passed while the database was away: %s", command, got)
		} else if strings.Contains(got, "user=") || strings.Contains(got, server.Socket) {
			t.Errorf("the agent reads where the database is: %s", got)
		}
	}
	resp, err := http.Get("http://" + s.approvers + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	why, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(why), "store: ") {
		t.Errorf("readyz while the database is away: %s, %s, %v", resp.Status, why, err)
	}
	writable := func(is string) {
		until(t, "holdgate_store_writable "+is, func() bool {
			resp, err := s.api("GET", "/metrics", "")
			if err != nil {
				t.Fatal(err)
			}
			return strings.Contains(body(t, resp), "\nholdgate_store_writable "+is+"\n")
		})
	}
	writable("0")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "an approval", func() bool { return s.run("approve", r.ID, "--digest", r.Call.Digest).code == 0 })
	waiting.sees(t, "rm -rf waits")
	if got := askTurn(s, "ls allowed"); !strings.Contains(got, "ls allowed") {
		t.Errorf("it does not go on by itself: %s", got)
	}
	writable("1")
}

// awaitKeptAnswer waits until the answer with the held call is stored whole: only then
// does it outlast the database.
func awaitKeptAnswer(t *testing.T, url string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	until(t, "an answer that is stored", func() bool {
		var n int
		err := conn.QueryRow(t.Context(), `SELECT count(*) FROM holdgate_pairs WHERE position('"whole":true'::bytea IN value) > 0`).Scan(&n)
		return err == nil && n > 0
	})
}

// A sidecar that stands by is alive and not ready, and takes over when the other
// one ends.
func TestAStandby(t *testing.T) {
	t.Parallel()
	config, dirs := twins(t, "20s") // however busy the machine is, the first one works until it is stopped
	of := func(member string) string {
		return write(t, member+".yaml", strings.Replace(config, "take_over", "member: "+member+", take_over", 1))
	}
	first := serveIn(t, dirs[0], nil, "--config", of("first"))
	addr, scraped := unusedAddr(t), unusedAddr(t)
	ready := make(chan *sidecar)
	config += "listen: {metrics: \"" + scraped + "\"}\n"
	go func() { ready <- serveIn(t, dirs[1], nil, "--config", of("second"), "--approvers", addr) }()
	probe := func(path string) (int, string) {
		at := addr
		if path == "/metrics" {
			at = scraped
		}
		for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
			r, err := http.Get("http://" + at + path)
			if err == nil {
				defer r.Body.Close()
				body, _ := io.ReadAll(r.Body)
				return r.StatusCode, string(body)
			}
			if time.Now().After(end) {
				t.Fatal(err)
			}
		}
	}
	if status, body := probe("/healthz"); status != http.StatusOK || !strings.Contains(body, "standing by") {
		t.Errorf("/healthz: %d %s", status, body)
	}
	if status, body := probe("/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, "works on the store") {
		t.Errorf("/readyz: %d %s", status, body)
	}
	if status, body := probe("/metrics"); status != http.StatusOK || !strings.Contains(body, "\nholdgate_standby 1\n") || !strings.Contains(body, "holdgate_build_info{") || strings.Contains(body, "holdgate_store_writable") {
		t.Errorf("/metrics: %d %s", status, body)
	}
	env := []string{"HOLDGATE_STATE_DIR=" + dirs[1]}
	if r := holdgate(t, env, "status"); r.code != 1 || !strings.Contains(r.stderr, "works on the store") || !strings.Contains(r.stderr, "hint: ask the one that works") {
		t.Errorf("status of the one that stands by: %v", r)
	}
	if r := holdgate(t, env, "status", "--short"); r.stdout != "holdgate: standing by\n" {
		t.Errorf("status --short: %v", r)
	}
	until(t, "both members", func() bool {
		out := first.must("members")
		return strings.Count(out, "works") == 1 && strings.Count(out, "stands by") == 1
	})
	first.stop()
	second := <-ready
	if status, body := probe("/readyz"); status != http.StatusOK {
		t.Errorf("/readyz of the one that works: %d %s", status, body)
	}
	if status, body := probe("/metrics"); status != http.StatusOK || !strings.Contains(body, "\nholdgate_standby 0\n") || !strings.Contains(body, "\nholdgate_store_writable 1\n") {
		t.Errorf("/metrics of the one that works: %d %s", status, body)
	}
	second.must("audit", "verify")
	list := parse[[]struct{ Name, State, Policy, Version string }](t, second.must("members", "--json"))
	if len(list) != 1 || list[0].State != "works" || list[0].Version == "" {
		t.Errorf("members afterwards: %+v", list)
	}
	for _, member := range []string{"first", "second"} {
		begun := parse[[]struct{ Member, Type string }](t, second.must("audit", "query", "--member", member, "--type", "start", "--json"))
		if len(begun) != 1 || begun[0].Member != member || begun[0].Type != "start" {
			t.Errorf("the log says of %s: %+v", member, begun)
		}
	}
}

// Members with different keys could not open what the others sealed. A member without
// any makes none, and those of the others can be put there.
func TestAnotherSecretIsRefused(t *testing.T) {
	t.Parallel()
	config, dirs := twins(t, "20s")
	file := write(t, "holdgate.yaml", config)
	serveIn(t, dirs[0], nil, "--config", file) // it works: the other one would stand by
	other := stateDir(t)
	refuses := func(want string) {
		t.Helper()
		r := holdgate(t, []string{"HOLDGATE_STATE_DIR=" + other}, "serve", "--agents", "127.0.0.1:0", "--approvers", "127.0.0.1:0", "--config", file)
		if r.code == 0 || !strings.Contains(r.stderr, want) {
			t.Errorf("%v, want %s", r, want)
		}
	}
	refuses("secret.key is missing, and the database has a state")
	for _, name := range []string{"secret.key", "approver.token", "ca.key"} {
		if _, err := os.Stat(filepath.Join(other, name)); err == nil {
			t.Errorf("it has made %s", name)
		}
	}
	if r := holdgate(t, []string{"HOLDGATE_STATE_DIR=" + other}, "store", "keys", "--from", dirs[0], "--config", file); r.code != 0 {
		t.Error(r)
	}
	if err := os.WriteFile(filepath.Join(other, "secret.key"), []byte(strings.Repeat("0a", 32)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	refuses("made by a member with another secret.key")
}

// A line that is added to secret.key seals from then on. What was sealed before is
// opened, and a member that has not got the line does not work.
func TestSealingKeysAreRotated(t *testing.T) {
	t.Parallel()
	dirs := twinFolders(t)
	url := pgtest.URL(t, t.TempDir())
	file := write(t, "holdgate.yaml", fmt.Sprintf("store: {postgres: {url: %q, take_over: 1s}}\n", url))
	p := newProvider(t)
	args := []string{"--config", file, "--upstream", "anthropic=" + p.URL}
	s := serveIn(t, dirs[0], nil, args...)
	s.asks("rm -rf before")
	before := s.held("rm -rf before")
	awaitKeptAnswer(t, url)
	s.stop()
	key := filepath.Join(dirs[0], "secret.key")
	old, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(key, append(old, strings.Repeat("a7", 32)+"\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	s = serveIn(t, dirs[0], nil, args...)
	s.answer(before.ID, "approve")
	if got := askTurn(s, "rm -rf before"); !strings.Contains(got, "rm -rf before") {
		t.Errorf("what was sealed by the first line is not opened: %s", got)
	}
	after := s.asks("rm -rf after")
	s.answer(after.held().ID, "approve")
	after.sees(t, "rm -rf after")
	s.must("audit", "verify")
	s.stop()
	r := holdgate(t, []string{"HOLDGATE_STATE_DIR=" + dirs[1]}, "serve", "--agents", "127.0.0.1:0", "--approvers", "127.0.0.1:0", "--config", file)
	if r.code == 0 || !strings.Contains(r.stderr, "seals with a line of secret.key that is not in the file of this one") {
		t.Errorf("%v", r)
	}
}
