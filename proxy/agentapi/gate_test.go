package agentapi

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
)

// gates is a service that takes gates alone.
type gates struct {
	Service
	passed *holdgate.Gate
}

// PassGate implements [Service].
func (g *gates) PassGate(_ context.Context, _ approvals.Caller, in GateRequest) (Gate, error) {
	var err error
	g.passed, err = in.Gate()
	return Gate{}, err
}

// Whatever an agent sends to ask people, what reaches them is within bounds, and what cannot be read in one way
// alone is refused.
func FuzzGate(f *testing.F) {
	for _, body := range []string{
		`{"type":"before_deploy","message":"Deploy?"}`, `{"type":"a","kind":"choice","options":["x",{"id":"y","label":"Y","effect":"deny"}]}`,
		`{"type":"a","context":{"plan":"p"},"artifacts":["f"],"timeout":"10m"}`, `{"type":"a","type":"b"}`, `{"type":"a","timeout":-1}`, `[]`, `{} {}`,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		g := &gates{}
		s := New(g, nil, nil, func(*http.Request) approvals.Caller { return approvals.Caller{} }, slog.New(slog.DiscardHandler))
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/gates", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		switch {
		case w.Code == http.StatusCreated && g.passed == nil, w.Code >= 500:
			t.Fatalf("%q is answered with %d: %s", body, w.Code, w.Body)
		case w.Code != http.StatusCreated:
			return
		}
		p := g.passed
		if !json.Valid([]byte(body)) || p.Type == "" || len(p.Message) > maxMessage || len(p.Options) > maxOptions || len(p.Artifacts) > maxArtifacts {
			t.Errorf("%q became the gate %+v", body, p)
		}
	})
}
