package exec

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/document"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

const patience = 3 * time.Minute

// answered waits for an answer.
func (d *desk) answered(t *testing.T) sdk.Answer {
	t.Helper()
	select {
	case a := <-d.answers:
		return a
	case <-time.After(patience):
		t.Fatal("nothing was answered")
		return sdk.Answer{}
	}
}

func TestEveryAnswerCanBeGiven(t *testing.T) {
	t.Parallel()
	all := `, "answers": ["approve", "deny", "steer", "choose", "edit", "claim", "unclaim", "seen"]`
	for _, c := range []struct {
		prints string
		want   sdk.Answer
	}{
		{`{"decision":"approve"}`, sdk.Answer{Decision: sdk.Approve}},
		{`{"decision":"choose","choice":"b"}`, sdk.Answer{Decision: sdk.Choose, Choice: "b"}},
		{`{"decision":"choose","choice":"o","instructions":"mine"}`, sdk.Answer{Decision: sdk.Choose, Choice: "o", Instructions: "mine"}},
		{`{"decision":"edit","arguments":{"command":"ls"}}`, sdk.Answer{Decision: sdk.Edit, Arguments: `{"command":"ls"}`}},
		{`{"decision":"claim"}`, sdk.Answer{Decision: sdk.Claim}},
		{`{"decision":"unclaim"}`, sdk.Answer{Decision: sdk.Unclaim}},
		{`{"decision":"seen"}`, sdk.Answer{Decision: sdk.Seen}},
	} {
		t.Run(c.prints, func(t *testing.T) {
			t.Parallel()
			d := open(t, script("read request; echo '"+c.prints+"'", all))
			n := sdktest.Notice("r1")
			n.Answers = []string{sdk.Approve, sdk.Choose, sdk.Edit, sdk.Claim, sdk.Unclaim, sdk.Seen}
			if err := d.Notify(t.Context(), n); err != nil {
				t.Fatal(err)
			}
			c.want.ID, c.want.Nonce, c.want.Digest, c.want.By = n.ID, n.Nonce, n.Digest, "ann"
			if got := d.answered(t); got != c.want {
				t.Errorf("answer %+v, want %+v", got, c.want)
			}
		})
	}
}

// What a command says of a request that is not its own, or says a second time,
// is refused to it, or is for Holdgate to refuse; it never becomes another answer.
func TestForgedAndRepeatedAnswers(t *testing.T) {
	t.Parallel()
	heard := filepath.Join(t.TempDir(), "heard")
	d := open(t, script(`echo '{"id":"another","decision":"deny"}'; echo '{"decision":"deny"}'; echo '{"decision":"deny"}'; cat >`+heard))
	d.verdict = func() func(sdk.Answer) (string, error) {
		given := 0
		return func(sdk.Answer) (string, error) {
			if given++; given > 1 {
				return "denied", &sdk.Refused{Reason: "it has been decided"}
			}
			return "denied", nil
		}
	}()
	if err := d.Notify(t.Context(), sdktest.Notice("r1")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if a := d.answered(t); a.ID != "r1" || a.Nonce != "nonce-of-r1" {
			t.Errorf("answered %+v", a)
		}
	}
	lines := strings.Join(follow(t, heard, 4), "\n")
	for _, want := range []string{"another request than", `"status":"denied"}`, "it has been decided"} {
		if !strings.Contains(lines, want) {
			t.Errorf("it was told %s, want %s", lines, want)
		}
	}
}

func TestACommandHearsHowItsRequestEnds(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"denied", "expired", "cancelled"} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			heard := filepath.Join(t.TempDir(), "heard")
			d := open(t, script(`echo; cat >`+heard))
			n := sdktest.Notice("r1")
			if err := d.Notify(t.Context(), n); err != nil {
				t.Fatal(err)
			}
			voted := n
			voted.Votes, voted.Quorum, voted.Event = 1, 2, sdk.Voted
			ended := sdktest.Ended(n)
			ended.Status = status
			if err := errors.Join(d.Update(t.Context(), voted), d.Update(t.Context(), ended)); err != nil {
				t.Fatal(err)
			}
			lines := follow(t, heard, 3)
			if !strings.Contains(lines[1], `"votes":1`) || !strings.Contains(lines[2], `"status":"`+status+`"`) {
				t.Errorf("it was told %q", lines)
			}
		})
	}
}

