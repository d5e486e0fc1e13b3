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
		if e.At != hook.Before {
			t.Errorf("%s: the call is at %d", a.Name, e.At)
		}
		if e, err := a.Parse([]byte(`{"hook_event_name":"Stop","hookName":"TaskStart","session_id":"s"}`)); err != nil || e.Call != nil {
			t.Errorf("%s: another event is a call: %+v, %v", a.Name, e, err)
		}
	}
}

// What agents tell of at other moments, as they were seen to write it: Cursor's by its documentation.
func TestWhatAgentsTellOfBesides(t *testing.T) {
	const call = `"tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"c"`
	for _, c := range []struct {
		agent, told string
		at          hook.Moment
		result      string // or what the user has said
	}{
		{"claude", `{"hook_event_name":"PostToolUse","session_id":"s","cwd":"/w",` + call + `,"tool_response":{"stdout":"ab","stderr":"","interrupted":false,"isImage":false}}`, hook.After, "the tool ended well, 2 bytes came back"},
		{"claude", `{"hook_event_name":"PostToolUseFailure","session_id":"s","cwd":"/w",` + call + `,"error":"Exit code 3\nhello","is_interrupt":false}`, hook.After, "the tool failed, exit code 3, 17 bytes came back"},
		{"claude", `{"hook_event_name":"PermissionRequest","session_id":"s","cwd":"/w","tool_name":"Bash","tool_input":{"command":"ls"},"permission_suggestions":[]}`, hook.Permission, ""},
		{"claude", `{"hook_event_name":"UserPromptSubmit","session_id":"s","cwd":"/w","prompt":"do it"}`, hook.Prompt, "do it"},
		{"codex", `{"hook_event_name":"PostToolUse","session_id":"s","cwd":"/w",` + call + `,"tool_response":"hello\n"}`, hook.After, "the tool has run, 6 bytes came back"},
		{"codex", `{"hook_event_name":"PermissionRequest","session_id":"s","cwd":"/w","tool_name":"Bash","tool_input":{"command":"ls"}}`, hook.Permission, ""},
		{"codex", `{"hook_event_name":"UserPromptSubmit","session_id":"s","cwd":"/w","prompt":"do it"}`, hook.Prompt, "do it"},
		{"gemini", `{"hook_event_name":"AfterTool","session_id":"s","cwd":"/w",` + call + `,"tool_response":{"llmContent":"Output: x\nExit Code: 127\n","returnDisplay":""}}`, hook.After, "the tool has run, 25 bytes came back"},
		{"gemini", `{"hook_event_name":"AfterTool","session_id":"s","cwd":"/w",` + call + `,"tool_response":{"llmContent":"no","returnDisplay":"","error":{"message":"no"}}}`, hook.After, "the tool failed, 4 bytes came back"},
		{"gemini", `{"hook_event_name":"BeforeAgent","session_id":"s","cwd":"/w","prompt":"do it"}`, hook.Prompt, "do it"},
		{"qwen", `{"hook_event_name":"PostToolUse","session_id":"s","cwd":"/w",` + call + `,"tool_response":{"llmContent":"Output: Exit Code: 0\nExit Code: 9\nError: (none)\nExit Code: 3\nSignal: 0"}}`, hook.After, "the tool failed, exit code 3, 70 bytes came back"},
		{"qwen", `{"hook_event_name":"UserPromptSubmit","session_id":"s","cwd":"/w","prompt":""}`, hook.Elsewhere, ""},
		{"opencode", `{"hook_event_name":"tool.execute.after","session_id":"s","cwd":"/w",` + call + `,"tool_response":{"output":"(no output)","metadata":{"exit":0}}}`, hook.After, "the tool ended well, exit code 0, 11 bytes came back"},
		{"opencode", `{"hook_event_name":"chat.message","session_id":"s","cwd":"/w","prompt":"do it"}`, hook.Prompt, "do it"},
		{"cursor", `{"hook_event_name":"postToolUse","conversation_id":"s","workspace_roots":["/w"],` + call + `,"tool_output":"{}"}`, hook.After, "the tool ended well, 2 bytes came back"},
		{"cursor", `{"hook_event_name":"postToolUseFailure","conversation_id":"s","workspace_roots":["/w"],` + call + `,"error_message":"timeout"}`, hook.After, "the tool failed, 7 bytes came back"},
		{"cursor", `{"hook_event_name":"beforeSubmitPrompt","conversation_id":"s","workspace_roots":["/w"],"prompt":"do it"}`, hook.Prompt, "do it"},
		{"cline", `{"hookName":"tool_result","taskId":"s","workspaceRoots":["/w"],"tool_result":{"id":"c","name":"run_commands","input":{"command":"ls"},"output":[{"query":"ls","result":"","success":true}]},"postToolUse":{"toolName":"run_commands","parameters":{"command":"x"},"result":"[]","success":true}}`, hook.After, "the tool ended well, 2 bytes came back"},
		{"cline", `{"hookName":"PostToolUse","taskId":"s","workspaceRoots":["/w"],"postToolUse":{"toolName":"execute_command","parameters":{"command":"ls"},"result":"no","success":false}}`, hook.After, "the tool failed, 2 bytes came back"},
		{"cline", `{"hookName":"prompt_submit","taskId":"s","workspaceRoots":["/w"],"userPromptSubmit":{"prompt":"do it","attachments":[]}}`, hook.Prompt, "do it"},
	} {
		a, _ := hook.Find(c.agent)
		e, err := a.Parse([]byte(c.told))
		if err != nil || e.At != c.at || e.Session != "s" || e.Dir != "/w" {
			t.Errorf("%s, %s: %+v, %v", c.agent, c.told, e, err)
			continue
		}
		switch c.at {
		case hook.After:
			if got := e.Result.String(); got != c.result || string(e.Call.Tool.Arguments) != `{"command":"ls"}` {
				t.Errorf("%s, %s: %s of %+v, want %s", c.agent, c.told, got, e.Call.Tool, c.result)
			}
		case hook.Permission:
			if !e.Fixed || e.Call == nil {
				t.Errorf("%s: other arguments are offered: %+v", c.agent, e)
			}
		default:
			if e.Said != c.result || e.Call != nil {
				t.Errorf("%s, %s: %+v", c.agent, c.told, e)
			}
		}
	}
}

