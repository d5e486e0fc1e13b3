package approvals

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

const (
	prefixTool       = "tool/"
	prefixToolServer = "tool-server/"
)

// Bounds of what is learned of tools.
const (
	maxServers     = 256 // that agents have named; those of the configuration are as many as they are
	maxOwnServers  = 64  // that one agent has named
	maxServerTools = 1000
	maxToolName    = 512
	maxDefinition  = 64 << 10 // bytes of a definition that are kept; of a longer one only its hash and the beginning of its description
	maxAllTexts    = 32 << 20 // bytes of all definitions that are kept
	maxNamedTexts  = 16 << 20 // of these, of servers that agents have named
	maxAccepted    = 8        // definitions of one tool that count as accepted
	cutDescription = 4 << 10
	learnAtOnce    = 512 << 10 // bytes of definitions that one transaction takes; what is stored is up to three times that
)

// A KnownTool is what is known of a tool of an MCP server's.
type KnownTool struct {
	Server string
	holdgate.Definition
	Hash string // of what the server said last
	// Changed says that this is not what the server said first, and that nobody
	// has accepted it; Was is what was first said, or accepted last.
	Changed bool
	Was     *holdgate.Definition
	Cut     bool // what is said, now or before, is longer than what is kept
}

// Tools are the tools that are known at one moment. They never change.
type Tools struct {
	byName map[toolName]*storedTool
	unread map[string]string // by server
	texts  int               // bytes of all definitions
}

type toolName struct{ server, tool string }

// All returns the tools in the order of their servers and names.
func (t *Tools) All() []KnownTool {
	names := slices.SortedFunc(maps.Keys(t.byName), func(a, b toolName) int {
		return cmp.Or(strings.Compare(a.server, b.server), strings.Compare(a.tool, b.tool))
	})
	all := make([]KnownTool, len(names))
	for i, n := range names {
		all[i] = t.byName[n].view()
	}
	return all
}

// Unread says why the server's last list of tools could not be read, or "".
func (t *Tools) Unread(server string) string { return t.unread[server] }

// definitions is what the queue keeps in memory of tools: the store has the
// same.
type definitions struct {
	learning sync.Mutex // one list after the other
	current  atomic.Pointer[Tools]
}

func newDefinitions() *definitions {
	d := &definitions{}
	d.current.Store(&Tools{byName: map[toolName]*storedTool{}, unread: map[string]string{}})
	return d
}

// Tools returns what is known of tools now. It is the same pointer until
// something of it changes.
func (q *Queue) Tools() *Tools { return q.definitions.current.Load() }

// Learn takes up what a server says of its tools, in a list or a part of one.
// What was not known before counts as accepted; what is said otherwise than
// before does not, until a person approves a call after being shown the
// difference. On return it is on disk, so that no call can come before it.
//
// Where the server's name is an agent's word, namedBy is that agent; it is empty
// where the configuration has the name. Agents can invent names: there is room
// for so many of each agent and of all together, and none of it is what the
// configured servers have. Of a server for which there is none nothing is known.
func (q *Queue) Learn(ctx context.Context, server, namedBy string, list []holdgate.Definition) error {
	hashes := make([]string, len(list))
	for i, d := range list {
		var err error
		if hashes[i], err = d.Hash(); err != nil {
			return fmt.Errorf("learning the tools of %s: %w", server, err)
		}
	}
	if q.knows(server, list, hashes) {
		return nil
	}
	q.definitions.learning.Lock()
	defer q.definitions.learning.Unlock()
	for len(list) > 0 {
		n := learnable(list)
		err := q.transact(ctx, func(t *transition) error { return t.learn(server, namedBy, list[:n], hashes) })
		if err != nil {
			return fmt.Errorf("learning the tools of %s: %w", server, err)
		}
		list, hashes = list[n:], hashes[n:]
	}
	return q.learnRead(ctx, server)
}

// learnable is how many definitions of a list go into one transaction.
func learnable(list []holdgate.Definition) int {
	size := 0
	for i, d := range list {
		size += min(len(d.Description)+len(d.Schema)+len(d.Annotations), maxDefinition) + 4<<10
		if size > learnAtOnce && i > 0 {
			return i
		}
	}
	return len(list)
}

// learnRead takes up that a server's list could be read again.
func (q *Queue) learnRead(ctx context.Context, server string) error {
	if q.Tools().Unread(server) == "" {
		return nil
	}
	err := q.transact(ctx, func(t *transition) error {
		t.learned().unread[server] = ""
		return t.Tx.Delete(t.serverKey(server))
	})
	if err != nil {
		return fmt.Errorf("recording the tools of %s: %w", server, err)
	}
	return nil
}

