package route_test

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/docs/docstest"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/wire"
	"github.com/holdgate/holdgate/proxy/wire/wiretest"
)

// Every format of the table keeps the promises of a [route.Codec], on its own example.
func TestEveryFormat(t *testing.T) {
	t.Parallel()
	for _, c := range route.Codecs(8 << 20) {
		t.Run(c.Name(), func(t *testing.T) {
			t.Parallel()
			keepsItsPromises(t, c)
		})
	}
}

func keepsItsPromises(t *testing.T, c route.Codec) {
	e := c.Example()
	t.Run("reads its requests", func(t *testing.T) { readsRequests(t, c, e) })
	t.Run("leaves what is allowed as it came", func(t *testing.T) { leavesAllowed(t, c, e) })
	t.Run("leaves no call that is refused", func(t *testing.T) { leavesNone(t, c, e) })
	t.Run("puts other arguments and a note into a call", func(t *testing.T) { edits(t, c, e) })
	t.Run("tells the same plain and streamed", func(t *testing.T) { tellsTheSame(t, c, e) })
	t.Run("says what it used", func(t *testing.T) { saysWhatItUsed(t, c, e) })
	t.Run("refuses what is broken", func(t *testing.T) { refusesBroken(t, c, e) })
	t.Run("puts refused calls back", func(t *testing.T) { putsBack(t, c, e) })
}

// Every format is in the pages that list them.
func TestEveryFormatIsInTheDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range route.Codecs(0) {
		if !strings.Contains(string(page), "| `"+c.Name()+"` |") {
			t.Errorf("docs/formats.md has no row for %s", c.Name())
		}
	}
	page, err = os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range route.FormatNames() {
		if !strings.Contains(string(page), name) {
			t.Errorf("docs/configuration.md does not say that a format can be %s", name)
		}
	}
}

// The request and the answer that the page shows are some of the format that it walks through.
func TestThePageOfFormatsShowsTheFormat(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	var shown []docstest.Block
	for _, b := range docstest.Blocks(string(page)) {
		if b.Of == "acme" {
			shown = append(shown, b)
		}
	}
	if len(shown) != 2 {
		t.Fatalf("%d blocks are of the format, want a request and an answer", len(shown))
	}
	if m, err := (acme{}).Request("", wire.Members([]byte(shown[0].Text))); err != nil || m.Name == "" || !m.Stream || len(m.Tools) != 1 {
		t.Errorf("the request is read as %+v, %v", m, err)
	}
	if call, err := readSaying([]byte(shown[1].Text)); err != nil || call == nil || call.Tool.Name != "Read" {
		t.Errorf("the answer is read as %+v, %v", call, err)
	}
}

func readsRequests(t *testing.T, c route.Codec, e wire.Example) {
	for _, stream := range []bool{false, true} {
		path := e.Path
		if stream {
			path, _, _ = strings.Cut(e.StreamPath, "?")
		}
		hosted, ok := c.(route.HostMatcher)
		if !c.Match(http.MethodPost, path) && !(ok && hosted.MatchHost(http.MethodPost, path)) {
			t.Errorf("%s is not the format's", path)
		}
		if c.Match(http.MethodGet, path) || c.Match(http.MethodPost, path+"/x") {
			t.Errorf("more than %s is the format's", path)
		}
		document, err := wire.ReadDocument([]byte(e.Body(stream, "go", "hm", "well?")))
		if err != nil {
			t.Fatal(err)
		}
		m, err := c.Request(path, document.Members())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{wire.ExampleTool}, m.Tools); diff != "" {
			t.Errorf("the agent's tools (-want +got):\n%s", diff)
		}
		if m.Stream != stream {
			t.Errorf("a stream is wanted: %t, which is read as %t", stream, m.Stream)
		}
	}
}

// streamOf starts to read the example's stream.
func streamOf(c route.Codec, e wire.Example) wire.Stream {
	typ, _, _ := strings.Cut(e.StreamType, ";")
	if f, ok := c.(route.Framer); ok && typ != route.TypeEvents {
		return f.StreamAs(typ)
	}
	return c.Stream()
}

