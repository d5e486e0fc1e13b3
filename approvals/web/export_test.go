package web_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/web"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// A tiring store reads so many pairs, and then fails.
type tiring struct {
	store.Store

	left int
}

var errTired = errors.New("the disk is tired")

func (s *tiring) View(ctx context.Context, fn func(store.Tx) error) error {
	return s.Store.View(ctx, func(tx store.Tx) error { return fn(tiringTx{tx, s}) })
}

type tiringTx struct {
	store.Tx

	s *tiring
}

func (t tiringTx) Scan(prefix, from string) iter.Seq2[store.Pair, error] {
	return func(yield func(store.Pair, error) bool) {
		for p, err := range t.Tx.Scan(prefix, from) {
			if t.s.left--; t.s.left < 0 {
				yield(store.Pair{}, errTired)
				return
			}
			if !yield(p, err) {
				return
			}
		}
	}
}

// A file of the log that breaks off is seen to, and one that does not begin is a page
// that says so.
func TestAnExportThatFails(t *testing.T) {
	t.Parallel()
	weak := new(tiring)
	h := newHouse(t, func(c *api.Config, _ *web.Config) {
		weak.Store, weak.left = c.Store, 1<<30
		log, err := audit.Open(t.Context(), weak, []byte(strings.Repeat("k", 32)))
		must(t, err)
		c.Log = log
	})
	b := h.signIn("ada")
	must(t, weak.Update(t.Context(), func(tx store.Tx) (err error) {
		for range 1100 {
			_, next := h.log.Append(tx, audit.Entry{Type: audit.TypeDecision, Call: &audit.Call{Kind: holdgate.KindToolCall, Agent: "builder", Session: "s1"}})
			err = errors.Join(err, next)
		}
		return err
	}))
	for _, path := range []string{"/history/export", "/history/export?agent=builder"} {
		for left, want := range map[int]string{0: "a page", 1050: "a break", 1 << 30: "a file"} {
			t.Run(path+" after "+want, func(t *testing.T) {
				weak.left = left
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.http.URL+path, nil)
				must(t, err)
				_, port, _ := strings.Cut(strings.TrimPrefix(b.http.URL, "http://"), ":")
				req.Host = name + ".localhost:" + port
				req.Header.Set("Cookie", b.cookie)
				resp, err := http.DefaultClient.Do(req)
				must(t, err)
				defer resp.Body.Close()
				text, err := io.ReadAll(resp.Body)
				got, file := "a page", resp.Header.Get("Content-Disposition") != ""
				switch {
				case file && err != nil:
					got = "a break"
				case file && strings.Count(string(text), "\n") >= 1100:
					got = "a file"
				case resp.StatusCode != http.StatusInternalServerError || !strings.Contains(string(text), "<h1>"):
					got = "nothing to go by"
				}
				if got != want {
					t.Errorf("it is %s: %s, %d bytes, %v", got, resp.Status, len(text), err)
				}
			})
		}
	}
}
