package client_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/approvals/socket/sockettest"
	"github.com/holdgate/holdgate/store/audit"
	"github.com/holdgate/holdgate/store/teststore"
)

const token = "0123456789abcdef0123456789abcdef0123456789abcdef"

// stateDir makes a state folder with a token in it.
func stateDir(t *testing.T) string {
	t.Helper()
	dir := sockettest.Folder(t)
	if err := os.WriteFile(filepath.Join(dir, client.TokenName), []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// sidecar is the real API over a real queue.
func sidecar(t *testing.T) (*api.Server, *approvals.Queue) {
	t.Helper()
	s, q, _ := logging(t)
	return s, q
}

// logging is a sidecar, with the log that it serves.
func logging(t *testing.T) (*api.Server, *approvals.Queue, *audit.Log) {
	t.Helper()
	st := teststore.Open(t, t.TempDir())
	key := []byte(strings.Repeat("k", 32))
	log, err := audit.Open(t.Context(), st, key)
	if err != nil {
		t.Fatal(err)
	}
	digester, err := holdgate.NewDigester(key)
	if err != nil {
		t.Fatal(err)
	}
	q, err := approvals.Open(t.Context(), approvals.Config{Store: st, Log: log, Digester: digester, SealKey: key, Redeem: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	s, err := api.New(api.Config{Queue: q, Log: log, Store: st, Digester: digester, Credentials: func() []api.Credential { return []api.Credential{{Person: "ada", Token: api.HashToken(token)}} },
		Status: func(context.Context) api.Status { return api.Status{Version: "test", Health: api.Healthy} }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		if err := errors.Join(q.Close(), st.Close()); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return s, q, log
}

// serve serves h at a listener.
func serve(t *testing.T, ln net.Listener, h http.Handler) {
	t.Helper()
	srv := httptest.NewUnstartedServer(h)
	srv.Listener.Close()
	srv.Listener = ln
	srv.Start()
	t.Cleanup(srv.Close)
}

func listen(t *testing.T, network, addr string) net.Listener {
	t.Helper()
	ln, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

func open(t *testing.T, o client.Options) *client.Client {
	t.Helper()
	c, err := client.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestDecidingOverTheSocketAndOverAPort(t *testing.T) {
	dir := stateDir(t)
	s, q := sidecar(t)
	serve(t, listen(t, "unix", filepath.Join(dir, client.SocketName)), s)
	tcp := listen(t, "tcp", "127.0.0.1:0")
	serve(t, tcp, s)
	for name, o := range map[string]client.Options{
		"socket": {StateDir: dir, Channel: "cli"},
		"port":   {StateDir: dir, URL: "http://" + tcp.Addr().String()},
	} {
		t.Run(name, func(t *testing.T) {
			c, ctx := open(t, o), t.Context()
			asked := hold(t, q, name)
			list, err := c.List(ctx, approvals.Filter{Status: holdgate.StatusPending})
			if err != nil || len(list) != 1 || list[0].ID != asked.ID {
				t.Fatalf("pending: %v, %v", list, err)
			}
			r, err := c.Request(ctx, asked.ID)
			if err != nil || string(r.Call.Tool.Arguments) != `{"command":"rm -rf build"}` {
				t.Fatalf("request: %+v, %v", r, err)
			}
			if r, err = c.Decide(ctx, r.ID, api.Decision{Decision: holdgate.AnswerApprove, Digest: r.Call.Digest}); err != nil || r.Status != holdgate.StatusApproved {
				t.Fatalf("approving: %+v, %v", r, err)
			}
			_, err = c.Decide(ctx, r.ID, api.Decision{Decision: holdgate.AnswerDeny})
			if p, ok := errors.AsType[*api.Problem](err); !ok || p.Word() != api.ProblemDecided || p.Request == nil {
				t.Errorf("denying afterwards: %v, want a problem with the request", err)
			}
			entries, err := c.Audit(ctx, audit.Query{RequestID: r.ID, Limit: 10})
			if err != nil || len(entries) == 0 {
				t.Errorf("audit: %v, %v", entries, err)
			}
			head, err := c.AuditHead(ctx)
			if err != nil || head.Hash == "" {
				t.Errorf("head: %v, %v", head, err)
			}
			var export bytes.Buffer
			if err := c.AuditExport(ctx, &export); err != nil || !strings.Contains(export.String(), head.Hash) {
				t.Errorf("export: %v, %s", err, export.String())
			}
			if st, err := c.Status(ctx); err != nil || st.Version != "test" {
				t.Errorf("status: %+v, %v", st, err)
			}
		})
	}
}

func TestActingOnRequests(t *testing.T) {
	dir := stateDir(t)
	s, q := sidecar(t)
	serve(t, listen(t, "unix", filepath.Join(dir, client.SocketName)), s)
	c, ctx := open(t, client.Options{StateDir: dir}), t.Context()
	one, two, three := hold(t, q, "one"), hold(t, q, "two"), hold(t, q, "three")

	p, err := c.Page(ctx, approvals.Filter{Status: holdgate.StatusPending, Limit: 2})
	if err != nil || len(p.Requests) != 2 || p.Next == "" {
		t.Fatalf("the first page: %+v, %v", p, err)
	}
	p, err = c.Page(ctx, approvals.Filter{Status: holdgate.StatusPending, Limit: 2, Cursor: p.Next})
	if err != nil || len(p.Requests) != 1 || p.Requests[0].ID != three.ID || p.Next != "" {
		t.Errorf("the last page: %+v, %v", p, err)
	}
	if r, err := c.Claim(ctx, one.ID); err != nil || r.Claim == nil || r.Claim.By != "ada" {
		t.Errorf("claiming: %+v, %v", r.Claim, err)
	}
	if r, err := c.Unclaim(ctx, one.ID); err != nil || r.Claim != nil {
		t.Errorf("unclaiming: %+v, %v", r.Claim, err)
	}
	_, err = c.Delegate(ctx, one.ID, api.Delegation{To: "bob"})
	if p, ok := errors.AsType[*api.Problem](err); !ok || p.Word() != api.ProblemAnswer {
		t.Errorf("delegating where there is nobody else: %v, want a problem", err)
	}
	results, err := c.DecideGroup(ctx, []api.GroupDecision{
		{ID: one.ID, Decision: api.Decision{Decision: holdgate.AnswerApprove, Digest: one.Call.Digest}},
		{ID: two.ID, Decision: api.Decision{Decision: holdgate.AnswerDeny, Digest: "another"}},
	})
	if err != nil || results[0].Request == nil || results[0].Request.Status != holdgate.StatusApproved || results[1].Problem == nil || results[1].Problem.Word() != api.ProblemDigest {
		t.Errorf("a group: %+v, %v", results, err)
	}
}

// hold holds a call of the named session.
func hold(t *testing.T, q *approvals.Queue, session string) approvals.Request {
	t.Helper()
	who := approvals.Caller{Agent: holdgate.Agent{ID: "builder"}, Session: holdgate.Session{ID: session}, Door: "up/anthropic"}
	x, err := q.Enter(t.Context(), who, func() (holdgate.Digest, error) { return holdgate.Digest(strings.Repeat("a", 64)), nil })
	if err != nil {
		t.Fatal(err)
	}
	defer x.Leave()
	r, err := x.RequestApproval(t.Context(), approvals.HeldCall{Call: holdgate.Call{
		Kind: holdgate.KindToolCall, Agent: who.Agent, Session: who.Session, Door: who.Door, Time: time.Now(),
		Tool: &holdgate.Tool{Name: "Bash", Arguments: []byte(`{"command":"rm -rf build"}`)},
	}, Decision: holdgate.Decision{Action: holdgate.Hold, Rule: "files.delete", Hold: holdgate.HoldSpec{Timeout: time.Hour}}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// An impostor keeps every byte that it is sent.
type impostor struct {
	mu  sync.Mutex
	got bytes.Buffer
}

func (i *impostor) Write(b []byte) (int, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.got.Write(b)
}

func (i *impostor) heard() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.got.String()
}

// listenerOf wraps a listener so that the impostor hears all of it.
func (i *impostor) listenerOf(ln net.Listener) net.Listener { return &tappedListener{ln, i} }

type tappedListener struct {
	net.Listener
	to io.Writer
}

func (l *tappedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &tappedConn{c, l.to}, nil
}

type tappedConn struct {
	net.Conn
	to io.Writer
}

func (c *tappedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	_, _ = c.to.Write(b[:n])
	return n, err
}

// Whatever a request has must be read again, or one of them hides all others.
func TestARequestWithEverythingIsRead(t *testing.T) {
	dir := stateDir(t)
	s, q := sidecar(t)
	serve(t, listen(t, "unix", filepath.Join(dir, client.SocketName)), s)
	c := open(t, client.Options{StateDir: dir})
	spec := holdgate.HoldSpec{
		Kind: holdgate.RequestChoice, Options: []holdgate.Option{{ID: "a", Label: "A", Effect: holdgate.EffectApprove}, {ID: "o", Label: "O", Other: true}},
		Timeout: time.Minute, Allow: []string{"steer", "edit", "remember"}, Show: []string{"diff"},
		Approvers: holdgate.Approvers{
			Roles: []string{"security"}, Users: []string{"ada"}, Quorum: 2, Assurance: "local", FourEyes: true,
			Escalate: []holdgate.Escalation{{After: 15 * time.Minute, Users: []string{"carol"}}},
		},
	}
	x, err := q.Enter(t.Context(), approvals.Caller{Door: "d"}, func() (holdgate.Digest, error) { return "everything", nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Leave)
	asked, err := x.RequestApproval(t.Context(), approvals.HeldCall{
		Call:     holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: "Bash", Arguments: []byte(`{"command":"make"}`)}},
		Decision: holdgate.Decision{Action: holdgate.Hold, Rule: "r", Risk: holdgate.RiskLow, Hold: spec, Facts: &holdgate.Facts{}, Also: []holdgate.Finding{{Rule: "s"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Request(t.Context(), asked.ID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(asked, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("what was asked, and what the client reads (-want +got):\n%s", diff)
	}
}

func TestAFakeSidecarIsSentNothingButAQuestion(t *testing.T) {
	dir := stateDir(t)
	genuine, _ := sidecar(t)
	genuineLn := listen(t, "tcp", "127.0.0.1:0")
	serve(t, genuineLn, genuine)

	relay := func(w http.ResponseWriter, r *http.Request) {
		resp, err := http.Post("http://"+genuineLn.Addr().String()+r.URL.Path, "application/json", r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	}
	tests := map[string]http.HandlerFunc{
		"accepts anything": func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, `[]`) },
		"knows no proof":   func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNotFound) },
		"guesses": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"proof":"`+hex.EncodeToString(make([]byte, 32))+`"}`)
		},
		"leaves it out": func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, `{"proof":""}`) },
		"redirects to the genuine one": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://"+genuineLn.Addr().String()+r.URL.Path, http.StatusTemporaryRedirect)
		},
		"asks the genuine one": relay,
	}
	for name, h := range tests {
		t.Run(name, func(t *testing.T) {
			fake := &impostor{}
			ln := listen(t, "tcp", "127.0.0.1:0")
			serve(t, fake.listenerOf(ln), h)
			c := open(t, client.Options{StateDir: dir, URL: "http://" + ln.Addr().String()})
			_, err := c.Decide(t.Context(), "some-request", api.Decision{Decision: holdgate.AnswerDeny, Reason: "private words"})
			if _, ok := errors.AsType[*client.UnprovenError](err); !ok {
				t.Errorf("got %v, want an UnprovenError", err)
			}
			heard := fake.heard()
			if !strings.Contains(heard, "/v1/prove") {
				t.Errorf("it heard %q, so the test proves nothing", heard)
			}
			for _, secret := range []string{token, "Authorization", "some-request", "private words"} {
				if strings.Contains(heard, secret) {
					t.Errorf("it heard %q", secret)
				}
			}
		})
	}
}

// The sidecar dies between two requests and another process takes its port.
func TestAPortTakenAfterACrashIsSentNothing(t *testing.T) {
	dir := stateDir(t)
	s, _ := sidecar(t)
	ln := listen(t, "tcp", "127.0.0.1:0")
	srv := httptest.NewUnstartedServer(s)
	srv.Listener.Close()
	srv.Listener = ln
	srv.Start()
	c := open(t, client.Options{StateDir: dir, URL: "http://" + ln.Addr().String()})
	if _, err := c.Status(t.Context()); err != nil {
		t.Fatal(err)
	}
	srv.Close()

	fake := &impostor{}
	serve(t, fake.listenerOf(listen(t, "tcp", ln.Addr().String())), http.NotFoundHandler())
	_, err := c.Status(t.Context())
	if _, ok := errors.AsType[*client.UnprovenError](err); !ok {
		t.Errorf("got %v, want an UnprovenError", err)
	}
	if heard := fake.heard(); strings.Contains(heard, token) || !strings.Contains(heard, "/v1/prove") {
		t.Errorf("the new process heard %q", heard)
	}
}

func TestAListenerThatNeverAnswersIsGivenUp(t *testing.T) {
	ln := listen(t, "tcp", "127.0.0.1:0")
	defer ln.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := open(t, client.Options{StateDir: stateDir(t), URL: "http://" + ln.Addr().String()}).Status(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the deadline", err)
	}
}

func TestWithoutASidecarTheErrorSaysWhereItLooked(t *testing.T) {
	dir := stateDir(t)
	want := filepath.Join(dir, client.SocketName)
	_, err := open(t, client.Options{StateDir: dir}).Status(t.Context())
	if e, ok := errors.AsType[*client.NoSidecarError](err); !ok || e.Tried != want {
		t.Errorf("no socket: %v, want one that names %s", err, want)
	}
	ln := listen(t, "unix", want)
	ln.(*net.UnixListener).SetUnlinkOnClose(false)
	ln.Close()
	_, err = open(t, client.Options{StateDir: dir}).Status(t.Context())
	if _, ok := errors.AsType[*client.NoSidecarError](err); !ok {
		t.Errorf("a socket that nobody listens at: %v", err)
	}
	_, err = client.New(client.Options{StateDir: t.TempDir()})
	if _, ok := errors.AsType[*client.NoSidecarError](err); !ok {
		t.Errorf("no token: %v", err)
	}
}

func TestATokenThatOthersMayReadIsRefused(t *testing.T) {
	for _, mode := range []os.FileMode{0o644, 0o640, 0o604, 0o620} {
		dir := stateDir(t)
		if err := os.Chmod(filepath.Join(dir, client.TokenName), mode); err != nil {
			t.Fatal(err)
		}
		if _, err := client.New(client.Options{StateDir: dir}); !isTokenError(err) {
			t.Errorf("mode %o: %v, want a TokenError", mode, err)
		}
	}
	dir := stateDir(t)
	if err := os.WriteFile(filepath.Join(dir, client.TokenName), []byte("short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := client.New(client.Options{StateDir: dir}); !isTokenError(err) {
		t.Errorf("a short token: %v", err)
	}
	dir = t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, client.TokenName), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := client.New(client.Options{StateDir: dir}); !isTokenError(err) {
		t.Errorf("a folder: %v", err)
	}
}

func TestATokenFileTakesTheFoldersPlace(t *testing.T) {
	dir := stateDir(t)
	s, _ := sidecar(t)
	serve(t, listen(t, "unix", filepath.Join(dir, client.SocketName)), s)
	file := filepath.Join(t.TempDir(), "token")
	for name, tt := range map[string]struct {
		token string
		check func(error) bool
	}{
		"one that the sidecar knows": {token, func(err error) bool { return err == nil }},
		"one that it does not": {strings.Repeat("e", 64), func(err error) bool {
			_, ok := errors.AsType[*client.UnprovenError](err)
			return ok
		}},
	} {
		if err := os.WriteFile(file, []byte(tt.token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := open(t, client.Options{StateDir: dir, TokenFile: file}).Status(t.Context()); !tt.check(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := client.New(client.Options{StateDir: dir, TokenFile: filepath.Join(t.TempDir(), "none")}); !isTokenError(err) {
		t.Errorf("a file that is not there: %v, want a TokenError", err)
	}
}

func isTokenError(err error) bool {
	_, ok := errors.AsType[*client.TokenError](err)
	return ok
}

func TestAddressesThatAreNoSidecars(t *testing.T) {
	dir := stateDir(t)
	for _, u := range []string{"127.0.0.1:7301", "ftp://127.0.0.1:7301", "http://", "http://user@127.0.0.1:7301", "http://127.0.0.1:7301/path", "http://127.0.0.1:7301?x=1", "unix:///x"} {
		if _, err := client.New(client.Options{StateDir: dir, URL: u}); err == nil {
			t.Errorf("%s: no error", u)
		}
	}
}
