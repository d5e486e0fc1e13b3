package web

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/push"
)

// A peopleView is who may answer, and where the visitor is signed in.
type peopleView struct {
	List        []personRow
	Alone       bool
	Admin       bool   // the visitor may change who may answer
	Given       *given // a token that was made just now
	Delegations []delegationRow
	Signins     []signinRow

	Keys     []keyRow
	Counting bool // one of them counts
	Passkeys bool
	Me       string
	Roles    []string // the visitor's, as a configuration names them

	PushKey string // what a browser subscribes with to be told; empty: none is
	Told    []push.Subscription
}

// A given is a token that is shown this once.
type given struct{ Name, Token string }

type personRow struct {
	api.PersonState

	Signins int // browsers in which they are signed in
}

// Own are the roles that rules ask for, apart by blanks.
func (p personRow) Own() string {
	return strings.Join(slices.DeleteFunc(slices.Clone(p.Roles), func(r string) bool {
		return r == people.RoleApprove || r == people.RoleOperate || r == people.RoleAdmin
	}), " ")
}

// Has reports whether the person was given the role.
func (p personRow) Has(role string) bool { return slices.Contains(p.Roles, role) }

// A delegationRow is one person voting in another's place.
type delegationRow struct {
	people.Delegation

	Request approvals.Request
}

type signinRow struct {
	ID, Browser string
	Since, Used time.Time
	This        bool
}

// people shows who may answer, and the visitor's own keys and sign-ins.
func (s *Server) people(v *visit) error {
	g, _ := s.signins.told(v.signin.id, v.URL.Query().Get("given")).(*given)
	all := s.c.People()
	me, _ := all.Find(v.signin.credential.Person)
	pv := peopleView{Alone: all.Alone(), Given: g, Passkeys: s.c.Passkeys != nil, Me: v.signin.credential.Person, Roles: me.Roles}
	list, err := v.api.People(v.Context())
	if p, ok := errors.AsType[*api.Problem](err); ok && p.Status == http.StatusNotFound { // they are not changed here
		for _, n := range all.All() {
			list = append(list, api.PersonState{Name: n.Name, Roles: n.Roles, Accounts: n.Accounts, Source: api.SourceFile})
		}
	} else if err != nil {
		return err
	} else {
		pv.Admin = me.Has(people.RoleAdmin)
	}
	for _, n := range list {
		pv.List = append(pv.List, personRow{n, len(s.signins.list(n.Name))})
	}
	if pv.Keys, pv.Counting, err = s.keys(v); err != nil {
		return err
	}
	if s.c.Push != nil {
		pv.PushKey = s.c.Push.PublicKey()
		if pv.Told, err = s.c.Push.List(v.Context(), pv.Me); err != nil {
			return err
		}
	}
	if pv.Delegations, err = delegations(v); err != nil {
		return err
	}
	for _, in := range s.signins.list(v.signin.credential.Person) {
		pv.Signins = append(pv.Signins, signinRow{ID: in.id, Browser: in.browser, Since: in.since, Used: in.used, This: in.id == v.signin.id})
	}
	return s.show(v, http.StatusOK, "people", "People", pv)
}

// delegations are those of requests that wait.
func delegations(v *visit) (rows []delegationRow, err error) {
	p, err := v.api.Page(v.Context(), approvals.Filter{Status: holdgate.StatusPending, Limit: maxInbox})
	for _, r := range p.Requests {
		for _, d := range r.Delegations {
			rows = append(rows, delegationRow{d, r})
		}
	}
	return rows, err
}

// addPerson adds a person, and shows their token this once.
func (s *Server) addPerson(v *visit) error {
	name := strings.TrimSpace(v.PostFormValue("name"))
	list, err := v.api.People(v.Context())
	if err != nil {
		return err
	}
	if slices.ContainsFunc(list, func(n api.PersonState) bool { return n.Name == name }) {
		return wrong("Not added", "There is somebody called "+holdgate.Visible(name)+" already.")
	}
	token, sum := newToken()
	put := personPut(v)
	put.TokenSHA256 = sum
	if _, err := v.api.PutPerson(v.Context(), name, put); err != nil {
		return err
	}
	return s.give(v, &given{name, token})
}

// give leads to the page that shows a token.
func (s *Server) give(v *visit, g *given) error {
	http.Redirect(v.w, v.Request, "/people?given="+s.signins.tellLater(v.signin.id, g), http.StatusSeeOther)
	return nil
}

// changePerson does what a button beside a person says.
func (s *Server) changePerson(v *visit) (err error) {
	name := v.PathValue("name")
	switch v.PostFormValue("action") {
	case "change":
		_, err = v.api.PutPerson(v.Context(), name, personPut(v))
	case "token":
		token, sum := newToken()
		put := personPut(v)
		put.TokenSHA256 = sum
		if _, err := v.api.PutPerson(v.Context(), name, put); err != nil {
			return err
		}
		return s.give(v, &given{name, token})
	case "remove":
		_, err = v.api.RemovePerson(v.Context(), name)
	case "restore":
		_, err = v.api.RestorePerson(v.Context(), name)
	default:
		err = wrong("Not changed", "Choose one of the buttons.")
	}
	if err != nil {
		return err
	}
	http.Redirect(v.w, v.Request, "/people", http.StatusSeeOther)
	return nil
}

// personPut is what a form says of a person.
func personPut(v *visit) api.PersonPut {
	words := func(s string) []string { return strings.Fields(strings.ReplaceAll(s, ",", " ")) }
	p := api.PersonPut{Roles: append([]string{}, v.PostForm["role"]...), Accounts: words(v.PostFormValue("accounts"))}
	for _, r := range words(v.PostFormValue("roles")) {
		if !slices.Contains(p.Roles, r) {
			p.Roles = append(p.Roles, r)
		}
	}
	return p
}

// newToken is a token for a person, and its SHA-256 in hex.
func newToken() (token, sum string) {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: see its documentation
	token = hex.EncodeToString(b[:])
	hash := api.HashToken(token)
	return token, hex.EncodeToString(hash[:])
}
