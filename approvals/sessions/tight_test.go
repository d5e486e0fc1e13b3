package sessions_test

import (
	"slices"
	"testing"
	"time"

	"github.com/holdgate/holdgate/approvals/sessions"
)

func TestWhatIsTightStaysSo(t *testing.T) {
	early, late := time.Now().Add(-time.Hour), time.Now()
	t.Run("what the agent asked of itself is less than all sessions begin with now", func(t *testing.T) {
		r := sessions.New("a", "s", early)
		if err := r.Tighten(line(0.5), auto); err != nil {
			t.Fatal(err)
		}
		if got := r.Setting(manual); got != manual {
			t.Errorf("the mode is %+v", got)
		}
	})
	t.Run("a mode that nobody knows asks most", func(t *testing.T) {
		r, o := sessions.New("a", "s", early), sessions.New("a", "o", early)
		o.Set, o.SetAt = sessions.Setting{Mode: "stricter"}, late
		if got := r.SettingAmong([]*sessions.Record{o}, manual); got != o.Set {
			t.Errorf("the mode is %+v", got)
		}
	})
	t.Run("a gate that comes to be needed again is not passed", func(t *testing.T) {
		r := sessions.New("a", "s", early)
		r.Pass(sessions.Passed{Gate: sessions.GateConfidence, At: early})
		r.Need(sessions.GateConfidence, late)
		if r.HasPassed(sessions.GateConfidence) || !slices.Contains(r.Needed, sessions.GateConfidence) {
			t.Errorf("%+v", r)
		}
	})
	t.Run("a gate that another session needs", func(t *testing.T) {
		for _, c := range []struct {
			name           string
			passed, needed time.Time
			want           int
		}{{"and this one passed before", early, late, 1}, {"and this one has passed since", late, early, 0}} {
			r, o := sessions.New("a", "s", early), sessions.New("a", "o", early)
			r.Pass(sessions.Passed{Gate: sessions.GateIntent, At: c.passed})
			o.Need(sessions.GateIntent, c.needed)
			if got := r.NeededAmong([]*sessions.Record{o}); len(got) != c.want {
				t.Errorf("%s: %v", c.name, got)
			}
		}
	})
	t.Run("how an agent's tools ended is not that of one which only says its name", func(t *testing.T) {
		r := sessions.New("a", "s", early)
		r.Revision, r.Results = 1, "+++"
		if got := r.For(true).Results; got != "" {
			t.Errorf("it is %q", got)
		}
	})
}
