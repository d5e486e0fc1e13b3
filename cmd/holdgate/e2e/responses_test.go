package e2e_test

import (
	"fmt"
	"strings"
)

// responsesAnswer is an answer of OpenAI's Responses API.
func responsesAnswer(status, text string, calls []call) string {
	return fmt.Sprintf(`{"id":"resp_1","object":"response","created_at":1,"status":%q,"error":null,"incomplete_details":null,"instructions":null,"metadata":{},"model":"gpt-test",`+
		`"output":[%s],"parallel_tool_calls":true,"temperature":1,"tool_choice":"auto","tools":[],"top_p":1,`+
		`"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":0},"output_tokens":20,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":30}}`,
		status, strings.Join(responsesItems(text, calls), ","))
}

func responsesItems(text string, calls []call) (items []string) {
	if text != "" {
		items = append(items, fmt.Sprintf(`{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[%s]}`, responsesPart(text)))
	}
	for _, c := range calls {
		items = append(items, responsesCall("completed", c, c.arguments()))
	}
	return items
}

func responsesPart(text string) string {
	return `{"type":"output_text","text":` + quoted(text) + `,"annotations":[],"logprobs":[]}`
}

func responsesCall(status string, c call, arguments string) string {
	if c.tool == codexScript {
		return fmt.Sprintf(`{"id":"ctc_%s","type":"custom_tool_call","status":%q,"input":%s,"call_id":%q,"name":"exec","namespace":"functions"}`, c.id, status, quoted(arguments), c.id)
	}
	return fmt.Sprintf(`{"id":"fc_%s","type":"function_call","status":%q,"arguments":%s,"call_id":%q,"name":%q}`, c.id, status, quoted(arguments), c.id, c.name())
}

// responsesEvents is the same as a stream, each call's arguments in two parts.
func responsesEvents(text string, calls []call) (out []string) {
	event := func(kind, rest string) {
		out = append(out, fmt.Sprintf("event: %s\ndata: {\"type\":%q,\"sequence_number\":%d,%s}\n\n", kind, kind, len(out), rest))
	}
	event("response.created", `"response":`+responsesAnswer("in_progress", "", nil))
	event("response.in_progress", `"response":`+responsesAnswer("in_progress", "", nil))
	items := responsesItems(text, calls)
	at := `"item_id":"msg_1","output_index":0,"content_index":0`
	event("response.output_item.added", `"output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}`)
	event("response.content_part.added", at+`,"part":`+responsesPart(""))
	event("response.output_text.delta", at+`,"delta":`+quoted(text)+`,"logprobs":[]`)
	event("response.output_text.done", at+`,"text":`+quoted(text)+`,"logprobs":[]`)
	event("response.content_part.done", at+`,"part":`+responsesPart(text))
	event("response.output_item.done", `"output_index":0,"item":`+items[0])
	for i, c := range calls {
		kind, member, id := "response.function_call_arguments", "arguments", "fc_"
		if c.tool == codexScript {
			kind, member, id = "response.custom_tool_call_input", "input", "ctc_"
		}
		at := fmt.Sprintf(`"item_id":"%s%s","output_index":%d`, id, c.id, i+1)
		event("response.output_item.added", fmt.Sprintf(`"output_index":%d,"item":%s`, i+1, responsesCall("in_progress", c, "")))
		for _, part := range halves(c.arguments()) {
			event(kind+".delta", at+`,"delta":`+quoted(part))
		}
		event(kind+".done", at+`,"`+member+`":`+quoted(c.arguments()))
		event("response.output_item.done", fmt.Sprintf(`"output_index":%d,"item":%s`, i+1, items[i+1]))
	}
	event("response.completed", `"response":`+responsesAnswer("completed", text, calls))
	return out
}
