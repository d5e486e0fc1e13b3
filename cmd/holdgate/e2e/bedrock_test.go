package e2e_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
)

// serveBedrock answers a request to Amazon Bedrock: Converse in its own form,
// and what is invoked in Anthropic's.
func serveBedrock(w http.ResponseWriter, r *http.Request, text string, calls []call) {
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/converse"):
		writeJSON(w, converseAnswer(text, calls))
	case strings.HasSuffix(path, "/converse-stream"):
		writeMessages(w, converseMessages(text, calls))
	case strings.HasSuffix(path, "/invoke"):
		writeJSON(w, messagesAnswer(text, calls))
	default:
		var out []string
		for _, event := range messagesEvents(text, calls) {
			_, data, _ := strings.Cut(strings.TrimSpace(event), "data: ")
			out = append(out, awsMessage("chunk", `{"bytes":"`+base64.StdEncoding.EncodeToString([]byte(data))+`","p":"abcdef"}`))
		}
		writeMessages(w, out)
	}
}

func writeMessages(w http.ResponseWriter, messages []string) {
	w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
	rc := http.NewResponseController(w)
	for _, m := range messages {
		if _, err := io.WriteString(w, m); err != nil {
			return
		}
		_ = rc.Flush() // the next write tells
	}
}

// awsMessage is an event of an AWS event stream, as AWS's own library writes it.
func awsMessage(typ, payload string) string {
	m := eventstream.Message{Payload: []byte(payload)}
	m.Headers.Set(":event-type", eventstream.StringValue(typ))
	m.Headers.Set(":content-type", eventstream.StringValue("application/json"))
	m.Headers.Set(":message-type", eventstream.StringValue("event"))
	var b strings.Builder
	if err := eventstream.NewEncoder().Encode(&b, m); err != nil {
		panic(err) // it is short enough
	}
	return b.String()
}

func converseAnswer(text string, calls []call) string {
	blocks := `{"text":` + quoted(text) + `}`
	for _, c := range calls {
		blocks += fmt.Sprintf(`,{"toolUse":{"toolUseId":%q,"name":%q,"input":%s}}`, c.id, c.name(), c.arguments())
	}
	return fmt.Sprintf(`{"metrics":{"latencyMs":9},"output":{"message":{"content":[%s],"role":"assistant"}},"stopReason":%q,"usage":{"inputTokens":10,"outputTokens":20,"totalTokens":30}}`,
		blocks, stopReason(calls, "tool_use", "end_turn"))
}

// converseMessages is the same as a stream, each call's arguments in two parts.
func converseMessages(text string, calls []call) []string {
	out := []string{
		awsMessage("messageStart", `{"p":"abcdef","role":"assistant"}`),
		awsMessage("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":`+quoted(text)+`},"p":"abc"}`),
		awsMessage("contentBlockStop", `{"contentBlockIndex":0,"p":"abcd"}`),
	}
	for i, c := range calls {
		at := fmt.Sprintf(`{"contentBlockIndex":%d,"p":"ab"`, i+1)
		out = append(out, awsMessage("contentBlockStart", at+fmt.Sprintf(`,"start":{"toolUse":{"name":%q,"toolUseId":%q}}}`, c.name(), c.id)))
		for _, part := range halves(c.arguments()) {
			out = append(out, awsMessage("contentBlockDelta", at+`,"delta":{"toolUse":{"input":`+quoted(part)+`}}}`))
		}
		out = append(out, awsMessage("contentBlockStop", at+"}"))
	}
	return append(out,
		awsMessage("messageStop", fmt.Sprintf(`{"p":"abc","stopReason":%q}`, stopReason(calls, "tool_use", "end_turn"))),
		awsMessage("metadata", `{"metrics":{"latencyMs":9},"usage":{"inputTokens":10,"outputTokens":20,"totalTokens":30}}`))
}
