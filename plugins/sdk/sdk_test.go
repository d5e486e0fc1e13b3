package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

// echo is a channel in this process that keeps what it is told.
type echo struct {
	mu      sync.Mutex
	told    []sdk.Notice
	err     error
	answers func(context.Context, sdk.Answerer) error
}

var _ sdk.Channel = (*echo)(nil)

func (e *echo) Info() sdk.Info {
	return sdk.Info{Name: "echo", Assurance: sdk.Interactive, Forgets: true}
}

func (e *echo) Configure(_ context.Context, config []byte) error {
	var c struct {
		Good bool `json:"good"`
	}
	return sdk.Decode(config, &c)
}

func (e *echo) Notify(_ context.Context, n sdk.Notice) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.told = append(e.told, n)
	return e.err
}

func (e *echo) Update(ctx context.Context, n sdk.Notice) error { return e.Notify(ctx, n) }

func (e *echo) Health(context.Context) error { return e.err }

func (e *echo) Answers(ctx context.Context, answer sdk.Answerer) error {
	if e.answers != nil {
		return e.answers(ctx, answer)
	}
	<-ctx.Done()
	return ctx.Err()
}

func TestConformance(t *testing.T) {
	sdktest.Run(t, sdktest.Subject{
		New:  func(*testing.T) sdk.Channel { return &echo{} },
		Good: func(*testing.T) string { return `{"good": true}` },
		Bad:  map[string]string{"the wrong type": `{"good": 1}`},
	})
}

func TestANoticeArrivesWhole(t *testing.T) {
	e := &echo{}
	r := sdktest.Dial(t, e)
	n := sdktest.Ended(sdktest.Notice("r1"))
	n.Kind, n.Message, n.Closed, n.Votes, n.Quorum, n.Hidden = "choice", "which?", "too large", 1, 2, 3
	n.Agent.Confinement, n.Call.Server, n.Call.Cut = "strong", "files", 7
	n.Options = []sdk.Option{{ID: "a", Label: "A", Effect: "approve"}, {ID: "b", Label: "B", Effect: "deny"}}
	n.Answers = []string{sdk.Deny}
	n.Why, n.Approved, n.People, n.Warnings, n.Similar, n.Edited = []string{"w"}, []string{"ada"}, []string{"p"}, []string{"x"}, "s", "e"
	n.Counts = sdk.Counts{Unresolved: 1, Unbound: 2, Redacted: 3, Cut: 4, Commands: 5}
	n.Outcome.Instructions, n.Outcome.Choice = "use the trash", "b"
	n.Options = append(n.Options, sdk.Option{ID: "c", Label: "C", Other: true})
	n.Event, n.Thread, n.To, n.Editable, n.Waiting = sdk.Decided, "t", []string{"u"}, "{}", 12
	n.Cast = []sdk.Vote{{Decision: sdk.Approve, By: "ada", Channel: "web", At: n.CreatedAt, Reason: "fine"}}
	n.Claim = &sdk.Lease{By: "bob", Until: n.ExpiresAt}
	for _, tell := range []func(context.Context, sdk.Notice) error{r.Notify, r.Update} {
		if err := tell(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Notify(t.Context(), sdk.Notice{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]sdk.Notice{n, n, {}}, e.told); diff != "" {
		t.Errorf("told (-sent +received):\n%s", diff)
	}
}

// town is a channel that can do all there is.
type town struct {
	echo
	news []sdk.News
}

var _ sdk.Newscaster = (*town)(nil)

func (c *town) Info() sdk.Info {
	return sdk.Info{Name: "town", Assurance: sdk.Text, Edits: true, Claims: true, Sees: true}
}

func (c *town) Tell(_ context.Context, n sdk.News) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.news = append(c.news, n)
	return c.err
}

func TestATownCrierConforms(t *testing.T) {
	sdktest.Run(t, sdktest.Subject{
		New:  func(*testing.T) sdk.Channel { return &town{} },
		Good: func(*testing.T) string { return `{"good": true}` },
	})
}

func TestAbilitiesAreWhatTheChannelSaysAndIs(t *testing.T) {
	for _, c := range []struct {
		channel sdk.Channel
		want    sdk.Info
	}{
		{&echo{}, sdk.Info{Name: "echo", Assurance: sdk.Interactive, Forgets: true}},
		{&town{}, sdk.Info{Name: "town", Assurance: sdk.Text, Edits: true, Claims: true, Sees: true, News: true}},
	} {
		if got, err := sdktest.Dial(t, c.channel).Info(t.Context()); err != nil || got != c.want {
			t.Errorf("Info = %+v, %v, want %+v", got, err, c.want)
		}
	}
}

func TestNewsArriveWhole(t *testing.T) {
	c := &town{}
	n := sdktest.News("n1")
	n.To, n.Agent = []string{"u"}, "claude"
	if err := sdktest.Dial(t, c).Tell(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]sdk.News{n}, c.news); diff != "" {
		t.Errorf("told (-sent +received):\n%s", diff)
	}
	var own *sdk.ChannelError
	if err := sdktest.Dial(t, &echo{}).Tell(t.Context(), n); err == nil || errors.As(err, &own) {
		t.Errorf("a channel without news answers %v", err)
	}
}

