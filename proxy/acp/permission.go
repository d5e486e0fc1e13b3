package acp

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// Kinds of options.
const (
	allowOnce    = "allow_once"
	allowAlways  = "allow_always"
	rejectOnce   = "reject_once"
	rejectAlways = "reject_always"
)

// kinds are those of tools, as the protocol has them. One that is not known is "other".
var kinds = []string{"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"}

// permission is the tool call that permission is asked for, as far as the agent says what
// it will do: the kind, the title, what is to be changed, and the tool's own input.
func (m Message) permission() (Call, error) {
	tool := m.Param("toolCall")
	if len(tool) == 0 || tool[0] != '{' {
		return Call{}, errors.New("permission is asked for no tool call")
	}
	if err := wire.Known(tool, "toolCallId", "title", "kind", "status", "content", "locations", "rawInput", "rawOutput", "_meta"); err != nil {
		return Call{}, fmt.Errorf("reading toolCall: %w", err)
	}
	id, err := wire.Text(wire.Find(tool, "toolCallId"))
	if err != nil || id == "" {
		return Call{}, errors.New("the tool call that permission is asked for has no id")
	}
	kind, err := wire.TextOrNull(wire.Find(tool, "kind"))
	if err != nil {
		return Call{}, fmt.Errorf("reading the kind of a tool call: %w", err)
	}
	if !slices.Contains(kinds, kind) {
		kind = "other"
	}
	if _, err := m.options(); err != nil {
		return Call{}, err
	}
	args, edits, err := described(tool, kind)
	if err != nil {
		return Call{}, err
	}
	c := Call{Fixed: true, Call: holdgate.Call{ID: id, Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: "permission/" + kind, Arguments: args}}}
	if kind == "edit" && len(edits) == 1 {
		c.Comes = &holdgate.Tool{Name: MethodWrite, Arguments: edits[0]}
	}
	return c, nil
}

