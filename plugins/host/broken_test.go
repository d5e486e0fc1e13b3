package host

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
)

func TestABrokenChannelHarmsNobodyElse(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"panic", "exit", "hang"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.edit = func(c *channel) {
				if c.c.Name == "broken" {
					c.d.notify = 200 * time.Millisecond // all that hanging takes
				}
			}
			h := b.run(
				b.puppet("broken", script{Name: "broken", Notify: how, On: "poison"}),
				b.puppet("good", script{Name: "good"}),
			)
			told := func(who string, r approvals.Request) {
				t.Helper()
				for n := b.next("notify"); n.Name != who || n.Notice.ID != r.ID; {
					n = b.next("notify")
				}
			}
			poison := b.ask("poison")
			told("broken", poison)
			next := b.ask("rm -rf build")
			told("good", next)
			told("broken", next) // it comes back, and takes what comes next
			if s := h.Status()[0]; s.Restarts == 0 {
				t.Errorf("status %+v, want a restart", s)
			}
			if s := h.Status()[1]; s.Restarts != 0 {
				t.Errorf("status %+v, want no restart", s)
			}
		})
	}
}

func TestAnEventThatBreaksTheChannelIsLeftOutInTheEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run(b.puppet("broken", script{Notify: "exit", On: "poison"}))
	poison := b.ask("poison")
	next := b.ask("rm -rf build")
	times := 0
	for {
		n := b.next("notify").Notice
		if n.ID == next.ID {
			break
		}
		if n.ID != poison.ID {
			t.Fatalf("told of %s", n.ID)
		}
		if times++; times > maxBreakdowns {
			break
		}
	}
	if times != maxBreakdowns {
		t.Errorf("the channel was told of it %d times, want %d", times, maxBreakdowns)
	}
	b.log.contains(t, "which is left out")
	b.log.contains(t, "exit status 3")
}

func TestAFloodIsSlowedDown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run(b.puppet("liar", script{Answers: []string{"flood"}}))
	began := time.Now()
	b.ask("rm -rf build")
	for range answers + answerRate {
		if v := b.next("verdict"); !strings.Contains(v.Err, "never asked") {
			t.Fatalf("verdict %q", v.Err)
		}
	}
	if took := time.Since(began); took < time.Second {
		t.Errorf("%d answers were taken in %v", answers+answerRate, took)
	}
}

func TestAMessageOverTheLimitEndsTheChannelAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.run(b.puppet("liar", script{Answers: []string{"huge"}}))
	r := b.ask("rm -rf build")
	first := b.next("notify").Pid
	for b.next("notify").Pid == first {
		// the next process is told of it again
	}
	if got := b.request(r.ID); got.Status != holdgate.StatusPending || len(got.Votes) > 0 {
		t.Errorf("the request is %s with votes %v", got.Status, got.Votes)
	}
	if h.Status()[0].Restarts == 0 {
		t.Error("it was not restarted")
	}
}

func TestWhatAChannelWritesCannotHarmTheLog(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run(b.puppet("liar", script{Start: "garbage", Answers: []string{"approve"}}))
	b.ask("rm -rf build")
	if v := b.next("verdict"); v.Status != "approved" {
		t.Errorf("verdict %q %q", v.Status, v.Err)
	}
	b.end()
	log := b.log.String()
	if strings.ContainsAny(log, "\x1b\x07\u202e") {
		t.Error("control characters reached the log")
	}
	if len(log) > 64<<10 {
		t.Errorf("the log has %d bytes", len(log))
	}
	b.log.contains(t, "⟨U+001B⟩]0;owned")
}

func TestAChannelThatRefusesItsConfigurationSaysWhy(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	err := Check(t.Context(), b.puppet("puppet", script{Start: "refuse"}), nil)
	if err == nil || !strings.Contains(err.Error(), "configuring it: this⟨U+001B⟩[2J cannot work") {
		t.Errorf("Check = %v", err)
	}
}

func TestAChannelOfUnknownAssuranceDoesNotRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ch := b.puppet("puppet", script{})
	ch.Command = append(ch.Command, "unknown-assurance")
	if err := Check(t.Context(), ch, nil); err == nil || !strings.Contains(err.Error(), "assurance") {
		t.Errorf("Check = %v", err)
	}
}

func TestWhatAChannelStartedEndsWithIt(t *testing.T) {
	t.Parallel()
	b := newBench(t) // sees that no process group is left
	if err := Check(t.Context(), b.puppet("puppet", script{Start: "child"}), nil); err == nil {
		t.Error("Check = nil, want an error")
	}
	b.next("configured")
}

func TestAProgramThatIsNoChannelIsEnded(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Run("whatever it does", testNoChannels)
	if left, _ := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "plugin*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func testNoChannels(t *testing.T) {
	const silent = "exec sleep 300"
	for _, c := range []struct{ name, script, want string }{
		{"it ends at once", "exit 7", "starting it"},
		{"it says something else", "echo hello; exec sleep 300", "starting it"},
		{"it names an address elsewhere", "echo '1|1|tcp|127.0.0.1:7301|grpc|'; exec sleep 300", "not a socket in the folder"},
		{"it names a socket elsewhere", "echo '1|1|unix|/run/user/1/bus|grpc|'; exec sleep 300", "not a socket in the folder"},
		{"it speaks another protocol", "echo '1|1|unix|'$PLUGIN_UNIX_SOCKET_DIR'/s|netrpc|'; exec sleep 300", "unsupported plugin protocol"},
		{"it speaks another version", "echo '1|9|unix|'$PLUGIN_UNIX_SOCKET_DIR'/s|grpc|'; exec sleep 300", "incompatible API version"},
		{"it says nothing", silent, "starting it"},
		{"nobody serves its socket", "echo '1|1|unix|'$PLUGIN_UNIX_SOCKET_DIR'/s|grpc|'; exec sleep 300", "no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := usualDeadlines()
			d.start, d.end = time.Minute, time.Second
			if c.script == silent {
				d.start = time.Second
			}
			ch := Channel{Name: "sh", Command: []string{"/bin/sh", "-c", c.script}}
			p, err := start(t.Context(), ch, d, slog.New(slog.DiscardHandler))
			if err == nil {
				p.terminate()
				t.Fatal("it was started")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("start = %v, want an error that says %q", err, c.want)
			}
		})
	}
}

func TestStartingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := start(ctx, Channel{Name: "sh", Command: []string{"/bin/sh", "-c", "exec sleep 300"}}, usualDeadlines(), slog.New(slog.DiscardHandler))
	if err == nil || time.Since(began) > time.Minute {
		t.Errorf("start = %v after %v", err, time.Since(began))
	}
}

func TestWhatAProcessLeavesBehindIsEnded(t *testing.T) {
	t.Parallel()
	c := newChild(exec.Command("/bin/sh", "-c", "sleep 300 & exit 0"), t.TempDir(), func(r io.Reader) { _, _ = io.Copy(io.Discard, r) })
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer c.closePipes()
	// What was left behind holds the pipe open for as long as it lives.
	if _, err := io.ReadAll(c.stdout); err != nil {
		t.Errorf("reading to the end: %v", err)
	}
	<-c.done
}

func TestAProcessThatWasEndedIsNotStarted(t *testing.T) {
	t.Parallel()
	c := newChild(exec.Command("/bin/sh", "-c", "sleep 300"), t.TempDir(), func(io.Reader) {})
	if err := c.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err == nil || c.started() {
		t.Errorf("Start = %v", err)
	}
}