// both renders the example plain and streamed, each under the verdict.
func both(t *testing.T, c route.Codec, e wire.Example, v holdgate.Verdict) (calls []*holdgate.Call, plain, streamed string) {
	t.Helper()
	a, err := c.Answer([]byte(e.Plain))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range a.Calls() {
		calls = append(calls, p.Call)
	}
	plain = string(a.Render([]holdgate.Verdict{v}))
	all := strings.Join(e.Events, "")
	for _, size := range []int{len(all), 700, 1} {
		found, out, err := wiretest.Run(streamOf(c, e), all, size, []holdgate.Verdict{v})
		if err != nil {
			t.Fatal(err)
		}
		if streamed != "" && out != streamed {
			t.Errorf("in pieces of %d bytes the stream becomes another one", size)
		}
		calls, streamed = append(calls, found...), out
	}
	return calls, plain, streamed
}

func saysWhatItUsed(t *testing.T, c route.Codec, e wire.Example) {
	a, err := c.Answer([]byte(e.Plain))
	if err != nil {
		t.Fatal(err)
	}
	want := holdgate.Usage{Answers: 1}
	if strings.Contains(e.Plain, "900") {
		want.Metered, want.Input, want.Output = 1, 900, 200
	}
	if diff := cmp.Diff(want, a.Usage()); diff != "" {
		t.Errorf("plain (-want +got):\n%s", diff)
	}
	s := streamOf(c, e)
	if _, _, err := wiretest.Run(s, strings.Join(e.Events, ""), 700, []holdgate.Verdict{wiretest.Release()}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, s.Usage()); diff != "" {
		t.Errorf("streamed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(holdgate.Usage{Answers: 1}, streamOf(c, e).Usage()); diff != "" {
		t.Errorf("before anything came (-want +got):\n%s", diff)
	}
}

func leavesAllowed(t *testing.T, c route.Codec, e wire.Example) {
	calls, plain, streamed := both(t, c, e, wiretest.Release())
	if len(calls) != 4 { // plain, and streamed in three sizes
		t.Fatalf("there are %d calls", len(calls))
	}
	for _, call := range calls {
		if call.Kind != holdgate.KindToolCall || call.Tool.Name != wire.ExampleTool || string(call.Tool.Arguments) != wire.ExampleArguments {
			t.Errorf("the call is %+v of %+v", call, call.Tool)
		}
	}
	if plain != e.Plain {
		t.Errorf("the plain answer is not as it came: %s", plain)
	}
	if streamed != strings.Join(e.Events, "") {
		t.Errorf("the stream is not as it came: %s", streamed)
	}
}

// again reads what was rendered, as a client does.
func again(t *testing.T, c route.Codec, e wire.Example, plain, streamed string) (calls []*holdgate.Call) {
	t.Helper()
	if err := wire.Strict([]byte(plain)); err != nil {
		t.Fatalf("%v in %s", err, plain)
	}
	a, err := c.Answer([]byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range a.Calls() {
		calls = append(calls, p.Call)
	}
	found, _, err := wiretest.Run(streamOf(c, e), streamed, len(streamed), nil)
	if err != nil {
		t.Fatalf("%v in %s", err, streamed)
	}
	return append(calls, found...)
}

const notice = "[holdgate] The call to Read was not run: it is forbidden."

func leavesNone(t *testing.T, c route.Codec, e wire.Example) {
	_, plain, streamed := both(t, c, e, wiretest.Refuse(notice))
	if left := again(t, c, e, plain, streamed); len(left) > 0 {
		t.Errorf("%d calls are left", len(left))
	}
	collected, err := c.Collect([]byte(streamed))
	if err != nil {
		t.Fatal(err)
	}
	for _, answer := range []string{plain, string(collected)} {
		if !strings.Contains(answer, "forbidden") || strings.Contains(answer, "main.go") || !strings.Contains(answer, wire.ExampleWords) {
			t.Errorf("the client is told %s", answer)
		}
	}
}

func edits(t *testing.T, c route.Codec, e wire.Example) {
	v := wiretest.Edit(`{"file_path":"a\"\u00e9 b"}`)
	v.Note = "It was edited."
	_, plain, streamed := both(t, c, e, v)
	left := again(t, c, e, plain, streamed)
	if len(left) != 2 {
		t.Fatalf("%d calls are left", len(left))
	}
	for _, call := range left {
		if string(call.Tool.Arguments) != string(v.Arguments) || call.Tool.Name != wire.ExampleTool {
			t.Errorf("the call has become %+v", call.Tool)
		}
	}
	if collected, err := c.Collect([]byte(streamed)); err != nil || !strings.Contains(plain, v.Note) || !strings.Contains(string(collected), v.Note) {
		t.Errorf("the note is missing, or %v: %s and %s", err, plain, collected)
	}
}

func tellsTheSame(t *testing.T, c route.Codec, e wire.Example) {
	collected, err := c.Collect([]byte(strings.Join(e.Events, "")))
	if err != nil {
		t.Fatal(err)
	}
	expanded, err := c.Expand([]byte(e.Plain))
	if err != nil {
		t.Fatal(err)
	}
	e.StreamType = route.TypeEvents
	if f, ok := c.(route.Framer); ok {
		e.StreamType = f.StreamType()
	}
	if calls := again(t, c, e, string(collected), string(expanded)); len(calls) != 2 || string(calls[0].Tool.Arguments) != string(calls[1].Tool.Arguments) {
		t.Errorf("there are %d calls in %s and in %s", len(calls), collected, expanded)
	}
	back, err := c.Collect(expanded)
	if err != nil || !strings.Contains(string(collected), wire.ExampleWords) || !strings.Contains(string(back), wire.ExampleText()) {
		t.Errorf("the words are missing, or %v: %s and %s", err, collected, back)
	}
	for _, status := range []int{400, 401, 403, 404, 429, 500, 503} {
		if err := wire.Strict(c.Error(status, "it \"broke\"")); err != nil {
			t.Errorf("the error of status %d: %v", status, err)
		}
	}
}

func refusesBroken(t *testing.T, c route.Codec, e wire.Example) {
	for _, body := range []string{`{"x":1}`, `[]`, `1`, `""`, `null`} {
		if a, err := c.Answer([]byte(body)); err == nil && len(a.Calls()) > 0 {
			t.Errorf("%s is taken for an answer", body)
		}
	}
	call := 0 // the last event with something of the call
	for i, event := range e.Events {
		if strings.Contains(event, wire.ExampleTool) || strings.Contains(event, "main.go") {
			call = i
		}
	}
	cut := strings.Join(e.Events[:call+1], "")
	if calls, out, err := wiretest.Run(streamOf(c, e), cut[:len(cut)-8], 100, nil); err == nil {
		t.Errorf("an answer that is cut inside a call is whole: %d calls, and %.80s", len(calls), out[max(0, len(out)-80):])
	}
	if _, err := c.Collect([]byte("{")); err == nil {
		t.Error("what is no stream can be collected")
	}
	if _, err := c.Expand([]byte(`"x"`)); err == nil {
		t.Error("what is no answer can be expanded")
	}
}

func putsBack(t *testing.T, c route.Codec, e wire.Example) {
	h, ok := c.(route.Rehydrator)
	if !ok {
		t.Skip("the format has no place for it")
	}
	a, err := c.Answer([]byte(e.Plain))
	if err != nil {
		t.Fatal(err)
	}
	r, ok := h.Refused(a.Calls()[0], notice)
	if !ok {
		t.Fatal("the call cannot be put back")
	}
	body, n, err := h.Rehydrate([]byte(e.Body(false, "go", notice, "well?")), []wire.Refused{r})
	if err != nil || n != 1 {
		t.Fatalf("%d calls were put back: %v", n, err)
	}
	document, err := wire.ReadDocument(body)
	if err != nil {
		t.Fatal(err)
	}
	reader, ok := c.(route.Historian)
	if !ok {
		return
	}
	history, err := reader.History(document)
	if err != nil || !history.Begun || len(history.Results) != 1 {
		t.Fatalf("the request that was changed has the history %+v, error %v: %s", history, err, body)
	}
	if got := history.Results[0]; got.Tool != wire.ExampleTool || string(got.Arguments) != wire.ExampleArguments {
		t.Errorf("the result is that of %+v", got)
	}
}
