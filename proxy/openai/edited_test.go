package openai_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/openai"
)

// edited and noted are verdicts of people who approved with other arguments,
// or with a message.
func edited(int) holdgate.Verdict {
	return holdgate.Verdict{Release: true, Arguments: json.RawMessage(`{"a": 1.50, "b":"é\n\ud83d\ude00"}`)}
}

func noted(int) holdgate.Verdict {
	return holdgate.Verdict{Release: true, Note: `[gate] Ann says: "go"`}
}

func editedAndNoted(int) holdgate.Verdict {
	return holdgate.Verdict{Release: true, Note: noted(0).Note, Arguments: edited(0).Arguments}
}

// each gives every call a verdict of its own.
func each(v ...verdicts) verdicts { return func(n int) holdgate.Verdict { return v[n](n) } }

// editedText is what edited puts into a call, as it stands in JSON.
const editedText = `"{\"a\": 1.50, \"b\":\"é\\n\\ud83d\\ude00\"}"`

func TestEveryMixOfVerdictsInAStream(t *testing.T) {
	first := []string{
		element(`"index":0,"id":"c1","type":"function","sig":"s","function":{"name":"ls","arguments":""}`),
		element(`"index":0,"function":{"arguments":"{\"p\""}`),
		element(`"index":0,"function":{"arguments":": 1.0}"}`),
	}
	second := []string{
		element(`"index":1,"id":"c2","type":"function","function":{"name":"rm","arguments":"{"}`),
		element(`"index":1,"function":{"arguments":"}"}`),
	}
	before, after := delta(`"content":"Look"`), `{"id":"x","choices":[{"index":0,"delta":{"content":"Done"},"finish_reason":"tool_calls"}]}`
	stopped := strings.Replace(after, "tool_calls", "stop", 1)
	apart := `{"id":"x","object":"chat.completion.chunk","created":0,"model":"","choices":[{"index":0,"delta":{"content":"\n\n"},"finish_reason":null}]}`
	whole := func(index, id, name, args, extra string) string {
		return `"tool_calls":[{"index":` + index + `,"id":"` + id + `","type":"function",` + extra + `"function":{"name":"` + name + `","arguments":` + args + `}}]`
	}
	editedFirst := whole("0", "c1", "ls", editedText, `"sig":"s",`)
	const note = `"content":"\n\n[gate] Ann says: \"go\"",`
	gone := func(n string) string { return delta(`"content":"\n\n[gate] call ` + n + ` was not run"`) }
	tests := []struct {
		name string
		v    verdicts
		want []string
	}{
		{"all released", all, append(append([]string{before}, first...), append(second, after)...)},
		{"all refused", none, []string{before, gone("0"), gone("1"), apart, stopped}},
		{"one refused", but(0), []string{before, gone("0"), delta(whole("0", "c2", "rm", `"{}"`, "")), apart, after}},
		{"one edited, and what follows as it came", each(edited, all), append(append([]string{before, delta(editedFirst)}, second...), after)},
		{"both edited", edited, []string{before, delta(editedFirst), delta(whole("1", "c2", "rm", editedText, "")), after}},
		{"one edited, one refused", each(edited, none), []string{before, delta(editedFirst), gone("1"), apart, after}},
		{"one refused, one edited", each(none, edited), []string{before, gone("0"), delta(whole("0", "c2", "rm", editedText, "")), apart, after}},
		{"one noted", each(noted, all), append([]string{before, delta(note + whole("0", "c1", "ls", `"{\"p\": 1.0}"`, `"sig":"s",`))}, append(second, apart, after)...)},
		{"one released, one noted", each(all, noted), append(append([]string{before}, first...), delta(note+whole("1", "c2", "rm", `"{}"`, "")), apart, after)},
		{"one edited and noted, one refused", each(editedAndNoted, none), []string{before, delta(note + editedFirst), gone("1"), apart, after}},
	}
	stream := sse(append(append([]string{before}, first...), append(second, after, "[DONE]")...)...)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, _, err := run(tt.v, stream)
			if err != nil {
				t.Fatal(err)
			}
			// Members stand in an order of ours where content is new, so compare by value.
			var want, have []any
			for _, d := range tt.want {
				want = append(want, value(t, []byte(d)))
			}
			for line := range bytes.Lines(got) {
				if d, ok := bytes.CutPrefix(line, []byte("data: {")); ok {
					have = append(have, value(t, append([]byte("{"), bytes.TrimSpace(d)...)))
				}
			}
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("(-want +got):\n%s\n%s", diff, got)
			}
		})
	}
}

