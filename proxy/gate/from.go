package gate

import (
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/rego"
)

// From is where the calls of an exchange come from.
type From struct {
	approvals.Caller

	Dir        string // the folder that the agent works in, where it is known
	Start      string // the folder that a call starts in by the agent's word, where that is outside of Dir
	Program    string // the agent's program by its own word, where it told one
	Said       string // the folder that the agent says it is in
	At         Place
	Task       func() string   // what the agent's user has asked it for; nil where nobody knows
	Turns      func() []string // what the agent's user has said in the conversation, in order; nil where nobody knows
	Credential string          // the name of what is put into requests on their way out
	Account    string          // of a request to a model's host, as [holdgate.Call] has it
}

// Call completes a call with who makes it, where and when.
func (f From) Call(c holdgate.Call) holdgate.Call {
	c.Agent, c.Session, c.Door = f.Agent, f.Caller.Session, f.Door
	if c.Kind != holdgate.KindToolCall || f.At == AtServer { // what a model asks for is another request
		c.Credential, c.Account = f.Credential, f.Account
	}
	c.Time = time.Now()
	return c
}

// task is what the agent's user has asked it for, without credentials.
func (f From) task() string {
	if f.Task == nil {
		return ""
	}
	return rego.Conceal(f.Task())
}

// turns is what the agent's user has said in the conversation, in order.
func (f From) turns() []string {
	if f.Turns == nil {
		return nil
	}
	return f.Turns()
}

// A Place is where a call was seen. One tool call is seen twice, and what people
// say of it in the model's answer counts for it at the door of its server.
type Place int

// The places.
const (
	Elsewhere Place = iota
	InAnswer        // in a model's answer
	AtServer        // at the door of the MCP server whose tool it is
	AtHook          // at a hook of the agent's, which runs it next
)

// InConversation takes a conversation for the session of a request that names none,
// and reports whether it did.
func (f *From) InConversation(conversation string) bool {
	if f.Session.ID != holdgate.SessionDefault || !NamesSession(conversation) {
		return false
	}
	f.Session.ID = conversation
	return true
}

// NamesSession reports whether a client's word can name a session.
func NamesSession(word string) bool {
	return word != "" && len(word) <= 128 && !strings.ContainsFunc(word, func(c rune) bool { return c <= ' ' || c > '~' })
}