// described is what the agent says of a tool call as one object, and the files that it
// says it will write. The command of one that says what it runs in no other way is its
// title.
func described(tool []byte, kind string) (object []byte, edits [][]byte, err error) {
	object = []byte("{}")
	title, err := wire.TextOrNull(wire.Find(tool, "title"))
	if err != nil {
		return nil, nil, fmt.Errorf("reading the title of a tool call: %w", err)
	}
	if title != "" {
		object = wire.AppendMember(object, "title", []byte(wire.Quote(title)))
	}
	input := wire.Find(tool, "rawInput")
	if kind == "execute" && title != "" && !hasCommand(input) {
		object = wire.AppendMember(object, "command", []byte(wire.Quote(commandOf(title))))
	}
	if edits, err = editsOf(wire.Find(tool, "content")); err != nil {
		return nil, nil, err
	}
	if len(edits) > 0 {
		object = wire.AppendMember(object, "edits", wire.Array(edits...))
	}
	var paths [][]byte
	err = wire.EachElement(wire.Find(tool, "locations"), func(v []byte) error {
		path, err := wire.Text(wire.Find(v, "path"))
		paths = append(paths, []byte(wire.Quote(path)))
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("reading the locations of a tool call: %w", err)
	}
	if len(paths) > 0 {
		object = wire.AppendMember(object, "paths", wire.Array(paths...))
	}
	if !wire.IsEmpty(input) {
		object = wire.AppendMember(object, "input", bytes.Clone(input))
	}
	return object, edits, nil
}

// hasCommand reports whether a tool's input says what it runs.
func hasCommand(input []byte) bool {
	for _, name := range []string{"command", "cmd", "commands", "script"} {
		if !wire.IsEmpty(wire.Find(input, name)) {
			return true
		}
	}
	return false
}

// commandOf is the command that a title shows, with or without marks of code around it.
func commandOf(title string) string {
	t := strings.TrimSpace(title)
	if inner, ok := strings.CutPrefix(t, "`"); ok {
		if inner, ok = strings.CutSuffix(inner, "`"); ok && !strings.Contains(inner, "`") {
			return inner
		}
	}
	return t
}

// editsOf are the files that the content of a tool call shows as changed, each as the
// arguments of a request to write it.
func editsOf(blocks []byte) (edits [][]byte, err error) {
	err = wire.EachElement(blocks, func(v []byte) error {
		if wire.TextIn(v, "type") != "diff" {
			return nil
		}
		path, perr := wire.Text(wire.Find(v, "path"))
		text, terr := wire.Text(wire.Find(v, "newText"))
		edits = append(edits, []byte(`{"path":`+wire.Quote(path)+`,"content":`+wire.Quote(text)+`}`))
		return errors.Join(perr, terr)
	})
	if err != nil {
		return nil, fmt.Errorf("reading the content of a tool call: %w", err)
	}
	return edits, nil
}

// An option is one answer that the agent offers.
type option struct{ id, name, kind string }

func (m Message) options() (all []option, err error) {
	err = wire.EachElement(m.Param("options"), func(v []byte) error {
		if err := wire.Known(v, "optionId", "name", "kind", "_meta"); err != nil {
			return err
		}
		o := option{name: wire.TextIn(v, "name")}
		var kerr error
		o.id, err = wire.Text(wire.Find(v, "optionId"))
		o.kind, kerr = wire.Text(wire.Find(v, "kind"))
		all = append(all, o)
		return errors.Join(err, kerr)
	})
	if err != nil {
		return nil, fmt.Errorf("reading the options of a request for permission: %w", err)
	}
	return all, nil
}

// pick is the id of the first option of a kind.
func pick(all []option, kinds ...string) (string, bool) {
	for _, kind := range kinds {
		for _, o := range all {
			if o.kind == kind {
				return o.id, true
			}
		}
	}
	return "", false
}

// Asks reports whether only the editor's user can say which option is meant: the tool
// changes how the agent asks from now on, or there are several ways to allow it once.
func (m Message) Asks() bool {
	all, _ := m.options() // they were read
	n := 0
	for _, o := range all {
		if o.kind == allowOnce {
			n++
		}
	}
	return n > 1 || wire.TextIn(m.Param("toolCall"), "kind") == "switch_mode"
}

// Asked is a question that [Message.Asks], as the editor is to show it: without the options
// that allow something for good, of which Holdgate would not be asked again.
func (m Message) Asked() []byte {
	var once [][]byte
	err := wire.EachElement(m.Param("options"), func(v []byte) error {
		if wire.TextIn(v, "kind") != allowAlways {
			once = append(once, v)
		}
		return nil
	})
	if err != nil { // it was read
		return m.Raw
	}
	return wire.SetMember(m.Raw, "params", wire.SetMember(m.Params, "options", wire.Array(once...)))
}

// Allowed answers that the call may be made, this once. It reports false where the agent
// offers no such answer: what is allowed for good is never asked about again.
func (m Message) Allowed() ([]byte, bool) {
	if m.Method != MethodPermission {
		return nil, false
	}
	all, _ := m.options()
	id, ok := pick(all, allowOnce)
	return m.selected(id, ""), ok
}

// Refused answers a request that was refused, and says why.
func (m Message) Refused(why string) []byte {
	if m.Method != MethodPermission {
		return Error(m.ID, CodeRefused, why)
	}
	all, _ := m.options()
	if id, ok := pick(all, rejectOnce, rejectAlways); ok {
		return m.selected(id, why)
	}
	return m.outcome(`{"outcome":"cancelled"}`, why)
}

// Cancelled answers a request whose turn the editor's user has ended.
func (m Message) Cancelled() []byte {
	if m.Method != MethodPermission {
		return Error(m.ID, codeCancelled, "the turn was cancelled")
	}
	return m.outcome(`{"outcome":"cancelled"}`, "")
}

func (m Message) selected(option, why string) []byte {
	return m.outcome(`{"outcome":"selected","optionId":`+wire.Quote(option)+`}`, why)
}

func (m Message) outcome(outcome, why string) []byte {
	meta := ""
	if why != "" {
		meta = `,"_meta":{` + wire.Quote(metaDecision) + `:` + wire.Quote(why) + `}`
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"outcome":%s%s}}`, m.ID, outcome, meta)
}

// Options of the questions that [Message.Question] makes.
const (
	OptionAllow  = "holdgate-allow"
	OptionReject = "holdgate-reject"
)

// A Question is what the editor's user is shown of a held call.
type Question struct {
	ID      string // of the question
	Request string // that people see
	Summary string
	Text    string // who else is asked, and why
	Approve bool   // the user may approve here
}

// Question asks the editor's user about a held request: the agent's own question, with
// what Holdgate says before it, or one about a file or a command. It offers to allow the
// call once, where that may be done here, and to reject it. The editor shows it as a tool
// call of the question's own id: one that the agent knew, it could show otherwise while
// its user reads. [Ended] must follow.
func (m Message) Question(q Question) []byte {
	options := []byte(`{"optionId":"` + OptionReject + `","name":"Reject","kind":"` + rejectOnce + `"}`)
	if q.Approve {
		options = append([]byte(`{"optionId":"`+OptionAllow+`","name":"Allow once","kind":"`+allowOnce+`"},`), options...)
	}
	block := []byte(`{"type":"content","content":` + content(q.Text) + `}`)
	var tool []byte
	if m.Method == MethodPermission {
		tool = m.Param("toolCall")
		blocks, err := wire.List(wire.Find(tool, "content"))
		if err != nil {
			blocks = nil
		}
		tool = wire.SetMember(tool, "content", wire.Array(append([][]byte{block}, blocks...)...))
		tool = wire.SetMember(tool, "toolCallId", []byte(wire.Quote(q.ID)))
	} else {
		tool = fmt.Appendf(nil, `{"toolCallId":%s,"title":%s,"kind":%q,"status":"pending","content":[%s],"rawInput":%s}`,
			wire.Quote(q.ID), wire.Quote(q.Summary), m.kind(), block, ownArguments(m.Params))
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":{"sessionId":%s,"toolCall":%s,"options":[%s]}}`,
		wire.Quote(q.ID), MethodPermission, m.Param("sessionId"), tool, options)
}

