// Package hook reads what coding agents tell their hooks of a tool call that is about
// to run, and writes what they take for an answer. Each agent starts a hook as a
// process, gives it one JSON object on standard input, and reads its exit code and its
// streams:
//
//	{"hook_event_name": "PreToolUse", "session_id": ..., "cwd": ..., "tool_name": ..., "tool_input": {...}}
//
// Cursor names the session and the folder in another way, and Cline tells the call in an
// object of its own. All of it is the agent's own word. The package knows no policy and no HTTP.
package hook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// An Agent is one whose hooks are known, and what was measured of them.
type Agent struct {
	Name   string // of its program
	Before string // the name of the event before a tool runs
	// Edits says that the hook can give a call other arguments.
	Edits bool
	// Approves says that the hook's word spares the agent's user its own question.
	Approves bool
	// Wait is how long the agent can be told to wait for a hook.
	Wait time.Duration
	// GoesOn says when the agent runs the call although no hook has let it.
	GoesOn []string
}

// longest is how long a hook waits for people where nobody says otherwise. The agents
// have no limit of their own that is shorter.
const longest = 10 * time.Minute

const (
	slow     = "the hook takes longer than its timeout"
	disabled = "its user has switched hooks off"
)

// clineWait leaves a hook of Cline time to answer in: Cline kills it after two minutes, whatever
// its settings say, and runs the call.
const clineWait = time.Minute

// Agents are those whose hooks are known (November 2026: Claude Code 2.1.197, Codex
// 0.169.0, Gemini CLI 0.61.0, Qwen Code 0.15.10, opencode 1.18.33, Cline 3.0.65). Cursor's are
// known from its documentation alone.
func Agents() []Agent {
	return []Agent{
		{Name: "claude", Before: "PreToolUse", Edits: true, Approves: true, Wait: longest, GoesOn: []string{slow, disabled + " (disableAllHooks)"}},
		{Name: "codex", Before: "PreToolUse", Edits: true, Wait: longest,
			GoesOn: []string{slow, disabled + " (features.hooks)", "its user has not trusted the hook yet: start codex once, and trust it when it asks, or by /hooks"}},
		{Name: "gemini", Before: "BeforeTool", Edits: true, Wait: longest, GoesOn: []string{slow, disabled + " (hooksConfig.enabled)"}},
		{Name: "qwen", Before: "PreToolUse", Wait: longest, GoesOn: []string{slow, disabled + " (disableAllHooks)"}},
		{Name: "opencode", Before: "tool.execute.before", Edits: true, Wait: longest, GoesOn: []string{"the plugin cannot be loaded", "it is started with --pure"}},
		// Whether Cursor takes other arguments was not tried. If it did not, it would run what nobody approved.
		{Name: "cursor", Before: "preToolUse", Wait: longest, GoesOn: []string{
			"its user takes the hook out of hooks.json", "this version of Cursor has no preToolUse hooks (they came after 1.7)",
			"Cursor does not do what its documentation says: the hook was not tried with the real program"}},
		{Name: "cline", Before: "PreToolUse", Edits: true, Wait: clineWait, GoesOn: []string{
			slow + " of two minutes", "the file is gone, or its first line names a program that is not there", "bash or sh is not there"}},
	}
}

// Find is the agent of a name.
func Find(name string) (Agent, bool) {
	all := Agents()
	if i := slices.IndexFunc(all, func(a Agent) bool { return a.Name == name }); i >= 0 {
		return all[i], true
	}
	return Agent{}, false
}

// Names are those of the agents whose hooks are known.
func Names() (names []string) {
	for _, a := range Agents() {
		names = append(names, a.Name)
	}
	return names
}

// An Event is what an agent tells its hook.
type Event struct {
	Name    string
	Session string // as the agent names it; empty where it does not
	// Dir is the folder that the agent says it is in, absolute and clean; empty where it
	// says none.
	Dir  string
	Call *holdgate.Call // that is about to run; nil at any other event
	// Fixed says that a hook cannot give this call other arguments.
	Fixed bool
}

type event struct {
	Name      string          `json:"hook_event_name"`
	Session   string          `json:"session_id"`
	Dir       string          `json:"cwd"`
	Tool      string          `json:"tool_name"`
	Arguments json.RawMessage `json:"tool_input"`
	ID        string          `json:"tool_use_id"`

	// Cursor's.
	Conversation string   `json:"conversation_id"`
	Roots        []string `json:"workspace_roots"`
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
}

