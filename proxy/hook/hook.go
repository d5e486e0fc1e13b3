// Package hook reads what coding agents tell their hooks, and writes what they take for an
// answer. Each agent starts a hook as a process, gives it one JSON object on standard input,
// and reads its exit code and its streams:
//
//	{"hook_event_name": "PreToolUse", "session_id": ..., "cwd": ..., "tool_name": ..., "tool_input": {...}}
//
// An agent has a hook for each [Moment]: what its user asks it for, a call that is about to run
// or about which the agent is going to ask its user, and what came of the call.
//
// Cursor names the session and the folder in another way, and Cline tells the call in an
// object of its own. All of it is the agent's own word. The package knows no policy and no HTTP.
package hook

import (
	"slices"
	"time"
)

// An Agent is one whose hooks are known, and what was measured of them.
type Agent struct {
	Name   string // of its program
	Before string // the name of the event before a tool runs
	// Permission is the event before the agent asks its own user about a call, After the one
	// after a tool has run, Failed the one where it has failed, and Prompt the one when the
	// user asks for something. Empty where the agent has none.
	Permission, After, Failed, Prompt string
	// Edits says that the hook can give a call other arguments.
	Edits bool
	// Approves says that the hook's word spares the agent's user its own question.
	Approves bool
	// AsksFirst says that the agent asks its own user before its hook hears of the call.
	AsksFirst bool
	// Wait is how long the agent can be told to wait for a hook.
	Wait time.Duration
	// GoesOn says when the agent runs the call although no hook has let it.
	GoesOn []string
}

// longest is how long a hook waits for people where nobody says otherwise, and the agent has no
// limit of its own that is shorter.
const longest = 10 * time.Minute

const (
	slow     = "the hook takes longer than its timeout"
	disabled = "its user has switched hooks off"
)

// clineWait leaves a hook of Cline time to answer in: Cline kills it after two minutes, whatever
// its settings say, and runs the call.
const clineWait = time.Minute

// qwenWait leaves a hook of Qwen Code time to answer in: Qwen Code runs the call after one minute,
// whatever its settings say, and does not end the hook.
const qwenWait = 35 * time.Second

// Agents are those whose hooks are known (November 2026: Claude Code 2.1.197, Codex
// 0.169.0, Gemini CLI 0.61.0, Qwen Code 0.15.10, opencode 1.18.33, Cline 3.0.65). Cursor's are
// known from its documentation alone.
func Agents() []Agent {
	return []Agent{
		{Name: "claude", Before: "PreToolUse",
			Permission: "PermissionRequest", After: "PostToolUse", Failed: "PostToolUseFailure", Prompt: "UserPromptSubmit",
			Edits: true, Approves: true, Wait: longest, GoesOn: []string{slow, disabled + " (disableAllHooks)"}},
		{Name: "codex", Before: "PreToolUse",
			Permission: "PermissionRequest", After: "PostToolUse", Prompt: "UserPromptSubmit",
			Edits: true, Wait: longest,
			GoesOn: []string{slow, disabled + " (features.hooks)", "its user has not trusted the hook yet: start codex once, and trust it when it asks, or by /hooks"}},
		{Name: "gemini", Before: "BeforeTool",
			After: "AfterTool", Prompt: "BeforeAgent",
			Edits: true, Wait: longest, GoesOn: []string{slow, disabled + " (hooksConfig.enabled)"}},
		{Name: "qwen", Before: "PreToolUse",
			Permission: "PermissionRequest", After: "PostToolUse", Failed: "PostToolUseFailure", Prompt: "UserPromptSubmit",
			AsksFirst: true, Wait: qwenWait, GoesOn: []string{slow + " of one minute", disabled + " (disableAllHooks)"}},
		{Name: "opencode", Before: "tool.execute.before",
			After: "tool.execute.after", Prompt: "chat.message",
			Edits: true, Approves: true, Wait: longest, GoesOn: []string{"the plugin cannot be loaded", "it is started with --pure"}},
		// Whether Cursor takes other arguments was not tried. If it did not, it would run what nobody approved.
		{Name: "cursor", Before: "preToolUse",
			After: "postToolUse", Failed: "postToolUseFailure", Prompt: "beforeSubmitPrompt",
			Wait: longest, GoesOn: []string{
				"its user takes the hook out of hooks.json", "this version of Cursor has no preToolUse hooks (they came after 1.7)",
				"Cursor does not do what its documentation says: the hook was not tried with the real program"}},
		{Name: "cline", Before: "PreToolUse",
			After: "PostToolUse", Prompt: "UserPromptSubmit",
			Edits: true, Wait: clineWait, GoesOn: []string{
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
