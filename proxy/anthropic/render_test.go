package anthropic_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/anthropic"
)

const pinged = "event: ping\ndata: {\"type\":\"ping\"}\n\n"

func emptyText(index string) string { return add(index, `{"type":"text_delta","text":""}`) }

// waiting reads and renders what comes before a call, and then the call.
func waiting(t *testing.T, before string) (s *anthropic.Stream, sent string) {
	t.Helper()
	s = new(anthropic.Codec).Stream().(*anthropic.Stream)
	for _, piece := range strings.SplitAfter(before, "\n\n") {
		ps, err := s.Push([]byte(piece))
		if err != nil {
			t.Fatal(err)
		}
		sent += render(s, ps, holdgate.Verdict{})
	}
	return s, sent
}

// rest reads what comes from the call on, and renders all of it.
func rest(t *testing.T, s *anthropic.Stream, stream string, verdicts ...holdgate.Verdict) string {
	t.Helper()
	return render(s, mustParts(t, s, stream), verdicts...)
}

func TestIdle(t *testing.T) {
	empty := open("0", `{"type":"text","text":""}`)
	thinking := open("0", `{"type":"thinking","thinking":"","signature":""}`) + add("0", `{"type":"thinking_delta","thinking":"x"}`)
	result := open("1", `{"type":"web_search_tool_result","content":[]}`) + shut("1")
	tests := []struct{ name, before, sent, idle string }{
		{"nothing has come", "", "", pinged},
		{"only the message", begin(), begin(), pinged},
		{"an open text", begin() + strings.TrimSuffix(said("0"), shut("0")), begin() + strings.TrimSuffix(said("0"), shut("0")), emptyText("0")},
		{"a text", begin() + said("0"), begin() + strings.TrimSuffix(said("0"), shut("0")), emptyText("0")},
		{"a text that came in its start", begin() + open("0", `{"type":"text","text":"x"}`) + shut("0"), begin() + open("0", `{"type":"text","text":"x"}`), emptyText("0")},
		{"a text and a ping", begin() + said("0") + pinged + ": x\n\n", begin() + strings.TrimSuffix(said("0"), shut("0")), emptyText("0")},
		{"an open text without text", begin() + empty, begin() + empty, pinged},
		{"a text without text", begin() + empty + emptyText("0") + shut("0"), begin() + empty + emptyText("0") + shut("0"), pinged},
		{"thinking", begin() + thinking + shut("0"), begin() + thinking + shut("0"), pinged},
		{"a text before something else", begin() + said("0") + result, begin() + said("0") + result, pinged},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, sent := waiting(t, tt.before)
			if diff := cmp.Diff(tt.sent, sent); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
			for range 2 {
				if diff := cmp.Diff(tt.idle, string(s.Idle())); diff != "" {
					t.Errorf("idle (-want +got):\n%s", diff)
				}
			}
			if got := sent + rest(t, s, ""); got != tt.before {
				t.Errorf("in the end: %s", cmp.Diff(tt.before, got))
			}
		})
	}
}

func TestIdleInTheMiddleOfPings(t *testing.T) {
	before := begin() + said("0") + strings.Repeat(pinged, 3000) // more than may be deferred
	s, sent := waiting(t, before)
	if got := string(s.Idle()); got != pinged {
		t.Errorf("idle = %q, want a ping, for the text is closed", got)
	}
	if got := sent + rest(t, s, ""); got != before {
		t.Errorf("%d bytes, want %d", len(got), len(before))
	}
}