// When an agent asks for permission, only what people approved is answered for its user.
func TestAnAnswerForTheAgentsUser(t *testing.T) {
	for _, name := range []string{"claude", "codex", "qwen"} {
		a, _ := hook.Find(name)
		for _, c := range []struct {
			v    hook.Verdict
			want string
		}{
			{hook.Verdict{Release: true}, ``},
			{hook.Verdict{Release: true, Asked: true}, `{"hookSpecificOutput":{"decision":{"behavior":"allow"},"hookEventName":"PermissionRequest"}}`},
			{hook.Verdict{Text: "no"}, `{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"no"},"hookEventName":"PermissionRequest"}}`},
		} {
			if got, err := a.Answer(hook.Permission, c.v); err != nil || string(got) != c.want {
				t.Errorf("%s, %+v: %s, %v; want %s", name, c.v, got, err, c.want)
			}
		}
		if got, err := a.Answer(hook.Permission, hook.Verdict{Release: true, Asked: true, Arguments: json.RawMessage(`{}`)}); err == nil {
			t.Errorf("%s is given other arguments: %s", name, got)
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
		got, err := a.Answer(hook.Before, c.v)
		if err != nil || !strings.Contains(string(got), c.want) || c.want == "" && got != nil {
			t.Errorf("%s, %+v: %s, %v; want %q", c.agent, c.v, got, err, c.want)
		}
	}
	for _, name := range []string{"qwen", "cursor"} {
		a, _ := hook.Find(name)
		if out, err := a.Answer(hook.Before, hook.Verdict{Release: true, Arguments: edited}); err == nil {
			t.Errorf("%s would run the call with its own arguments: %s", name, out)
		}
		if out, err := a.Answer(hook.Before, hook.Verdict{}); err == nil {
			t.Errorf("a refused call is answered by %s", out)
		}
	}
}

// Whatever is read as a call has a tool, and arguments that are an object or a text; nothing
// but a call that is about to run, or is asked about, can be decided.
func FuzzParse(f *testing.F) {
	for _, text := range told {
		f.Add([]byte(text))
	}
	for _, text := range []string{
		`{"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"ls"}}`,
		`{"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{},"tool_response":{"metadata":{"exit":1.5},"llmContent":"Exit Code: 1"}}`,
		`{"hook_event_name":"PostToolUseFailure","tool_name":"Bash","error":"Exit code 99999999999"}`,
		`{"hook_event_name":"UserPromptSubmit","prompt":"x"}`, `{"hookName":"tool_result","tool_result":{"name":"x","output":[1]},"postToolUse":{"success":false}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, a := range hook.Agents() {
			e, err := a.Parse(text)
			if err != nil {
				continue
			}
			if e.Call != nil != (e.At == hook.Before || e.At == hook.Permission || e.At == hook.After) || e.Said != "" != (e.At == hook.Prompt) {
				t.Errorf("%s: %q is read as %+v", a.Name, text, e)
			}
			if e.Result.Size < 0 || e.At != hook.After && e.Result != (hook.Result{}) {
				t.Errorf("%s: %q has the result %+v", a.Name, text, e.Result)
			}
			if e.Call == nil {
				continue
			}
			if e.Call.Tool.Name == "" || (e.Call.Tool.Arguments == nil) == (e.Call.Tool.ArgumentsRaw == "") {
				t.Errorf("%s: %q is read as %+v", a.Name, text, e.Call.Tool)
			}
			if e.Call.Tool.Arguments != nil && !json.Valid(e.Call.Tool.Arguments) {
				t.Errorf("%s: %q has arguments %q", a.Name, text, e.Call.Tool.Arguments)
			}
		}
	})
}