// Between question and answer the channel is ended with its commands; the new
// one is told again, and its command's answer carries what binds it.
func TestARestartBetweenQuestionAndAnswer(t *testing.T) {
	t.Parallel()
	once := filepath.Join(t.TempDir(), "once")
	config := script(`read request; if [ -e ` + once + ` ]; then echo '{"decision":"deny"}'; else touch ` + once + `; echo; cat; fi`)
	n := sdktest.Notice("r1")
	t.Run("asked", func(t *testing.T) { // its channel ends with it
		if err := open(t, config).Notify(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	})
	d := open(t, config)
	if err := d.Notify(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if a := d.answered(t); a.Nonce != n.Nonce || a.Digest != n.Digest || a.Decision != sdk.Deny {
		t.Errorf("answered %+v", a)
	}
}

// A command gets each text as it is, in one line of JSON.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	texts := sdktest.Hostile()
	if len(texts) < 60 {
		t.Fatalf("%d texts", len(texts))
	}
	heard := filepath.Join(t.TempDir(), "heard")
	d := open(t, script(`exec cat >>`+heard))
	d.settle, d.grace = time.Millisecond, patience
	for i, s := range texts {
		n := sdktest.Unkind(sdktest.Notice(fmt.Sprintf("h%d", i)), s)
		if err := errors.Join(d.Notify(t.Context(), n), d.Update(t.Context(), sdktest.Ended(n))); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
	}
	lines := follow(t, heard, 2*len(texts))
	for i, s := range texts {
		var e struct {
			Type    string          `json:"type"`
			Request document.Notice `json:"request"`
		}
		if err := json.Unmarshal([]byte(lines[2*i]), &e); err != nil {
			t.Fatalf("%q: %v: %s", s, err, lines[2*i])
		}
		want := strings.ToValidUTF8(s, "\uFFFD")
		if r := e.Request; e.Type != "requested" || r.Risk != "medium" || r.Summary != want && s != "\xff\xfe" || len(lines) != 2*len(texts) {
			t.Errorf("%q: %+v of %d", s, e, len(lines))
		}
	}
}

// A command that has told people and ended is started again at the end of its
// request, where that is configured.
func TestACommandThatHasEndedHearsHowItsRequestEnded(t *testing.T) {
	t.Parallel()
	for _, follows := range []bool{true, false} {
		t.Run(fmt.Sprint(follows), func(t *testing.T) {
			t.Parallel()
			heard := filepath.Join(t.TempDir(), "heard")
			d := open(t, script(`cat >>`+heard, fmt.Sprintf(`, "ended": %v`, follows)))
			d.settle = 0 // it reads on and prints nothing
			n := sdktest.Notice("r1")
			if err := d.Notify(t.Context(), n); err != nil {
				t.Fatal(err)
			}
			d.stop("r1") // as a command that ends by itself
			voted, ended := n, sdktest.Ended(n)
			voted.Votes, voted.Event = 1, sdk.Voted
			d.settle = time.Minute
			if err := errors.Join(d.Update(t.Context(), voted), d.Update(t.Context(), ended)); err != nil {
				t.Fatal(err)
			}
			want := []string{`{"type":"requested"`}
			if follows {
				want = append(want, `{"type":"ended"`)
			}
			lines := follow(t, heard, len(want))
			for i, l := range lines {
				if !strings.HasPrefix(l, want[i]) {
					t.Errorf("line %d is %s", i, l)
				}
			}
			if follows && !strings.Contains(lines[1], `"status":"denied"`) {
				t.Errorf("it was told %s", lines[1])
			}
		})
	}
}

// Where the end could not be told it is told again.
func TestAnEndThatTheCommandDoesNotTellIsAnError(t *testing.T) {
	t.Parallel()
	d := open(t, script(`read line; echo "no printer" >&2; exit 3`, `, "ended": true`))
	if err := d.Update(t.Context(), sdktest.Ended(sdktest.Notice("r1"))); err == nil || !strings.Contains(err.Error(), "no printer") {
		t.Errorf("Update = %v", err)
	}
}