// LearnUnread takes up that a server's list of tools could not be read. Until
// one can be, all its tools count as changed. namedBy is as for [Queue.Learn]:
// of a server that an agent has named, and of whose tools none is known,
// nothing is kept.
func (q *Queue) LearnUnread(ctx context.Context, server, namedBy, why string) error {
	why = holdgate.Visible(why[:min(len(why), maxToolName)])
	q.definitions.learning.Lock()
	defer q.definitions.learning.Unlock()
	if k := q.Tools(); k.Unread(server) == why || namedBy != "" && k.count(server) == 0 {
		return nil
	}
	err := q.transact(ctx, func(t *transition) error {
		if err := record.Write(t.Tx, t.serverKey(server), storedServer{Header: record.Current(), Server: server, Unread: why}); err != nil {
			return err
		}
		t.learned().unread[server] = why
		_, err := t.Append(audit.Entry{Type: audit.TypeDefinition, Note: "the list of tools of " + server + " could not be read: " + why})
		return err
	})
	if err != nil {
		return fmt.Errorf("recording the tools of %s: %w", server, err)
	}
	return nil
}

// knows reports whether a list says nothing new.
func (q *Queue) knows(server string, list []holdgate.Definition, hashes []string) bool {
	k := q.Tools()
	if k.unread[server] != "" {
		return false
	}
	for i, d := range list {
		if s := k.byName[toolName{server, d.Name}]; s == nil || s.Now.Hash != hashes[i] {
			return false
		}
	}
	return true
}

func (t *transition) toolKey(server, name string) string {
	return prefixTool + string(t.q.c.Digester.Fields("tool", server, name))
}

func (t *transition) serverKey(server string) string {
	return prefixToolServer + string(t.q.c.Digester.Fields("tool server", server))
}

func (t *transition) learn(server, namedBy string, list []holdgate.Definition, hashes []string) error {
	k := t.q.Tools()
	var first, changed, over []string
	count := k.count(server)
	room, full := k.room(server, namedBy)
	for i, d := range list {
		s := new(storedTool)
		err := record.Read(t.Tx, t.toolKey(server, d.Name), s)
		known := err == nil
		switch {
		case err != nil && !errors.Is(err, store.ErrNotFound):
			return err
		case known && s.Now.Hash == hashes[i]:
			continue
		case !known && (full || count >= maxServerTools || len(d.Name) > maxToolName):
			over = append(over, d.Name)
			continue
		case !known:
			s = &storedTool{Header: record.Current(), Server: server, Name: d.Name, NamedBy: namedBy, Accepted: []string{hashes[i]}}
			first = append(first, d.Name)
			count++
		}
		if known && !s.changed() {
			s.Was = s.Now
		}
		s.Now, s.At = storeDefinition(d, hashes[i], room), t.Now
		room -= s.Now.size()
		if known && s.changed() {
			changed = append(changed, d.Name)
		}
		if !s.changed() {
			s.Was = storedDefinition{}
		}
		if err := t.writeTool(s); err != nil {
			return err
		}
	}
	if len(over) > 0 {
		t.q.c.Logger.Warn("an MCP server lists more tools than are kept: nothing is known of the others", "server", server, "tools", len(over), "kept", count)
	}
	if len(first)+len(changed) == 0 {
		return nil
	}
	_, err := t.Append(audit.Entry{Type: audit.TypeDefinition, Note: noteLearned(server, first, changed)})
	return err
}

func (k *Tools) count(server string) (n int) {
	for name := range k.byName {
		if name.server == server {
			n++
		}
	}
	return n
}

// room is how many bytes of definitions may still be kept of a server, and
// whether there is no room for one more server; see [Queue.Learn].
func (k *Tools) room(server, namedBy string) (bytes int, full bool) {
	bytes = maxAllTexts - k.texts
	if namedBy == "" {
		return bytes, false
	}
	texts := 0
	named, own := map[string]bool{}, map[string]bool{}
	for name, s := range k.byName {
		if s.NamedBy == "" {
			continue
		}
		texts += s.Now.size() + s.Was.size()
		if named[name.server] = true; s.NamedBy == namedBy {
			own[name.server] = true
		}
	}
	if !named[server] {
		full = len(named) >= maxServers || len(own) >= maxOwnServers
	}
	return min(bytes, maxNamedTexts-texts), full
}

