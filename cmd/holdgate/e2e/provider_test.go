package e2e_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// A provider stands in for the model providers. It speaks Anthropic Messages,
// OpenAI Chat Completions and Responses, Gemini, Bedrock and Ollama, plain and streamed, and its model does as
// it is told: to "run: COMMAND" it asks for Bash with that command, and once it has
// seen a tool's result, or is told nothing of the kind, it says that it is
// done.
type provider struct {
	*httptest.Server

	// calls turns a command into the calls of an answer, where a test wants
	// others than the one that the command asks for.
	calls func(command string) []call
	// latest, where it is set, finds what the model is told in a conversation of several
	// turns: the last counts.
	latest *regexp.Regexp

	mu       sync.Mutex
	bodies   []string // of the requests for an answer, in their order
	answered time.Time
}

// A call is a tool call as the model writes it.
type call struct {
	id, command string
	tool        string // Bash where empty
}

func (c call) arguments() string {
	switch c.tool {
	case "run_commands": // Cline's
		return `{"commands":[` + quoted(c.command) + `]}`
	case codexShell:
		return `{"cmd":` + quoted(c.command) + `}`
	case codexScript:
		return `text(await tools.exec_command({cmd: ` + quoted(c.command) + `}))`
	}
	return `{"command":` + quoted(c.command) + `,"description":"as asked"}`
}

func (c call) name() string { return cmp.Or(c.tool, "Bash") }

// newProvider starts a provider over HTTP.
func newProvider(t *testing.T) *provider {
	t.Helper()
	p := unstarted()
	p.Start()
	t.Cleanup(p.Close)
	return p
}

func unstarted() *provider {
	p := &provider{calls: func(command string) []call { return []call{{id: "toolu_" + slug(command), command: command}} }}
	p.Server = httptest.NewUnstartedServer(p)
	p.Config.Protocols = new(http.Protocols)
	p.Config.Protocols.SetHTTP1(true)
	p.Config.Protocols.SetUnencryptedHTTP2(true) // AWS's SDK asks for streams in no other way
	return p
}

var (
	// shellTool is how agents name the tool that runs a command.
	shellTool = regexp.MustCompile(`"name": ?"(Bash|bash|run_shell_command|execute_command|run_commands|exec_command)"`)

	order        = regexp.MustCompile(`run: ([^"\\]*)`)
	resultOfTool = regexp.MustCompile(`"(tool_result|toolResult|functionResponse|function_call_output|custom_tool_call_output)"|"role": ?"tool"|\[holdgate\]`)
	notSlug      = regexp.MustCompile(`[^a-zA-Z0-9]+`)
)

// shellOf is the tool that runs commands among those that a request offers.
func shellOf(body string) string {
	if strings.Contains(body, `"additional_tools"`) {
		return codexScript
	}
	if m := shellTool.FindStringSubmatch(body); m != nil {
		return m[1]
	}
	return ""
}

func slug(s string) string { return notSlug.ReplaceAllString(s, "_") }

