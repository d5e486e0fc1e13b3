package exec

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

// script is a configuration that runs a shell script.
func script(text string, more ...string) string {
	command, _ := json.Marshal([]string{"/bin/sh", "-c", text})
	return fmt.Sprintf(`{"command": %s, "user": "ann"%s}`, command, strings.Join(more, ""))
}

func TestConformance(t *testing.T) {
	sdktest.Run(t, sdktest.Subject{
		New:  func(*testing.T) sdk.Channel { return New(slog.New(slog.DiscardHandler)) },
		Good: func(*testing.T) string { return script("read request") },
		Bad: map[string]string{
			"no command":              `{}`,
			"a command that is none":  `{"command": ["/nowhere/to/be/found"]}`,
			"a relative command":      `{"command": ["sh"]}`,
			"an unknown answer":       `{"command": ["/bin/sh"], "answers": ["shrug"]}`,
			"a variable without name": `{"command": ["/bin/sh"], "env": {"": "x"}}`,
		},
	})
}

// A desk is a channel and what it hands over.
type desk struct {
	*Channel
	answers chan sdk.Answer
	verdict func(sdk.Answer) (string, error)
}

func open(t *testing.T, config string) *desk {
	t.Helper()
	d := &desk{
		Channel: New(slog.New(slog.DiscardHandler)), answers: make(chan sdk.Answer, 8),
		verdict: func(sdk.Answer) (string, error) { return "denied", nil },
	}
	d.settle, d.grace = time.Minute, 10*time.Second
	if err := d.Configure(t.Context(), []byte(config)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- d.Answers(ctx, func(_ context.Context, a sdk.Answer) (string, error) {
			d.answers <- a
			return d.verdict(a)
		})
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		if len(d.running) > 0 {
			t.Errorf("%d commands run on", len(d.running))
		}
	})
	return d
}

func TestACommandsAnswers(t *testing.T) {
	n := sdktest.Notice("req-1")
	for _, tt := range []struct {
		name, prints string
		want         sdk.Answer
	}{
		{"deny, with a reason", `{"decision":"deny","reason":"not today"}`, sdk.Answer{Decision: sdk.Deny, By: "ann", Reason: "not today"}},
		{"steer, by somebody else", `{"decision":"steer","instructions":"use trash","by":"bob"}`, sdk.Answer{Decision: sdk.Steer, By: "bob", Instructions: "use trash"}},
		{"what binds it is not the command's to say", `{"decision":"deny","nonce":"n","digest":"d","id":"req-1"}`, sdk.Answer{Decision: sdk.Deny, By: "ann"}},
		{"without a line's end", `{"decision":"deny"}`, sdk.Answer{Decision: sdk.Deny, By: "ann"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := open(t, script("read request; printf '%s' '"+tt.prints+"'"))
			if err := d.Notify(t.Context(), n); err != nil {
				t.Fatal(err)
			}
			tt.want.ID, tt.want.Nonce, tt.want.Digest = n.ID, n.Nonce, n.Digest
			if got := <-d.answers; got != tt.want {
				t.Errorf("answer %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestACommandIsToldOfItsAnswersAndOfTheEnd(t *testing.T) {
	heard := filepath.Join(t.TempDir(), "heard")
	d := open(t, script(`echo '{"decision":"approve"}'; echo '{"decision":"deny"}'; cat >`+heard))
	d.verdict = func(sdk.Answer) (string, error) { return "", &sdk.Refused{Reason: "you have no role"} }
	n := sdktest.Notice("req-1")
	if err := d.Notify(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	<-d.answers
	lines := follow(t, heard, 3)
	for _, want := range []string{`"type":"requested"`, `\"approve\" is not among the answers`, "you have no role"} {
		if !strings.Contains(strings.Join(lines, "\n"), want) {
			t.Errorf("it was told %q, want a line with %s", lines, want)
		}
	}
	if err := d.Update(t.Context(), sdktest.Ended(n)); err != nil {
		t.Fatal(err)
	}
	if last := follow(t, heard, 4)[3]; !strings.Contains(last, `"type":"updated"`) || !strings.Contains(last, `"status":"denied"`) {
		t.Errorf("the last line is %s", last)
	}
	if err := d.Health(t.Context()); err != nil {
		t.Errorf("Health: %v: that it was ended is no failure", err)
	}
}

// follow waits until a file has so many lines.
func follow(t *testing.T, path string, n int) []string {
	t.Helper()
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		var lines []string
		if f, err := os.Open(path); err == nil {
			for s := bufio.NewScanner(f); s.Scan(); {
				lines = append(lines, s.Text())
			}
			_ = f.Close()
		}
		if len(lines) >= n {
			return lines
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("%s has %d lines: %q", path, len(lines), lines)
		}
	}
}

func TestOnlyConfiguredAnswersCount(t *testing.T) {
	n := sdktest.Notice("req-1")
	d := open(t, script(`read request; echo '{"decision":"approve"}'; read verdict`, `, "answers": ["approve"]`))
	d.verdict = func(sdk.Answer) (string, error) { return "approved", nil }
	if err := d.Notify(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if got := <-d.answers; got.Decision != sdk.Approve {
		t.Errorf("answer %+v", got)
	}
}

func TestACommandThatFails(t *testing.T) {
	for _, tt := range []struct{ name, script, want string }{
		{"with a status", "echo 'no display' >&2; exit 3", "exit status 3: no display"},
		{"with what is no answer", "echo yes; sleep 300", "cannot be read"},
		{"with a line without end", "head -c 100000 /dev/zero; sleep 300", "a line of over"},
		{"with an unknown member", `echo '{"decision":"deny","force":true}'`, "force"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := open(t, script(tt.script))
			err := d.Notify(t.Context(), sdktest.Notice("req-1"))
			for d.Health(t.Context()) == nil { // it may have failed after people counted as told
				time.Sleep(time.Millisecond)
			}
			if err == nil {
				err = d.Health(t.Context())
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one that says %q", err, tt.want)
			}
			if errors.Is(err, sdk.ErrPermanent) {
				t.Error("it is not tried again")
			}
		})
	}
}

func TestACommandGoesWithAllThatItStarted(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	d := open(t, script("trap '' TERM; sleep 300 & echo $! > "+pid+"; echo; wait"))
	d.grace = 50 * time.Millisecond
	n := sdktest.Notice("req-1")
	if err := d.Notify(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	child := follow(t, pid, 1)[0]
	if err := d.Update(t.Context(), sdktest.Ended(n)); err != nil {
		t.Fatal(err)
	}
	for {
		stat, err := os.ReadFile("/proc/" + child + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func TestANoticeThatComesAgainReplacesTheCommand(t *testing.T) {
	d := open(t, script("read request; echo; read more"))
	n := sdktest.Notice("req-1")
	for range 3 {
		if err := d.Notify(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.running) != 1 {
		t.Errorf("%d commands run", len(d.running))
	}
}

func TestWhatACommandSees(t *testing.T) {
	t.Setenv("HOLDGATE_CHANNEL", "cookie")
	t.Setenv("SECRET", "s")
	out := filepath.Join(t.TempDir(), "env")
	d := open(t, script("env > "+out, `, "env": {"DISPLAY": ":7"}`))
	if err := d.Notify(t.Context(), sdktest.Notice("req-1")); err != nil {
		t.Fatal(err)
	}
	env, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(env); !strings.Contains(s, "DISPLAY=:7\n") || strings.Contains(s, "SECRET") || strings.Contains(s, "HOLDGATE") {
		t.Errorf("the command's environment:\n%s", s)
	}
}
