package anthropic_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/anthropic"
)

// Verdicts of people who approved with a message, or with other arguments.
var (
	noted = holdgate.Verdict{Release: true, Note: "[gate] Ann says: \"go\""}
	other = holdgate.Verdict{Release: true, Arguments: json.RawMessage(`{"a": 1.50, "b":"é\n\ud83d\ude00"}`)}
	both  = holdgate.Verdict{Release: true, Arguments: other.Arguments, Note: noted.Note}
)

// The delta that other comes in.
const otherDelta = `"{\"a\": 1.50, \"b\":\"é\\n\\ud83d\\ude00\"}"`

func textBlock(index, text string) string {
	return open(index, `{"type":"text","text":""}`) + add(index, `{"type":"text_delta","text":`+text+`}`) + shut(index)
}

func TestEveryMixOfVerdictsInAStream(t *testing.T) {
	call := func(index, id string) string {
		return open(index, `{"type":"tool_use","id":"`+id+`","name":"Bash","input":{}}`) + add(index, fragment(`""`)) + pinged +
			add(index, fragment(`"{\"x\":"`)) + add(index, fragment(`"1}"`)) + shut(index)
	}
	changed := func(index, id string) string {
		return open(index, `{"type":"tool_use","id":"`+id+`","name":"Bash","input":{}}`) + add(index, fragment(otherDelta)) + pinged + shut(index)
	}
	note := func(index string) string { return textBlock(index, `"[gate] Ann says: \"go\""`) }
	gone := func(index string) string { return textBlock(index, `"[gate] not run: \"no\" \\ é"`) }
	tests := []struct {
		name          string
		first, second holdgate.Verdict
		want          string
	}{
		{"all released", release, release, call("1", "t1") + call("2", "t2") + said("3") + end("tool_use")},
		{"all refused", refuse, refuse, gone("1") + gone("2") + said("3") + end("end_turn")},
		{"one refused", refuse, release, gone("1") + call("2", "t2") + said("3") + end("tool_use")},
		{"one edited", other, release, changed("1", "t1") + call("2", "t2") + said("3") + end("tool_use")},
		{"all edited", other, other, changed("1", "t1") + changed("2", "t2") + said("3") + end("tool_use")},
		{"one edited, one refused", other, refuse, changed("1", "t1") + gone("2") + said("3") + end("tool_use")},
		{"one refused, one edited", refuse, other, gone("1") + changed("2", "t2") + said("3") + end("tool_use")},
		{"one noted", noted, release, note("1") + call("2", "t1") + call("3", "t2") + said("4") + end("tool_use")},
		{"one released, one noted", release, noted, call("1", "t1") + note("2") + call("3", "t2") + said("4") + end("tool_use")},
		{"both noted, one of them edited", noted, both, note("1") + call("2", "t1") + note("3") + changed("4", "t2") + said("5") + end("tool_use")},
		{"one edited and noted, one refused", both, refuse, note("1") + changed("2", "t1") + gone("3") + said("4") + end("tool_use")},
	}
	stream := begin() + said("0") + call("1", "t1") + call("2", "t2") + said("3") + end("tool_use")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := new(anthropic.Codec).Stream()
			got := render(s, mustParts(t, s, stream), tt.first, tt.second)
			if diff := cmp.Diff(begin()+said("0")+tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEditedArgumentsComeWhereTheCallsOwnCame(t *testing.T) {
	const input = `{"a": 1.50, "b":"é\n\ud83d\ude00"}`
	bare := func(events string) string { // as gateways write that leave the event field out
		var b strings.Builder
		for line := range strings.SplitAfterSeq(events, "\n") {
			if !strings.HasPrefix(line, "event:") {
				b.WriteString(line)
			}
		}
		return b.String()
	}
	tests := []struct{ name, call, want string }{
		{"no delta at all", open("0", bash) + shut("0"), open("0", bash) + add("0", fragment(otherDelta)) + shut("0")},
		{"whole in the start", open("0", `{"type":"tool_use","id":"t","input":{"x":1} ,"name":"Bash","caller":{"type":"code"}}`) + shut("0"),
			open("0", `{"type":"tool_use","id":"t","input":`+input+` ,"name":"Bash","caller":{"type":"code"}}`) + shut("0")},
		{"a start without input", open("0", `{"type":"tool_use","id":"t","name":"Bash"}`) + add("0", fragment(`"{}"`)) + shut("0"),
			open("0", `{"type":"tool_use","id":"t","name":"Bash"}`) + add("0", fragment(otherDelta)) + shut("0")},
		{"a type that is not known", open("0", `{"type":"new_tool_use","id":"t","name":"x","input":{}}`) + add("0", fragment(`"{}"`)) + shut("0"),
			open("0", `{"type":"new_tool_use","id":"t","name":"x","input":`+input+`}`) + shut("0")},
		{"no event fields", bare(open("0", bash) + shut("0")), bare(open("0", bash) + add("0", fragment(otherDelta)) + shut("0"))},
		{"arguments that were no object", open("0", bash) + add("0", fragment(`"rm -rf"`)) + shut("0"), open("0", bash) + add("0", fragment(otherDelta)) + shut("0")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			first, last := begin(), end("tool_use")
			if strings.HasPrefix(tt.call, "data") {
				first, last = bare(first), bare(last)
			}
			s := new(anthropic.Codec).Stream()
			got := render(s, mustParts(t, s, first+tt.call+last), other)
			if diff := cmp.Diff(first+tt.want+last, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			calls := decidable(mustParts(t, new(anthropic.Codec).Stream(), got))
			if len(calls) != 1 || string(calls[0].Call.Tool.Arguments) != input {
				t.Errorf("what was written reads as\n%s", summary(calls))
			}
		})
	}
}

func TestEveryMixOfVerdictsInAPlainMessage(t *testing.T) {
	first, last := `{"type":"tool_use","id":"a","name":"Bash","input":{"n":1.50, "m":-0}}`, `{"input":"rm -rf","type":"tool_use","id":"c","name":"Bash"}`
	const edited = `{"a": 1.50, "b":"é\n\ud83d\ude00"}`
	note := `{"type":"text","text":"[gate] Ann says: \"go\""},`
	tests := []struct {
		name        string
		first, last holdgate.Verdict
		want        *strings.Replacer
	}{
		{"one edited", other, release, strings.NewReplacer(`{"n":1.50, "m":-0}`, edited)},
		{"both edited", other, other, strings.NewReplacer(`{"n":1.50, "m":-0}`, edited, `"rm -rf"`, edited)},
		{"one edited, one refused", other, refuse, strings.NewReplacer(`{"n":1.50, "m":-0}`, edited, last, `{"type":"text","text":"[gate] not run: \"no\" \\ é"}`)},
		{"one noted", noted, release, strings.NewReplacer(first, note+first)},
		{"one edited and noted", release, both, strings.NewReplacer(last, note+strings.Replace(last, `"rm -rf"`, edited, 1))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, err := new(anthropic.Codec).Answer([]byte(plain))
			if err != nil {
				t.Fatal(err)
			}
			got := string(a.Render([]holdgate.Verdict{tt.first, release, tt.last}))
			if diff := cmp.Diff(tt.want.Replace(plain), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestACallThatHasNoPlaceForOtherArgumentsIsNotEdited(t *testing.T) {
	const block = `{"type":"new_call","id":"t","name":"x","what":1}`
	stream := begin() + open("0", block) + shut("0") + end("tool_use")
	s := new(anthropic.Codec).Stream()
	ps := mustParts(t, s, stream)
	if calls := decidable(ps); len(calls) != 1 || !calls[0].Fixed {
		t.Fatalf("it is offered for editing: %s", summary(ps))
	}
	streamed := render(s, ps, other)
	a, err := new(anthropic.Codec).Answer([]byte(`{"content":[` + block + `],"stop_reason":"tool_use"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range []string{streamed, string(a.Render([]holdgate.Verdict{other}))} {
		if strings.Contains(got, "new_call") || !strings.Contains(got, "was not run: its arguments were edited") || !strings.Contains(got, `"end_turn"`) {
			t.Errorf("got %s", got)
		}
	}
}