func TestNotice(t *testing.T) {
	call := func(index string) string {
		return open(index, bash) + add(index, fragment(`"{}"`)) + pinged + shut(index)
	}
	shown := func(index string) string {
		return open(index, `{"type":"text","text":""}`) + add(index, `{"type":"text_delta","text":"asking \"Ann\""}`)
	}
	refused := func(index string) string {
		return open(index, `{"type":"text","text":""}`) + add(index, `{"type":"text_delta","text":"[gate] not run: \"no\" \\ é"}`) + shut(index)
	}
	tests := []struct {
		name                        string
		before, notice, stream, out string
		verdict                     holdgate.Verdict
		idle                        string
	}{
		{
			name: "released after a text", before: begin() + said("0"), stream: call("1") + call("2") + said("3") + end("tool_use"), verdict: release,
			notice: shut("0") + shown("1"), idle: emptyText("1"),
			out: shut("1") + call("2") + call("3") + said("4") + end("tool_use"),
		},
		{
			name: "refused after a text", before: begin() + said("0"), stream: call("1") + end("tool_use"), verdict: refuse,
			notice: shut("0") + shown("1"), idle: emptyText("1"),
			out: shut("1") + refused("2") + end("end_turn"),
		},
		{
			name: "as the first block", before: begin(), stream: call("0") + end("tool_use"), verdict: release,
			notice: shown("0"), idle: emptyText("0"),
			out: shut("0") + call("1") + end("tool_use"),
		},
		{
			name: "before anything was sent", before: "", stream: begin() + call("0") + end("tool_use"), verdict: release,
			notice: "", idle: pinged,
			out: begin() + call("0") + end("tool_use"),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := waiting(t, tt.before)
			if diff := cmp.Diff(tt.notice, string(s.Notice(`asking "Ann"`))); diff != "" {
				t.Errorf("notice (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.idle, string(s.Idle())); diff != "" {
				t.Errorf("idle (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.out, rest(t, s, tt.stream, tt.verdict)); diff != "" {
				t.Errorf("after it (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoticeOnceForEachCall(t *testing.T) {
	call := func(index string) string { return open(index, bash) + shut(index) }
	s, got := waiting(t, begin()+said("0"))
	first := mustPush(t, s, call("1"))
	got += string(s.Notice("one")) + render(s, first, release)
	second := mustPush(t, s, call("2"))
	got += string(s.Notice("two")) + string(s.Idle()) + render(s, second, refuse)
	got += rest(t, s, end("tool_use"))
	ps := mustParts(t, new(anthropic.Codec).Stream(), got) // it is well-formed: indices in order, nothing overlaps
	if want := "call t Bash, "; strings.Count(summary(ps), want) != 1 {
		t.Errorf("one call should be left:\n%s", summary(ps))
	}
	plain, err := new(anthropic.Codec).Collect([]byte(got))
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"type":"text","text":"hi"},{"type":"text","text":"one"},{"type":"tool_use","id":"t","name":"Bash","input":{}},` +
		`{"type":"text","text":"two"},{"type":"text","text":"[gate] not run: \"no\" \\ é"}]`
	if !strings.Contains(string(plain), want) {
		t.Errorf("got %s, want in it %s", plain, want)
	}
}

func TestStopReasonThatIsNotToolUseStays(t *testing.T) {
	for _, reason := range []string{"end_turn", "max_tokens", "pause_turn", "refusal"} {
		stream := begin() + open("0", bash) + shut("0") + end(reason)
		s := new(anthropic.Codec).Stream()
		if got := render(s, mustParts(t, s, stream), refuse); !strings.HasSuffix(got, end(reason)) {
			t.Errorf("%s: got %s", reason, got)
		}
	}
}

func TestRefusalWithoutNoticeIsNoEmptyText(t *testing.T) {
	s := new(anthropic.Codec).Stream()
	got := render(s, mustParts(t, s, begin()+open("0", bash)+shut("0")+end("tool_use")), holdgate.Verdict{})
	if !strings.Contains(got, `"text":"[holdgate] This call was not run."`) {
		t.Errorf("got %s", got)
	}
}

func TestFail(t *testing.T) {
	want := ev("error", `{"type":"error","error":{"type":"api_error","message":"no \"more\""}}`)
	if got := string(new(anthropic.Codec).Stream().Fail(`no "more"`)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
