package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/slack-go/slack"
)

// maxBody is how many bytes a signed request may have.
const maxBody = 1 << 20

// serve takes signed requests until ctx ends, and stops listening then.
func (c *Channel) serve(ctx context.Context, d *desk) error {
	srv := &http.Server{
		Handler: c.handler(ctx, d), ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, MaxHeaderBytes: 16 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx }, ErrorLog: slog.NewLogLogger(c.log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(c.listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("taking what Slack sends: %w", err)
	case <-ctx.Done():
		// Handlers end with ctx.
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		err := errors.Join(srv.Shutdown(ending), srv.Close())
		<-served
		return errors.Join(ctx.Err(), err)
	}
}

// handler takes signed requests; what they ask for is worked on until ctx ends.
func (c *Channel) handler(ctx context.Context, d *desk) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		body, status, err := c.verify(w, r)
		if err == nil {
			status, err = c.received(ctx, w, r, d, body)
		}
		if err != nil {
			c.log.Warn("a request to the listener was refused", "status", status, "err", err)
			http.Error(w, err.Error(), status)
		}
	})
}

// verify returns the body of a request that Slack has signed, within five
// minutes (https://docs.slack.dev/authentication/verifying-requests-from-slack).
func (c *Channel) verify(w http.ResponseWriter, r *http.Request) (body []byte, status int, err error) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return nil, http.StatusMethodNotAllowed, errors.New("want a POST, as Slack sends")
	}
	body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, http.StatusBadRequest, errors.New("the body is too long or ended early")
	}
	for _, name := range []string{"X-Slack-Signature", "X-Slack-Request-Timestamp"} {
		if len(r.Header.Values(name)) != 1 {
			return nil, http.StatusUnauthorized, errors.New("the signature is missing or wrong")
		}
	}
	v, err := slack.NewSecretsVerifier(r.Header, string(c.secret))
	if err == nil {
		_, _ = v.Write(body) // to a hash
		err = v.Ensure()
	}
	if errors.Is(err, slack.ErrExpiredTimestamp) {
		return nil, http.StatusUnauthorized, errors.New("the signature's time is more than five minutes from now")
	}
	if err != nil {
		return nil, http.StatusUnauthorized, errors.New("the signature is missing or wrong")
	}
	return body, 0, nil
}

// received answers a request that is Slack's.
func (c *Channel) received(ctx context.Context, w http.ResponseWriter, r *http.Request, d *desk, body []byte) (status int, err error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err == nil && kind == "application/json":
		return events(w, body)
	case err != nil || kind != "application/x-www-form-urlencoded":
		return http.StatusUnsupportedMediaType, errors.New("what Slack sends is a form, or JSON")
	}
	if !c.seen.fresh(body, time.Now()) {
		return http.StatusConflict, errors.New("this was sent before, or too much was")
	}
	form, err := url.ParseQuery(string(body))
	if err != nil || len(form["payload"]) != 1 {
		return http.StatusBadRequest, errors.New("there is no payload")
	}
	var cb slack.InteractionCallback
	if err := json.Unmarshal([]byte(form.Get("payload")), &cb); err != nil {
		return http.StatusBadRequest, errors.New("the payload is no interaction")
	}
	switch cb.Type {
	case slack.InteractionTypeBlockActions:
		d.do(ctx, func() { d.press(ctx, cb) })
	case slack.InteractionTypeViewSubmission:
		if response := d.submit(ctx, cb); response != nil {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(response) // whoever asked may be gone
		}
	default:
	}
	return http.StatusOK, nil
}

// events answers the Events API: its challenge is sent back, and events, to
// which the app has not subscribed, do nothing.
func events(w http.ResponseWriter, body []byte) (status int, err error) {
	var e struct{ Type, Challenge string }
	if err := json.Unmarshal(body, &e); err != nil {
		return http.StatusBadRequest, errors.New("the event is no JSON")
	}
	if e.Type == "url_verification" {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, e.Challenge) // whoever asked may be gone
	}
	return http.StatusOK, nil
}
