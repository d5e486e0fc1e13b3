// Package corpus_test plays exchanges that public test suites recorded with
// real providers through a real Holdgate: whole answers in, bytes out, with
// every call allowed, denied, approved and refused by a person. At the end the
// official SDKs read what came out.
//
// The recordings stay where they are published: testdata/recordings names Go
// modules, `.ci/run` downloads them, and without them the test is skipped.
// Without HOLDGATE_CLIENTS, or with -short, no SDK reads them, and the rest is still
// checked. With -short each recording goes one of the ways.
package corpus_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/holdgate/holdgate"
)

// A corpus is the recordings with what is expected of them.
type corpus struct {
	recorded []recording
	calls    [][]call          // by the test's own reader
	turns    []map[string]turn // what each SDK reads where nothing stands between
	clients  *clients
}

func newCorpus(t *testing.T) *corpus {
	c := &corpus{recorded: recordings(t)}
	if !testing.Short() {
		c.clients = newClients(t)
	}
	if len(c.recorded) == 0 {
		t.Skip("no module with recordings is in the module cache. `.ci/run` downloads them.")
	}
	kinds := map[string][2]int{}
	for _, r := range c.recorded {
		f := speaks(r)
		docs, err := r.documents(r.answer)
		if err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
		calls, turns := f.calls(docs), map[string]turn{}
		for _, name := range f.clients {
			if c.clients == nil || r.status != http.StatusOK {
				break
			}
			read := c.clients.read(t, name, r.streamed(), r.header.Get("Content-Type"), r.answer)
			turns[name] = read
			if name == "mistral" && len(read.Calls) < len(calls) {
				delete(turns, name) // it knows no legacy calls
			} else if read.Error == "" && len(read.Calls) != len(calls) {
				t.Errorf("%s: %s reads %d calls in the recording, the test %d", r.name, name, len(read.Calls), len(calls))
			}
		}
		c.calls, c.turns = append(c.calls, calls), append(c.turns, turns)
		kind := f.name
		if r.streamed() {
			kind += ", streamed"
		}
		n := kinds[kind]
		kinds[kind] = [2]int{n[0] + 1, n[1] + len(calls)}
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		t.Logf("%s: %d recordings with %d calls", kind, kinds[kind][0], kinds[kind][1])
	}
	return c
}

func TestRecordings(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	ways := []struct {
		name   string
		action holdgate.Action
		names  string // of the tools it is done to
		answer holdgate.Answer
		judged int // how often each call is: again, once it is approved
	}{
		{"allowed", holdgate.Allow, `.*`, "", 1},
		{"denied", holdgate.Deny, `.*`, "", 1},
		{"some denied", holdgate.Deny, `^[A-Za-m]`, "", 1},
		{"approved", holdgate.Hold, `.*`, holdgate.AnswerApprove, 2},
		{"refused", holdgate.Hold, `.*`, holdgate.AnswerDeny, 1},
	}
	for i, way := range ways {
		c := c
		if testing.Short() {
			c = c.part(i, len(ways))
		}
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			p, upstream := newProvider(t, c.recorded)
			s := newSidecar(t, upstream, nil, way.action, way.names)
			names := regexp.MustCompile(way.names)
			gone := func(name string) bool {
				return (way.action == holdgate.Deny || way.answer == holdgate.AnswerDeny) && names.MatchString(name)
			}
			for n, got := range c.play(t, s, way.answer) {
				if slices.ContainsFunc(c.calls[n], func(one call) bool { return gone(one.name) }) {
					c.without(t, n, got, gone)
				} else {
					c.same(t, n, got)
				}
			}
			decided := s.decided(t)
			for n, calls := range c.calls {
				if decided[n] != way.judged*len(calls) {
					t.Errorf("%s: %d decisions, want %d of each of %v", c.recorded[n].name, decided[n], way.judged, calls)
				}
			}
			if len(p.changed) > 0 {
				t.Errorf("requests that did not come as they were sent: %v", p.changed)
			}
		})
	}
}

// part is one recording in so many, from one of them on.
func (c *corpus) part(from, step int) *corpus {
	p := &corpus{clients: c.clients}
	for n := from; n < len(c.recorded); n += step {
		p.recorded, p.calls, p.turns = append(p.recorded, c.recorded[n]), append(p.calls, c.calls[n]), append(p.turns, c.turns[n])
	}
	return p
}

