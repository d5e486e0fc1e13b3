package hook

import (
	"encoding/json"
	"slices"
)

// A moment is what hangs on an event that the agent tells of.
type moment int

const (
	deciding moment = iota // whether a call runs, and whatever is not known
	asking                 // whether the agent asks its own user
	telling                // nothing: the sidecar is told
)

// asks and tells are the names of events, as package proxy/hook has them, at which a hook that
// fails must not stop the agent.
var (
	asks  = []string{"PermissionRequest"}
	tells = []string{
		"PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "AfterTool", "BeforeAgent", "postToolUse", "postToolUseFailure",
		"beforeSubmitPrompt", "tool.execute.after", "chat.message", "tool_result", "prompt_submit",
	}
)

func momentOf(told []byte) moment {
	var e struct {
		Name  string `json:"hook_event_name"`
		Cline string `json:"hookName"`
	}
	_ = json.Unmarshal(told, &e) // what cannot be read has no name that is known
	switch name := e.Name + e.Cline; {
	case slices.Contains(asks, name):
		return asking
	case slices.Contains(tells, name):
		return telling
	}
	return deciding
}
