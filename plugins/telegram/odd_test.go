package telegram

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// answering answers a method with a status and a body.
func answering(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// odd are answers that the Bot API's documentation names, and those of what may
// stand before it. None of them does anything.
func odd() map[string]http.HandlerFunc {
	answers := map[string]http.HandlerFunc{
		"a page of a proxy":        answering(200, "<html><body>Sign in</body></html>"),
		"nothing":                  answering(200, ""),
		"null":                     answering(200, "null"),
		"an empty object":          answering(200, "{}"),
		"a list":                   answering(200, "[]"),
		"half of an answer":        answering(200, `{"ok":true,"result":{"message_`),
		"success without a result": answering(200, `{"ok":true}`),
		"another kind of result":   answering(200, `{"ok":true,"result":"sent"}`),
		"a word for success":       answering(200, `{"ok":"true","result":{"message_id":1}}`),
		"two words on success":     answering(200, `{"ok":false,"ok":true,"result":{"message_id":1}}`),
		"a redirect":               answering(302, ""),
		"bad gateway":              answering(502, "<html>"),
		"a limit without a time":   answering(429, `{"ok":false,"error_code":429,"description":"Too Many Requests"}`),
		"a limit of no time":       answering(429, `{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":0}}`),
		"a negative limit":         answering(429, `{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":-7}}`),
		"a limit of a year":        answering(429, `{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":31536000}}`),
		"a limit beyond numbers":   answering(429, `{"ok":false,"error_code":429,"description":"x","parameters":{"retry_after":99999999999999999999}}`),
		"a group that has moved":   answering(400, `{"ok":false,"error_code":400,"description":"Bad Request: group chat was upgraded","parameters":{"migrate_to_chat_id":-1001}}`),
		"the token in its words":   answering(400, `{"ok":false,"error_code":400,"description":"no bot `+botToken+`"}`),
		"an endless description":   answering(400, `{"ok":false,"error_code":400,"description":"`+strings.Repeat("x", 1<<20)+`"}`),
		"a cut connection":         func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"a body that breaks off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"ok":true,`)
		},
	}
	for code, description := range map[int]string{
		400: "Bad Request: not enough rights to send text messages to the chat", 401: "Unauthorized", 404: "Not Found", 409: "Conflict: terminated by other getUpdates request",
		413: "Request Entity Too Large", 420: "FLOOD", 500: "Internal Server Error",
	} {
		answers[description] = answering(code, fmt.Sprintf(`{"ok":false,"error_code":%d,"description":%q}`, code, description))
	}
	return answers
}

func times(n int, answer http.HandlerFunc) []http.HandlerFunc {
	return slices.Repeat([]http.HandlerFunc{answer}, n)
}

// Whatever Telegram answers, nothing is taken for sent that was not, Telegram is
// not called in a loop, and the next try sends the message once.
func TestOddAnswersOfTelegramLoseNothing(t *testing.T) {
	t.Parallel()
	for name, answer := range odd() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			d.change(func() { d.odd["sendMessage"] = times(1000, answer) })
			ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
			defer cancel()
			err := d.channel.Notify(ctx, asked())
			if err == nil || errors.Is(err, sdk.ErrPermanent) || strings.Contains(err.Error(), botToken) || len(err.Error()) > 1000 {
				t.Errorf("Notify = %.500v", err)
			}
			n := 0
			d.change(func() { n, d.odd["sendMessage"] = d.calls["sendMessage"], nil })
			if n > 3 {
				t.Errorf("Telegram was called %d times", n)
			}
			d.notify(asked())
			d.shows("MEDIUM RISK")
			if all := d.list(); len(all) != 1 {
				t.Errorf("there are %d messages", len(all))
			}
		})
	}
}

// Odd answers to the question for updates cost no press, and no loop.
func TestOddAnswersOfTelegramCostNoPress(t *testing.T) {
	t.Parallel()
	for name, answer := range odd() {
		if strings.HasPrefix(name, "a limit of a year") {
			continue // the channel waits for an hour, as it is told
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			n := asked()
			d.notify(n)
			m := d.shows("MEDIUM RISK")
			before := 0
			d.change(func() { before, d.odd["getUpdates"] = d.calls["getUpdates"], times(3, answer) })
			d.press(ada, m, "Deny")
			if got := d.answered(); got.By != "1001" {
				t.Errorf("answered %+v", got)
			}
			after := 0
			d.change(func() { after = d.calls["getUpdates"] })
			if after-before > 10 {
				t.Errorf("Telegram was asked %d times", after-before)
			}
		})
	}
}