// play asks for every recording, some at once.
func (c *corpus) play(t *testing.T, s *sidecar, answer holdgate.Answer) []outcome {
	ctx, cancel := context.WithCancel(t.Context())
	var people sync.WaitGroup
	defer people.Wait()
	defer cancel()
	if answer != "" {
		people.Go(func() {
			if err := s.answerAll(ctx, answer); err != nil && ctx.Err() == nil {
				t.Errorf("answering: %v", err)
				cancel()
			}
		})
	}
	client := &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 8}}
	defer client.CloseIdleConnections()
	got := make([]outcome, len(c.recorded))
	var g errgroup.Group
	g.SetLimit(8)
	for n, r := range c.recorded {
		g.Go(func() (err error) {
			if got[n], err = s.ask(ctx, client, n, r); err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			return nil
		})
	}
	must(t, g.Wait())
	return got
}

// same: what came is what was recorded.
func (c *corpus) same(t *testing.T, n int, got outcome) {
	r := c.recorded[n]
	if got.status != r.status || !bytes.Equal(got.body, r.answer) || got.header.Get("Content-Type") != r.header.Get("Content-Type") {
		t.Errorf("%s at %s: status %d of type %q, %s", r.name, r.url, got.status, got.header.Get("Content-Type"), difference(r.answer, got.body))
	}
}

// difference is where two texts part.
func difference(want, got []byte) string {
	i := 0
	for i < min(len(want), len(got)) && want[i] == got[i] {
		i++
	}
	return fmt.Sprintf("from byte %d it is %.300q, want %.300q", i, got[i:], want[i:])
}

// without: the calls that are gone are nowhere, and every SDK that read the
// recording reads the answer to its end, with the other calls and all the text.
func (c *corpus) without(t *testing.T, n int, got outcome, gone func(name string) bool) {
	r, f := c.recorded[n], speaks(c.recorded[n])
	left := slices.DeleteFunc(slices.Clone(c.calls[n]), func(one call) bool { return gone(one.name) })
	docs, err := r.documents(got.body)
	if found := f.calls(docs); got.status != r.status || err != nil || !slices.Equal(found, left) || len(left) == 0 && bytes.Contains(got.body, []byte(f.trace)) {
		t.Errorf("%s: status %d with the calls %v, want %v: %v\n%s", r.name, got.status, found, left, err, got.body)
	}
	for name, before := range c.turns[n] {
		if before.Error != "" {
			continue
		}
		after, goes := c.clients.read(t, name, r.streamed(), r.header.Get("Content-Type"), got.body), func(one sdkCall) bool { return gone(one.Name) }
		before.Calls, before.Come = slices.DeleteFunc(slices.Clone(before.Calls), goes), slices.DeleteFunc(slices.Clone(before.Come), goes)
		switch {
		case after.Error != "":
			t.Errorf("%s: %s reads the recording, but not what came: %s\n%s", r.name, name, after.Error, got.body)
		case !reflect.DeepEqual(after.Calls, before.Calls) || !reflect.DeepEqual(after.Come, before.Come):
			t.Errorf("%s: %s reads the calls %v and %v, want %v and %v", r.name, name, after.Calls, after.Come, before.Calls, before.Come)
		case !strings.Contains(after.Text, "[holdgate]"):
			t.Errorf("%s: %s reads no notice in %q", r.name, name, after.Text)
		case withoutNotices(after.Text) != strings.TrimSpace(before.Text):
			t.Errorf("%s: %s reads the text %q, want %q with notices", r.name, name, after.Text, before.Text)
		case !ends(before.Finish, after.Finish, len(left)):
			t.Errorf("%s: %s reads the end %v with %d calls left, where %v was", r.name, name, after.Finish, len(left), before.Finish)
		}
	}
}

// ends reports whether an answer with so many calls left ends as it should.
func ends(before, after any, left int) bool {
	if left > 0 {
		return before == after
	}
	return after != nil && after != "tool_calls" && after != "tool_use" && after != "function_call"
}

// withoutNotices is a text without Holdgate's lines.
func withoutNotices(s string) string {
	var left []string
	for line := range strings.Lines(s) {
		if !strings.HasPrefix(line, "[holdgate]") {
			left = append(left, line)
		}
	}
	return strings.TrimSpace(strings.Join(left, ""))
}
