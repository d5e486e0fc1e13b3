package hook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A Moment is when an event comes.
type Moment int

// The moments.
const (
	Elsewhere  Moment = iota // nothing is to be decided or to be known
	Before                   // a tool is about to run
	Permission               // the agent is about to ask its own user about a call
	After                    // a tool has run
	Prompt                   // the agent's user has asked for something
)

// An Event is what an agent tells its hook.
type Event struct {
	Name    string
	At      Moment
	Session string // as the agent names it; empty where it does not
	// Dir is the folder that the agent says it is in, absolute and clean; empty where it
	// says none.
	Dir string
	// Call is the one that is about to run, that is asked about, or that has run; nil at
	// any other moment.
	Call *holdgate.Call
	// Fixed says that a hook cannot give this call other arguments.
	Fixed  bool
	Result Result // after a tool
	Said   string // by the agent's user
}

type event struct {
	Name      string          `json:"hook_event_name"`
	Session   string          `json:"session_id"`
	Dir       string          `json:"cwd"`
	Tool      string          `json:"tool_name"`
	Arguments json.RawMessage `json:"tool_input"`
	ID        string          `json:"tool_use_id"`
	Said      json.RawMessage `json:"prompt"`

	// Of a tool that has run.
	Response json.RawMessage `json:"tool_response"`
	Error    json.RawMessage `json:"error"` // a text, of one that has failed

	// Cursor's.
	Conversation string          `json:"conversation_id"`
	Roots        []string        `json:"workspace_roots"`
	Output       json.RawMessage `json:"tool_output"`
	Message      json.RawMessage `json:"error_message"`

	fixed bool
	ended wire.Ended // as far as the agent says it in so many words
}

// A clineEvent is what Cline tells its hooks: its command line a call as it came, and its
// extension the arguments as texts.
type clineEvent struct {
	Name  string   `json:"hookName"`
	Task  string   `json:"taskId"`
	Roots []string `json:"workspaceRoots"`
	Call  *struct {
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	} `json:"tool_call"`
	PreToolUse *struct {
		Name       string          `json:"toolName"`
		Parameters json.RawMessage `json:"parameters"`
	} `json:"preToolUse"`
	Result *struct {
		ID     string          `json:"id"`
		Name   string          `json:"name"`
		Input  json.RawMessage `json:"input"`
		Output json.RawMessage `json:"output"`
	} `json:"tool_result"`
	PostToolUse *struct {
		Name       string          `json:"toolName"`
		Parameters json.RawMessage `json:"parameters"`
		Result     json.RawMessage `json:"result"`
		Success    *bool           `json:"success"`
	} `json:"postToolUse"`
	UserPromptSubmit *struct {
		Prompt json.RawMessage `json:"prompt"`
	} `json:"userPromptSubmit"`
}

// read reads an event in its agent's form.
func (a Agent) read(body []byte) (in event, err error) {
	if a.Name == "cline" {
		return a.readCline(body)
	}
	err = json.Unmarshal(body, &in)
	in.fixed = !a.Edits || in.Name == a.Permission
	switch {
	case in.Name == a.Failed:
		in.ended = wire.EndedBadly
	case in.Name == a.After && a.Failed != "":
		in.ended = wire.EndedWell
	}
	if a.Name == "cursor" {
		in.Session = cmp.Or(in.Conversation, in.Session)
		if in.Dir == "" {
			in.Dir = only(in.Roots)
		}
		in.Response, in.Error = in.Output, in.Message
	}
	return in, err
}

func (a Agent) readCline(body []byte) (in event, err error) {
	var told clineEvent
	if err := json.Unmarshal(body, &told); err != nil {
		return in, err
	}
	in = event{Name: told.Name, Session: told.Task, Dir: only(told.Roots)}
	switch told.Name {
	case "tool_call", a.Before:
		in.Name = a.Before // without a tool it is refused
		if c := told.Call; c != nil && told.Name == "tool_call" {
			in.ID, in.Tool, in.Arguments = c.ID, c.Name, c.Input
		} else if p := told.PreToolUse; p != nil && told.Name == a.Before {
			in.Tool, in.Arguments, in.fixed = p.Name, p.Parameters, true
		}
	case "tool_result", a.After:
		in.Name = a.After
		if p := told.PostToolUse; p != nil {
			in.Tool, in.Arguments, in.Response = p.Name, p.Parameters, p.Result
			if p.Success != nil {
				in.ended = wire.EndedIn(!*p.Success)
			}
		}
		if r := told.Result; r != nil && told.Name == "tool_result" {
			in.ID, in.Tool, in.Arguments, in.Response = r.ID, r.Name, r.Input, r.Output
		}
	case "prompt_submit", a.Prompt:
		in.Name = a.Prompt
		if p := told.UserPromptSubmit; p != nil {
			in.Said = p.Prompt
		}
	}
	return in, nil
}

// only is the one folder that an agent works in; with several it is not known.
func only(roots []string) string {
	if len(roots) != 1 {
		return ""
	}
	return roots[0]
}

// moment is when an event of a name comes.
func (a Agent) moment(name string) Moment {
	switch name {
	case "":
		return Elsewhere
	case a.Before:
		return Before
	case a.Permission:
		return Permission
	case a.After, a.Failed:
		return After
	case a.Prompt:
		return Prompt
	}
	return Elsewhere
}

// maxName bounds the name of a tool, in bytes.
const maxName = 500

// Parse reads what an agent has written to its hook. What cannot be read by all alike is
// an error.
func (a Agent) Parse(body []byte) (Event, error) {
	if !bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) {
		return Event{}, errors.New("a hook is told a JSON object")
	}
	if err := wire.Strict(body); err != nil {
		return Event{}, fmt.Errorf("what the hook was told cannot be read: %w", err)
	}
	in, err := a.read(body)
	if err != nil {
		return Event{}, fmt.Errorf("what the hook was told cannot be read: %w", err)
	}
	if in.Name == "" {
		return Event{}, errors.New("the event's name is missing (hook_event_name; hookName of Cline)")
	}
	e := Event{Name: in.Name, At: a.moment(in.Name), Session: in.Session, Fixed: in.fixed}
	if filepath.IsAbs(in.Dir) && !strings.ContainsFunc(in.Dir, func(r rune) bool { return r < ' ' }) {
		e.Dir = filepath.Clean(in.Dir)
	}
	switch e.At {
	case Prompt:
		if json.Unmarshal(in.Said, &e.Said) != nil || strings.TrimSpace(e.Said) == "" { // Qwen Code tells of results as well
			e.At, e.Said = Elsewhere, ""
		}
		return e, nil
	case Before, Permission, After:
		e.Call, err = in.call()
		if e.At == After {
			e.Result = in.result(a)
		}
	}
	return e, err
}

// call is the call that an event is about.
func (in *event) call() (*holdgate.Call, error) {
	if in.Tool == "" || len(in.Tool) > maxName {
		return nil, fmt.Errorf("the tool's name must be there, with at most %d bytes", maxName)
	}
	t := &holdgate.Tool{Name: in.Tool}
	switch arguments := bytes.TrimSpace(in.Arguments); {
	case bytes.HasPrefix(arguments, []byte("{")):
		t.Arguments = arguments
	case len(arguments) == 0 || bytes.Equal(arguments, []byte("null")):
		t.Arguments = json.RawMessage("{}")
	default:
		t.ArgumentsRaw = string(arguments)
	}
	return &holdgate.Call{Kind: holdgate.KindToolCall, ID: in.ID, Tool: t}, nil
}
