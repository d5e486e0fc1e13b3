package slack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// answering answers a call of the Web API with a status, a body and headers.
func answering(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// odd are answers that Slack's documentation names, and those of what may stand
// before it. None of them posts anything.
func odd() map[string]http.HandlerFunc {
	answers := map[string]http.HandlerFunc{
		"a page of a proxy":          answering(200, "<html><body>Sign in</body></html>", "Content-Type", "text/html"),
		"nothing":                    answering(200, ""),
		"null":                       answering(200, "null"),
		"a list":                     answering(200, "[]"),
		"half of an answer":          answering(200, `{"ok":true,"ts":"1.0`),
		"no word on success":         answering(200, `{}`),
		"a redirect":                 answering(302, "", "Location", "https://elsewhere.example/"),
		"no content":                 answering(204, ""),
		"bad gateway":                answering(502, "<html>"),
		"gateway timeout":            answering(504, ""),
		"a limit without a time":     answering(429, `{"ok":false,"error":"ratelimited"}`),
		"a limit of no time":         answering(429, `{"ok":false,"error":"ratelimited"}`, "Retry-After", "0"),
		"a limit of a negative time": answering(429, "", "Retry-After", "-5"),
		"a limit in words":           answering(429, "", "Retry-After", "Fri, 31 Dec 2027 23:59:59 GMT"),
		"a limit of a day":           answering(429, "", "Retry-After", "86400"),
		"a cut connection":           func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"a body that breaks off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"ok":true,`)
		},
	}
	for _, code := range []string{
		"internal_error", "fatal_error", "service_unavailable", "request_timeout", "ratelimited", "rate_limited", "accesslimited", "ekm_access_denied",
		"team_access_not_granted", "org_login_required", "two_factor_setup_required", "message_limit_exceeded", "restricted_action", "a code of next year",
	} {
		answers[code] = answering(200, fmt.Sprintf(`{"ok":false,"error":%q}`, code))
	}
	return answers
}

// Whatever Slack answers, nothing is taken for posted that was not, Slack is not
// called in a loop, and the next try posts the message once.
func TestOddAnswersOfSlackLoseNothing(t *testing.T) {
	t.Parallel()
	for name, answer := range odd() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, true)
			const times = 1000
			r.change(func() {
				for range times {
					r.odd["chat.postMessage"] = append(r.odd["chat.postMessage"], answer)
				}
			})
			ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
			defer cancel()
			err := r.c.Notify(ctx, asking("r1"))
			if err == nil || errors.Is(err, sdk.ErrPermanent) || strings.Contains(err.Error(), botToken) {
				t.Errorf("Notify = %v", err)
			}
			r.change(func() { r.odd["chat.postMessage"] = nil })
			if n := r.calls["chat.postMessage"]; n > 3 {
				t.Errorf("Slack was called %d times", n)
			}
			r.c.gate.until = nil // the day that Slack asked for has passed
			r.notify(asking("r1"))
			r.message("r1")
		})
	}
}
