package webhook

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/document"
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
	Data            any    `json:"data"`
}

// data is a notice as a receiver sees it.
type data struct {
	document.Notice
	AnswerURL string `json:"answer_url,omitempty"`
}

// Notify implements [sdk.Channel].
func (c *Channel) Notify(ctx context.Context, n sdk.Notice) error {
	id := fmt.Sprintf("%s.requested.%s.%d.%.12s", n.ID, n.Status, n.Votes, n.Digest)
	if n.Event == sdk.Escalated {
		id += ".escalated." + sum(n.To...)
	}
	return c.send(ctx, id, n.ID, "approval.requested", c.data(n), false)
}

// Update implements [sdk.Channel].
func (c *Channel) Update(ctx context.Context, n sdk.Notice) error {
	state := []string{n.Event, n.ExpiresAt.String()}
	for _, v := range n.Cast {
		state = append(state, v.By, v.Decision)
	}
	if n.Claim != nil {
		state = append(state, "claim", n.Claim.By, n.Claim.Until.String())
	}
	id := fmt.Sprintf("%s.updated.%s.%d.%.12s.%s", n.ID, n.Status, n.Votes, n.Digest, sum(state...))
	return c.send(ctx, id, n.ID, "approval.updated", c.data(n), false)
}

// Tell implements [sdk.Newscaster].
func (c *Channel) Tell(ctx context.Context, n sdk.News) error {
	return c.send(ctx, "news."+n.ID, n.ID, "news", document.News(n), n.Kind == sdk.NewsTest)
}

// sum tells apart what the rest of an id does not.
func sum(parts ...string) string {
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q", parts)))[:12]
}

// send posts an event until it has arrived, cannot arrive, or time is up; or once.
func (c *Channel) send(ctx context.Context, id, subject, what string, data any, once bool) (err error) {
	if c.url == "" {
		return errors.New("not configured")
	}
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.told, c.failed = true, err
	}()
	e := event{
		SpecVersion: "1.0", ID: id, Source: "urn:holdgate", Type: "com.github.holdgate." + what, Subject: subject,
		Time: time.Now().UTC().Format(time.RFC3339), DataContentType: "application/json", Data: data,
	}
	body, err := json.Marshal(e)
	if err != nil {
		return sdk.Permanent(fmt.Errorf("encoding the event: %w", err))
	}
	if once {
		return c.post(ctx, body)
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
		return fmt.Errorf("posting to %s: %w%s", req.URL.Host, err, unreached(err))
	}
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection can be used again
	_ = resp.Body.Close()
	err = fmt.Errorf("posting to %s: the answer was %s%s", req.URL.Host, resp.Status, meaning(resp.StatusCode))
	switch {
	case resp.StatusCode/100 == 2:
		return nil
	case resp.StatusCode == http.StatusRequestTimeout, resp.StatusCode == http.StatusTooEarly, resp.StatusCode == http.StatusTooManyRequests,
		resp.StatusCode >= 500:
		return err
	}
	return backoff.Permanent(sdk.Permanent(err))
}

// meaning says what to look at where the receiver gave an answer.
func meaning(status int) string {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return ": the receiver does not accept the signature; compare its secret with secret_file"
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status == http.StatusGone:
		return ": nothing takes events at this path; look at url"
	case status == http.StatusBadRequest, status == http.StatusUnsupportedMediaType, status == http.StatusUnprocessableEntity:
		return ": the receiver does not understand CloudEvents as JSON"
	case status == http.StatusTooManyRequests:
		return ": the receiver wants fewer events"
	case status/100 == 3:
		return ": redirects are not followed; set url to where they lead"
	case status >= 500:
		return ": the receiver has a fault of its own; look at its log"
	}
	return ""
}

// unreached says what to look at where there was no answer.
func unreached(err error) string {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return "; is the host in url right?"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "; the receiver's certificate is not trusted here"
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "; nothing listens there"
	case errors.Is(err, context.DeadlineExceeded):
		return "; the receiver does not answer"
	}
	return ""
}

func (c *Channel) data(n sdk.Notice) data {
	d := data{Notice: document.Of(n)}
	if len(d.Answers) > 0 {
		d.AnswerURL = c.answerURL
	}
	return d
}
