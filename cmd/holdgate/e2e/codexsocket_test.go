package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
)

// A socketProvider speaks Responses over WebSockets, as OpenAI does: what was said is kept
// with its connection, and a request that goes on from a response of another one fails.
type socketProvider struct {
	*provider
	mu       sync.Mutex
	opened   int
	messages []string
	broken   int // how many connections are cut in the middle of an answer
}

func (p *socketProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || r.URL.Path != "/v1/responses" || r.Header.Get("Upgrade") == "" {
		p.provider.ServeHTTP(w, r)
		return
	}
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionContextTakeover})
	if err != nil {
		return
	}
	defer c.CloseNow()
	c.SetReadLimit(-1)
	p.mu.Lock()
	p.opened++
	n := p.opened
	p.mu.Unlock()
	said, responses := "", map[string]bool{}
	for {
		_, m, err := c.Read(r.Context())
		if err != nil {
			return
		}
		p.mu.Lock()
		p.messages = append(p.messages, string(m))
		id := fmt.Sprintf("resp_%d_%d", n, len(p.messages))
		cut := p.broken > 0
		p.mu.Unlock()
		for i, event := range p.events(string(m), id, &said, responses) {
			if c.Write(r.Context(), websocket.MessageText, []byte(event)) != nil {
				return
			}
			if cut && i == 3 {
				p.mu.Lock()
				p.broken--
				p.mu.Unlock()
				return
			}
		}
	}
}

func (p *socketProvider) events(message, id string, said *string, responses map[string]bool) (events []string) {
	var req struct {
		Type     string
		Generate *bool
		Previous string `json:"previous_response_id"`
	}
	if err := json.Unmarshal([]byte(message), &req); err != nil || req.Type != "response.create" {
		return []string{`{"type":"error","status":400,"error":{"type":"invalid_request_error","code":"invalid","message":"what is this?","param":null}}`}
	}
	if req.Previous != "" && !responses[req.Previous] {
		return []string{`{"type":"error","status":400,"error":{"type":"invalid_request_error","code":"previous_response_not_found","message":"Previous response with id '` + req.Previous + `' not found.","param":"previous_response_id"}}`}
	}
	if req.Previous == "" {
		*said = ""
	}
	*said += message
	responses[id] = true
	if req.Generate != nil && !*req.Generate {
		created := strings.Replace(responsesAnswer("in_progress", "", nil), "resp_1", id, 1)
		ended := strings.Replace(responsesAnswer("completed", "", nil), "resp_1", id, 1)
		return []string{`{"type":"response.created","sequence_number":0,"response":` + created + `}`, `{"type":"response.completed","sequence_number":1,"response":` + ended + `}`}
	}
	text, calls := done, []call(nil)
	if m := order.FindStringSubmatch(*said); m != nil && !resultOfTool.MatchString(*said) {
		text, calls = promise, p.calls(m[1])
		for i := range calls {
			calls[i].tool = shellOf(*said)
		}
	}
	for _, e := range responsesEvents(text, calls) {
		_, data, _ := strings.Cut(e, "data: ")
		events = append(events, strings.Replace(strings.TrimSpace(data), "resp_1", id, 1))
	}
	return events
}

func (p *socketProvider) seen() (opened int, messages []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.opened, slices.Clone(p.messages)
}

func newSocketProvider(t *testing.T) *socketProvider {
	p := &socketProvider{provider: unstarted()}
	p.Config.Handler = p
	p.Start()
	t.Cleanup(p.Close)
	return p
}

// Codex's built-in provider asks over a WebSocket first.
func TestCodexOverAWebSocket(t *testing.T) {
	clientsDir(t)
	t.Parallel()
	up := newSocketProvider(t)
	s := serve(t, nil, "--upstream", "openai="+up.URL)
	builtIn := []string{"-c", `openai_base_url="` + s.base("openai") + `/v1"`, "-m", "gpt-test", "-c", `web_search="disabled"`}
	for _, c := range []struct {
		name   string
		decide []string
		prints string
		gone   bool
	}{
		{"approved-on-a-socket", []string{"approve"}, done, true},
		{"denied-on-a-socket", []string{"deny", "--reason", "the data is still needed"}, "the data is still needed", false},
		{"steered-on-a-socket", []string{"steer", "move it to archive/ instead"}, "move it to archive/ instead", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, data := codex(t, c.name, builtIn, nil)
			r := s.held("rm -r data-" + c.name)
			if _, err := os.Stat(data); err != nil || !p.running() {
				t.Fatalf("the call ran before anybody was asked (%v): %v", err, p.end())
			}
			s.answer(r.ID, c.decide...)
			until(t, "the end of the run", func() bool { return !p.running() })
			if out := p.output(); !strings.Contains(out, c.prints) {
				t.Errorf("it should print %q: %s", c.prints, out)
			}
			if _, err := os.Stat(data); (err != nil) != c.gone {
				t.Errorf("the folder is gone: %t, want %t", err != nil, c.gone)
			}
		})
	}
	// Codex gives up a connection that takes it too long to open, and opens another.
	if opened, _ := up.seen(); opened < 3 || len(up.asked("")) != 0 {
		t.Errorf("%d WebSockets were opened, and %d requests came over HTTP", opened, len(up.asked("")))
	}
}

// The sidecar dies while a call is held. Codex connects again, says everything again, and
// joins what waits: the model is not asked again, and nobody is.
func TestCodexJoinsWhatWaitsFromAnotherWebSocket(t *testing.T) {
	clientsDir(t)
	t.Parallel()
	up := newSocketProvider(t)
	args := []string{"--upstream", "openai=" + up.URL, "--agents", unusedAddr(t)}
	s := serve(t, nil, args...)
	builtIn := []string{"-c", `openai_base_url="` + s.base("openai") + `/v1"`, "-m", "gpt-test", "-c", `web_search="disabled"`}
	p, data := codex(t, "joined", builtIn, nil)
	r := s.held("rm -r data-joined")
	_, before := up.seen()
	s.kill()
	s = serveIn(t, s.dir, nil, args...)
	s.answer(r.ID, "approve")
	until(t, "the end of the run", func() bool { return !p.running() })
	if out := p.output(); !strings.Contains(out, done) {
		t.Errorf("it should print %q: %s", done, out)
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("the folder is there still")
	}
	_, after := up.seen()
	if n := len(after) - len(before); n != 1 || len(up.asked("")) != 0 {
		t.Errorf("the model was asked %d times afterwards, %d times over HTTP", n, len(up.asked("")))
	}
	if used := strings.Count(s.must("audit", "export"), `"type":"used"`); used != 1 {
		t.Errorf("%d approvals were used", used)
	}
}

// The upstream dies in the midst of an answer: Codex asks again.
func TestCodexAsksAgainWhereTheUpstreamsWebSocketBreaks(t *testing.T) {
	clientsDir(t)
	t.Parallel()
	up := newSocketProvider(t)
	up.broken = 1
	s := serve(t, nil, "--upstream", "openai="+up.URL)
	builtIn := []string{"-c", `openai_base_url="` + s.base("openai") + `/v1"`, "-m", "gpt-test", "-c", `web_search="disabled"`}
	p, data := codex(t, "broken", builtIn, nil)
	s.answer(s.held("rm -r data-broken").ID, "approve")
	until(t, "the end of the run", func() bool { return !p.running() })
	if _, err := os.Stat(data); err == nil || !strings.Contains(p.output(), done) {
		t.Errorf("it printed %s", p.output())
	}
	if opened, _ := up.seen(); opened < 2 {
		t.Errorf("%d WebSockets were opened", opened)
	}
}
