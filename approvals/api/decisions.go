package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/passkeys"
)

// Decision is the body of POST /v1/approvals/{id}/decision.
type Decision struct {
	Decision holdgate.Answer `json:"decision"` // approve, deny, steer, choose or edit
	// Digest is call.digest of the request that the person was shown. Approve,
	// choose and edit need it.
	Digest holdgate.Digest `json:"digest,omitempty"`
	// Reason says why; with approve it is a message that goes along with the
	// call.
	Reason       string   `json:"reason,omitempty"`
	Instructions string   `json:"instructions,omitempty"` // of steer, or of an option that is a text of one's own
	Artifacts    []string `json:"artifacts,omitempty"`    // that steering is about
	Choice       string   `json:"choice,omitempty"`       // an option's id
	// Arguments are the whole of those that edit puts in place of the call's:
	// one JSON object.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Rollback  bool            `json:"rollback,omitempty"` // with deny: undo what was done for this task
	Stop      bool            `json:"stop,omitempty"`     // with deny: end the agent
	// Signature is what the person signed with a passkey, as their browser gives it: a
	// PublicKeyCredential in JSON. See package approvals/passkeys for what is signed.
	Signature json.RawMessage `json:"signature,omitempty"`
	// Remember makes a standing approval of an approve.
	Remember *approvals.Remember `json:"remember,omitempty"`
}

// ChannelHeader names the channel that a decision came through: "cli",
// [ChannelEditor] or "api", which is the default.
const ChannelHeader = "Holdgate-Channel"

// Limits of what a decision carries.
const (
	maxText      = 8 << 10 // bytes of a reason or of instructions
	maxArtifacts = 100
)

// listApprovals serves GET /v1/approvals.
func (s *Server) listApprovals(r *request) ([]approvals.Request, string, error) {
	q, err := query(r, "status", "agent", "session", "risk", "rule", "text", "order", "limit", "cursor")
	if err != nil {
		return nil, "", err
	}
	f := approvals.Filter{Status: holdgate.Status(q.Get("status")), Agent: q.Get("agent"), Session: q.Get("session"), Risk: holdgate.Risk(q.Get("risk")), Rule: q.Get("rule"), Text: q.Get("text"), Cursor: q.Get("cursor")}
	switch order := q.Get("order"); {
	case order == "":
	case order == "urgent" && f.Status == holdgate.StatusPending && f.Cursor == "":
		f.Urgent = true
	default:
		return nil, "", malformed("unknown order %q: urgent is one of pending requests, without a cursor", order)
	}
	switch f.Status {
	case "", holdgate.StatusPending, holdgate.StatusApproved, holdgate.StatusDenied,
		holdgate.StatusSteered, holdgate.StatusExpired, holdgate.StatusCancelled:
	default:
		return nil, "", malformed("unknown status %q", f.Status)
	}
	if f.Limit, err = limit(q, 0, approvals.MaxPage); err != nil {
		return nil, "", err
	}
	p, err := s.c.Queue.Page(r.Context(), f)
	if err != nil {
		return nil, "", fmt.Errorf("listing approvals: %w", err)
	}
	return p.Requests, p.Next, nil
}

// showApproval serves GET /v1/approvals/{id}.
func (s *Server) showApproval(r *request) (approvals.Request, error) {
	return s.c.Queue.Request(r.Context(), r.PathValue("id"))
}

// decide serves POST /v1/approvals/{id}/decision.
func (s *Server) decide(r *request, in Decision) (approvals.Request, error) {
	return s.answerRequest(r, r.PathValue("id"), in)
}

// answerRequest votes on the request with this id.
func (s *Server) answerRequest(r *request, id string, in Decision) (approvals.Request, error) {
	v, err := s.vote(r, in)
	if err != nil {
		return approvals.Request{}, err
	}
	req, err := s.c.Queue.Decide(r.Context(), id, v)
	if err == nil {
		s.c.Logger.InfoContext(r.Context(), "a person answered", "approval", id, "decision", v.Decision, "by", v.By, "channel", v.Channel, "status", req.Status)
		return req, nil
	}
	p, known := asProblem(err)
	if !known {
		return approvals.Request{}, fmt.Errorf("deciding %s: %w", id, err)
	}
	if p.Type == ProblemPrefix+ProblemDigest {
		if now, err := s.c.Queue.Request(r.Context(), id); err == nil {
			p.Request = &now
		}
	}
	return approvals.Request{}, p
}

