package agentapi

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/hookproof"
)

// DoorHook is the agents' hooks as a way in: a call that an agent is about to run is
// made at this door.
const DoorHook = "hook"

// MaxHook bounds what an agent tells its hook, in bytes.
const MaxHook = 8 << 20

// Hooks decide the calls that agents are about to run. They are safe for concurrent use.
type Hooks interface {
	// Hook decides a tool call that an agent is about to run, or to ask its own user about, and
	// waits for people as long as it says. What else the hook was told is noted. Its errors are
	// those of a [Service].
	Hook(context.Context, approvals.Caller, Hooked) (HookVerdict, error)
}

// Hooked is what an agent told its hook, as it was written, and how long it waits.
type Hooked struct {
	Agent string // the agent's program
	Body  []byte
	Wait  time.Duration
	// Lapsed is how many calls went on lately although their hook could not ask.
	Lapsed string
}

// HookVerdict is what becomes of a call that has reached a hook.
type HookVerdict struct {
	Status  holdgate.Status `json:"status"`            // "approved": it goes on; "pending": it does not yet
	Request string          `json:"request,omitempty"` // that people were asked
	// Text says why the call does not go on, for the model; empty where it does.
	Text string `json:"text,omitempty"`
	// Output is what the hook prints for its agent, if that is anything.
	Output string `json:"output,omitempty"`
}

// hook serves POST /v1/hooks/{agent}. The body is the agent's own, not one of this API. The
// answer is proven to be the sidecar's, if the hook asks for that.
func (s *Server) hook(w http.ResponseWriter, r *http.Request) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		s.fail(w, r, wrong("query", "cannot be read"))
		return
	}
	wait, err := waitOf(q)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if err := isJSON(r); err != nil {
		s.fail(w, r, err)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxHook))
	if err != nil {
		s.fail(w, r, unread(err, MaxHook))
		return
	}
	out, err := s.hooks.Hook(r.Context(), s.caller(r), Hooked{Agent: r.PathValue("agent"), Body: body, Wait: wait, Lapsed: q.Get("lapsed")})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	answer, err := json.Marshal(out)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	answer = append(answer, '\n')
	if proof := hookproof.Proof(s.hookKey, r.Header.Get(hookproof.HeaderNonce), r.PathValue("agent"), body, answer); proof != "" {
		w.Header().Set(hookproof.HeaderProof, proof)
	}
	send(w, http.StatusOK, "application/json", answer)
}
