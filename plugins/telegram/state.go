package telegram

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

// stale is after how long without an update a known offset is dropped: after a
// week Telegram numbers them anew.
const stale = 6 * 24 * time.Hour

// maxThreads is how many sessions are remembered, to reply to the first message
// of each.
const maxThreads = 500

// A state is what outlives the process. Changes are on disk when a method has
// returned, where there is a file. It is safe for concurrent use.
type state struct {
	path string

	mu   sync.Mutex
	kept kept
}

// kept is the state as it is stored.
type kept struct {
	Version int               `json:"version"`
	Offset  int64             `json:"offset"` // of the next update
	At      time.Time         `json:"at"`     // of the last update
	Posts   map[string][]post `json:"posts"`  // by request
	Threads []thread          `json:"threads"`
}

// A thread is where the messages of one session begin in a chat.
type thread struct {
	Name string `json:"name"`
	post
}

func newState(path string) *state {
	return &state{path: path, kept: kept{Version: 1, Posts: make(map[string][]post)}}
}

// readState reads the state at path; a file that is not there is an empty one.
func readState(path string) (*state, error) {
	s := newState(path)
	if path == "" {
		return s, nil
	}
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s, s.save() // so that a folder which is not there is noticed now
	}
	if err != nil {
		return nil, fmt.Errorf("reading state_file: %w", err)
	}
	s.kept.Version = 0
	if err := json.Unmarshal(raw, &s.kept); err != nil || s.kept.Version != 1 {
		return nil, fmt.Errorf("%s is not this channel's state: remove it to begin anew", path)
	}
	if s.kept.Posts == nil {
		s.kept.Posts = make(map[string][]post)
	}
	return s, nil
}

// save needs the lock. The file is replaced as a whole or not at all.
func (s *state) save() (err error) {
	if s.path == "" {
		return nil
	}
	raw, err := json.Marshal(s.kept, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encoding the state: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(s.path), ".telegram-*") // of mode 0600
	if err != nil {
		return fmt.Errorf("writing state_file: %w", err)
	}
	_, err = f.Write(raw)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), s.path)
	}
	if err != nil {
		return fmt.Errorf("writing state_file: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

// offset is that of the next update, 0 where none is known.
func (s *state) offset(now time.Time) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.kept.At) > stale {
		return 0
	}
	return s.kept.Offset
}

// read notes that the update was dealt with.
func (s *state) read(id int64, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept.Offset, s.kept.At = id+1, now
	return s.save()
}

// posts are the messages that show a request.
func (s *state) posts(request string) []post {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.kept.Posts[request])
}

// show notes the messages that show a request, none where it has ended.
func (s *state) show(request string, posts []post) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Equal(s.kept.Posts[request], posts) {
		return nil
	}
	if s.kept.Posts[request] = posts; len(posts) == 0 {
		delete(s.kept.Posts, request)
	}
	return s.save()
}

// first returns the first message of a session in a chat, or 0.
func (s *state) first(name string, chat int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.kept.Threads {
		if t.Name == name && t.Chat == chat {
			return t.Message
		}
	}
	return 0
}

// begin notes the first message of a session. It is stored with the next
// change.
func (s *state) begin(name string, p post) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept.Threads = append(s.kept.Threads, thread{Name: name, post: p})
	s.kept.Threads = s.kept.Threads[max(len(s.kept.Threads)-maxThreads, 0):]
}
