package rego

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"github.com/holdgate/holdgate"
)

// maxJudged is how many answers a [Judge] remembers.
const maxJudged = 1 << 14

// A Judge decides past calls, as many as there are, by the policy that was in
// force when it was made. Agents ask the same over and over: a call of which the
// log has the very same as of an earlier one is answered as that was, unless the
// policy looked at the clock. It is safe for concurrent use.
type Judge struct {
	engine *Engine
	policy *policy

	mu      sync.Mutex
	answers map[[sha256.Size]byte]holdgate.Decision
}

// Judge makes one for the policy in force.
func (e *Engine) Judge() *Judge { return e.judge(e.current.Load()) }

func (e *Engine) judge(p *policy) *Judge {
	return &Judge{engine: e, policy: p, answers: make(map[[sha256.Size]byte]holdgate.Decision)}
}

// Revision is that of the policy that it judges by.
func (j *Judge) Revision() string { return j.policy.loaded.Revision }

// Again is [Engine.Again].
func (j *Judge) Again(ctx context.Context, past Past) (holdgate.Decision, error) {
	k := past.digest()
	j.mu.Lock()
	d, ok := j.answers[k]
	j.mu.Unlock()
	if ok {
		return d, nil
	}
	d, r, err := j.engine.again(ctx, j.policy, past)
	if err != nil || j.policy.readsClock || *r.clock.read {
		return d, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.answers) >= maxJudged {
		clear(j.answers)
	}
	j.answers[k] = d
	return d, nil
}

// Recall is Again, and the call as policy saw it. A call that people had been asked about
// before is not judged: its first question stands for it.
func (j *Judge) Recall(ctx context.Context, past Past) (holdgate.Call, holdgate.Decision, error) {
	if past.FollowsUp() {
		return holdgate.Call{}, holdgate.Decision{}, &UnjudgedError{"it followed an answer to an earlier question"}
	}
	s, err := past.read()
	if err != nil {
		return holdgate.Call{}, holdgate.Decision{}, err
	}
	d, err := j.Again(ctx, past)
	c := s.input(past.Call, past.Own).Call
	if c.HTTP != nil {
		c.HTTP.Operation = s.operation()
	}
	return c, d, err
}

// digest names all that a decision can hang on, but for the time: what the log
// has of the call, and what policy saw of it besides. [Past.Own] is the same for
// all calls that are judged together.
func (p Past) digest() (sum [sha256.Size]byte) {
	c := p.Call
	parts := [][]byte{[]byte(c.Kind), []byte(c.Door), []byte(c.Agent.ID), []byte(c.Session.ID), p.Seen}
	add := func(kind string, texts ...string) {
		parts = append(parts, []byte(kind))
		for _, s := range texts {
			parts = append(parts, []byte(s))
		}
	}
	if t := c.Tool; t != nil {
		add("tool", t.Name, t.Server, string(t.Arguments))
	}
	if c.Model != nil {
		add("model", c.Model.Name)
	}
	if m := c.MCP; m != nil {
		add("mcp", m.Server, m.Method)
	}
	if h := c.HTTP; h != nil {
		add("http", h.Method, h.Host, h.Path)
	}
	h := sha256.New()
	for _, part := range parts {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write(part)
	}
	h.Sum(sum[:0])
	return sum
}
