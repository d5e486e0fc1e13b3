package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	Prefix       = "tool/"        // begins the keys of tools
	PrefixServer = "tool-server/" // of those of servers
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
type Tool struct {
	Server string
	// NamedBy is the agent whose word the server's name is; empty where the
	// configuration had it when this was said.
	NamedBy string
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
func (t *Tools) All() []Tool {
	names := slices.SortedFunc(maps.Keys(t.byName), func(a, b toolName) int {
		return cmp.Or(strings.Compare(a.server, b.server), strings.Compare(a.tool, b.tool))
	})
	all := make([]Tool, len(names))
	for i, n := range names {
		all[i] = t.byName[n].view()
	}
	return all
}

// Unread says why the server's last list of tools could not be read, or "".
func (t *Tools) Unread(server string) string { return t.unread[server] }

// A Keeper keeps what is known of tools. What it has in memory the store has too. It
// is safe for concurrent use.
type Keeper struct {
	b      *record.Book
	logger *slog.Logger

	learning sync.Mutex // one list after the other
	current  atomic.Pointer[Tools]
}

// NewKeeper keeps the tools of a book, once [Keeper.TakeUp] has read them.
func New(b *record.Book, logger *slog.Logger) *Keeper {
	k := &Keeper{b: b, logger: logger}
	k.current.Store(noTools())
	return k
}

func noTools() *Tools { return &Tools{byName: map[toolName]*storedTool{}, unread: map[string]string{}} }

// Known returns what is known of tools now. It is the same pointer until
// something of it changes.
func (k *Keeper) Known() *Tools { return k.current.Load() }

// Learn takes up what a server says of its tools, in a list or a part of one.
// What was not known before counts as accepted; what is said otherwise than
// before does not, until a person approves a call after being shown the
// difference. On return it is on disk, so that no call can come before it.
//
// Where the server's name is an agent's word, namedBy is that agent; it is empty
// where the configuration has the name. Agents can invent names: there is room
// for so many of each agent and of all together, and none of it is what the
// configured servers have. Of a server for which there is none nothing is known.
func (k *Keeper) Learn(ctx context.Context, server, namedBy string, list []holdgate.Definition) error {
	hashes := make([]string, len(list))
	for i, d := range list {
		var err error
		if hashes[i], err = d.Hash(); err != nil {
			return fmt.Errorf("learning the tools of %s: %w", server, err)
		}
	}
	if k.knows(server, namedBy, list, hashes) {
		return nil
	}
	k.learning.Lock()
	defer k.learning.Unlock()
	for len(list) > 0 {
		n := learnable(list)
		err := k.b.Change(ctx, func(c *record.Change) error { return k.learnIn(c, server, namedBy, list[:n], hashes) })
		if err != nil {
			return fmt.Errorf("learning the tools of %s: %w", server, err)
		}
		list, hashes = list[n:], hashes[n:]
	}
	return k.learnRead(ctx, server)
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
func (k *Keeper) learnRead(ctx context.Context, server string) error {
	if k.Known().Unread(server) == "" {
		return nil
	}
	err := k.b.Change(ctx, func(c *record.Change) error {
		k.learned(c).unread[server] = ""
		return c.Tx.Delete(k.serverKey(server))
	})
	if err != nil {
		return fmt.Errorf("recording the tools of %s: %w", server, err)
	}
	return nil
}

// LearnUnread takes up that a server's list of tools could not be read. Until
// one can be, all its tools count as changed. namedBy is as for [Keeper.Learn]:
// of a server that an agent has named, and of whose tools none is known,
// nothing is kept.
func (k *Keeper) LearnUnread(ctx context.Context, server, namedBy, why string) error {
	why = holdgate.Visible(why[:min(len(why), maxToolName)])
	k.learning.Lock()
	defer k.learning.Unlock()
	if t := k.Known(); t.Unread(server) == why || namedBy != "" && t.count(server) == 0 {
		return nil
	}
	err := k.b.Change(ctx, func(c *record.Change) error {
		if err := record.Write(c.Tx, k.serverKey(server), storedServer{Header: record.Current(), Server: server, Unread: why}); err != nil {
			return err
		}
		k.learned(c).unread[server] = why
		_, err := c.Append(audit.Entry{Type: audit.TypeDefinition, Note: "the list of tools of " + server + " could not be read: " + why})
		return err
	})
	if err != nil {
		return fmt.Errorf("recording the tools of %s: %w", server, err)
	}
	return nil
}

// knows reports whether a list says nothing new.
func (k *Keeper) knows(server, namedBy string, list []holdgate.Definition, hashes []string) bool {
	t := k.Known()
	if t.unread[server] != "" {
		return false
	}
	for i, d := range list {
		if s := t.byName[toolName{server, d.Name}]; s == nil || s.Now.Hash != hashes[i] || namedBy == "" && s.NamedBy != "" {
			return false
		}
	}
	return true
}

func (k *Keeper) toolKey(server, name string) string {
	return Prefix + string(k.b.Digester.Fields("tool", server, name))
}

func (k *Keeper) serverKey(server string) string {
	return PrefixServer + string(k.b.Digester.Fields("tool server", server))
}

func (k *Keeper) learnIn(c *record.Change, server, namedBy string, list []holdgate.Definition, hashes []string) error {
	known := k.Known()
	var first, changed, over []string
	count := known.count(server)
	room, full := known.budget(server, namedBy)
	for i, d := range list {
		s := new(storedTool)
		err := record.Read(c.Tx, k.toolKey(server, d.Name), s)
		old := err == nil
		switch {
		case err != nil && !errors.Is(err, store.ErrNotFound):
			return err
		case old && namedBy == "" && s.NamedBy != "": // now the configuration has a server of the name
			s.Now, s.Was, s.Accepted = storedDefinition{}, storedDefinition{}, []string{hashes[i]}
			first, old = append(first, d.Name), false
		case old && s.Now.Hash == hashes[i]:
			continue
		case !old && (full || count >= maxServerTools || len(d.Name) > maxToolName):
			over = append(over, d.Name)
			continue
		case !old:
			s = &storedTool{Header: record.Current(), Server: server, Name: d.Name, Accepted: []string{hashes[i]}}
			first = append(first, d.Name)
			count++
		}
		if old && !s.changed() {
			s.Was = s.Now
		}
		s.NamedBy = namedBy
		s.Now, s.At = storeDefinition(d, hashes[i], room), c.Now
		room -= s.Now.size()
		if old && s.changed() {
			changed = append(changed, d.Name)
		}
		if !s.changed() {
			s.Was = storedDefinition{}
		}
		if err := k.write(c, s); err != nil {
			return err
		}
	}
	if len(over) > 0 {
		k.logger.Warn("an MCP server lists more tools than are kept: nothing is known of the others", "server", server, "tools", len(over), "kept", count)
	}
	if len(first)+len(changed) == 0 {
		return nil
	}
	_, err := c.Append(audit.Entry{Type: audit.TypeDefinition, Note: noteLearned(server, first, changed)})
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

// budget is how many bytes of definitions may still be kept of a server, and
// whether there is no room for one more server; see [Keeper.Learn].
func (k *Tools) budget(server, namedBy string) (bytes int, full bool) {
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

func (k *Keeper) write(c *record.Change, s *storedTool) error {
	s.Writes++
	l := k.learned(c)
	l.tools = append(l.tools, s)
	return record.Write(c.Tx, k.toolKey(s.Server, s.Name), s)
}

// Accept takes up that people have approved a call after being shown how the
// definition of its tool has changed: from now on that is what the tool is.
// Where the server has said something else meanwhile, that is a change still.
func (k *Keeper) Accept(c *record.Change, r *record.StoredRequest) error {
	a := r.Accepts
	if a == nil || !r.Answered() {
		return nil
	}
	s := new(storedTool)
	switch err := record.Read(c.Tx, k.toolKey(a.Server, a.Tool), s); {
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
	if err := k.write(c, s); err != nil {
		return err
	}
	e := r.Entry(audit.TypeDefinition)
	e.Note = fmt.Sprintf("accepted: the changed definition of %s of %s (%.12s)", holdgate.Visible(a.Tool), holdgate.Visible(a.Server), a.Definition)
	_, err := c.Append(e)
	return err
}

// accepts is what approving the call accepts; nil where its definition has not
// changed or cannot be shown.
func Accepts(c holdgate.Call) *record.StoredAccepts {
	if c.Tool == nil || c.Tool.Learned == nil || c.Result != nil {
		return nil
	}
	l := c.Tool.Learned
	if !l.Changed || l.Unread != "" || l.Is == nil {
		return nil
	}
	return &record.StoredAccepts{Server: l.Server, Tool: l.Tool, Definition: l.Definition}
}

// A learned is what one change has written of tools.
type learned struct {
	tools  []*storedTool
	unread map[string]string // servers whose list could not be read, and why
}

func (k *Keeper) learned(c *record.Change) *learned {
	return record.Part(c, k, func() *learned {
		l := &learned{unread: map[string]string{}}
		c.Durable(func() { k.learn(l) })
		return l
	})
}

// learn takes what a change has written into memory.
func (k *Keeper) learn(l *learned) {
	for {
		old := k.current.Load()
		now := &Tools{byName: maps.Clone(old.byName), unread: maps.Clone(old.unread), texts: old.texts}
		for _, s := range l.tools {
			now.put(s)
		}
		for server, why := range l.unread {
			if now.unread[server] = why; why == "" {
				delete(now.unread, server)
			}
		}
		if k.current.CompareAndSwap(old, now) {
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

// See takes in records that have changed.
func (k *Keeper) See(tx store.Tx, keys []string) error {
	l := &learned{unread: map[string]string{}}
	for _, key := range keys {
		if strings.HasPrefix(key, PrefixServer) {
			if err := k.seeServer(tx, key, l); err != nil {
				return err
			}
			continue
		}
		s := new(storedTool)
		switch err := record.Read(tx, key, s); {
		case err == nil:
			l.tools = append(l.tools, s)
		case !errors.Is(err, store.ErrNotFound):
			return err
		}
	}
	k.learn(l)
	return nil
}

// seeServer takes in whether a server's list could be read.
func (k *Keeper) seeServer(tx store.Tx, key string, l *learned) error {
	var s storedServer
	err := record.Read(tx, key, &s)
	if !errors.Is(err, store.ErrNotFound) {
		l.unread[s.Server] = s.Unread
		return err
	}
	for name := range k.Known().unread {
		if k.serverKey(name) == key {
			l.unread[name] = ""
		}
	}
	return nil
}

// TakeUp reads what is stored of tools. What came meanwhile by See stays.
func (k *Keeper) TakeUp(tx store.Tx) error {
	l := &learned{unread: map[string]string{}}
	for p, err := range tx.Scan(Prefix, "") {
		if err != nil {
			return err
		}
		s := new(storedTool)
		if err := record.Decode(p.Key, p.Value, s); err != nil {
			return err
		}
		l.tools = append(l.tools, s)
	}
	for p, err := range tx.Scan(PrefixServer, "") {
		if err != nil {
			return err
		}
		var s storedServer
		if err := record.Decode(p.Key, p.Value, &s); err != nil {
			return err
		}
		l.unread[s.Server] = s.Unread
	}
	k.learn(l)
	return nil
}