// read reads an event in its agent's form. Fixed: a hook cannot give the call other arguments.
func (a Agent) read(body []byte) (in event, fixed bool, err error) {
	if a.Name == "cline" {
		return a.readCline(body)
	}
	err = json.Unmarshal(body, &in)
	if a.Name == "cursor" {
		in.Session = cmp.Or(in.Conversation, in.Session)
		if in.Dir == "" {
			in.Dir = only(in.Roots)
		}
	}
	return in, !a.Edits, err
}

func (a Agent) readCline(body []byte) (in event, fixed bool, err error) {
	var told clineEvent
	if err := json.Unmarshal(body, &told); err != nil {
		return in, true, err
	}
	in = event{Name: told.Name, Session: told.Task, Dir: only(told.Roots)}
	switch {
	case told.Name == "tool_call" && told.Call != nil:
		in.Name, in.ID, in.Tool, in.Arguments = a.Before, told.Call.ID, told.Call.Name, told.Call.Input
	case told.Name == a.Before && told.PreToolUse != nil:
		in.Tool, in.Arguments, fixed = told.PreToolUse.Name, told.PreToolUse.Parameters, true
	case told.Name == "tool_call":
		in.Name = a.Before // without a tool, which is refused
	}
	return in, fixed, nil
}

// only is the one folder that an agent works in; with several it is not known.
func only(roots []string) string {
	if len(roots) != 1 {
		return ""
	}
	return roots[0]
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
	in, fixed, err := a.read(body)
	if err != nil {
		return Event{}, fmt.Errorf("what the hook was told cannot be read: %w", err)
	}
	if in.Name == "" {
		return Event{}, errors.New("the event's name is missing (hook_event_name; hookName of Cline)")
	}
	e := Event{Name: in.Name, Session: in.Session, Fixed: fixed}
	if filepath.IsAbs(in.Dir) && !strings.ContainsFunc(in.Dir, func(r rune) bool { return r < ' ' }) {
		e.Dir = filepath.Clean(in.Dir)
	}
	if in.Name != a.Before {
		return e, nil
	}
	if in.Tool == "" || len(in.Tool) > maxName {
		return Event{}, fmt.Errorf("the tool's name must be there, with at most %d bytes", maxName)
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
	e.Call = &holdgate.Call{Kind: holdgate.KindToolCall, ID: in.ID, Tool: t}
	return e, nil
}

// A Verdict is what has become of a call.
type Verdict struct {
	Release   bool
	Asked     bool            // people have let it go on
	Arguments json.RawMessage // that it goes on with; nil: its own
	Text      string          // why it does not go on, or what approvers say
}

// Answer is what the hook writes to standard output for a call that goes on; nil:
// nothing. How a call is refused `hook run` knows by itself, for it also refuses where no
// sidecar can be asked.
func (a Agent) Answer(v Verdict) ([]byte, error) {
	if !v.Release {
		return nil, errors.New("a call that is refused has no answer")
	}
	if v.Arguments != nil && !a.Edits {
		return nil, fmt.Errorf("%s takes no other arguments from a hook", a.Name)
	}
	if a.Name == "cursor" || a.Name == "cline" {
		return a.answerPlainly(v)
	}
	specific := map[string]any{}
	switch {
	case a.Name == "gemini" || a.Name == "opencode":
		if v.Arguments != nil {
			specific["tool_input"] = v.Arguments
		}
	case v.Arguments != nil:
		specific["permissionDecision"], specific["updatedInput"] = "allow", v.Arguments
	case v.Asked && a.Approves:
		specific["permissionDecision"] = "allow"
	}
	if v.Text != "" && a.Name == "claude" {
		specific["additionalContext"] = v.Text
	}
	if len(specific) == 0 {
		return nil, nil
	}
	if specific["permissionDecision"] == "allow" && a.Approves {
		specific["permissionDecisionReason"] = cmp.Or(v.Text, "approved in Holdgate")
	}
	specific["hookEventName"] = a.Before
	out, err := json.Marshal(map[string]any{"hookSpecificOutput": specific})
	if err != nil {
		return nil, fmt.Errorf("writing the answer of a hook: %w", err)
	}
	return out, nil
}

// answerPlainly is the answer of agents that want one for each call.
func (a Agent) answerPlainly(v Verdict) ([]byte, error) {
	answer := map[string]any{"permission": "allow"}
	if a.Name == "cline" {
		answer = map[string]any{"cancel": false}
		if v.Arguments != nil {
			answer["overrideInput"] = v.Arguments
		}
		if v.Text != "" {
			answer["contextModification"] = v.Text
		}
	}
	out, err := json.Marshal(answer)
	if err != nil {
		return nil, fmt.Errorf("writing the answer of a hook: %w", err)
	}
	return out, nil
}
