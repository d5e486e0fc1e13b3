package host

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/socket/sockettest"
	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
	"github.com/holdgate/holdgate/store/teststore"
)

// TestMain makes the test binary a channel too: see puppet_test.go.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "puppet" {
		sdk.Serve(&puppet{log: sdk.Logger()})
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "leaver" {
		leave()
		return
	}
	os.Exit(m.Run())
}

// leave starts a command in a group of its own, says its process id, and waits.
func leave() {
	cmd := exec.Command("/bin/sh", "-c", "sleep 300 & wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	fmt.Println(cmd.Process.Pid)
	_ = cmd.Wait()
}

const patience = 3 * time.Minute

var key = bytes.Repeat([]byte{7}, 32)

// A bench is a real queue on disk, and the stage on which puppets report.
type bench struct {
	t      *testing.T
	queue  *approvals.Queue
	store  store.Store
	log    *lockedBuffer
	socket string
	// reports are kept by what they are: those of two kinds come in any order.
	reports map[string]chan report
	// edit, where it is set, changes a channel before it runs.
	edit   func(*channel)
	routes []Route
	// wrap, where it is set, is what the host has in the queue's place.
	wrap func(*approvals.Queue) Queue

	mu   sync.Mutex
	pids map[int]bool
	stop []func()
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, log: &lockedBuffer{}, reports: make(map[string]chan report), pids: make(map[int]bool)}
	for _, what := range []string{"configured", "notify", "update", "verdict", "news"} {
		b.reports[what] = make(chan report, 4096)
	}
	st := teststore.Open(t, t.TempDir())
	b.store = st
	log, err := audit.Open(t.Context(), st, key)
	if err != nil {
		t.Fatal(err)
	}
	d, err := holdgate.NewDigester(key)
	if err != nil {
		t.Fatal(err)
	}
	b.queue, err = approvals.Open(t.Context(), approvals.Config{Store: st, Log: log, Digester: d, SealKey: key})
	if err != nil {
		t.Fatal(err)
	}
	b.listen()
	t.Cleanup(b.close)
	return b
}

// listen takes what puppets report.
func (b *bench) listen() {
	dir := sockettest.Folder(b.t)
	b.socket = filepath.Join(dir, "s")
	ln, err := net.Listen("unix", b.socket)
	if err != nil {
		b.t.Fatal(err)
	}
	var readers sync.WaitGroup
	readers.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			readers.Go(func() { b.read(conn) })
		}
	})
	b.t.Cleanup(func() {
		_ = ln.Close()
		readers.Wait()
		_ = os.RemoveAll(dir)
	})
}

func (b *bench) read(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	in := bufio.NewScanner(conn)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var r report
		if json.Unmarshal(in.Bytes(), &r) != nil {
			continue
		}
		b.mu.Lock()
		b.pids[r.Pid] = true
		b.mu.Unlock()
		b.reports[r.What] <- r
	}
}

// close ends everything and sees that no process is left.
func (b *bench) close() {
	b.end()
	b.mu.Lock()
	defer b.mu.Unlock()
	for pid := range b.pids {
		if err := syscall.Kill(-pid, 0); !errors.Is(err, syscall.ESRCH) {
			b.t.Errorf("process group %d is still there: %v", pid, err)
		}
	}
	if err := errors.Join(b.queue.Close(), b.store.Close()); err != nil {
		b.t.Error(err)
	}
	if b.t.Failed() {
		b.t.Logf("log:\n%s", b.log)
	}
}

// end ends the hosts that run.
func (b *bench) end() {
	for _, stop := range b.stop {
		stop()
	}
	b.stop = nil
}

