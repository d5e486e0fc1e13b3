package e2e_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// A spanReceiver takes spans by OTLP, over gRPC and over HTTP.
type spanReceiver struct {
	collector.UnimplementedTraceServiceServer

	mu   sync.Mutex
	got  []*spans.Span
	from []*common.KeyValue // the resource
}

func (r *spanReceiver) Export(_ context.Context, in *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range in.ResourceSpans {
		r.from = of.Resource.Attributes
		for _, scope := range of.ScopeSpans {
			r.got = append(r.got, scope.Spans...)
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

func (r *spanReceiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body := io.Reader(req.Body)
	if req.Header.Get("Content-Encoding") == "gzip" {
		body, _ = gzip.NewReader(body)
	}
	raw, err := io.ReadAll(body)
	var in collector.ExportTraceServiceRequest
	if err != nil || req.URL.Path != "/v1/traces" || proto.Unmarshal(raw, &in) != nil {
		http.Error(w, "no traces", http.StatusBadRequest)
		return
	}
	_, _ = r.Export(req.Context(), &in)
}

func attributes(list []*common.KeyValue) string {
	var all []string
	for _, kv := range list {
		v := kv.Value.GetStringValue()
		if v == "" {
			v = fmt.Sprint(kv.Value.GetBoolValue(), kv.Value.GetIntValue())
		}
		all = append(all, kv.Key+"="+v)
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// named are the spans of a name.
func (r *spanReceiver) named(name string) (found []*spans.Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.got {
		if s.Name == name {
			found = append(found, s)
		}
	}
	return found
}

// listen takes spans by a protocol until the test ends, and returns where.
func (r *spanReceiver) listen(t *testing.T, protocol string) (url string) {
	t.Helper()
	if protocol != "grpc" {
		s := httptest.NewServer(r)
		t.Cleanup(s.Close)
		return s.URL
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	collector.RegisterTraceServiceServer(s, r)
	go s.Serve(ln)
	t.Cleanup(s.Stop)
	return "http://" + ln.Addr().String()
}

// one is the span of a name and kind.
func (r *spanReceiver) one(t *testing.T, kind spans.Span_SpanKind, name string) *spans.Span {
	t.Helper()
	for _, s := range r.named(name) {
		if s.Kind == kind {
			return s
		}
	}
	t.Fatalf("there is no span %s of kind %v; there are %v", name, kind, r.got)
	return nil
}

// mine is the trace that the agent began.
const mine = "0af7651916cd43dd8448eb211c80319c"

// A traced is a sidecar that sends spans, before a model and a tool, which note what trace they are told of.
type traced struct {
	*sidecar
	r    *spanReceiver
	mu   sync.Mutex
	sent []string // in requests to upstreams
}

func newTraced(t *testing.T, protocol string) *traced {
	t.Helper()
	tr := &traced{r: &spanReceiver{}}
	model := newProvider(t)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tr.mu.Lock()
		tr.sent = append(tr.sent, r.Header.Get("Traceparent"))
		tr.mu.Unlock()
		if r.URL.Path == "/mcp" {
			writeJSON(w, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"ok"}]}}`)
			return
		}
		model.ServeHTTP(w, r)
	}))
	t.Cleanup(upstream.Close)
	tr.sidecar = serve(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + tr.r.listen(t, protocol), "OTEL_EXPORTER_OTLP_PROTOCOL=" + protocol, "OTEL_RESOURCE_ATTRIBUTES=deployment.environment=test"},
		"--upstream", "anthropic="+upstream.URL, "--mcp", "tools="+upstream.URL+"/mcp")
	return tr
}

// post asks as the agent does, in its trace.
func (tr *traced) post(path, body string) *http.Response {
	req, err := http.NewRequest("POST", "http://"+tr.agents+path, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Traceparent", "00-"+mine+"-b7ad6b7169203331-01")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		tr.t.Error(err)
		return &http.Response{Body: http.NoBody}
	}
	return resp
}

// calls makes a call of the model's and one of a tool, which people approve. It returns the id of the first request.
func (tr *traced) calls(t *testing.T) (request string) {
	t.Helper()
	resp := tr.post("/up/anthropic/v1/messages", `{"model":"claude-x","max_tokens":99,"stream":true,"tools":[{"name":"Bash","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"run: rm -rf secret-folder"}]}`)
	if !strings.HasPrefix(resp.Header.Get("Traceresponse"), "00-"+mine+"-") {
		t.Errorf("the agent is told of the trace %q", resp.Header.Get("Traceresponse"))
	}
	held := tr.held("secret-folder")
	tr.answer(held.ID, "approve", "--yes")
	if text := body(t, resp); !strings.Contains(text, "toolu_rm_rf_secret_folder") {
		t.Fatalf("the agent got %s", text)
	}
	answered := make(chan *http.Response, 1)
	go func() {
		answered <- tr.post("/mcp/tools", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_things","arguments":{"of":"secret-folder"}}}`)
	}()
	tr.answer(tr.held("secret-folder").ID, "approve", "--yes")
	if text := body(t, <-answered); !strings.Contains(text, `"ok"`) {
		t.Errorf("the tool: %s", text)
	}
	return held.ID
}

// exemplified fails the test where no metric names the trace.
func (tr *traced) exemplified(t *testing.T) {
	t.Helper()
	req, _ := http.NewRequest("GET", "http://"+tr.approvers+"/metrics", nil)
	token, err := os.ReadFile(filepath.Join(tr.dir, "approver.token"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	req.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	metrics, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if text := body(t, metrics); !strings.Contains(text, `# {trace_id="`+mine+`"}`) || !strings.Contains(text, "# EOF") {
		t.Error("no metric has the trace as its exemplar")
	}
}

// nested fails the test where a span is not within another that brought it about.
func (tr *traced) nested(t *testing.T) {
	t.Helper()
	chat, call := tr.r.one(t, spans.Span_SPAN_KIND_SERVER, "chat claude-x"), tr.r.one(t, spans.Span_SPAN_KIND_CLIENT, "chat claude-x")
	tool, toolCall := tr.r.one(t, spans.Span_SPAN_KIND_SERVER, "execute_tool list_things"), tr.r.one(t, spans.Span_SPAN_KIND_CLIENT, "execute_tool list_things")
	if string(call.ParentSpanId) != string(chat.SpanId) || string(toolCall.ParentSpanId) != string(tool.SpanId) {
		t.Error("the requests to upstreams are not within those of the agent")
	}
	for _, one := range []*spans.Span{chat, call, tool, toolCall} {
		if fmt.Sprintf("%x", one.TraceId) != mine {
			t.Errorf("%s is in the trace %x", one.Name, one.TraceId)
		}
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for i, one := range []*spans.Span{call, toolCall} {
		if want := fmt.Sprintf("00-%s-%x-01", mine, one.SpanId); i >= len(tr.sent) || tr.sent[i] != want {
			t.Errorf("the upstreams got %v, want %s", tr.sent, want)
		}
	}
	holds := tr.r.named("hold")
	if len(holds) != 2 || len(holds[0].Events) != 1 || holds[0].Events[0].Name != "vote" || !strings.Contains(attributes(holds[0].Events[0].Attributes), "holdgate.vote.decision=approve") {
		t.Fatalf("the holds are %v", holds)
	}
	if held := holds[0]; string(held.ParentSpanId) != string(chat.SpanId) || held.StartTimeUnixNano >= held.EndTimeUnixNano || chat.EndTimeUnixNano < held.EndTimeUnixNano {
		t.Errorf("the hold is %v, within %v", held, chat)
	}
	policies, facts := tr.r.named("policy"), tr.r.named("facts")
	if len(policies) < 4 || len(facts) == 0 || !slices.ContainsFunc(policies, func(p *spans.Span) bool { return string(p.SpanId) == string(facts[0].ParentSpanId) }) {
		t.Errorf("%d evaluations, %d times facts", len(policies), len(facts))
	}
}

// says fails the test where the spans do not say something, or say what a call is about.
func (tr *traced) says(t *testing.T, wants ...string) {
	t.Helper()
	all := attributes(tr.r.from)
	for _, one := range tr.r.got {
		all += "\n" + one.Name + "\n" + attributes(one.Attributes)
		if strings.Contains(one.String(), "secret-folder") {
			t.Errorf("a span says what the call is about: %v", one)
		}
	}
	for _, want := range wants {
		if !strings.Contains(all, want) {
			t.Errorf("no span says %s:\n%s", want, all)
		}
	}
}

// A trace that the agent began goes through Holdgate to the upstream. It has what was asked of policy and of people in
// it, and nothing of what the call is about.
func TestTracesArrive(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			tr := newTraced(t, protocol)
			request := tr.calls(t)
			tr.exemplified(t)
			tr.stop() // what is left is sent
			tr.nested(t)
			tr.says(t, "service.name=holdgate", "deployment.environment=test", "gen_ai.operation.name=chat", "gen_ai.request.model=claude-x", "gen_ai.provider.name=anthropic",
				"gen_ai.operation.name=execute_tool", "gen_ai.tool.name=Bash", "gen_ai.tool.call.id=toolu_", "gen_ai.tool.name=list_things", "holdgate.decision.action=hold", "holdgate.decision.rule=files.delete",
				"holdgate.approval.id="+request, "holdgate.approval.status=approved", "http.response.status_code=false 200", "gen_ai.conversation.id=default", "holdgate.request=")
		})
	}
}

// A hook and a script ask in the trace that they were started in, by the environment.
func TestTracesOfProcessesArrive(t *testing.T) {
	t.Parallel()
	tr := newTraced(t, "http/protobuf")
	const started = "TRACEPARENT=00-" + mine + "-b7ad6b7169203331-01"
	cmd := hookRun(t, tr.agents, "claude", "rm -rf secret-folder")
	cmd.Env = append(cmd.Env, started)
	hooked := ends(t, cmd)
	tr.answer(tr.held("secret-folder").ID, "approve", "--yes")
	if r := <-hooked; r.code != 0 {
		t.Errorf("the hook: %v", r)
	}
	asked := exec.Command(binary, "gate", "before_deploy", "--message", "secret-folder", "--agents", tr.agents)
	asked.Env = append(environment(), started)
	gate := ends(t, asked)
	tr.answer(tr.held("secret-folder").ID, "approve", "--yes")
	if r := <-gate; r.code != 0 {
		t.Errorf("the gate: %v", r)
	}
	tr.stop() // what is left is sent
	for name, want := range map[string]int{"execute_tool Bash": 1, "request": 2, "hold": 2} {
		got := tr.r.named(name)
		if len(got) != want {
			t.Errorf("%d spans %s, want %d: %v", len(got), name, want, got)
		}
		for _, one := range got {
			if fmt.Sprintf("%x", one.TraceId) != mine {
				t.Errorf("%s is in the trace %x", one.Name, one.TraceId)
			}
		}
	}
	tr.says(t, "holdgate.door=hook", "holdgate.door=agents", "gen_ai.tool.name=Bash", "gen_ai.conversation.id=s1", "holdgate.decision.rule=files.delete")
}

// A variable that Holdgate cannot do is said at the start, and without any no request is changed.
func TestWithoutTracesNothingChanges(t *testing.T) {
	t.Parallel()
	var sent http.Header
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { sent = r.Header.Clone() }))
	t.Cleanup(upstream.Close)
	s := serve(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:9", "OTEL_TRACES_EXPORTER=none"}, "--upstream", "x="+upstream.URL, "--upstream", "dead=http://127.0.0.1:9")
	req, _ := http.NewRequest("GET", s.base("x"), nil)
	req.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body(t, resp)
	if sent.Get("Traceparent") != req.Header.Get("Traceparent") || resp.Header.Get("Traceresponse") != "" {
		t.Errorf("the upstream got %v, and the agent %v", sent, resp.Header)
	}
	dead, err := http.Get(s.base("dead"))
	if err != nil {
		t.Fatal(err)
	}
	body(t, dead)
	if line := regexp.MustCompile(`.*the upstream failed.*`).FindString(s.log()); !regexp.MustCompile(` request=[0-9a-z]{13}$`).MatchString(line) {
		t.Errorf("the line about a request does not say its id: %s", line)
	}
	r := holdgate(t, []string{"OTEL_TRACES_EXPORTER=zipkin", "HOLDGATE_STATE_DIR=" + stateDir(t)}, "serve", "--agents", "127.0.0.1:0", "--approvers", "127.0.0.1:0")
	if r.code != 1 || !strings.Contains(r.stderr, "use otlp or none") {
		t.Errorf("an exporter that is not known: %v", r)
	}
}
