package hook_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/hook"
)

// told are events as agents write them.
var told = map[string]string{
	"claude":   `{"session_id":"s","transcript_path":"/t","cwd":"/w","permission_mode":"default","effort":{"level":"high"},"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls","description":"d"},"tool_use_id":"toolu_1"}`,
	"codex":    `{"session_id":"s","turn_id":"t","transcript_path":"/t","cwd":"/w","hook_event_name":"PreToolUse","model":"m","permission_mode":"bypassPermissions","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"call_1"}`,
	"gemini":   `{"session_id":"s","transcript_path":"/t","cwd":"/w","hook_event_name":"BeforeTool","timestamp":"2026-11-26T14:37:49.012Z","tool_name":"run_shell_command","tool_input":{"command":"ls","description":"d"}}`,
	"qwen":     `{"session_id":"s","transcript_path":"/t","cwd":"/w","hook_event_name":"PreToolUse","timestamp":"2026-11-26T14:38:33.469Z","permission_mode":"yolo","tool_name":"run_shell_command","tool_input":{"command":"ls"},"tool_use_id":"toolu_2"}`,
	"opencode": `{"hook_event_name":"tool.execute.before","session_id":"s","cwd":"/w","tool_name":"bash","tool_use_id":"c","tool_input":{"command":"ls"}}`,
	"cursor":   `{"conversation_id":"s","generation_id":"g","model":"m","hook_event_name":"preToolUse","cursor_version":"3.15.6","workspace_roots":["/w"],"user_email":null,"transcript_path":null,"tool_name":"Shell","tool_input":{"command":"ls","working_directory":"/w"},"tool_use_id":"t","cwd":"/w"}`,
	"cline":    `{"clineVersion":"3.0.65","timestamp":"2026-11-26T14:38:33.469Z","taskId":"s","sessionContext":{"rootSessionId":"r"},"workspaceRoots":["/w"],"userId":"u","agent_id":"a","parent_agent_id":null,"hookName":"tool_call","iteration":1,"tool_call":{"id":"c","name":"run_commands","input":{"command":"ls"}},"preToolUse":{"toolName":"run_commands","parameters":{"command":"ls"}}}`,
}

func TestEachAgentsEventIsACall(t *testing.T) {
	for _, a := range hook.Agents() {
		e, err := a.Parse([]byte(told[a.Name]))
		if err != nil || e.Call == nil || e.Session != "s" || e.Dir != "/w" {
			t.Errorf("%s: %+v, %v", a.Name, e, err)
			continue
		}
		if !strings.Contains(string(e.Call.Tool.Arguments), `"command":"ls"`) || e.Call.Tool.Name == "" {
			t.Errorf("%s: the call is %+v", a.Name, e.Call.Tool)
		}
		if e, err := a.Parse([]byte(`{"hook_event_name":"Stop","hookName":"TaskStart","session_id":"s"}`)); err != nil || e.Call != nil {
			t.Errorf("%s: another event is a call: %+v, %v", a.Name, e, err)
		}
	}
}

