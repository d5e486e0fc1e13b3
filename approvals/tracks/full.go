package tracks

import (
	"sync"
	"time"
)

// fullAgents are agents that were found to have no room for a new session, and when. There are as many at most as have
// a thousand sessions stored.
type fullAgents struct {
	mu sync.Mutex
	at map[string]time.Time
}

func (f *fullAgents) found(agent string, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.at == nil {
		f.at = make(map[string]time.Time)
	}
	f.at[agent] = now
}

// is reports whether it is too early to look again. A clock that was set back makes nobody wait.
func (f *fullAgents) is(agent string, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	since := now.Sub(f.at[agent])
	if since >= 0 && since < lookAgainAfter {
		return true
	}
	delete(f.at, agent)
	return false
}