func TestWhatFollowsAnEditedCallPassesAsItCame(t *testing.T) {
	second := sse(element(`"index":1,"id":"c2","type":"function", "function":{"name":"rm","arguments":"{"}`), element(`"index":1,"function":{"arguments":"}"}, "x":1`), finished, "[DONE]")
	got, _, err := run(each(edited, all), append(sse(whole), second...))
	if err != nil || !bytes.HasSuffix(got, second) {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestCallsWithoutPlainNumbersAreNumberedAfterAnEdit(t *testing.T) {
	bare := func(id string) string { return element(`"id":"` + id + `","function":{"name":"ls","arguments":"{}"}`) }
	got, _, err := run(each(edited, all, all), sse(bare("a"), bare("b"), bare("c"), finished))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`{"index":0,"id":"a"`, `{"index":1,"id":"b"`, `{"index":2,"id":"c"`} {
		if !bytes.Contains(got, []byte(want)) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

func TestEveryMixOfVerdictsInAPlainAnswer(t *testing.T) {
	const own = `"{\"p\": 1.0}"`
	two := `{"choices":[{"index":0,"message":{"content": null, "tool_calls" : [ {"id":"a", "function":{"name":"ls", "arguments":` + own + `}} , {"id":"b","index":1,"function":{"arguments":{"x":1},"name":"rm"}} ] },"finish_reason":"tool_calls"}]}`
	first, second := `{"id":"a", "function":{"name":"ls", "arguments":`+own+`}} , `, ` , {"id":"b","index":1,"function":{"arguments":{"x":1},"name":"rm"}}`
	note := strings.NewReplacer(`"content": null`, `"content": "[gate] Ann says: \"go\""`)
	object := string(edited(0).Arguments)
	tests := []struct {
		name string
		v    verdicts
		want string
	}{
		{"one edited", each(edited, all), strings.Replace(two, own, editedText, 1)},
		{"the other edited, an object as it came", each(all, edited), strings.Replace(two, `{"x":1}`, object, 1)},
		{"one edited, one refused", each(edited, none), strings.NewReplacer(own, editedText, second, "", `"content": null`, `"content": "[gate] call 1 was not run"`).Replace(two)},
		{"one refused, one edited", each(none, edited), strings.NewReplacer(first, "", `"index":1`, `"index":0`, `{"x":1}`, object, `"content": null`, `"content": "[gate] call 0 was not run"`).Replace(two)},
		{"one noted", each(noted, all), note.Replace(two)},
		{"one noted and edited", each(editedAndNoted, all), note.Replace(strings.Replace(two, own, editedText, 1))},
		{"both noted", noted, strings.Replace(two, `"content": null`, `"content": "[gate] Ann says: \"go\"\n\n[gate] Ann says: \"go\""`, 1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, _ := renderAnswer(t, []byte(two), tt.v)
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOlderAndCustomCallsUnderAnEdit(t *testing.T) {
	const older = `{"choices":[{"message":{"content":null,"function_call":{"name":"ls"}},"finish_reason":"function_call"}]}`
	got, _ := renderAnswer(t, []byte(older), edited)
	if want := strings.Replace(older, `{"name":"ls"}`, `{"name":"ls","arguments":`+editedText+`}`, 1); string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	out, _, err := run(edited, sse(delta(`"function_call":{"name":"ls","arguments":"{"}`), delta(`"function_call":{"arguments":"}"}`), strings.Replace(finished, "tool_calls", "function_call", 1)))
	if err != nil || !bytes.Contains(out, []byte(`"function_call":{"name":"ls","arguments":`+editedText+`}`)) || bytes.Count(out, []byte(`"function_call":{`)) != 1 {
		t.Errorf("%v\n%s", err, out)
	}
	const custom = `{"choices":[{"message":{"content":null,"tool_calls":[{"id":"b","type":"custom","custom":{"name":"sh","input":"rm"}}]},"finish_reason":"tool_calls"}]}`
	a, err := (&openai.Codec{}).Answer([]byte(custom))
	if err != nil || !a.Calls()[0].Fixed {
		t.Fatalf("it is offered for editing: %v", err)
	}
	plain, _ := renderAnswer(t, []byte(custom), edited)
	streamed, _, err := run(edited, sse(element(`"index":0,"id":"b","type":"custom","custom":{"name":"sh","input":"rm"}`), finished))
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range [][]byte{plain, streamed} {
		if bytes.Contains(got, []byte(`"input"`)) || !bytes.Contains(got, []byte("this tool takes text only")) || !bytes.Contains(got, []byte(`"stop"`)) {
			t.Errorf("got %s", got)
		}
	}
}