const (
	promise = "I will do it."
	done    = "It is done."
)

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	var req struct {
		Stream bool
		Tools  []json.RawMessage
	}
	gemini, ollama := strings.Contains(r.URL.Path, "enerateContent"), r.URL.Path == "/api/chat"
	bedrock := strings.HasPrefix(r.URL.Path, "/model/")
	chat := strings.HasSuffix(r.URL.Path, "/chat/completions") // Azure and Groq have more before
	switch answers := bedrock || chat || r.URL.Path == "/v1/messages" || r.URL.Path == "/v1/responses" || gemini || ollama; {
	case r.URL.Path == "/v1/messages/count_tokens":
		writeJSON(w, `{"input_tokens":10}`)
		return
	case !answers || r.Method != http.MethodPost:
		w.WriteHeader(http.StatusNotFound)
		return
	case json.Unmarshal(body, &req) != nil:
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	p.bodies = append(p.bodies, string(body))
	id := `"msg_1"`
	if p.latest != nil { // agents merge messages of one id
		id = fmt.Sprintf(`"msg_%d"`, len(p.bodies))
	}
	p.mu.Unlock()
	text, calls := done, []call(nil)
	saw := resultOfTool.Match(body)
	told := body
	if p.latest != nil {
		if at := p.latest.FindAllIndex(body, -1); len(at) > 0 {
			told = body[at[len(at)-1][0]:]
			saw = resultOfTool.Match(told)
		}
	}
	if m := order.FindStringSubmatch(string(told)); m != nil && !saw && (len(req.Tools) > 0 || bedrock || shellOf(string(body)) == codexScript) {
		text, calls = promise, p.calls(m[1])
		for i := range calls {
			calls[i].tool = shellOf(string(body))
		}
	}
	switch {
	case gemini && r.URL.Query().Get("alt") == "sse":
		writeEvents(w, geminiEvents(text, calls))
	case gemini:
		writeJSON(w, geminiAnswer(text, calls))
	case bedrock:
		serveBedrock(w, r, text, calls)
	case ollama && req.Stream:
		writeLines(w, text, calls)
	case ollama:
		writeJSON(w, ollamaAnswer(text, calls, ollamaEnd))
	case r.URL.Path == "/v1/responses" && req.Stream:
		writeEvents(w, responsesEvents(text, calls))
	case r.URL.Path == "/v1/responses":
		writeJSON(w, responsesAnswer("completed", text, calls))
	case chat && req.Stream && strings.Contains(r.UserAgent(), "mistral"):
		writeEvents(w, mistralEvents(text, calls))
	case chat && req.Stream:
		writeEvents(w, chatEvents(text, calls))
	case chat:
		writeJSON(w, chatAnswer(text, calls))
	case req.Stream:
		events := messagesEvents(text, calls)
		events[0] = strings.Replace(events[0], `"msg_1"`, id, 1)
		writeEvents(w, events)
	default:
		writeJSON(w, messagesAnswer(text, calls))
	}
	p.mu.Lock()
	p.answered = time.Now()
	p.mu.Unlock()
}

// asked returns the requests for an answer whose body holds text.
func (p *provider) asked(text string) (bodies []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.bodies {
		if strings.Contains(b, text) {
			bodies = append(bodies, b)
		}
	}
	return bodies
}

// lastByte is when the provider had written its latest answer.
func (p *provider) lastByte() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.answered
}

func writeJSON(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, body) // a client that has gone is no fault here
}

func writeEvents(w http.ResponseWriter, events []string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	rc := http.NewResponseController(w)
	for _, e := range events {
		if _, err := io.WriteString(w, e); err != nil {
			return
		}
		_ = rc.Flush() // the next write tells
	}
}

// quoted is s as a JSON string.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // no string fails
	}
	return string(b)
}

func stopReason(calls []call, with, without string) string {
	if len(calls) > 0 {
		return with
	}
	return without
}

// messagesAnswer is an answer of Anthropic's Messages API.
func messagesAnswer(text string, calls []call) string {
	content := []string{`{"type":"text","text":` + quoted(text) + `}`}
	for _, c := range calls {
		content = append(content, fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":%s}`, c.id, c.name(), c.arguments()))
	}
	return fmt.Sprintf(`{"id":"msg_1","type":"message","role":"assistant","model":"claude-test","content":[%s],`+
		`"stop_reason":%q,"stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":20}}`,
		strings.Join(content, ","), stopReason(calls, "tool_use", "end_turn"))
}

// messagesEvents is the same as a stream, each call's arguments in two parts.
func messagesEvents(text string, calls []call) []string {
	event := func(kind, rest string) string {
		return fmt.Sprintf("event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, rest)
	}
	out := []string{
		event("message_start", `,"message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-test","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":1}}`),
		event("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`),
		event("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":`+quoted(text)+`}`),
		event("content_block_stop", `,"index":0`),
	}
	for i, c := range calls {
		out = append(out, event("content_block_start", fmt.Sprintf(`,"index":%d,"content_block":{"type":"tool_use","id":%q,"name":%q,"input":{}}`, i+1, c.id, c.name())))
		for _, part := range halves(c.arguments()) {
			out = append(out, event("content_block_delta", fmt.Sprintf(`,"index":%d,"delta":{"type":"input_json_delta","partial_json":%s}`, i+1, quoted(part))))
		}
		out = append(out, event("content_block_stop", fmt.Sprintf(`,"index":%d`, i+1)))
	}
	return append(out,
		event("message_delta", fmt.Sprintf(`,"delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":20}`, stopReason(calls, "tool_use", "end_turn"))),
		event("message_stop", ""))
}

// chatAnswer is an answer of OpenAI's Chat Completions API.
func chatAnswer(text string, calls []call) string {
	tools := ""
	for i, c := range calls {
		tools += fmt.Sprintf(`%s{"id":%q,"type":"function","function":{"name":%q,"arguments":%s}}`, []string{`,"tool_calls":[`, ","}[min(i, 1)], c.id, c.name(), quoted(c.arguments()))
	}
	if tools != "" {
		tools += "]"
	}
	return fmt.Sprintf(`{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"gpt-test","choices":[{"index":0,`+
		`"message":{"role":"assistant","content":%s,"refusal":null%s},"logprobs":null,"finish_reason":%q}],"usage":{"prompt_tokens":10,"completion_tokens":20,"total_tokens":30}}`,
		quoted(text), tools, stopReason(calls, "tool_calls", "stop"))
}

// chatEvents is the same as a stream, each call's arguments in two parts.
func chatEvents(text string, calls []call) []string {
	chunk := func(delta, finish string) string {
		return fmt.Sprintf("data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"gpt-test\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", delta, finish)
	}
	out := []string{chunk(`{"role":"assistant","content":`+quoted(text)+`}`, "null")}
	for i, c := range calls {
		parts := halves(c.arguments())
		out = append(out,
			chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":%q,"arguments":%s}}]}`, i, c.id, c.name(), quoted(parts[0])), "null"),
			chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, i, quoted(parts[1])), "null"))
	}
	return append(out, chunk("{}", quoted(stopReason(calls, "tool_calls", "stop"))), "data: [DONE]\n\n")
}