// Ended says that a question is over, to who shows it; goesOn says what became of the call.
func Ended(session, question string, goesOn bool) []byte {
	status := "failed"
	if goesOn {
		status = "completed"
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":{"sessionId":%s,"update":{"sessionUpdate":"tool_call_update","toolCallId":%s,"status":%q}}}`,
		MethodUpdate, wire.Quote(session), wire.Quote(question), status)
}

// kind is that of a tool which does what a request for a file or a command does.
func (m Message) kind() string {
	switch {
	case m.Method == MethodWrite:
		return "edit"
	case strings.HasPrefix(m.Method, "fs/"):
		return "read"
	}
	return "execute"
}

// A Choice is what the editor's user has answered.
type Choice int

// The choices. What cannot be read chooses nothing.
const (
	ChoseNothing Choice = iota // the turn was cancelled, or the editor cannot ask
	ChoseAllow
	ChoseReject
)

// Chosen is what an answer to a [Message.Question] says.
func (m Message) Chosen() Choice {
	outcome := wire.Find(m.Result, "outcome")
	if wire.TextIn(outcome, "outcome") != "selected" {
		return ChoseNothing
	}
	switch wire.TextIn(outcome, "optionId") {
	case OptionAllow:
		return ChoseAllow
	case OptionReject:
		return ChoseReject
	}
	return ChoseNothing
}

// Cancels reports whether an answer to a [Message.Question] says that the turn was
// cancelled.
func (m Message) Cancels() bool {
	return wire.TextIn(wire.Find(m.Result, "outcome"), "outcome") == "cancelled"
}