func TestAnAnswerArrivesWhole(t *testing.T) {
	sent := sdk.Answer{
		ID: "r1", Nonce: "n", Digest: "d", Decision: sdk.Edit, By: "ada", Reason: "why", Instructions: "how", Choice: "c", Arguments: `{"a": "\u202e"}`,
		Assurance: sdk.Text,
	}
	r := sdktest.Dial(t, &echo{answers: func(ctx context.Context, answer sdk.Answerer) error {
		_, err := answer(ctx, sent)
		return err
	}})
	var got sdk.Answer
	_ = r.Answers(t.Context(), func(_ context.Context, a sdk.Answer) (string, error) {
		got = a
		return sdk.StatusPending, nil
	})
	if got != sent {
		t.Errorf("received %+v, sent %+v", got, sent)
	}
}

func TestAChannelsOwnErrorsAreToldFromBrokenOnes(t *testing.T) {
	for _, c := range []struct {
		name      string
		err       error
		permanent bool
	}{
		{"an error that may pass", errors.New("busy"), false},
		{"an error that stays", sdk.Permanent(errors.New("no such room")), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := sdktest.Dial(t, &echo{err: c.err})
			var own *sdk.ChannelError
			if err := r.Notify(t.Context(), sdk.Notice{}); !errors.As(err, &own) || own.Permanent != c.permanent || own.Text != c.err.Error() {
				t.Errorf("Notify = %#v", err)
			}
		})
	}
	t.Run("a deadline that passed is the channel's failure to answer", func(t *testing.T) {
		r := sdktest.Dial(t, &echo{})
		ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		defer cancel()
		var own *sdk.ChannelError
		if err := r.Notify(ctx, sdk.Notice{}); err == nil || errors.As(err, &own) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Notify = %v", err)
		}
	})
}

func TestEachAnswerGetsItsOwnVerdict(t *testing.T) {
	const people = 200
	verdicts := make(chan string, people)
	e := &echo{answers: func(ctx context.Context, answer sdk.Answerer) error {
		var all sync.WaitGroup
		for i := range people {
			all.Go(func() {
				by := fmt.Sprintf("user-%d", i)
				status, err := answer(ctx, sdk.Answer{ID: "r1", By: by})
				var refused *sdk.Refused
				switch {
				case errors.As(err, &refused) && i%2 == 1 && refused.Reason == "not you, "+by:
				case err == nil && i%2 == 0 && status == "counted "+by:
				default:
					verdicts <- fmt.Sprintf("%s: %q, %v", by, status, err)
					return
				}
				verdicts <- ""
			})
		}
		all.Wait()
		<-ctx.Done()
		return ctx.Err()
	}}
	r := sdktest.Dial(t, e)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- r.Answers(ctx, func(_ context.Context, a sdk.Answer) (string, error) {
			var i int
			if _, err := fmt.Sscanf(a.By, "user-%d", &i); err != nil {
				return "", err
			}
			if i%2 == 1 {
				return "", &sdk.Refused{Reason: "not you, " + a.By}
			}
			return "counted " + a.By, nil
		})
	}()
	for range people {
		if v := <-verdicts; v != "" {
			t.Error(v)
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Answers = %v", err)
	}
}

func TestWhatFailsInsideIsNotShownToTheChannel(t *testing.T) {
	got := make(chan error, 1)
	r := sdktest.Dial(t, &echo{answers: func(ctx context.Context, answer sdk.Answerer) error {
		_, err := answer(ctx, sdk.Answer{ID: "r1"})
		got <- err
		return nil
	}})
	if err := r.Answers(t.Context(), func(context.Context, sdk.Answer) (string, error) {
		return "", errors.New("/var/lib/secret: disk full")
	}); err == nil {
		t.Error("Answers = nil when the channel has no more")
	}
	if err := <-got; err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("the channel was told %v", err)
	}
}

func TestAnswersEndWhereverTheOtherSideGoes(t *testing.T) {
	ended := make(chan error, 1)
	r := sdktest.Dial(t, &echo{answers: func(ctx context.Context, answer sdk.Answerer) error {
		_, err := answer(ctx, sdk.Answer{ID: "r1"})
		ended <- err
		return err
	}})
	ctx, cancel := context.WithCancel(t.Context())
	if err := r.Answers(ctx, func(ctx context.Context, _ sdk.Answer) (string, error) {
		cancel()
		return "", ctx.Err()
	}); err == nil {
		t.Error("Answers = nil")
	}
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the answer counted")
		}
	case <-time.After(3 * time.Minute):
		t.Error("the channel waits for a verdict that never comes")
	}
}

func TestDecodeIsStrict(t *testing.T) {
	for _, c := range []struct{ name, config, want string }{
		{"a repeated member", `{"good": true, "good": false}`, "duplicate"},
		{"an unknown member", `{"bad": true}`, "unknown"},
		{"another spelling", `{"GOOD": true}`, "unknown"},
		{"something after the object", `{} {}`, "after"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := (&echo{}).Configure(t.Context(), []byte(c.config))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Decode(%s) = %v, want an error that says %q", c.config, err, c.want)
			}
		})
	}
	if err := (&echo{}).Configure(t.Context(), nil); err != nil {
		t.Errorf("no configuration: %v", err)
	}
}
