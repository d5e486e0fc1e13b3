package model_test

import (
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/proxy/wire"
)

// An answer that went on says the same plain and streamed, and where the plain
// one has usage, so has the stream.
func TestAnAnswerThatWentOnIsTheSameBothWays(t *testing.T) {
	t.Parallel()
	for _, f := range turnFormats() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			take := func(path, ask string) string {
				var seen proxytest.Counter
				var g *proxytest.Sidecar
				g = proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					inTurn(t, f.codec(g), f.typ, &seen, f.with("a", "forbidden 1"), f.with("b", "forbidden 2"), f.with("c", "ls")).ServeHTTP(w, r)
				}), withRounds(3))
				got := f.collected(t, g, g.Post(t.Context(), path, ask))
				canonical, err := wire.CanonicalWithout([]byte(got))
				proxytest.Must(t, err)
				return string(canonical)
			}
			path, ask := f.streamed(f.request(""))
			if diff := cmp.Diff(take(f.path, f.request("")), take(path, ask)); diff != "" {
				t.Errorf("(-plain +streamed):\n%s", diff)
			}
		})
	}
}

// What no other body may be sent for, and what the provider keeps, ends with the
// notice, as if nothing had been set.
func TestWhatCannotGoOnEndsWithTheNotice(t *testing.T) {
	t.Parallel()
	named := func(name string) (found turnFormat) {
		for _, f := range turnFormats() {
			if f.name == name {
				found = f
			}
		}
		return found
	}
	with := func(member string) func(f turnFormat, r *http.Request) string {
		return func(f turnFormat, _ *http.Request) string {
			return strings.Replace(f.request(""), `"store":false,`, member, 1)
		}
	}
	signing := func(f turnFormat, r *http.Request) string {
		r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKIA/20261122/eu-west-1/bedrock/aws4_request, SignedHeaders=host, Signature=00")
		return f.request("")
	}
	for _, tt := range []struct {
		name, format string
		ask          func(f turnFormat, r *http.Request) string
	}{
		{"a signed request to Converse", "bedrock", signing},
		{"a signed request that invokes", "bedrock_invoke", signing},
		{"a response that is kept unless the request says otherwise", "responses", with("")},
		{"a response that is kept", "responses", with(`"store":true,`)},
		{"a response that goes on from one that is kept", "responses", with(`"store":false,"previous_response_id":"resp_0",`)},
		{"a response in a conversation", "responses", with(`"store":false,"conversation":"conv_1",`)},
		{"a response in the background", "responses", with(`"store":false,"background":true,`)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := named(tt.format)
			var seen proxytest.Counter
			var g *proxytest.Sidecar
			g = proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				inTurn(t, f.codec(g), f.typ, &seen, f.with("a", "forbidden"), f.text("never")).ServeHTTP(w, r)
			}), withRounds(3))
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+f.path, nil)
			proxytest.Must(t, err)
			r.Header.Set("Content-Type", "application/json")
			body := tt.ask(f, r)
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
			resp, err := g.Client.Do(r)
			proxytest.Must(t, err)
			defer resp.Body.Close()
			got := f.collected(t, g, resp)
			ordered(t, got, "Look.", proxytest.NoticeWord)
			if n := len(seen.All()); n != 1 || strings.Contains(got, "never") {
				t.Errorf("the model was asked %d times, and the agent got %s", n, got)
			}
		})
	}
}

// The events of a response that went on are those of one response: numbers
// without a gap, one beginning, one end, and one id.
func TestAResponseThatWentOnIsOneResponse(t *testing.T) {
	t.Parallel()
	var f turnFormat
	for _, of := range turnFormats() {
		if of.name == "responses" {
			f = of
		}
	}
	var seen proxytest.Counter
	var g *proxytest.Sidecar
	second := strings.NewReplacer("resp_1", "resp_2").Replace(f.with("b", "forbidden 2"))
	g = proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inTurn(t, f.codec(g), f.typ, &seen, f.with("a", "forbidden 1"), second, f.text("Something else then.")).ServeHTTP(w, r)
	}), withRounds(3))
	path, ask := f.streamed(f.request(""))
	stream := proxytest.ReadAll(t, g.Post(t.Context(), path, ask).Body)
	for i, m := range regexp.MustCompile(`"sequence_number":(\d+)`).FindAllStringSubmatch(stream, -1) {
		if m[1] != strconv.Itoa(i) {
			t.Fatalf("event %d has the number %s: %s", i, m[1], stream)
		}
	}
	items := 0
	for _, m := range regexp.MustCompile(`"type":"response.output_item.added","sequence_number":\d+,"output_index":(\d+)`).FindAllStringSubmatch(stream, -1) {
		if m[1] != strconv.Itoa(items) {
			t.Errorf("item %d has the index %s", items, m[1])
		}
		items++
	}
	for typ, want := range map[string]int{"response.created": 1, "response.in_progress": 1, "response.completed": 1} {
		if n := strings.Count(stream, "event: "+typ+"\n"); n != want {
			t.Errorf("there are %d %s", n, typ)
		}
	}
	if items != 5 || strings.Contains(stream, "resp_2") {
		t.Errorf("there are %d items in %s", items, stream)
	}
	ordered(t, seen.All()[2], `"input":[`, "Look.", "forbidden 1", "function_call_output", "Look.", "forbidden 2", "function_call_output")
}
