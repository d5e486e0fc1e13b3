package rego

import (
	"path"
	"slices"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts"
	"github.com/holdgate/holdgate/rego/facts/collect"
)

// later is what a call may change of what runs later by itself, once it goes on: what its
// facts name, which policy or people have judged. It counts where such changes are kept
// from all others, and is nil elsewhere.
func (p *policy) later(in Input, f facts.Facts) *holdgate.Later {
	if in.Call.Kind != holdgate.KindToolCall || in.Call.Result != nil || !in.Call.Agent.Undo {
		return nil
	}
	l := holdgate.Later{Git: (in.Shell == "" || in.Shell == in.Dir) && len(f.ParseErrors) == 0 && !f.Evaluates && checksOut(f.Commands, in.Dir)}
	for _, at := range f.Paths {
		if !at.Inside || at.Access == collect.AccessRead {
			continue
		}
		clean := at.Clean
		if !path.IsAbs(clean) {
			clean = path.Join(in.Dir, clean)
		}
		switch {
		case at.Access == collect.AccessDelete, at.Leaves:
			if clean != path.Clean(in.Dir) {
				l.Gone = append(l.Gone, clean)
			}
		case at.Class == collect.ClassPersistence:
			l.Paths = append(l.Paths, clean)
		}
	}
	if len(f.Commands) > 0 {
		l.All = slices.ContainsFunc(p.shown(in.Call, f), func(e holdgate.Effect) bool { return e.Later })
	}
	if l.None() {
		return nil
	}
	return &l
}
