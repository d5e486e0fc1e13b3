package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// How long an event is tried, in all and at a time. Holdgate itself tries
// again later.
const (
	inAll  = 20 * time.Second
	perTry = 8 * time.Second
)

// An event is a CloudEvent in the structured mode.
type event struct {
	SpecVersion     string `json:"specversion"`
	ID              string `json:"id"`
	Source          string `json:"source"`
	Type            string `json:"type"`
	Subject         string `json:"subject"`
	Time            string `json:"time"`
	DataContentType string `json:"datacontenttype"`
	Data            data   `json:"data"`
}

// data is a notice as a receiver sees it.
type data struct {
	ID        string       `json:"id"`
	Nonce     string       `json:"nonce"`
	Digest    string       `json:"digest"`
	Status    string       `json:"status"`
	Kind      string       `json:"kind"`
	Risk      string       `json:"risk,omitempty"`
	Gate      string       `json:"gate,omitempty"`
	Rule      string       `json:"rule"`
	Reason    string       `json:"reason,omitempty"`
	Message   string       `json:"message,omitempty"`
	Agent     agent        `json:"agent"`
	Session   string       `json:"session"`
	Door      string       `json:"door"`
	Call      call         `json:"call"`
	Summary   string       `json:"summary"`
	Why       []string     `json:"why,omitempty"`
	Sections  []section    `json:"sections,omitempty"`
	Details   []string     `json:"details,omitempty"`
	Hidden    int          `json:"hidden,omitempty"`
	Counts    counts       `json:"counts,omitzero"`
	Whole     bool         `json:"whole"`
	Options   []option     `json:"options,omitempty"`
	Answers   []string     `json:"answers"`
	Closed    string       `json:"closed,omitempty"`
	AnswerURL string       `json:"answer_url,omitempty"`
	CreatedAt time.Time    `json:"created_at,omitzero"`
	ExpiresAt time.Time    `json:"expires_at,omitzero"`
	OnTimeout string       `json:"on_timeout"`
	Quorum    int          `json:"quorum"`
	Votes     int          `json:"votes"`
	Approved  []string     `json:"approved,omitempty"`
	People    []string     `json:"people,omitempty"`
	Warnings  []string     `json:"warnings,omitempty"`
	Similar   string       `json:"similar,omitempty"`
	Edited    string       `json:"edited,omitempty"`
	Outcome   *outcomeData `json:"outcome,omitempty"`
}

type agent struct {
	ID          string `json:"id"`
	Proven      bool   `json:"proven"`
	Confinement string `json:"confinement,omitempty"`
}

type call struct {
	Kind      string   `json:"kind"`
	Target    string   `json:"target"`
	Server    string   `json:"server,omitempty"`
	Arguments []string `json:"arguments,omitempty"` // lines of indented JSON
	Cut       int      `json:"cut,omitempty"`
}

type section struct {
	Title string   `json:"title"`
	Kind  string   `json:"kind"`
	Lines []string `json:"lines"`
}

type counts struct {
	Unresolved int `json:"unresolved,omitempty"`
	Unbound    int `json:"unbound,omitempty"`
	Redacted   int `json:"redacted,omitempty"`
	Cut        int `json:"cut,omitempty"`
	Commands   int `json:"commands,omitempty"`
}

type option struct {
	ID     string `json:"id"`
	Label  string `json:"label"`
	Effect string `json:"effect,omitempty"`
}

type outcomeData struct {
	Decision     string    `json:"decision"`
	By           string    `json:"by"`
	At           time.Time `json:"at,omitzero"`
	Reason       string    `json:"reason,omitempty"`
	Instructions string    `json:"instructions,omitempty"`
	Choice       string    `json:"choice,omitempty"`
}

// Notify implements [sdk.Channel].
func (c *Channel) Notify(ctx context.Context, n sdk.Notice) error {
	return c.send(ctx, "requested", n)
}

// Update implements [sdk.Channel].
func (c *Channel) Update(ctx context.Context, n sdk.Notice) error {
	return c.send(ctx, "updated", n)
}

// send posts an event until it has arrived, cannot arrive, or time is up.
func (c *Channel) send(ctx context.Context, what string, n sdk.Notice) error {
	if c.url == "" {
		return errors.New("not configured")
	}
	e := event{
		SpecVersion: "1.0", ID: fmt.Sprintf("%s.%s.%s.%d.%.12s", n.ID, what, n.Status, n.Votes, n.Digest),
		Source: "urn:holdgate", Type: "com.github.holdgate.approval." + what, Subject: n.ID,
		Time: time.Now().UTC().Format(time.RFC3339), DataContentType: "application/json", Data: c.data(n),
	}
	body, err := json.Marshal(e)
	if err != nil {
		return sdk.Permanent(fmt.Errorf("encoding the event: %w", err))
	}
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval = c.pause
	_, err = backoff.Retry(ctx, func() (struct{}, error) { return struct{}{}, c.post(ctx, body) },
		backoff.WithBackOff(pause), backoff.WithMaxElapsedTime(inAll))
	return err
}

// post sends the event once. Its errors name no more of the URL than the host:
// the rest may be a secret.
func (c *Channel) post(ctx context.Context, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, perTry)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return backoff.Permanent(sdk.Permanent(errors.New("making the request")))
	}
	req.Header.Set("Content-Type", "application/cloudevents+json; charset=utf-8")
	req.Header.Set("User-Agent", "holdgate")
	req.Header.Set(signatureHeader, c.secret.sign(time.Now(), body))
	resp, err := c.client.Do(req)
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err
		}
		return fmt.Errorf("posting to %s: %w", req.URL.Host, err)
	}
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection can be used again
	_ = resp.Body.Close()
	err = fmt.Errorf("posting to %s: the answer was %s", req.URL.Host, resp.Status)
	switch {
	case resp.StatusCode/100 == 2:
		return nil
	case resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode >= 500:
		return err
	}
	return backoff.Permanent(sdk.Permanent(err))
}

func (c *Channel) data(n sdk.Notice) data {
	d := data{
		ID: n.ID, Nonce: n.Nonce, Digest: n.Digest, Status: n.Status, Kind: n.Kind, Risk: n.Risk, Gate: n.Gate,
		Rule: n.Rule, Reason: n.Reason, Message: n.Message,
		Agent: agent(n.Agent), Session: n.Session, Door: n.Door, Call: call(n.Call),
		Summary: n.Summary, Why: n.Why, Details: n.Details, Hidden: n.Hidden, Counts: counts(n.Counts), Whole: n.Whole,
		Answers: []string{}, Closed: n.Closed, Approved: n.Approved, People: n.People, Warnings: n.Warnings, Similar: n.Similar, Edited: n.Edited,
		CreatedAt: n.CreatedAt, ExpiresAt: n.ExpiresAt, OnTimeout: n.OnTimeout, Quorum: n.Quorum, Votes: n.Votes,
	}
	if len(n.Answers) > 0 {
		d.Answers, d.AnswerURL = n.Answers, c.answerURL
	}
	for _, s := range n.Sections {
		d.Sections = append(d.Sections, section(s))
	}
	for _, o := range n.Options {
		d.Options = append(d.Options, option(o))
	}
	if n.Outcome != nil {
		o := outcomeData(*n.Outcome)
		d.Outcome = &o
	}
	return d
}
