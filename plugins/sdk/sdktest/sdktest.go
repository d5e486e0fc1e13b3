// Package sdktest proves a channel: [Run] checks what every channel has to
// keep, through the same gRPC service that Holdgate talks to.
package sdktest

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// deadline bounds every call: a channel that takes longer counts as hanging. It is long: that a machine is busy is no
// fault of the channel.
const deadline = time.Minute

// A Subject is a channel to be proven. All fields must be set, but one of New
// and Start.
type Subject struct {
	// New returns a channel that has not been configured.
	New func(t *testing.T) sdk.Channel
	// Start starts a channel that is a program, in any language: see [Process].
	// It is started twice: one process gets the bad configurations, one goes
	// through all else.
	Start func(t *testing.T) *sdk.Remote
	// Good returns a configuration that the channel takes.
	Good func(t *testing.T) string
	// Bad are configurations that it must refuse, by what is wrong with them.
	// What every channel refuses (no JSON, unknown and repeated members) needs
	// no entry.
	Bad map[string]string

	ready *sdk.Remote // of Start, once it has been configured
}

// Run proves the subject, in subtests.
func Run(t *testing.T, s Subject) {
	owner := t
	if !t.Run("it says what it is, always the same", func(t *testing.T) { s.info(t, owner) }) && s.Start != nil {
		t.Fatal("the other tests need a channel that has been configured")
	}
	t.Run("a bad configuration is an error", func(t *testing.T) { s.refuses(t) })
	t.Run("a good configuration makes it healthy", func(t *testing.T) {
		ctx := ending(t)
		if err := s.configured(t, ctx).Health(ctx); err != nil {
			t.Errorf("Health: %v", err)
		}
	})
	t.Run("a notice that comes twice is harmless", func(t *testing.T) {
		ctx := ending(t)
		r := s.configured(t, ctx)
		for range 2 {
			if err := r.Notify(ctx, Notice("req-1")); err != nil {
				t.Errorf("Notify: %v", err)
			}
		}
	})
	t.Run("a notice with nothing in it but its id is harmless", func(t *testing.T) {
		ctx := ending(t)
		if err := s.configured(t, ctx).Notify(ctx, sdk.Notice{ID: "req-2", Status: sdk.StatusPending}); err != nil {
			t.Errorf("Notify: %v", err)
		}
	})
	t.Run("an update of what it never heard of is harmless", func(t *testing.T) {
		ctx := ending(t)
		if err := s.configured(t, ctx).Update(ctx, Ended(Notice("req-unknown"))); err != nil {
			t.Errorf("Update: %v", err)
		}
	})
	t.Run("an update that comes twice is harmless", func(t *testing.T) {
		ctx := ending(t)
		r := s.configured(t, ctx)
		if err := r.Notify(ctx, Notice("req-3")); err != nil {
			t.Errorf("Notify: %v", err)
		}
		for range 2 {
			if err := r.Update(ctx, Ended(Notice("req-3"))); err != nil {
				t.Errorf("Update: %v", err)
			}
		}
	})
	t.Run("a request goes through all that can happen to it", func(t *testing.T) {
		ctx := ending(t)
		r := s.configured(t, ctx)
		for _, n := range Life("req-4") {
			tell := r.Update
			if n.Event == sdk.Requested || n.Event == sdk.Escalated {
				tell = r.Notify
			}
			if err := tell(ctx, n); err != nil {
				t.Errorf("%s: %v", n.Event, err)
			}
		}
	})
	t.Run("news that come twice are harmless, where it brings news", func(t *testing.T) {
		ctx := ending(t)
		r := s.configured(t, ctx)
		if i, err := r.Info(ctx); err != nil || !i.News {
			t.Skip("it brings none")
		}
		for _, n := range []sdk.News{News("news-1"), News("news-1"), {ID: "news-2"}} {
			if err := r.Tell(ctx, n); err != nil {
				t.Errorf("Tell: %v", err)
			}
		}
	})
	t.Run("cancellation ends its answers", func(t *testing.T) { s.cancels(t) })
}

// info configures a channel, and keeps it where it is a program.
func (s *Subject) info(t, owner *testing.T) {
	ctx := ending(t)
	r := s.dial(owner)
	first, err := r.Info(ctx)
	if err != nil {
		t.Fatalf("Info: %v", err)
	}
	if first.Name == "" {
		t.Error("Info names no channel")
	}
	if err := r.Configure(ctx, []byte(s.Good(owner))); err != nil {
		t.Fatalf("Configure: %v", err)
	}
	if second, err := r.Info(ctx); err != nil || second != first {
		t.Errorf("Info changed from %+v to %+v (%v)", first, second, err)
	}
	if s.Start != nil {
		s.ready = r
	}
}

func (s Subject) refuses(t *testing.T) {
	bad := map[string]string{
		"not JSON":          `{`,
		"no object":         `[]`,
		"an unknown member": `{"no_channel_has_this": 1}`,
		"a repeated member": `{"url": "http://127.0.0.1:1", "url": "http://127.0.0.1:2"}`,
	}
	for what, config := range s.Bad {
		bad[what] = config
	}
	dial := s.dial
	if s.Start != nil {
		one := s.Start(t)
		dial = func(*testing.T) *sdk.Remote { return one }
	}
	for what, config := range bad {
		t.Run(what, func(t *testing.T) {
			err := dial(t).Configure(ending(t), []byte(config))
			var own *sdk.ChannelError
			if !errors.As(err, &own) {
				t.Fatalf("Configure(%s) returned %v, want an error of the channel", config, err)
			}
			if own.Text == "" {
				t.Errorf("Configure(%s) refused without saying why", config)
			}
		})
	}
}