// Cline's extension tells the arguments as texts, and takes no others.
func TestClinesTwoForms(t *testing.T) {
	a, _ := hook.Find("cline")
	e, err := a.Parse([]byte(`{"hookName":"PreToolUse","taskId":"s","workspaceRoots":["/w"],"preToolUse":{"toolName":"execute_command","parameters":{"command":"ls"}}}`))
	if err != nil || !e.Fixed || e.Call == nil || e.Call.Tool.Name != "execute_command" || string(e.Call.Tool.Arguments) != `{"command":"ls"}` {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err := a.Parse([]byte(told["cline"])); err != nil || e.Fixed || e.Call.ID != "c" {
		t.Errorf("%+v, %v", e, err)
	}
	for _, text := range []string{
		`{"hookName":"tool_call"}`, `{"hookName":"PreToolUse"}`, `{"hookName":"tool_call","preToolUse":{"toolName":"x"}}`,
		`{"hookName":"tool_call","tool_call":{"input":{}}}`, `{"tool_call":{"name":"x"}}`, `{"hookName":"tool_call","hookname":"TaskStart","tool_call":{"name":"x"}}`,
	} {
		if e, err := a.Parse([]byte(text)); err == nil {
			t.Errorf("%s was read as %+v", text, e)
		}
	}
	if e, err := a.Parse([]byte(`{"hookName":"TaskStart","workspaceRoots":["/a","/b"]}`)); err != nil || e.Dir != "" {
		t.Errorf("of two folders one counts: %+v, %v", e, err)
	}
}

func TestWhatTwoReadersTakeForTwoThingsIsRefused(t *testing.T) {
	a, _ := hook.Find("claude")
	for _, text := range []string{
		``, `null`, `[]`, `"PreToolUse"`, `{`, `{}`, `{"hook_event_name":"PreToolUse"}`,
		`{"hook_event_name":"PreToolUse","tool_name":"` + strings.Repeat("x", 600) + `"}`,
		`{"hook_event_name":"Stop","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{}}`,
		`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls","command":"rm"}}`,
		`{"hook_event_name":"PreToolUse","tool_name":"Bash","Tool_Name":"Read","tool_input":{}}`,
		`{"hook_event_name":"PreToolUse","tool_name":["Bash"],"tool_input":{}}`,
		`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{}} {}`,
	} {
		if e, err := a.Parse([]byte(text)); err == nil {
			t.Errorf("%s was read as %+v", text, e)
		}
	}
	for in, want := range map[string]string{`"/a/../b"`: "/b", `"rel"`: "", `"/a\n/b"`: "", `""`: ""} {
		if e, err := a.Parse([]byte(`{"hook_event_name":"Stop","cwd":` + in + `}`)); err != nil || e.Dir != want {
			t.Errorf("the folder %s is %q (%v), want %q", in, e.Dir, err, want)
		}
	}
}

func TestAnAnswerIsWhatItsAgentTakes(t *testing.T) {
	edited := json.RawMessage(`{"command":"ls"}`)
	for _, c := range []struct {
		agent string
		v     hook.Verdict
		want  string
	}{
		{"claude", hook.Verdict{Release: true}, ``},
		{"claude", hook.Verdict{Release: true, Asked: true}, `"permissionDecision":"allow"`},
		{"claude", hook.Verdict{Release: true, Asked: true, Arguments: edited}, `"updatedInput":{"command":"ls"}`},
		{"codex", hook.Verdict{Release: true, Asked: true}, ``},
		{"codex", hook.Verdict{Release: true, Asked: true, Arguments: edited}, `"permissionDecision":"allow","updatedInput":{"command":"ls"}`},
		{"gemini", hook.Verdict{Release: true, Asked: true, Arguments: edited}, `"tool_input":{"command":"ls"}`},
		{"qwen", hook.Verdict{Release: true, Asked: true}, ``},
		{"opencode", hook.Verdict{Release: true, Asked: true, Arguments: edited}, `"tool_input":{"command":"ls"}`},
		{"cursor", hook.Verdict{Release: true}, `{"permission":"allow"}`},
		{"cline", hook.Verdict{Release: true}, `{"cancel":false}`},
		{"cline", hook.Verdict{Release: true, Asked: true, Arguments: edited, Text: "well"}, `"contextModification":"well","overrideInput":{"command":"ls"}`},
	} {
		a, _ := hook.Find(c.agent)
		got, err := a.Answer(c.v)
		if err != nil || !strings.Contains(string(got), c.want) || c.want == "" && got != nil {
			t.Errorf("%s, %+v: %s, %v; want %q", c.agent, c.v, got, err, c.want)
		}
	}
	for _, name := range []string{"qwen", "cursor"} {
		a, _ := hook.Find(name)
		if out, err := a.Answer(hook.Verdict{Release: true, Arguments: edited}); err == nil {
			t.Errorf("%s would run the call with its own arguments: %s", name, out)
		}
		if out, err := a.Answer(hook.Verdict{}); err == nil {
			t.Errorf("a refused call is answered by %s", out)
		}
	}
}

// Whatever is read as a call has a tool, and arguments that are an object or a text.
func FuzzParse(f *testing.F) {
	for _, text := range told {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, a := range hook.Agents() {
			e, err := a.Parse(text)
			if err != nil || e.Call == nil {
				continue
			}
			if e.Name != a.Before || e.Call.Tool.Name == "" || (e.Call.Tool.Arguments == nil) == (e.Call.Tool.ArgumentsRaw == "") {
				t.Errorf("%s: %q is read as %+v", a.Name, text, e.Call.Tool)
			}
			if e.Call.Tool.Arguments != nil && !json.Valid(e.Call.Tool.Arguments) {
				t.Errorf("%s: %q has arguments %q", a.Name, text, e.Call.Tool.Arguments)
			}
		}
	})
}
