package hook

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
)

// A Verdict is what has become of a call.
type Verdict struct {
	Release   bool
	Asked     bool            // people have let it go on
	Arguments json.RawMessage // that it goes on with; nil: its own
	Text      string          // why it does not go on, or what approvers say
}

// Answer is what the hook writes to standard output at a moment; nil: nothing. How a call that
// is about to run is refused `hook run` knows by itself, for it also refuses where no sidecar
// can be asked.
func (a Agent) Answer(at Moment, v Verdict) ([]byte, error) {
	switch at {
	case Before:
		return a.answerBefore(v)
	case Permission:
		return a.answerPermission(v)
	}
	switch a.Name {
	case "cursor":
		return []byte(`{"continue":true}`), nil
	case "cline":
		return []byte(`{"cancel":false}`), nil
	}
	return nil, nil
}

// answerPermission answers for the agent's user, or leaves the question to them: where people
// have not let the call go on.
func (a Agent) answerPermission(v Verdict) ([]byte, error) {
	decision := map[string]any{"behavior": "allow"}
	switch {
	case v.Arguments != nil:
		return nil, fmt.Errorf("%s takes no other arguments when it asks for permission", a.Name)
	case v.Release && !v.Asked:
		return nil, nil
	case !v.Release:
		decision = map[string]any{"behavior": "deny", "message": cmp.Or(v.Text, "denied in Holdgate")}
	}
	return written(map[string]any{"hookEventName": a.Permission, "decision": decision})
}

func (a Agent) answerBefore(v Verdict) ([]byte, error) {
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
	}
	if v.Asked && a.Approves {
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
	return written(specific)
}

func written(specific map[string]any) ([]byte, error) {
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
