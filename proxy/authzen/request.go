package authzen

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// requestFor is how long people can be asked about a denial.
const requestFor = 10 * time.Minute

// problems begins the types of the profile's problems.
const problems = "urn:openid:authzen:access-request:error:"

func problem(status int, name, text string) *Fault {
	return &Fault{Status: status, Type: problems + name, Text: text}
}

// A ticket is what an evaluation's id says of a denial: nothing is stored of one. Its
// code binds it to the client and the question.
type ticket struct {
	Nonce   string   `json:"n"`
	Expires int64    `json:"e"`           // seconds since 1970
	Names   []string `json:"c,omitempty"` // of the context's members
}

func (s *Server) code(payload, client string, q *question) string {
	return string(s.c.Digester.Fields("authzen.denial", append([]string{payload}, q.fields(client)...)...))
}

// requestable is a denial about which people can be asked.
func (s *Server) requestable(a asker, o ongoing, text string) (Decision, error) {
	now := time.Now().UTC().Truncate(time.Second)
	until := now.Add(requestFor)
	plain, err := json.Marshal(ticket{rand.Text(), until.Unix(), o.ask.names})
	if err != nil {
		return Decision{}, err
	}
	payload := base64.RawURLEncoding.EncodeToString(plain)
	d := denied(ReasonApproval, text)
	d.Context.EvaluationID, d.Context.EvaluatedAt = "eval_"+payload+"."+s.code(payload, a.who.Agent.ID, &o.ask), &now
	d.Context.Request = &AccessRequest{Endpoint: a.url + Prefix + "requests", ExpiresAt: until}
	return d, nil
}

// A submission is an access request that was read.
type submission struct {
	id, payload, code string
	ticket            ticket
	q                 question
	words             string // what the requester adds, for people
}

// submissionOf reads an access request. That it is bound to a denial is not checked.
func submissionOf(b []byte) (t submission, err error) {
	p, err := partsOf(b)
	if err != nil {
		return t, err
	}
	switch {
	case member(b, "items") != nil:
		return t, malformed("items are not served: submit an access request for each denial")
	case member(b, "callback") != nil:
		return t, malformed("callbacks are not served: ask at task.status_endpoint, which waits with ?wait=30s")
	}
	denial := member(b, "denial")
	if denial == nil || denial[0] != '{' {
		return t, problem(http.StatusBadRequest, "invalid_denial_binding", "denial is missing")
	}
	var ok bool
	if t.id, ok = textOf(member(denial, "evaluation_id")); ok {
		t.payload, t.code, ok = strings.Cut(strings.TrimPrefix(t.id, "eval_"), ".")
	}
	var plain []byte
	if ok {
		plain, err = base64.RawURLEncoding.DecodeString(t.payload)
	}
	if !ok || err != nil || json.Unmarshal(plain, &t.ticket) != nil {
		return t, problem(http.StatusBadRequest, "invalid_denial_binding", "denial.evaluation_id is none that was given out here")
	}
	added := ""
	if p.context, added, err = t.ticket.split(p.context); err != nil {
		return t, err
	}
	if t.q, err = p.question(); err != nil {
		return t, err
	}
	if v := member(b, "requested_access"); v != nil {
		added += " requested_access: " + string(v)
	}
	t.words = strings.TrimSpace(added)
	return t, nil
}

// split divides a context into what the denied evaluation had of it, and what was added,
// as a text.
func (t ticket) split(context []byte) (had []byte, added string, err error) {
	if context == nil {
		return nil, "", nil
	}
	var more []string
	for m, err := range wire.Members(context) {
		if err != nil {
			return nil, "", malformed("context must be an object")
		}
		if slices.Contains(t.Names, string(m.Name)) || slices.Contains(machinery, string(m.Name)) {
			continue
		}
		text := string(m.Value)
		if s, ok := textOf(m.Value); ok {
			text = s
		}
		more = append(more, string(m.Name))
		added += string(m.Name) + ": " + text + " "
	}
	had, err = wire.CanonicalWithout(context, more...)
	if err != nil {
		return nil, "", malformed("context cannot be read: %v", err)
	}
	return had, added, nil
}

// bound checks that a submission is for a denial that this client was told, and that it
// is not over.
func (s *Server) bound(a asker, t *submission) error {
	want := s.code(t.payload, a.who.Agent.ID, &t.q)
	if subtle.ConstantTimeCompare([]byte(want), []byte(t.code)) != 1 {
		return problem(http.StatusBadRequest, "invalid_denial_binding", "denial.evaluation_id is of another evaluation: subject, action, resource and context must be as they were, and the client the same")
	}
	if time.Now().After(time.Unix(t.ticket.Expires, 0)) {
		return problem(http.StatusGone, "expired_denial", "the denial is too old: evaluate again")
	}
	return nil
}

// request takes an access request: people are asked now, and once.
func (s *Server) request(r *http.Request, a asker) (answer, error) {
	b, err := body(r)
	if err != nil {
		return answer{}, err
	}
	t, err := submissionOf(b)
	if err != nil {
		return answer{}, err
	}
	if err := s.bound(a, &t); err != nil {
		return answer{}, err
	}
	if err := s.repeated(r, a, b); err != nil {
		return answer{}, err
	}
	return s.ask(r.Context(), a, t)
}

