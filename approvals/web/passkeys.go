package web

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/passkeys"
	"github.com/holdgate/holdgate/approvals/people"
)

// challenges are what browsers were asked to sign, each once and within five minutes.
type challenges struct {
	now func() time.Time
	mu  sync.Mutex
	all map[string]asked // by the challenge
}

type asked struct {
	person string // empty: whoever signs in
	until  time.Time
}

const challengeLasts = 5 * time.Minute

func newChallenges(now func() time.Time) challenges {
	return challenges{now: now, all: make(map[string]asked)}
}

func (c *challenges) make(person string) []byte {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails: see its documentation
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, a := range c.all {
		if c.now().After(a.until) {
			delete(c.all, k)
		}
	}
	if len(c.all) >= maxSignins {
		clear(c.all)
	}
	c.all[string(b)] = asked{person, c.now().Add(challengeLasts)}
	return b
}

// redeem reports whether the person was asked the challenge, which is over then.
func (c *challenges) redeem(person string, challenge []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, ok := c.all[string(challenge)]
	delete(c.all, string(challenge))
	return ok && a.person == person && c.now().Before(a.until)
}

// Site is where people sign with passkeys, for [passkeys.New].
func (s *Server) Site() passkeys.Site {
	return passkeys.Site{RP: s.host(), Origin: s.Origin()}
}

// said is the challenge that a browser's answer names.
func said(response []byte) []byte {
	var in struct {
		Response struct {
			ClientData string `json:"clientDataJSON"`
		} `json:"response"`
	}
	if err := json.Unmarshal(response, &in); err != nil {
		return nil
	}
	data, err := base64.RawURLEncoding.DecodeString(in.Response.ClientData)
	if err != nil {
		return nil
	}
	var about struct{ Challenge string }
	if err := json.Unmarshal(data, &about); err != nil {
		return nil
	}
	challenge, _ := base64.RawURLEncoding.DecodeString(about.Challenge)
	return challenge
}

var errAsked = wrong("Not signed", "It was asked too long ago. Try it again.")

// requestOptions are what a browser is asked to sign, as WebAuthn writes it.
func (s *Server) requestOptions(challenge []byte, keys []passkeys.Key) map[string]any {
	allow := []map[string]string{}
	for _, k := range keys {
		allow = append(allow, map[string]string{"type": "public-key", "id": base64.RawURLEncoding.EncodeToString(k.Credential)})
	}
	return map[string]any{"challenge": base64.RawURLEncoding.EncodeToString(challenge), "rpId": s.Site().RP, "userVerification": "required", "allowCredentials": allow}
}

func reply(w http.ResponseWriter, v any) error {
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(v)
}

// asJSON tells the script what went wrong.
func asJSON(v *visit, err error) error {
	p, ok := errors.AsType[*api.Problem](err)
	switch {
	case ok:
	case errors.Is(err, passkeys.ErrSignature), errors.Is(err, passkeys.ErrNoKey), errors.Is(err, people.ErrNotEntitled):
		p = wrong("Not signed", err.Error())
	default:
		return err
	}
	v.w.Header().Set("Content-Type", "application/json")
	v.w.WriteHeader(p.Status)
	return json.NewEncoder(v.w).Encode(p)
}

// toSign says what the visitor has to sign for the answer in the form.
func (s *Server) toSign(v *visit) error {
	if s.c.Passkeys == nil {
		return asJSON(v, wrong("No passkeys", "This sidecar takes none."))
	}
	r, d, err := s.decision(v)
	if err == nil && d.Remember != nil && !looked(v.PostForm) {
		err = wrong("Not signed", "Look first at what the standing approval would have covered.")
	}
	if err != nil {
		return asJSON(v, err)
	}
	t, err := s.c.API.ToSign(v.Context(), v.signin.credential, r.ID, d)
	if err != nil {
		return asJSON(v, err)
	}
	if len(t.Keys) == 0 {
		return asJSON(v, wrong("No passkey", "You have no passkey that counts for this request. Register one under People, and have it admitted; it counts for requests made after that."))
	}
	return reply(v.w, s.requestOptions(t.Challenge, t.Keys))
}

// newPasskey says how a key of the visitor is made.
func (s *Server) newPasskey(v *visit) error {
	name := v.signin.credential.Person
	own, err := s.c.Passkeys.List(v.Context(), name)
	if err != nil {
		return err
	}
	params, have := []map[string]any{}, []map[string]string{}
	for _, a := range passkeys.Algorithms() {
		params = append(params, map[string]any{"type": "public-key", "alg": a})
	}
	for _, k := range own {
		have = append(have, map[string]string{"type": "public-key", "id": base64.RawURLEncoding.EncodeToString(k.Credential)})
	}
	return reply(v.w, map[string]any{
		"rp": map[string]string{"id": s.Site().RP, "name": "Holdgate"}, "pubKeyCredParams": params, "excludeCredentials": have,
		"user":                   map[string]string{"id": base64.RawURLEncoding.EncodeToString([]byte(name)), "name": name, "displayName": name},
		"challenge":              base64.RawURLEncoding.EncodeToString(s.asked.make(name)),
		"authenticatorSelection": map[string]any{"residentKey": "preferred", "userVerification": "required"}, "attestation": "none",
	})
}

