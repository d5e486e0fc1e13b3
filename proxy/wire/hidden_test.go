package wire_test

import (
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/wire"
)

func TestHiddenCallIsFoundUnderAnySpelling(t *testing.T) {
	t.Parallel()
	hidden := []string{
		`{"tool_calls":[{}]}`, `{"a":[{"ToolCalls":[1]}]}`, `{"a":{"tool-use":{"b":1}}}`, `{"tool use":{"b":1}}`, `{"TOOLUSES":[1]}`,
		`{"function_call":{"name":"x"}}`, `{"functionCalls":[1]}`, `{"t\u006fol_calls":[1]}`, `{"tool_call` + "\u017f" + `":[1]}`, `{"tool_u` + "\u017f" + `e":{"a":1}}`,
		`[{"type":"tool_use","input":{}}]`, `{"type":"function_call","arguments":"{}"}`, `{"name":"x","type":"robotCall"}`, `{"Type":"CALL","command":"x"}`,
		`{"type":"t\u006fol_use","name":"x"}`, strings.Repeat(`{"a":`, 100) + `{"tool_use":[1]}` + strings.Repeat(`}`, 100),
	}
	for _, v := range hidden {
		if err := wire.HiddenCall([]byte(v)); err == nil {
			t.Errorf("%.100s: no call was found", v)
		}
	}
	ordinary := []string{
		``, `1`, `{}`, `[]`, `"tool_calls"`, `{"tool_calls":[]}`, `{"tool_calls":null}`, `{"tool_calls":"words"}`, `{"finish_reason":"tool_calls"}`,
		`{"server_tool_use":{"web_search_requests":1}}`, `{"toolUsePromptTokensDetails":[{"modality":"TEXT","tokenCount":1}]}`,
		`{"applied_edits":[{"type":"clear_tool_uses_20250919","cleared_tool_uses":8}]}`, `{"type":"server_tool_use","name":"web_search","input":{}}`,
		`{"caller":{"type":"direct"}}`, `[{"type":"web_search_result","title":"how to call a \"tool_use\""}]`, `{"type":"function","name":"x","parameters":{}}`,
		`[{"type":"tool_reference","tool_name":"x"}]`, `{"executed_tools":[{"type":"search","arguments":"{}","output":"x"}]}`,
	}
	for _, v := range ordinary {
		if err := wire.HiddenCall([]byte(v)); err != nil {
			t.Errorf("%s: %v", v, err)
		}
	}
}