// vote checks a decision's form and makes it the vote of who sent it.
func (s *Server) vote(r *request, in Decision) (approvals.Vote, error) {
	switch {
	case len(in.Reason) > maxText, len(in.Instructions) > maxText:
		return approvals.Vote{}, problem(http.StatusUnprocessableEntity, "too-long", "Too long", fmt.Sprintf("reason and instructions may have %d bytes each", maxText))
	case len(in.Artifacts) > maxArtifacts:
		return approvals.Vote{}, problem(http.StatusUnprocessableEntity, "too-long", "Too long", fmt.Sprintf("there may be %d artifacts", maxArtifacts))
	}
	switch in.Decision {
	case holdgate.AnswerDeny, holdgate.AnswerSteer:
	case holdgate.AnswerApprove, holdgate.AnswerChoose, holdgate.AnswerEdit:
		if in.Digest == "" {
			return approvals.Vote{}, problem(http.StatusBadRequest, "digest-missing", "No digest", fmt.Sprintf("%s needs digest: the call.digest of the request that was shown", in.Decision))
		}
	case "":
		return approvals.Vote{}, malformed("decision is missing: approve, deny, steer, choose or edit")
	default:
		return approvals.Vote{}, malformed("unknown decision %q: approve, deny, steer, choose or edit", in.Decision)
	}
	channel := r.Header.Get(ChannelHeader)
	switch channel {
	case "":
		channel = "api"
	case "cli", "api", ChannelEditor:
	case channelPage:
		if _, ok := r.Context().Value(signedIn{}).(Credential); ok {
			break
		}
		fallthrough
	default:
		return approvals.Vote{}, malformed("unknown %s %q: cli, api or %s", ChannelHeader, channel, ChannelEditor)
	}
	assurance := assuranceLocal
	if channel == ChannelEditor {
		assurance = assuranceText
	}
	v := approvals.Vote{
		Decision: in.Decision, By: r.by, Channel: channel, Assurance: assurance, Digest: in.Digest,
		Reason: in.Reason, Instructions: in.Instructions, Artifacts: in.Artifacts, Choice: in.Choice,
		Arguments: in.Arguments, Rollback: in.Rollback, Stop: in.Stop, Remember: in.Remember,
	}
	if len(in.Signature) > 0 {
		signed, err := passkeys.ParseAssertion(in.Signature)
		if err != nil {
			return approvals.Vote{}, err
		}
		v.Signed = &signed
	}
	return v, nil
}

// ToSign says what the person of a credential has to sign for an answer to be signed.
func (s *Server) ToSign(ctx context.Context, c Credential, id string, in Decision) (approvals.ToSign, error) {
	r := &request{Request: (&http.Request{Header: http.Header{ChannelHeader: {channelPage}}}).WithContext(context.WithValue(ctx, signedIn{}, c)), by: c.Person}
	v, err := s.vote(r, in)
	if err != nil {
		return approvals.ToSign{}, err
	}
	t, err := s.c.Queue.ToSign(ctx, id, v)
	if p, known := asProblem(err); err != nil && known {
		return t, p
	}
	return t, err
}

// CredentialOf is a credential of the person's, for whom a passkey signs in.
func (s *Server) CredentialOf(person string) (Credential, bool) {
	list := s.c.Credentials()
	i := slices.IndexFunc(list, func(c Credential) bool { return c.Person == person })
	if i < 0 {
		return Credential{}, false
	}
	return list[i], true
}

// malformed is a problem with the form of a request.
func malformed(format string, args ...any) *Problem {
	return problem(http.StatusBadRequest, "malformed", "Malformed request", fmt.Sprintf(format, args...))
}

// query reads the query's parameters. One that is not known, or comes twice,
// is an error: a filter that was mistyped must not select everything.
func query(r *request, known ...string) (url.Values, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, malformed("the query cannot be read")
	}
	allowed := make(map[string]bool, len(known))
	for _, k := range known {
		allowed[k] = true
	}
	for k, v := range q {
		if !allowed[k] {
			return nil, malformed("unknown parameter %q", k)
		}
		if len(v) != 1 {
			return nil, malformed("parameter %q comes %d times", k, len(v))
		}
	}
	return q, nil
}

// limit reads the parameter limit: 1 to most, or what holds without it.
func limit(q url.Values, without, most int) (int, error) {
	text := q.Get("limit")
	if text == "" {
		return without, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, malformed("limit must be 1 to %d", most)
	}
	return n, nil
}

// assuranceLocal is that of every vote at this door: the token is in a file of
// the approver's own.
const assuranceLocal = "local"

// ChannelEditor is the channel of answers that were given in an editor. What shows the
// question there is the editor, and what of it an agent can change nobody knows: such
// answers have the assurance text.
const ChannelEditor, assuranceText = "editor", "text"
