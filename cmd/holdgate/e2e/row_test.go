package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// A telemetry is a server that agents post to unasked. It keeps what it got.
type telemetry struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
}

func newTelemetry(t *testing.T) *telemetry {
	s := &telemetry{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.bodies = append(s.bodies, r.URL.Path+" "+string(b))
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *telemetry) got() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.bodies...)
}

// setting is a file of settings that say this of the server.
func (s *telemetry) setting(t *testing.T, what string) string {
	t.Helper()
	return write(t, "settings.yaml", "settings: {http: {hosts: {\""+strings.TrimPrefix(s.URL, "http://")+"\": "+what+"}}}\n")
}

// post posts a body and says later with which status it was answered.
func (s *sidecar) post(path, text string) <-chan int {
	status := make(chan int, 1)
	go func() {
		resp, err := http.Post("http://"+s.agents+"/up/telemetry"+path, "application/json", strings.NewReader(text))
		if err != nil {
			status <- 0 // the sidecar may be on its way out
			return
		}
		drain(resp)
		resp.Body.Close()
		status <- resp.StatusCode
	}()
	return status
}

func TestTelemetryIsOneQuestion(t *testing.T) {
	t.Parallel()
	to := newTelemetry(t)
	s := serve(t, nil, "--upstream", "telemetry="+to.URL, "--policy", to.setting(t, "ask"))
	var answers []<-chan int
	for i := range 3 {
		answers = append(answers, s.post("/capture", fmt.Sprintf(`{"n":%d}`, i)))
		until(t, "the post pending", func() bool { return len(s.pending()) == i+1 })
	}
	other := s.post("/other", "{}")
	until(t, "the other post pending", func() bool { return len(s.pending()) == 4 })
	all := s.pending()
	lines := strings.Split(strings.TrimSpace(s.must("pending")), "\n")
	if len(lines) != 3 || !strings.Contains(lines[1], "/capture (and 2 more of this row)") || strings.Contains(lines[2], "of this row") {
		t.Errorf("pending prints\n%s", strings.Join(lines, "\n"))
	}
	// Each keeps its digest, and an approval of one is of that one.
	if all[0].Call.Digest == all[1].Call.Digest {
		t.Error("two posts have one digest")
	}
	s.answer(all[0].ID, "approve")
	if got := <-answers[0]; got != http.StatusOK {
		t.Errorf("the approved post is answered with %d", got)
	}
	// A denial of the row is of what waits of it.
	if out := s.must("deny", all[1].ID, "--row"); strings.Count(out, ": denied") != 2 {
		t.Errorf("deny --row prints %q", out)
	}
	for _, answer := range answers[1:] {
		if got := <-answer; got/100 != 4 {
			t.Errorf("a denied post is answered with %d", got)
		}
	}
	later := s.post("/capture", `{"n":4}`) // no vote was for it
	until(t, "the later post pending", func() bool { return len(s.pending()) == 2 })
	// Always: the method and address, whatever is posted there.
	id := s.pending()[1].ID
	if show := s.must("show", id); !strings.Contains(show, "--remember endpoint") {
		t.Errorf("always is not offered:\n%s", show)
	}
	// Before it is made, it can be seen which of the calls so far it would have covered.
	resp, err := s.api(http.MethodPost, "/v1/approvals/"+id+"/preview", `{"remember": {"match": "endpoint", "scope": "session"}}`)
	if err != nil {
		t.Fatal(err)
	}
	preview := parse[struct{ Questions, Covered, Refused, Unknown int }](t, body(t, resp))
	if preview.Questions != 4 || preview.Covered != 3 || preview.Refused != 2 || preview.Unknown != 0 {
		t.Errorf("the preview is %+v", preview)
	}
	s.answer(id, "approve", "--remember", "endpoint")
	if got := <-later; got != http.StatusOK {
		t.Errorf("the later post is answered with %d", got)
	}
	if got := <-s.post("/capture", `{"n":5}`); got != http.StatusOK {
		t.Errorf("what is always allowed is answered with %d", got)
	}
	if n := len(s.pending()); n != 1 {
		t.Errorf("%d requests wait, want that of the other path", n)
	}
	s.answer(all[3].ID, "deny")
	<-other
	if got := fmt.Sprint(to.got()); got != `[/capture {"n":0} /capture {"n":4} /capture {"n":5}]` {
		t.Errorf("the server got %s", got)
	}
	s.must("audit", "verify")
}

func TestTelemetryIsRefusedQuietly(t *testing.T) {
	t.Parallel()
	to := newTelemetry(t)
	s := serve(t, nil, "--upstream", "telemetry="+to.URL, "--policy", to.setting(t, "deny"))
	if got := <-s.post("/capture", "{}"); got/100 != 4 {
		t.Errorf("the post is answered with %d", got)
	}
	if len(s.pending()) > 0 || len(to.got()) > 0 {
		t.Error("somebody was asked, or the server got it")
	}
}