// noteLearned says in words what was learned.
func noteLearned(server string, first, changed []string) string {
	var parts []string
	for _, p := range []struct {
		names []string
		what  string
	}{{first, "seen first"}, {changed, "changed"}} {
		if len(p.names) == 0 {
			continue
		}
		shown := slices.Clone(p.names[:min(len(p.names), 20)])
		for i, n := range shown {
			shown[i] = holdgate.Visible(n)
		}
		text := p.what + ": " + strings.Join(shown, ", ")
		if more := len(p.names) - len(shown); more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		parts = append(parts, text)
	}
	return "tools of " + holdgate.Visible(server) + " " + strings.Join(parts, "; ")
}

func (t *transition) writeTool(s *storedTool) error {
	s.Writes++
	l := t.learned()
	l.tools = append(l.tools, s)
	return record.Write(t.Tx, t.toolKey(s.Server, s.Name), s)
}

// accept takes up that people have approved a call after being shown how the
// definition of its tool has changed: from now on that is what the tool is.
// Where the server has said something else meanwhile, that is a change still.
func (t *transition) accept(r *record.StoredRequest) error {
	a := r.Accepts
	if a == nil || !r.Answered() {
		return nil
	}
	s := new(storedTool)
	switch err := record.Read(t.Tx, t.toolKey(a.Server, a.Tool), s); {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return err
	case slices.Contains(s.Accepted, a.Definition):
		return nil
	}
	s.Accepted = append(s.Accepted, a.Definition)
	s.Accepted = s.Accepted[max(0, len(s.Accepted)-maxAccepted):]
	if !s.changed() {
		s.Was = storedDefinition{}
	}
	if err := t.writeTool(s); err != nil {
		return err
	}
	e := r.Entry(audit.TypeDefinition)
	e.Note = fmt.Sprintf("accepted: the changed definition of %s of %s (%.12s)", holdgate.Visible(a.Tool), holdgate.Visible(a.Server), a.Definition)
	_, err := t.Append(e)
	return err
}

// accepts is what approving the call accepts; nil where its definition has not
// changed or cannot be shown.
func accepts(c holdgate.Call) *record.StoredAccepts {
	if c.Tool == nil || c.Tool.Learned == nil || c.Result != nil {
		return nil
	}
	l := c.Tool.Learned
	if !l.Changed || l.Unread != "" || l.Is == nil {
		return nil
	}
	return &record.StoredAccepts{l.Server, l.Tool, l.Definition}
}

// A learned is what one change has written of tools.
type learned struct {
	tools  []*storedTool
	unread map[string]string // servers whose list could not be read, and why
}

func (t *transition) learned() *learned {
	return record.Part(t.Change, t.q.definitions, func() *learned {
		l := &learned{unread: map[string]string{}}
		t.Durable(func() { t.q.definitions.learn(l) })
		return l
	})
}

// learn takes what a change has written into memory.
func (d *definitions) learn(l *learned) {
	for {
		old := d.current.Load()
		now := &Tools{byName: maps.Clone(old.byName), unread: maps.Clone(old.unread), texts: old.texts}
		for _, s := range l.tools {
			now.put(s)
		}
		for server, why := range l.unread {
			if now.unread[server] = why; why == "" {
				delete(now.unread, server)
			}
		}
		if d.current.CompareAndSwap(old, now) {
			return
		}
	}
}

func (k *Tools) put(s *storedTool) {
	n := toolName{s.Server, s.Name}
	old := k.byName[n]
	if old != nil && old.Writes > s.Writes {
		return // a later transaction has been here before
	}
	if old != nil {
		k.texts -= old.Now.size() + old.Was.size()
	}
	k.texts += s.Now.size() + s.Was.size()
	k.byName[n] = s
}

// takeUpTools reads what is stored of tools.
func (q *Queue) takeUpTools(tx store.Tx) error {
	k := &Tools{byName: map[toolName]*storedTool{}, unread: map[string]string{}}
	for p, err := range tx.Scan(prefixTool, "") {
		if err != nil {
			return err
		}
		s := new(storedTool)
		if err := record.Decode(p.Key, p.Value, s); err != nil {
			return err
		}
		k.put(s)
	}
	for p, err := range tx.Scan(prefixToolServer, "") {
		if err != nil {
			return err
		}
		var s storedServer
		if err := record.Decode(p.Key, p.Value, &s); err != nil {
			return err
		}
		k.unread[s.Server] = s.Unread
	}
	q.definitions.current.Store(k)
	return nil
}
