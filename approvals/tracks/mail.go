package tracks

import (
	"sync"

	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/store"
)

// mail knows for which agents there are messages, so that a request of one that
// has none looks for none. It only ever knows too many.
type mail struct {
	mu      sync.Mutex
	agents  map[string]bool
	changed chan struct{} // closed when there is more
}

func newMail() *mail { return &mail{agents: make(map[string]bool), changed: make(chan struct{})} }

func (m *mail) came(agents ...string) {
	if len(agents) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range agents {
		m.agents[a] = true
	}
	close(m.changed)
	m.changed = make(chan struct{})
}

// Mail returns a channel that is closed when there may be more messages.
func (p *Keeper) Mail() <-chan struct{} {
	p.mail.mu.Lock()
	defer p.mail.mu.Unlock()
	return p.mail.changed
}

// SeeMail takes in messages that have changed.
func (p *Keeper) SeeMail(tx store.Tx, keys []string) error {
	for _, key := range keys {
		agent, err := sessions.Addressee(tx, key)
		if err != nil {
			return err
		}
		if agent != "" {
			p.mail.came(agent)
		}
	}
	return nil
}

// takeUpMail finds out which agents have messages.
func (p *Keeper) takeUpMail(tx store.Tx) error {
	agents, err := sessions.Addressees(tx)
	p.mail.came(agents...)
	return err
}
