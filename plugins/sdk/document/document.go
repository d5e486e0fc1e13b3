// Package document is an approval request, and an answer to it, as JSON: for
// channels that hand both to other programs.
package document

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// Notice is an approval request. Every text in it is safe to show.
type Notice struct {
	ID        string    `json:"id"`
	Nonce     string    `json:"nonce"`
	Digest    string    `json:"digest"`
	Status    string    `json:"status"`
	Kind      string    `json:"kind"`
	Risk      string    `json:"risk,omitempty"`
	Gate      string    `json:"gate,omitempty"`
	Rule      string    `json:"rule"`
	Reason    string    `json:"reason,omitempty"`
	Message   string    `json:"message,omitempty"`
	Agent     Agent     `json:"agent"`
	Session   string    `json:"session"`
	Door      string    `json:"door"`
	Call      Call      `json:"call"`
	Summary   string    `json:"summary"`
	Subject   string    `json:"subject,omitempty"`
	Undo      string    `json:"undo,omitempty"`
	Place     []Fact    `json:"place,omitempty"`
	Why       []string  `json:"why,omitempty"`
	Sections  []Section `json:"sections,omitempty"`
	Details   []string  `json:"details,omitempty"`
	Hidden    int       `json:"hidden,omitempty"`
	Counts    Counts    `json:"counts,omitzero"`
	Whole     bool      `json:"whole"`
	Options   []Option  `json:"options,omitempty"`
	Answers   []string  `json:"answers"`
	Closed    string    `json:"closed,omitempty"`
	CreatedAt time.Time `json:"created_at,omitzero"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	OnTimeout string    `json:"on_timeout"`
	Quorum    int       `json:"quorum"`
	Votes     int       `json:"votes"`
	Approved  []string  `json:"approved,omitempty"`
	People    []string  `json:"people,omitempty"`
	Warnings  []string  `json:"warnings,omitempty"`
	Similar   string    `json:"similar,omitempty"`
	Edited    string    `json:"edited,omitempty"`
	Outcome   *Outcome  `json:"outcome,omitempty"`
	Event     string    `json:"event,omitempty"`
	Thread    string    `json:"thread,omitempty"`
	Cast      []Vote    `json:"cast,omitempty"`
	Claim     *Lease    `json:"claim,omitempty"`
	To        []string  `json:"to,omitempty"`
	Voters    []string  `json:"voters,omitempty"`
	Editable  string    `json:"editable,omitempty"` // JSON in a text
	Waiting   int       `json:"waiting,omitempty"`
}

// Agent is [sdk.Agent].
type Agent struct {
	ID          string `json:"id"`
	Proven      bool   `json:"proven"`
	Confinement string `json:"confinement,omitempty"`
}

// Call is [sdk.Call].
type Call struct {
	Kind      string   `json:"kind"`
	Target    string   `json:"target"`
	Server    string   `json:"server,omitempty"`
	Arguments []string `json:"arguments,omitempty"` // lines of indented JSON
	Cut       int      `json:"cut,omitempty"`
}

// Fact is [sdk.Fact].
type Fact struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Section is [sdk.Section].
type Section struct {
	Title string   `json:"title"`
	Kind  string   `json:"kind"`
	Lines []string `json:"lines"`
}

// Counts is [sdk.Counts].
type Counts struct {
	Unresolved int `json:"unresolved,omitempty"`
	Unbound    int `json:"unbound,omitempty"`
	Redacted   int `json:"redacted,omitempty"`
	Cut        int `json:"cut,omitempty"`
	Commands   int `json:"commands,omitempty"`
}

// Option is [sdk.Option].
type Option struct {
	ID     string `json:"id"`
	Label  string `json:"label"`
	Effect string `json:"effect,omitempty"`
	Other  bool   `json:"other,omitempty"`
}

// Vote is [sdk.Vote].
type Vote struct {
	Decision string    `json:"decision"`
	By       string    `json:"by"`
	Channel  string    `json:"channel,omitempty"`
	At       time.Time `json:"at,omitzero"`
	Reason   string    `json:"reason,omitempty"`
}

// Lease is [sdk.Lease].
type Lease struct {
	By    string    `json:"by"`
	Until time.Time `json:"until,omitzero"`
}

// Outcome is [sdk.Outcome].
type Outcome struct {
	Decision     string    `json:"decision"`
	By           string    `json:"by"`
	At           time.Time `json:"at,omitzero"`
	Reason       string    `json:"reason,omitempty"`
	Instructions string    `json:"instructions,omitempty"`
	Choice       string    `json:"choice,omitempty"`
}

// Of returns the notice as a document.
func Of(n sdk.Notice) Notice {
	d := Notice{
		ID: n.ID, Nonce: n.Nonce, Digest: n.Digest, Status: n.Status, Kind: n.Kind, Risk: n.Risk, Gate: n.Gate,
		Rule: n.Rule, Reason: n.Reason, Message: n.Message,
		Agent: Agent(n.Agent), Session: n.Session, Door: n.Door, Call: Call(n.Call),
		Summary: n.Summary, Subject: n.Subject, Undo: n.Undo, Why: n.Why, Details: n.Details, Hidden: n.Hidden, Counts: Counts(n.Counts), Whole: n.Whole,
		Answers: []string{}, Closed: n.Closed, Approved: n.Approved, People: n.People, Warnings: n.Warnings, Similar: n.Similar, Edited: n.Edited,
		CreatedAt: n.CreatedAt, ExpiresAt: n.ExpiresAt, OnTimeout: n.OnTimeout, Quorum: n.Quorum, Votes: n.Votes,
	}
	if len(n.Answers) > 0 {
		d.Answers = n.Answers
	}
	for _, f := range n.Place {
		d.Place = append(d.Place, Fact(f))
	}
	for _, s := range n.Sections {
		d.Sections = append(d.Sections, Section(s))
	}
	for _, o := range n.Options {
		d.Options = append(d.Options, Option(o))
	}
	d.Event, d.Thread, d.To, d.Voters, d.Editable, d.Waiting = n.Event, n.Thread, n.To, n.Voters, n.Editable, n.Waiting
	for _, v := range n.Cast {
		d.Cast = append(d.Cast, Vote(v))
	}
	if n.Claim != nil {
		l := Lease(*n.Claim)
		d.Claim = &l
	}
	if n.Outcome != nil {
		o := Outcome(*n.Outcome)
		d.Outcome = &o
	}
	return d
}

// An Answer is what one person says to a request.
type Answer struct {
	ID           string `json:"id"`
	Nonce        string `json:"nonce"`
	Digest       string `json:"digest"`
	Decision     string `json:"decision"`
	By           string `json:"by"`
	Reason       string `json:"reason"`
	Instructions string `json:"instructions"`
	Choice       string `json:"choice"`
	// Arguments are the new ones of an edit.
	Arguments jsontext.Value `json:"arguments"`
}

// ReadAnswer reads an answer strictly: a member that is unknown or repeated is
// an error.
func ReadAnswer(text []byte) (sdk.Answer, error) {
	var a Answer
	if err := json.Unmarshal(text, &a, json.RejectUnknownMembers(true)); err != nil {
		return sdk.Answer{}, fmt.Errorf("the decision cannot be read: %w", err)
	}
	if string(a.Arguments) == "null" {
		a.Arguments = nil
	}
	return sdk.Answer{
		ID: a.ID, Nonce: a.Nonce, Digest: a.Digest, Decision: a.Decision, By: a.By,
		Reason: a.Reason, Instructions: a.Instructions, Choice: a.Choice, Arguments: string(a.Arguments),
	}, nil
}

// News is [sdk.News].
type News struct {
	ID    string    `json:"id"`
	Kind  string    `json:"kind"`
	At    time.Time `json:"at,omitzero"`
	Title string    `json:"title"`
	Lines []string  `json:"lines,omitempty"`
	Agent string    `json:"agent,omitempty"`
	To    []string  `json:"to,omitempty"`
}