// run runs puppets, each with its own configuration, until the test is over.
func (b *bench) run(puppets ...Channel) *Host {
	b.t.Helper()
	q := Queue(b.queue)
	if b.wrap != nil {
		q = b.wrap(b.queue)
	}
	h, err := New(Config{Queue: q, Key: key, Channels: puppets, Routes: func() []Route { return b.routes }, Logger: slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range h.channels {
		c.d.start, c.d.configure, c.d.notify, c.d.health, c.d.end = patience, patience, patience, patience, time.Second
		c.d.reconcile, c.d.watch = 100*time.Millisecond, 200*time.Millisecond
		c.d.minPause, c.d.maxPause = 20*time.Millisecond, 100*time.Millisecond
		if b.edit != nil {
			b.edit(c)
		}
	}
	ctx, cancel := context.WithCancel(b.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := h.Run(ctx); err != nil {
			b.t.Errorf("Run: %v", err)
		}
	}()
	b.stop = append(b.stop, func() { cancel(); <-done })
	return h
}

// puppet is a channel that does as it is told. The race detector would have its
// process wait for a second before it ends.
func (b *bench) puppet(name string, s script) Channel {
	b.t.Helper()
	s.Report = b.socket
	config, err := json.Marshal(s)
	if err != nil {
		b.t.Fatal(err)
	}
	return Channel{Name: name, Command: []string{"/usr/bin/env", "GORACE=atexit_sleep_ms=0", os.Args[0], "puppet"}, Config: config}
}

// next waits for the next report of the kind, and fails the test where none
// comes.
func (b *bench) next(what string) report {
	b.t.Helper()
	var r report
	select {
	case r = <-b.reports[what]:
	case <-time.After(patience):
		b.t.Fatalf("no puppet reports %q", what)
	}
	return r
}

// forget drops what has been reported so far.
func (b *bench) forget() {
	for _, of := range b.reports {
		for len(of) > 0 {
			<-of
		}
	}
}

// ask holds a call and returns its request.
func (b *bench) ask(command string, edit ...func(*holdgate.Decision)) approvals.Request {
	b.t.Helper()
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		b.t.Fatal(err)
	}
	c := holdgate.Call{ID: "toolu_1", Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: "Bash", Arguments: args}}
	d := holdgate.Decision{
		Action: holdgate.Hold, Rule: "shell.destructive", Reason: "deletes files", Risk: holdgate.RiskMedium, Revision: "r1",
		Hold: holdgate.HoldSpec{Gate: "shell", Kind: holdgate.RequestApproval, Allow: []string{"steer"}},
	}
	for _, e := range edit {
		e(&d)
	}
	caller := approvals.Caller{Agent: holdgate.Agent{ID: "claude", Proven: true}, Session: holdgate.Session{ID: "s1"}, Door: "anthropic"}
	x, err := b.queue.Enter(b.t.Context(), caller, func() (holdgate.Digest, error) { return holdgate.Digest("key-" + command), nil })
	if err != nil {
		b.t.Fatal(err)
	}
	r, err := x.RequestApproval(b.t.Context(), approvals.HeldCall{Call: c, Decision: d})
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *bench) request(id string) approvals.Request {
	b.t.Helper()
	r, err := b.queue.Request(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// ended waits until the request has ended.
func (b *bench) ended(id string) approvals.Request {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	found := errors.New("found")
	err := b.queue.Events(ctx, 0, func(e approvals.Event) error {
		if e.Request.ID == id && e.Request.Status.Final() {
			return found
		}
		return nil
	})
	if !errors.Is(err, found) {
		b.t.Fatalf("request %s has not ended: %v", id, err)
	}
	return b.request(id)
}

// lockedBuffer is a log that can be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lockedBuffer) contains(t *testing.T, want string) {
	t.Helper()
	if !strings.Contains(l.String(), want) {
		t.Errorf("the log does not say %q", want)
	}
}

// report is what a puppet tells the test.
type report struct {
	What   string // "configured", "notify", "update", "verdict", "news"
	Name   string // the puppet's, from its script
	Pid    int
	Notice sdk.Notice
	News   sdk.News
	Lie    string
	Status string
	Err    string
	Env    []string
}

func (r report) String() string { return fmt.Sprintf("%s %s %s", r.What, r.Lie, r.Err) }
