package model_test

import (
	"net/http"
	"strings"
)

// oddContent hides a call in parts of an answer of a format where none belongs.
func oddContent(format string) (out []oddAnswer) {
	document := func(name, body string) {
		out = append(out, oddAnswer{name: name + ", in a document", header: http.Header{"Content-Type": {"application/json"}}, body: body, plain: true})
	}
	switch format {
	case "openai":
		const call = `{"index":0,"id":"c","type":"function","function":{"name":"Bash","arguments":"{\"command\":\"zq9\"}"}}`
		for name, members := range map[string]string{
			"reasoning":              `"content":"a","reasoning":{"tool_calls":[` + call + `]}`,
			"reasoning details":      `"content":"a","reasoning_details":[{"type":"reasoning.tool","tool_calls":[` + call + `]}]`,
			"annotations":            `"content":"a","annotations":[{"type":"function_call","function_call":` + call + `}]`,
			"the refusal":            `"content":"a","refusal":{"function_call":{"name":"Bash","arguments":"zq9"}}`,
			"the audio":              `"content":"a","audio":{"toolCalls":[` + call + `]}`,
			"the content":            `"content":[{"type":"text","text":"a"},{"type":"tool_use","id":"c","name":"Bash","input":{"command":"zq9"}}]`,
			"the content, by name":   `"content":[{"type":"x","function_call":{"name":"Bash","arguments":"zq9"}}]`,
			"a list of content":      `"content_list":[{"type":"tool_use","tool_use":{"tool_use_id":"c","name":"Bash","input":{"command":"zq9"}}}]`,
			"the delta itself":       `"type":"tool_use","tool_use_id":"c","name":"Bash","input":"zq9"`,
			"tool uses":              `"tool_uses":[{"recipient_name":"Bash","parameters":{"command":"zq9"}}]`,
			"messages":               `"content":"a","messages":[{"role":"assistant","tool_calls":[` + call + `]}]`,
			"calls as a text":        `"tool_calls":"[{\"function\":{\"name\":\"Bash\",\"arguments\":\"zq9\"}}]"`,
			"calls as an object":     `"tool_calls":{"0":` + call + `}`,
			"a function call's text": `"function_call":"zq9"`,
			"a call in a call":       `"tool_calls":[{"index":0,"id":"d","tool_calls":[` + call + `]}]`,
			"calls in lists":         `"tool_calls":[[` + call + `]]`,
		} {
			document(name, `{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant",`+members+`},"finish_reason":"stop"}]}`)
			out = append(out, oddAnswer{name: name, body: typed([]string{`{"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{` + members + `}}]}`, `{"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, "[DONE]"})})
		}
		for name, body := range map[string]string{
			"messages of a choice":         `{"id":"x","choices":[{"index":0,"messages":[{"index":0,"role":"assistant","tool_calls":[` + call + `]}]}]}`,
			"logprobs":                     `{"id":"x","choices":[{"index":0,"message":{"content":"a"},"delta":{"content":"a"},"logprobs":{"tool_calls":[` + call + `]},"finish_reason":"stop"}]}`,
			"a choice that is the message": `{"id":"x","choices":[{"index":0,"role":"assistant","tool_calls":[` + call + `]}]}`,
			"choices as an object":         `{"id":"x","choices":{"0":{"message":{"tool_calls":[` + call + `]}}}}`,
			"beside the choices":           `{"id":"x","choices":[],"message":{"tool_calls":[` + call + `]}}`,
			"output beside the choices":    `{"id":"x","choices":[],"output":[{"type":"function_call","name":"Bash","arguments":"zq9"}]}`,
			"one index twice":              `{"id":"x","choices":[{"index":0,"message":{"content":"a"},"delta":{"content":"a"}},{"index":0,"message":{"tool_calls":[` + call + `]},"delta":{"tool_calls":[` + call + `]}}]}`,
			"in a wrapper":                 `{"result":{"id":"x","choices":[{"index":0,"message":{"tool_calls":[` + call + `]},"delta":{"tool_calls":[` + call + `]}}]}}`,
		} {
			document(name, body)
			out = append(out, oddAnswer{name: name, body: typed([]string{body, "[DONE]"})})
		}
	case "anthropic", "bedrock_invoke":
		const use = `{"type":"tool_use","id":"t","name":"Bash","input":{"command":"zq9"}}`
		for name, content := range map[string]string{
			"a block in a block":        `[{"type":"text","text":"a","content":[` + use + `]}]`,
			"a block in thinking":       `[{"type":"thinking","thinking":"a","signature":"x","tool_use":` + use + `}]`,
			"a block in citations":      `[{"type":"text","text":"a","citations":[` + use + `]}]`,
			"a result with a block":     `[{"type":"web_search_tool_result","tool_use_id":"s","content":[` + use + `]}]`,
			"a list of blocks":          `[[` + use + `]]`,
			"a block without a list":    use,
			"blocks as a text":          `"[{\"type\":\"tool_use\",\"name\":\"Bash\",\"input\":\"zq9\"}]"`,
			"blocks by number":          `{"0":` + use + `}`,
			"a type that is a list":     `[{"type":["tool_use"],"id":"t","name":"Bash","input":{"command":"zq9"}}]`,
			"a type with a blank":       `[{"type":"tool_use ","id":"t","name":"Bash","input":{"command":"zq9"}}]`,
			"a type with a zero width":  `[{"type":"tool\u200b_use","id":"t","name":"Bash","input":{"command":"zq9"}}]`,
			"a function call's members": `[{"type":"function","id":"t","function":{"name":"Bash","arguments":"zq9"}}]`,
		} {
			document(name, `{"id":"m","type":"message","role":"assistant","model":"m","content":`+content+`,"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`)
		}
		document("beside the content", `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"a"}],"tool_calls":[{"function":{"name":"Bash","arguments":"zq9"}}],"stop_reason":"tool_use"}`)
		document("in a wrapper", `{"result":{"id":"m","type":"message","role":"assistant","content":[`+use+`]}}`)
		document("the older form", `{"type":"completion","completion":"a","content":[`+use+`]}`)
	case "responses":
		const item = `{"id":"fc","type":"function_call","arguments":"{\"command\":\"zq9\"}","call_id":"c","name":"Bash"}`
		for name, output := range map[string]string{
			"an item in a message":     `[{"type":"message","id":"m","role":"assistant","content":[` + item + `]}]`,
			"an item in reasoning":     `[{"type":"reasoning","id":"r","summary":[` + item + `]}]`,
			"an item in an item":       `[{"type":"own","id":"r","items":[` + item + `]}]`,
			"an item in annotations":   `[{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[` + item + `]}]}]`,
			"a list of items":          `[[` + item + `]]`,
			"an item without a list":   item,
			"items by number":          `{"0":` + item + `}`,
			"a type that is a list":    `[{"type":["function_call"],"arguments":"zq9","call_id":"c","name":"Bash"}]`,
			"a type with a blank":      `[{"type":"function_call ","arguments":"zq9","call_id":"c","name":"Bash"}]`,
			"a call of Chat's":         `[{"type":"message","id":"m","role":"assistant","content":[],"tool_calls":[{"function":{"name":"Bash","arguments":"zq9"}}]}]`,
			"a compaction with a call": `[{"type":"compaction","id":"m","output":[` + item + `]}]`,
		} {
			r := `{"id":"resp_1","object":"response","status":"completed","output":` + output + `}`
			document(name, r)
			out = append(out, oddAnswer{name: name + ", in a snapshot", body: typed([]string{`{"type":"response.created","response":{"id":"resp_1","object":"response","status":"in_progress","output":[]}}`, `{"type":"response.completed","response":` + r + `}`})})
		}
		document("what is required", `{"id":"resp_1","object":"response","status":"requires_action","output":[],"required_action":{"submit_tool_outputs":{"tool_calls":[{"function":{"name":"Bash","arguments":"zq9"}}]}}}`)
		document("in a wrapper", `{"response":{"id":"resp_1","object":"response","output":[`+item+`]}}`)
	case "gemini":
		const call = `{"functionCall":{"name":"Bash","args":{"command":"zq9"}}}`
		for name, body := range map[string]string{
			"a part in a part":            `{"candidates":[{"content":{"parts":[{"text":"a","parts":[` + call + `]}]}}]}`,
			"a call that is a list":       `{"candidates":[{"content":{"parts":[{"functionCall":[{"name":"Bash","args":{"command":"zq9"}}]}]}}]}`,
			"calls":                       `{"candidates":[{"content":{"parts":[{"functionCalls":[{"name":"Bash","args":{"command":"zq9"}}]}]}}]}`,
			"beside the parts":            `{"candidates":[{"content":{"parts":[],"functionCall":{"name":"Bash","args":{"command":"zq9"}}}}]}`,
			"beside the candidates":       `{"candidates":[],"functionCalls":[{"name":"Bash","args":{"command":"zq9"}}]}`,
			"a content that is a list":    `{"candidates":[{"content":[{"parts":[` + call + `]}]}]}`,
			"parts as an object":          `{"candidates":[{"content":{"parts":` + call + `}}]}`,
			"candidates as an object":     `{"candidates":{"content":{"parts":[` + call + `]}}}`,
			"another candidate":           `{"candidate":{"content":{"parts":[` + call + `]}},"candidates":[]}`,
			"in a wrapper in a wrapper":   `{"response":{"response":{"candidates":[{"content":{"parts":[` + call + `]}}]}}}`,
			"in an unknown wrapper":       `{"result":{"candidates":[{"content":{"parts":[` + call + `]}}]}}`,
			"a wrapper in a list":         `{"response":[{"candidates":[{"content":{"parts":[` + call + `]}}]}]}`,
			"a server's content":          `{"serverContent":{"modelTurn":{"parts":[` + call + `]}}}`,
			"what is grounded":            `{"candidates":[{"content":{"parts":[{"text":"a"}]},"groundingMetadata":{"functionCall":{"name":"Bash","args":{"command":"zq9"}}}}]}`,
			"the older content":           `{"candidates":[{"output":"a","function_call":{"name":"Bash","args":{"command":"zq9"}}}]}`,
			"one candidate's index twice": `{"candidates":[{"index":0,"content":{"parts":[{"text":"a"}]}},{"index":0,"content":{"parts":[` + call + `]}}]}`,
			"a call that is thought":      `{"candidates":[{"content":{"parts":[{"thought":true,"text":"a","functionCall":{"name":"Bash","args":{"command":"zq9"}}}]}}]}`,
		} {
			document(name, body)
			out = append(out, oddAnswer{name: name, body: typed([]string{body})})
		}
		out = append(out, oddAnswer{name: "a list that comes under the type of events", body: `[{"candidates":[{"content":{"parts":[` + call + `]}}]}]`})
	case "ollama":
		const call = `{"function":{"name":"Bash","arguments":{"command":"zq9"}}}`
		for name, body := range map[string]string{
			"a message that is a list":  `{"model":"m","message":[{"role":"assistant","tool_calls":[` + call + `]}],"done":true}`,
			"calls in thinking":         `{"model":"m","message":{"role":"assistant","content":"","thinking":{"tool_calls":[` + call + `]}},"done":true}`,
			"calls as an object":        `{"model":"m","message":{"role":"assistant","content":"","tool_calls":` + call + `},"done":true}`,
			"messages":                  `{"model":"m","messages":[{"role":"assistant","tool_calls":[` + call + `]}],"done":true}`,
			"choices":                   `{"model":"m","choices":[{"message":{"tool_calls":[` + call + `]}}],"done":true}`,
			"content that is a list":    `{"model":"m","message":{"role":"assistant","content":[{"type":"tool_use","name":"Bash","input":"zq9"}]},"done":true}`,
			"calls in lists":            `{"model":"m","message":{"role":"assistant","tool_calls":[[` + call + `]]},"done":true}`,
			"a name in another case":    `{"model":"m","message":{"role":"assistant","Tool_Calls":[` + call + `]},"done":true}`,
			"a message in another case": `{"model":"m","MESSAGE":{"role":"assistant","tool_calls":[` + call + `]},"done":true}`,
			"a name with a long s":      `{"model":"m","meſſage":{"role":"assistant","tool_calls":[` + call + `]},"done":true}`,
		} {
			document(name, body)
			out = append(out, oddAnswer{name: name, body: body + "\n"})
		}
	case "bedrock":
		const use = `{"toolUse":{"toolUseId":"t","name":"Bash","input":{"command":"zq9"}}}`
		for name, body := range map[string]string{
			"a block in a block":       `{"output":{"message":{"role":"assistant","content":[{"text":"a","content":[` + use + `]}]}},"stopReason":"tool_use"}`,
			"a block in reasoning":     `{"output":{"message":{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"a"},"toolUse":{"name":"Bash","input":{"command":"zq9"}}}}]}},"stopReason":"tool_use"}`,
			"a result with a block":    `{"output":{"message":{"role":"assistant","content":[{"toolResult":{"content":[` + use + `]}}]}},"stopReason":"tool_use"}`,
			"blocks without a message": `{"output":{"content":[` + use + `]},"stopReason":"tool_use"}`,
			"messages":                 `{"output":{"messages":[{"role":"assistant","content":[` + use + `]}]},"stopReason":"tool_use"}`,
			"a message without output": `{"message":{"role":"assistant","content":[` + use + `]},"output":{"message":{"content":[]}},"stopReason":"tool_use"}`,
			"a block without a list":   `{"output":{"message":{"role":"assistant","content":` + use + `}},"stopReason":"tool_use"}`,
			"more fields of the model": `{"output":{"message":{"role":"assistant","content":[{"text":"a"}]}},"additionalModelResponseFields":{"toolUse":{"name":"Bash","input":{"command":"zq9"}}},"stopReason":"tool_use"}`,
			"a name in another case":   strings.Replace(`{"output":{"message":{"role":"assistant","content":[`+use+`]}},"stopReason":"tool_use"}`, "toolUse\"", "tooluse\"", 1),
		} {
			document(name, body)
		}
	}
	return out
}