func (s Subject) cancels(t *testing.T) {
	ctx := ending(t)
	var r *sdk.Remote
	var answers func(context.Context, sdk.Answerer) error
	if s.Start != nil {
		r = s.ready
		answers = r.Answers
	} else {
		c := s.New(t)
		r, answers = Dial(t, c), c.Answers
		if err := r.Configure(ctx, []byte(s.Good(t))); err != nil {
			t.Fatalf("Configure: %v", err)
		}
	}
	answering, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		done <- answers(answering, func(context.Context, sdk.Answer) (string, error) {
			return sdk.StatusPending, &sdk.Refused{Reason: "nothing was asked"}
		})
	}()
	cancel()
	select {
	case <-done:
	case <-time.After(deadline):
		t.Error("Answers goes on after its context has ended")
	}
	if s.Start != nil { // the end of one stream is not that of the process
		if err := r.Health(ctx); err != nil {
			t.Errorf("Health: %v", err)
		}
	}
}

// dial returns a new channel of the subject at the end of a connection.
func (s Subject) dial(t *testing.T) *sdk.Remote {
	t.Helper()
	if s.Start != nil {
		return s.Start(t)
	}
	return Dial(t, s.New(t))
}

// configured returns the subject's channel, ready, at the end of a connection.
func (s Subject) configured(t *testing.T, ctx context.Context) *sdk.Remote {
	t.Helper()
	if s.ready != nil {
		return s.ready
	}
	r := s.dial(t)
	if err := r.Configure(ctx, []byte(s.Good(t))); err != nil {
		t.Fatalf("Configure: %v", err)
	}
	return r
}

// Dial serves a channel in memory and returns it as Holdgate sees it, for
// tests of what [Run] cannot know. Both ends are closed with the test.
func Dial(t *testing.T, c sdk.Channel) *sdk.Remote {
	t.Helper()
	pipe := bufconn.Listen(1 << 16)
	srv := grpc.NewServer()
	sdk.Register(srv, c)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(pipe) }()
	conn, err := grpc.NewClient("passthrough:memory",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return pipe.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		srv.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return sdk.NewRemote(conn)
}

// ending returns a context that ends in time.
func ending(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	return ctx
}

// Notice returns a request such as people are asked about.
func Notice(id string) sdk.Notice {
	now := time.Now().UTC().Truncate(time.Second)
	return sdk.Notice{
		ID: id, Nonce: "nonce-of-" + id, Digest: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		Status: sdk.StatusPending, Kind: "approval", Risk: "medium", Gate: "shell", Rule: "shell.destructive", Reason: "It deletes files.",
		Agent: sdk.Agent{ID: "claude", Proven: true}, Session: "s1", Door: "anthropic",
		Call:    sdk.Call{Kind: "tool_call", Target: "Bash", Arguments: []string{"{", `  "command": "rm -rf build"`, "}"}},
		Subject: "./build",
		Summary: "Deletes ./build and everything in it", Why: []string{"shell.destructive: It deletes files."}, Whole: true,
		Sections: []sdk.Section{{Title: "command", Kind: "command", Lines: []string{"rm -rf build"}}}, Details: []string{"command: rm -rf build"},
		Answers:   []string{sdk.Approve, sdk.Deny, sdk.Steer},
		CreatedAt: now, ExpiresAt: now.Add(time.Hour), OnTimeout: "deny", Quorum: 1,
	}
}

// Ended returns the notice as it is when somebody has denied the request.
func Ended(n sdk.Notice) sdk.Notice {
	n.Status = "denied"
	n.Answers = nil
	n.Outcome = &sdk.Outcome{Decision: sdk.Deny, By: "ada", At: n.CreatedAt.Add(time.Minute), Reason: "not today"}
	return n
}

// News returns news such as people are told.
func News(id string) sdk.News {
	return sdk.News{
		ID: id, Kind: sdk.NewsPolicy, At: time.Now().UTC().Truncate(time.Second),
		Title: "The policy has changed", Lines: []string{"revision 3 is in force, by ada"},
	}
}

// Life returns what a channel is told of a request that takes two people, one
// notice after the other.
func Life(id string) []sdk.Notice {
	n := Notice(id)
	n.Quorum, n.Thread, n.To, n.Event, n.Waiting = 2, "5e551015e551015e", []string{"ada", "bob"}, sdk.Requested, 12
	n.Voters = []string{"ada", "eve"}
	n.Editable = "{\n  \"command\": \"rm -rf build\"\n}"
	n.Answers = append(n.Answers, sdk.Edit, sdk.Claim, sdk.Unclaim, sdk.Seen)
	escalated := n
	escalated.Event, escalated.To = sdk.Escalated, []string{"ada", "bob", "eve"}
	claimed := escalated
	claimed.Event, claimed.Claim = sdk.Claimed, &sdk.Lease{By: "ada", Until: n.CreatedAt.Add(30 * time.Minute)}
	voted := claimed
	voted.Event, voted.Votes, voted.Approved = sdk.Voted, 1, []string{"ada"}
	voted.Cast = []sdk.Vote{{Decision: sdk.Approve, By: "ada", Channel: "web", At: n.CreatedAt.Add(time.Minute)}}
	unclaimed := voted
	unclaimed.Event, unclaimed.Claim = sdk.Unclaimed, nil
	decided := Ended(unclaimed)
	decided.Event, decided.Editable = sdk.Decided, ""
	return []sdk.Notice{n, escalated, claimed, voted, unclaimed, decided}
}
