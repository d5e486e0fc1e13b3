package telegram

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// What one call to Telegram may take, and what of an answer is read.
const (
	perCall   = 10 * time.Second
	pollFor   = 50 * time.Second // how long Telegram is asked to wait for updates
	maxAnswer = 8 << 20          // bytes
	maxPause  = 15 * time.Second // the longest pause that Telegram may impose within a call
)

// An api talks to the Bot API (core.telegram.org/bots/api) over HTTPS. The
// token is a part of every URL, so no error of net/http leaves it as it is.
// It is safe for concurrent use.
type api struct {
	client *http.Client
	base   string
	token  token
}

// A token is the bot's password. It prints as nothing.
type token string

// String implements [fmt.Stringer].
func (token) String() string { return "<token>" }

// GoString implements [fmt.GoStringer].
func (token) GoString() string { return "<token>" }

// Format implements [fmt.Formatter], so that no verb shows it.
func (t token) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, t.String()) }

// A replyError is what Telegram answers instead of a result.
type replyError struct {
	code   int
	text   string
	wait   time.Duration // with 429: before the next call
	moveTo int64         // the group has this id now
}

func (e *replyError) Error() string {
	s := fmt.Sprintf("Telegram says %d %s", e.code, e.text)
	switch {
	case e.moveTo != 0:
		s += fmt.Sprintf(": set chat to %d", e.moveTo)
	case e.code == http.StatusUnauthorized, e.code == http.StatusNotFound:
		s += ": is the token in token_file the bot's?"
	case e.code == http.StatusConflict:
		s += ": another program reads this bot's updates; give Holdgate a bot of its own"
	}
	return s
}

// says reports whether err is Telegram's, of the code, and contains the text.
func says(err error, code int, text string) bool {
	e, ok := errors.AsType[*replyError](err)
	return ok && e.code == code && strings.Contains(e.text, text)
}

// call calls a method within perCall, and where Telegram asks for a short
// pause, once more after it.
func (a *api) call(ctx context.Context, method string, in, out any) error {
	for {
		err := a.once(ctx, perCall, method, in, out)
		e, ok := errors.AsType[*replyError](err)
		if !ok || e.wait <= 0 || e.wait > maxPause {
			return err
		}
		if until, limited := ctx.Deadline(); limited && time.Until(until) < e.wait {
			return err
		}
		if err := sleep(ctx, e.wait); err != nil {
			return err
		}
	}
}

// once calls a method a single time.
func (a *api) once(ctx context.Context, limit time.Duration, method string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", method, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base+"/bot"+string(a.token)+"/"+method, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("calling %s: the address of the Bot API is no URL", method)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := a.client.Do(req)
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err
		}
		return fmt.Errorf("calling %s at %s: %w", method, req.URL.Host, err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("reading Telegram's answer to %s: %w", method, err)
	}
	if err := a.result(resp.StatusCode, raw, out); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// result takes an answer apart.
func (a *api) result(status int, raw []byte, out any) error {
	var answer struct {
		OK          bool   `json:"ok"`
		Code        int    `json:"error_code"`
		Description string `json:"description"`
		Parameters  struct {
			RetryAfter int64 `json:"retry_after"` // seconds
			MigrateTo  int64 `json:"migrate_to_chat_id"`
		} `json:"parameters"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return fmt.Errorf("the answer (%d) is not Telegram's", status)
	}
	if !answer.OK {
		text := strings.ReplaceAll(answer.Description, string(a.token), a.token.String())
		return &replyError{
			code: answer.Code, text: inert(text[:min(len(text), 200)]), moveTo: answer.Parameters.MigrateTo,
			wait: time.Duration(min(max(answer.Parameters.RetryAfter, 0), 3600)) * time.Second,
		}
	}
	if out == nil {
		return nil
	}
	into := struct {
		Result any `json:"result"`
	}{out}
	if err := json.Unmarshal(raw, &into); err != nil {
		return fmt.Errorf("the result cannot be read: %w", err)
	}
	return nil
}

// sleep waits, unless ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