// registerPasskey keeps a key that the visitor's browser made.
func (s *Server) registerPasskey(v *visit) error {
	response := []byte(v.PostFormValue("passkey"))
	challenge, name := said(response), v.signin.credential.Person
	if !s.asked.redeem(name, challenge) {
		return errAsked
	}
	if _, err := s.c.Passkeys.Register(v.Context(), name, v.PostFormValue("label"), challenge, response); err != nil {
		return asProblem(err)
	}
	http.Redirect(v.w, v.Request, "/people", http.StatusSeeOther)
	return nil
}

// toAdmit says what the visitor has to sign to admit a key.
func (s *Server) toAdmit(v *visit) error {
	n, known := s.c.People().Find(v.signin.credential.Person)
	if !known {
		return asJSON(v, wrong("Not signed", "Nobody knows who you are."))
	}
	keys, err := s.c.Passkeys.Usable(v.Context(), n, time.Now())
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		return asJSON(v, wrong("No passkey", "None of your keys counts yet. The first one is admitted by the configuration."))
	}
	st := passkeys.Statement{Request: v.PostFormValue("key"), Answer: passkeys.Admission(n.Name)}
	return reply(v.w, s.requestOptions(st.Challenge(), keys))
}

// admitPasskey admits a key of the visitor's with what another one signed.
func (s *Server) admitPasskey(v *visit) error {
	signed, err := passkeys.ParseAssertion([]byte(v.PostFormValue("signature")))
	if err == nil {
		err = s.c.Passkeys.Admit(v.Context(), v.signin.credential.Person, v.PostFormValue("key"), signed)
	}
	if err != nil {
		return asProblem(err)
	}
	http.Redirect(v.w, v.Request, "/people", http.StatusSeeOther)
	return nil
}

func (s *Server) removePasskey(v *visit) error {
	if err := s.c.Passkeys.Remove(v.Context(), v.signin.credential.Person, v.PostFormValue("key")); err != nil {
		return asProblem(err)
	}
	http.Redirect(v.w, v.Request, "/people", http.StatusSeeOther)
	return nil
}

// asProblem is what a person is told of an error of the keys.
func asProblem(err error) error {
	if errors.Is(err, passkeys.ErrSignature) || errors.Is(err, passkeys.ErrNoKey) || errors.Is(err, people.ErrNotEntitled) {
		return wrong("No passkey", holdgate.Visible(err.Error()))
	}
	return err
}

// toOpen says what somebody has to sign who signs in.
func (s *Server) toOpen(w http.ResponseWriter, r *http.Request) {
	if s.c.Passkeys == nil {
		http.NotFound(w, r)
		return
	}
	_ = reply(w, s.requestOptions(s.asked.make(""), nil))
}

// openByPasskey signs in whose key it is that signed.
func (s *Server) openByPasskey(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 16<<10)
	c, err := s.holder(r.Context(), []byte(r.PostFormValue("signature")))
	if err != nil {
		s.c.Logger.WarnContext(r.Context(), "refusing a passkey at the page", "error", err)
		s.showDoor(w, r, http.StatusForbidden, door{Refused: "The passkey is not known here, or not admitted."})
		return
	}
	http.SetCookie(w, s.cookie(s.signins.enter(c, r.UserAgent())))
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (s *Server) holder(ctx context.Context, response []byte) (api.Credential, error) {
	challenge := said(response)
	if s.c.Passkeys == nil || !s.asked.redeem("", challenge) {
		return api.Credential{}, errAsked
	}
	signed, err := passkeys.ParseAssertion(response)
	if err != nil {
		return api.Credential{}, err
	}
	name, err := s.c.Passkeys.Holder(ctx, challenge, signed)
	if err != nil {
		return api.Credential{}, err
	}
	c, ok := s.c.API.CredentialOf(name)
	if !ok {
		return c, errors.New(name + " has no token, to which the sign-in would be bound")
	}
	return c, nil
}

// signers are all passkeys, and the people whose they are.
type signers struct {
	keys   []passkeys.Key
	people *people.People
	none   bool // this sidecar takes no passkeys
}

func (s *Server) signers(v *visit) (signers, error) {
	if s.c.Passkeys == nil {
		return signers{none: true}, nil
	}
	keys, err := s.c.Passkeys.List(v.Context(), "")
	return signers{keys: keys, people: s.c.People()}, err
}

// missing says that nobody who may approve a request has a passkey that counts for it,
// where it takes one; else nothing.
func (s signers) missing(r approvals.Request) string {
	if r.Status != holdgate.StatusPending || r.Approvers.Demands() != "strong" {
		return ""
	}
	able := r.Able(s.people)
	if len(able) == 0 && s.people.Alone() {
		able = s.people.All()
	}
	for _, n := range able {
		if slices.ContainsFunc(s.keys, func(k passkeys.Key) bool { return k.CountsFor(n, r.CreatedAt) }) {
			return ""
		}
	}
	return "approving it takes a passkey, and nobody who may has one that counts for it"
}

// A keyRow is one of the visitor's keys.
type keyRow struct {
	passkeys.Key

	Counts string // why it counts; empty: it does not
}

func (s *Server) keys(v *visit) (rows []keyRow, anyCounts bool, err error) {
	if s.c.Passkeys == nil {
		return nil, false, nil
	}
	n, _ := s.c.People().Find(v.signin.credential.Person)
	keys, err := s.c.Passkeys.List(v.Context(), n.Name)
	for _, k := range keys {
		by, _ := k.Counts(n)
		rows = append(rows, keyRow{k, by})
	}
	return rows, slices.ContainsFunc(rows, func(r keyRow) bool { return r.Counts != "" }), err
}
