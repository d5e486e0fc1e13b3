package sessions

import (
	"slices"
	"time"
)

// A session's name is its client's word: whoever begins another must not leave
// behind what people have said, or what it was brought to. So what a session of
// an agent must do, its other sessions must do too, unless a person has said that
// it is to stand alone ([Record.Alone]).

// Binds reports whether the record says something that holds for the agent's other
// sessions as well, besides a halt.
func (r *Record) Binds() bool { return r.Set.Mode != "" || len(r.Needed) > 0 || len(r.Taint) > 0 }

// SettingAmong is [Record.Setting], or the strictest that people have set for
// other sessions of the agent: each counts until people set a mode for this very
// session, later than that.
func (r *Record) SettingAmong(others []*Record, begin Setting) Setting {
	s := r.Setting(begin)
	for _, o := range others {
		if o.ID != r.ID && !o.Alone && o.Set.Mode != "" && (r.Set.Mode == "" || o.SetAt.After(r.SetAt)) {
			s = stricter(s, o.Set)
		}
	}
	return s
}

// SettingWith is the session whose mode, set by people, this one has with it; nil
// where it has its own.
func (r *Record) SettingWith(others []*Record, begin Setting) *Record {
	s, own := r.SettingAmong(others, begin), r.Setting(begin)
	for _, o := range others {
		if s != own && o.ID != r.ID && !o.Alone && o.Set == s && (r.Set.Mode == "" || o.SetAt.After(r.SetAt)) {
			return o
		}
	}
	return nil
}

// NeededAmong lists the gates that must be passed before the session changes
// anything, those included that another session of the agent needs to pass and
// this one has not passed since.
func (r *Record) NeededAmong(others []*Record) []string {
	needed := slices.Clone(r.Needed)
	for _, o := range others {
		for _, g := range o.Needed {
			if r.needsWith(o, g) && !slices.Contains(needed, g) {
				needed = append(needed, g)
			}
		}
	}
	return needed
}

// NeededWith is the session with which this one must pass the gate; nil where it
// must by itself, or need not.
func (r *Record) NeededWith(others []*Record, gate string) *Record {
	i := slices.IndexFunc(others, func(o *Record) bool { return slices.Contains(o.Needed, gate) && r.needsWith(o, gate) })
	if i < 0 || slices.Contains(r.Needed, gate) {
		return nil
	}
	return others[i]
}

// needsWith reports whether the session must pass a gate that another needs to pass.
func (r *Record) needsWith(o *Record, gate string) bool {
	return o.ID != r.ID && !o.Alone && !r.passedSince(gate, o)
}

// taintLasts is how long what one session has been in touch with counts for the
// agent's others, from when it was in use last: a session that began anew has read
// nothing, unless it is the old one under another name.
const taintLasts = time.Hour

// TaintAmong lists what the session has been in touch with, and what other sessions
// of the agent were whose TaintedAt is in the last hour, sorted.
func (r *Record) TaintAmong(others []*Record, now time.Time) []string {
	all := slices.Clone(r.Taint)
	for _, o := range others {
		if o.ID != r.ID && now.Sub(o.TaintedAt) < taintLasts {
			all = append(all, o.Taint...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (r *Record) passedSince(gate string, o *Record) bool {
	return slices.ContainsFunc(r.Passed, func(p Passed) bool { return p.Gate == gate && p.At.After(o.NeededAt) })
}

// stricter is the setting that asks more. Where that cannot be told, for one line
// is the policy's own, everything is asked.
func stricter(a, b Setting) Setting {
	switch {
	case a.asksAsMuch(b):
		return a
	case b.asksAsMuch(a):
		return b
	}
	return Setting{Mode: ModeManual}
}
