package relay

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/holdgate/holdgate/proxy/acp"
	"github.com/holdgate/holdgate/proxy/wire"
)

// An askError is a sidecar's word that it does not decide.
type askError struct {
	status int
	detail string
}

func (e *askError) Error() string {
	if e.status == http.StatusNotFound {
		return "it is of a version without holdgate acp: update it"
	}
	return fmt.Sprintf("%s (status %d)", e.detail, e.status)
}

// maxDetail bounds what is read of a refusal.
const maxDetail = 4 << 10

// ask asks the sidecar about a call, and tells of each event. began is called once a
// sidecar has answered. It returns an error where the answer ends without a decision.
func (a *agentLink) ask(ctx context.Context, h *heldCall, tell func(acp.Event), began func()) error {
	a.mu.Lock()
	dir := a.folders[h.msg.Session()]
	a.mu.Unlock()
	body := append([]byte(`{"message":`), h.msg.Raw...)
	if dir != "" {
		body = append(body, `,"folder":`+wire.Quote(dir)...)
	}
	resp, err := a.post(ctx, acp.PathCalls, h.msg.Session(), append(body, '}'))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return refusedBy(resp)
	}
	began()
	lines := bufio.NewReader(resp.Body)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("the sidecar's answer broke off: %w", err)
		}
		var e acp.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("reading the sidecar's answer: %w", err)
		}
		tell(e)
		switch e.Status {
		case acp.StatusAllow, acp.StatusDeny:
			return nil
		}
	}
}

// refusedBy is what a sidecar says that does not decide. One that is about to end, or
// cannot store anything, may do so later.
func refusedBy(resp *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxDetail)) // for people to read; none is as good
	e := &askError{status: resp.StatusCode, detail: strings.TrimSpace(string(text))}
	var problem struct{ Detail string }
	if json.Unmarshal(text, &problem) == nil && problem.Detail != "" {
		e.detail = problem.Detail
	}
	if resp.StatusCode == http.StatusServiceUnavailable {
		return fmt.Errorf("the sidecar: %s", e.detail)
	}
	return e
}

// withdraw tells the sidecar that nobody needs an answer any more. Where it does not
// hear of it, the question ends by itself.
func (a *agentLink) withdraw(h *heldCall, why string) {
	if h.request == "" {
		return
	}
	body, err := json.Marshal(acp.Withdrawal{Request: h.request, Reason: why})
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(a.ctx, 5*time.Second)
	defer cancel()
	if resp, err := a.post(ctx, acp.PathWithdraw, h.msg.Session(), body); err == nil {
		_ = resp.Body.Close()
	}
}

// post sends a request to the agents' door.
func (a *agentLink) post(ctx context.Context, path, session string, body []byte) (*http.Response, error) {
	addr, err := a.o.Address(ctx)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("asking the sidecar: %w", err)
	}
	maps.Copy(r.Header, a.o.Header)
	r.Header.Set("Content-Type", "application/json")
	if session != "" && !strings.ContainsFunc(session, func(c rune) bool { return c < ' ' || c > '~' }) {
		r.Header.Set("X-Session-Id", session)
	}
	resp, err := a.http.Do(r)
	if err != nil {
		return nil, fmt.Errorf("asking the sidecar: %w", err)
	}
	return resp, nil
}
