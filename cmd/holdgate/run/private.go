package run

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/confine"
	"github.com/holdgate/holdgate/cmd/holdgate/launch"
)

// Contained says what becomes of what an agent changes, and what is hidden from
// it. It is for the strong confinement.
type Contained struct {
	Undo    bool // keep what it changes in the working folder
	Private bool // caches and settings that it changes are gone with it, and credentials are hidden
	// Demanded says that nothing starts where Private cannot be had; else that is
	// told, and proves nothing.
	Demanded bool
	Keep     []string // of what is private, what is kept all the same
	Show     []string // credentials that it may read
	Later    []string // of what runs later by itself, what it may change unasked all the same
}

// A private is what a run has of its own.
type private struct {
	layers *confine.Layers
	places []string // that are the run's own
	open   []string // that it can change for everybody
	hidden []string
	shown  bool // some credentials are not hidden
}

// beginPrivate makes a place for what the agent changes elsewhere, and finds
// what is to be hidden from it.
func (r *agent) beginPrivate(s *confine.Spec) error {
	if !r.Contained.Private {
		if len(r.Contained.Keep) > 0 {
			return &RefusedError{Text: "--keep says what is kept of a private run, and this one is none", Hint: "add --private"}
		}
		return nil
	}
	p := &private{}
	for _, path := range s.Write {
		switch {
		case within(path, s.Dir):
			if !s.Undo {
				p.open = append(p.open, path)
			}
		case r.named(path), within(s.Dir, path), within(r.Config.StateDir, path):
			p.open = append(p.open, path)
		default:
			p.places = append(p.places, path)
		}
	}
	for _, path := range r.Contained.Keep {
		if path = r.meant(path); !slices.ContainsFunc(p.places, func(place string) bool { return within(path, place) }) {
			return &RefusedError{Text: fmt.Sprintf("--keep %s lies in nothing that is private to the run", holdgate.Visible(path)), Hint: "these are: " + strings.Join(r.short(p.places), ", ")}
		}
	}
	var err error
	if p.hidden, p.shown, err = r.credentials(*s); err != nil {
		return err
	}
	s.Mask = append(s.Mask, p.hidden...)
	if p.layers, err = confine.OpenLayers(filepath.Join(r.Config.StateDir, "private"), p.places); err != nil {
		return err
	}
	s.Private, s.Layers, s.MayShare = p.places, p.layers.Dir(), !r.Contained.Demanded
	r.private = p
	return nil
}

// named reports whether the person let the agent write at a path.
func (r *agent) named(path string) bool {
	return slices.ContainsFunc(r.Write, func(w string) bool {
		real, err := realPath(w)
		return err == nil && real == path
	})
}

// meant is the path that a person has written, without links as far as it is
// there.
func (r *agent) meant(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		path = filepath.Join(r.Host.Getenv("HOME"), rest)
	} else if !filepath.IsAbs(path) {
		path = filepath.Join(r.o.Dir, path)
	}
	for dir, rest := filepath.Clean(path), ""; ; dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest) {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil {
			return filepath.Join(real, rest)
		}
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return filepath.Clean(path)
		}
	}
}

// short are paths as people write them.
func (r *agent) short(paths []string) (list []string) {
	home := r.Host.Getenv("HOME")
	for _, path := range paths {
		if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(home, "/")+"/"); ok && home != "" {
			path = "~/" + rest
		}
		list = append(list, holdgate.Visible(path))
	}
	return list
}

// proofs are what holds of the confined agent.
func (r *agent) proofs() (p holdgate.Proofs) {
	if r.box == nil {
		return p
	}
	p.Undo = r.undo != nil
	if r.private != nil {
		p.Private = sharedBy(r.box) == "" && len(r.private.open) == 0
		p.Hidden = !r.private.shown
	}
	return p.Of(r.Confinement)
}

// tell says what becomes of what the agent changes, and what it cannot read.
func (r *agent) tell(s confine.Spec) {
	if r.undo != nil {
		r.say("note: ", fmt.Sprintf("what changes in %s can be undone:", holdgate.Visible(s.Dir)), r.Command("undo", r.undo.run.ID))
	}
	p := r.private
	if p == nil {
		return
	}
	switch shared := sharedBy(r.box); {
	case shared != "":
		r.note("what changes in %s stays, and you are asked as without --private: %s", strings.Join(r.short(p.places), ", "), holdgate.Visible(shared))
	case len(p.places) > 0:
		r.note("what changes in %s is private to this run and goes with it; --keep PATH keeps some of it", strings.Join(r.short(p.places), ", "))
	}
	if len(p.open) > 0 {
		r.note("what changes in %s stays, and you are asked as without --private", strings.Join(r.short(p.open), ", "))
	}
	if n := len(p.hidden); n > 0 {
		list := r.short(p.hidden[:min(n, shownHidden)])
		if n > shownHidden {
			list = append(list, fmt.Sprintf("and %d more", n-shownHidden))
		}
		r.note("hidden from the agent: %s; --show PATH lets it read one", strings.Join(list, ", "))
	}
}

// shownHidden is how many hidden paths are listed.
const shownHidden = 6

// endPrivate keeps what is to be kept of what the agent changed, and says how
// much of its own settings goes. The agent has ended.
func (r *agent) endPrivate() (err error) {
	p := r.private
	if p == nil {
		return nil
	}
	if sharedBy(r.box) == "" {
		kept := map[string]int{}
		for _, path := range r.Contained.Keep {
			n, kerr := p.layers.Keep(r.meant(path))
			if kerr != nil {
				err = errors.Join(err, fmt.Errorf("keeping what the agent changed: %w", kerr))
				continue
			}
			r.result("kept %s at %s", files(n), holdgate.Visible(path))
			kept[r.meant(path)] += n
		}
		r.tellGone(kept)
	}
	return errors.Join(err, p.layers.Remove())
}

// tellGone says what of the agent's own settings goes with the run. kept are the
// files that were kept, by path.
func (r *agent) tellGone(kept map[string]int) {
	caches, gone := launch.Caches(r.Host.Getenv("HOME")), false
	for i, place := range r.private.places {
		if slices.ContainsFunc(caches, func(cache string) bool { return r.meant(cache) == place }) {
			continue
		}
		n := r.private.layers.Changed(place)
		for path, files := range kept {
			if within(path, place) {
				n -= files
			}
		}
		if n > 0 {
			r.result("%s that the agent changed in %s went with the run", files(n), r.short(r.private.places)[i])
			gone = true
		}
	}
	if gone {
		r.result("to keep such files next time, conversations and logins among them, name them with --keep PATH")
	}
}

func files(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}

// within reports whether path is dir or lies in it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// sharedBy says why what was to be private is not; empty: it is, or nothing runs.
func sharedBy(b *confine.Sandbox) string {
	if b == nil {
		return ""
	}
	return b.Shared
}
