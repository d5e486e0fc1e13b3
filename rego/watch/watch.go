// Package watch says when files have changed and have come to rest: a file may be
// half written, or about to be replaced by renaming another.
package watch

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settle is how long files must stay as they are before they are taken up.
	settle = 100 * time.Millisecond
	// poll is how often files are read without any sign of a change: some file
	// systems give none.
	poll = 5 * time.Second
)

// Files are what is watched.
type Files struct {
	// Path is a file, or a folder with all that is in it, but for what a name hides
	// that begins with a dot. It need not be there.
	Path string
	// What names them in warnings, as "the policy".
	What string
	// Read reads them and says what they are, in a text that is another where
	// anything has changed. Take takes up what was read last, once two readings agree
	// and say something else than Seen or than what was taken up before. Both are
	// called by Run alone, one at a time.
	Read   func() string
	Take   func(context.Context)
	Seen   string
	Now    <-chan os.Signal // asks for a look at once; may be nil
	Logger *slog.Logger
}

// Run watches until ctx ends.
func (f Files) Run(ctx context.Context) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		f.Logger.Warn("watching "+f.What+" by reading it again and again", "every", poll, "err", err)
		w = &fsnotify.Watcher{} // whose channels never say anything
	} else {
		defer w.Close()
	}
	s := steady{taken: f.Seen}
	timer := time.NewTimer(0) // what changed since the files were read last
	defer timer.Stop()
	soon := true // a look is due within settle: further events do not put it off
	hurry := func() {
		if !soon {
			soon = true
			timer.Reset(settle)
		}
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.Events:
			hurry()
		case <-f.Now:
			hurry()
		case err := <-w.Errors:
			f.Logger.Warn("watching "+f.What, "err", err)
			hurry()
		case <-timer.C:
			if w.Events != nil {
				f.add(w)
			}
			take, rest := s.sees(f.Read())
			if take {
				f.Take(ctx)
			}
			if soon = !rest; soon {
				timer.Reset(settle)
			} else {
				timer.Reset(poll)
			}
		}
	}
}

// add adds the folders of the files to the watcher: folders rather than files, for
// editors and Kubernetes replace files by renaming others. What cannot be watched is
// found by polling.
func (f Files) add(w *fsnotify.Watcher) {
	_ = w.Add(filepath.Dir(f.Path))
	resolved, err := filepath.EvalSymlinks(f.Path)
	if err != nil {
		return
	}
	_ = filepath.WalkDir(resolved, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil
		}
		if p != resolved && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		_ = w.Add(p)
		return nil
	})
}

// steady compares what files say with what was last taken up.
type steady struct {
	taken     string
	candidate string // what the last reading showed
}

// sees says of a reading whether it is to be taken up, and whether nothing is left
// to be confirmed by another.
func (s *steady) sees(state string) (take, rest bool) {
	settled := state == s.candidate
	s.candidate = state
	switch {
	case state == s.taken:
		return false, true
	case !settled:
		return false, false
	}
	s.taken = state
	return true, true
}