// repeated refuses another submission under a key that was used. Keys are forgotten with
// the process, and when there are too many.
func (s *Server) repeated(r *http.Request, a asker, b []byte) error {
	key := r.Header.Get("Idempotency-Key")
	if key == "" {
		return nil
	}
	if len(key) > maxText {
		return malformed("Idempotency-Key is over %d bytes", maxText)
	}
	canonical, err := holdgate.Canonical(b)
	if err != nil {
		return malformed("the body cannot be read: %v", err)
	}
	is := s.c.Digester.Fields("authzen.submission", string(canonical))
	if was, known, _ := s.seen.PeekOrAdd(a.who.Agent.ID+"\x00"+key, is); known && was != is {
		return problem(http.StatusConflict, "duplicate_request", "the Idempotency-Key was used for another submission")
	}
	return nil
}

// ask puts the question to people, or finds what they were asked before. What they have
// approved is not used by it.
func (s *Server) ask(ctx context.Context, a asker, t submission) (answer, error) {
	from, key, e, err := s.begin(a, t.q)
	if err != nil {
		return answer{}, err
	}
	from.Task = func() string { return t.words }
	x, err := s.c.Gate().Enter(ctx, from, key)
	if err != nil {
		return answer{}, err
	}
	defer x.Leave()
	if err = x.Decide(ctx, e); err == nil {
		err = x.CatchUp(ctx, e)
	}
	if err != nil {
		return answer{}, err
	}
	req := e.Request()
	switch {
	case e.Over():
		return answer{}, &Fault{Status: http.StatusTooManyRequests, Text: notice(e)}
	case req.ID == "": // policy needs nobody any more
		return answer{}, problem(http.StatusBadRequest, "not_requestable", "policy decides this without people by now: evaluate again")
	case e.Undecided():
		x.Waits(gate.RungAccess, e)
		return s.status(a, req, http.StatusAccepted), nil
	}
	return s.status(a, req, http.StatusCreated), nil
}

// task says where an access request stands, once it has ended or the time is over.
func (s *Server) task(r *http.Request, a asker) (answer, error) {
	unknown := problem(http.StatusNotFound, "unknown_task", "there is no such task of this client's")
	req, err := s.c.Queue.Request(r.Context(), r.PathValue("id"))
	if errors.Is(err, approvals.ErrNotFound) || err == nil && (req.Agent.ID != a.who.Agent.ID || req.Door != Door) {
		return answer{}, unknown
	}
	if err != nil {
		return answer{}, err
	}
	wait, err := waitOf(r.URL)
	if err != nil {
		return answer{}, err
	}
	who := a.who
	who.Session.ID = req.Session.ID
	if req.Status != holdgate.StatusApproved {
		if req, err = s.ended(r.Context(), who, req, wait); err != nil {
			return answer{}, err
		}
	}
	return s.status(a, req, http.StatusOK), nil
}

// ended is a request once it has ended. A refusal is over with this: the same question
// asked again is a new one.
func (s *Server) ended(ctx context.Context, who approvals.Caller, req approvals.Request, wait time.Duration) (approvals.Request, error) {
	x, err := s.c.Queue.Rejoin(ctx, who, req.ID)
	if err != nil || x == nil {
		return req, err
	}
	defer x.Leave()
	if wait > 0 && req.Status == holdgate.StatusPending {
		waiting, end, _ := s.line(ctx, wait)
		err := x.Await(waiting, req.ID)
		end()
		if err != nil && waiting.Err() == nil {
			return req, err
		}
	}
	if req, err = s.c.Queue.Request(ctx, req.ID); err != nil {
		return req, err
	}
	if req.Status.Final() && req.Status != holdgate.StatusApproved {
		err = x.Done(context.WithoutCancel(ctx), true, "told to the policy enforcement point")
	}
	return req, err
}

// maxWait bounds how long a task is waited for.
const maxWait = 5 * time.Minute

func waitOf(u *url.URL) (time.Duration, error) {
	text := u.Query().Get("wait")
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, malformed("wait must be a time such as 30s")
	}
	return min(d, maxWait), nil
}

// status is a request as the client sees it: not who may answer it.
func (s *Server) status(a asker, r approvals.Request, status int) answer {
	t := Tasked{Task: Task{ID: r.ID, Status: string(r.Status), Endpoint: a.url + Prefix + "requests/" + url.PathEscape(r.ID)}}
	header := http.Header{"Location": {t.Task.Endpoint}}
	switch r.Status {
	case holdgate.StatusPending:
		t.Task.ExpiresAt = new(r.ExpiresAt.UTC())
		t.Task.Display = &Display{Title: "A person is asked to approve this"}
		header.Set("Retry-After", "5")
	case holdgate.StatusApproved:
		t.Result = &Result{Mode: "reevaluate", Approval: s.approval(r)}
	case holdgate.StatusSteered: // no status of the profile's
		t.Task.Status = string(holdgate.StatusDenied)
		fallthrough
	default:
		t.Task.Display = &Display{Title: "This was not approved", Description: holdgate.Visible(gate.GateAnswer(r.Status, r.Outcome))}
	}
	return answer{status: status, body: t, header: header}
}

// approval is what people have approved.
func (s *Server) approval(r approvals.Request) Approval {
	at := r.CreatedAt
	if r.Outcome != nil {
		at = r.Outcome.At
	}
	at = at.UTC()
	return Approval{ID: r.ID, ApprovedAt: &at, ApprovedUntil: at.Add(s.c.Redeem)}
}
