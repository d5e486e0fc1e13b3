package slack

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// called are the users whom a message mentions.
func called(raw json.RawMessage) (ids []string) {
	for _, b := range parseBlocks(raw) {
		for _, section := range b.Elements {
			for _, e := range section.Elements {
				if e.Type == "user" {
					ids = append(ids, e.UserID)
				}
			}
		}
	}
	return ids
}

// Whom Holdgate's own configuration names is called and heard, without being
// named in the channel's.
func TestThePeopleOfTheConfigurationAreCalledAndHeard(t *testing.T) {
	for _, c := range []struct {
		name       string
		to, voters []string
		called     []string
	}{
		{"nobody is mapped", nil, nil, []string{ann, bob}},
		{"some may approve", nil, []string{eve}, []string{eve}},
		{"some are to be told", []string{bob}, []string{eve, bob}, []string{bob}},
		{"to be told is one who may approve", []string{eve}, []string{eve}, []string{eve}},
		{"to be told is nobody who may answer here", []string{eve}, []string{bob}, []string{bob}},
		{"what is no user is not called", []string{"!here"}, []string{"ada@example.com"}, []string{ann, bob}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, false)
			n := asking("r1")
			n.To, n.Voters = c.to, c.voters
			r.notify(n)
			m := r.message("r1")
			if got := called(m.Blocks); !slices.Equal(got, c.called) {
				t.Errorf("called are %v, want %v", got, c.called)
			}
			r.press(eve, m, "approve")
			if !slices.Contains(c.voters, eve) {
				r.told(eve, "does not count")
				r.press(ann, m, "approve")
				if got := r.given(1)[0].By; got != ann {
					t.Errorf("the answer is by %s", got)
				}
				return
			}
			if got := r.given(1)[0]; got.By != eve || got.Decision != sdk.Approve {
				t.Errorf("the answer is %+v", got)
			}
			r.press(eve, m, "deny")
			r.submit(eve, 0, map[string]string{"reason": "no"})
			r.given(2)
			n.Voters = nil // it is no longer for them
			r.update(n)
			r.press(eve, m, "approve")
			r.told(eve, "does not name you")
			if errs := r.submit(eve, 0, map[string]string{"reason": "no"}); !strings.Contains(errs["reason"], "does not count") {
				t.Errorf("the dialog says %v", errs)
			}
		})
	}
}

// After a restart those whom only Holdgate knows are heard once it has told of
// the request again.
func TestThePeopleOfTheConfigurationAreHeardAfterARestart(t *testing.T) {
	t.Parallel()
	r := newRig(t, true)
	n := asking("r1")
	n.Voters = []string{eve}
	r.notify(n)
	m := r.message("r1")
	r.stop()
	r.start()
	r.press(eve, m, "approve")
	r.told(eve, "try again in a moment")
	r.notify(n)
	r.press(eve, m, "approve")
	if got := r.given(1); len(got) != 1 || got[0].By != eve {
		t.Errorf("the answers are %+v", got)
	}
}

// Where nobody could answer, the message says so.
func TestAMessageThatNobodyMayAnswerSaysSo(t *testing.T) {
	t.Parallel()
	r := newRig(t, false)
	r.c.conf.Users = nil
	r.notify(asking("r1"))
	if m := r.message("r1"); !strings.Contains(string(m.Blocks), "Nobody who may answer is named for this channel") {
		t.Errorf("the message is %s", m.Blocks)
	}
}