// mistralEvents is the same as Mistral has it: all calls whole in one chunk, which
// is the last.
func mistralEvents(text string, calls []call) []string {
	chunk := func(delta, end string) string {
		return fmt.Sprintf("data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"mistral-test\",\"choices\":[{\"index\":0,\"delta\":%s,%s}\n\n", delta, end)
	}
	var tools []string
	for i, c := range calls {
		tools = append(tools, fmt.Sprintf(`{"id":%q,"function":{"name":%q,"arguments":%s},"index":%d}`, c.id, c.name(), quoted(c.arguments()), i))
	}
	delta := `{"content":""}`
	if len(tools) > 0 {
		delta = `{"content":"","tool_calls":[` + strings.Join(tools, ",") + `]}`
	}
	return []string{
		chunk(`{"role":"assistant","content":`+quoted(text)+`}`, `"finish_reason":null}]`),
		chunk(delta, fmt.Sprintf(`"finish_reason":%q}],"usage":{"prompt_tokens":10,"completion_tokens":20,"total_tokens":30}`, stopReason(calls, "tool_calls", "stop"))),
		"data: [DONE]\n\n",
	}
}

func halves(s string) [2]string { return [2]string{s[:len(s)/2], s[len(s)/2:]} }

// geminiAnswer is an answer of Google's generateContent API.
func geminiAnswer(text string, calls []call) string {
	parts := []string{`{"text":` + quoted(text) + `}`}
	for _, c := range calls {
		parts = append(parts, fmt.Sprintf(`{"functionCall":{"name":%q,"args":%s}}`, c.name(), c.arguments()))
	}
	return geminiResponse(`,"finishReason":"STOP"`, parts...)
}

// geminiEvents is the same as a stream, with a response for each part.
func geminiEvents(text string, calls []call) []string {
	out := []string{"data: " + geminiResponse("", `{"text":`+quoted(text)+`}`) + "\r\n\r\n"}
	for _, c := range calls {
		out = append(out, "data: "+geminiResponse("", fmt.Sprintf(`{"functionCall":{"name":%q,"args":%s}}`, c.name(), c.arguments()))+"\r\n\r\n")
	}
	return append(out, "data: "+geminiResponse(`,"finishReason":"STOP"`, `{"text":""}`)+"\r\n\r\n")
}

func geminiResponse(end string, parts ...string) string {
	return fmt.Sprintf(`{"candidates":[{"content":{"parts":[%s],"role":"model"}%s,"index":0}],"usageMetadata":{"totalTokenCount":30},"modelVersion":"gemini-test"}`,
		strings.Join(parts, ","), end)
}
