package responses_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/responses"
)

// A drawn item is one of a random stream: its events in order, and the item.
type drawn struct {
	events [][2]string // types and members
	item   string
	call   bool
}

func (d *drawn) ev(typ, members string) { d.events = append(d.events, [2]string{typ, members}) }

// drawItem returns a random item with its events.
func drawItem(t *rapid.T, index int) (d drawn) {
	at := fmt.Sprintf(`"output_index":%d`, index)
	args := rapid.SampledFrom([]string{``, `{}`, `{"a": 1.50}`, `{"a":"\u00e9\ud83d\ude00"}`, `{"a":`, `[1]`, `"x"`, ` {"a":1} `, `x`}).Draw(t, "arguments")
	text := func(added, kind, member string) {
		named := fmt.Sprintf(`"item_id":"i%d",%s`, index, at)
		d.ev("response.output_item.added", at+`,"item":`+added)
		for runes := []rune(args); len(runes) > 0; {
			n := rapid.IntRange(1, len(runes)).Draw(t, "fragment")
			d.ev("response."+kind+".delta", named+`,"delta":`+quoted(string(runes[:n])))
			runes = runes[n:]
		}
		if rapid.Bool().Draw(t, "done") {
			d.ev("response."+kind+".done", named+`,"`+member+`":`+quoted(args))
		}
	}
	head := fmt.Sprintf(`{"id":"i%d","call_id":"c%d",`, index, index)
	switch rapid.IntRange(0, 5).Draw(t, "kind of item") {
	case 0:
		d.item = message(index, args)
		d.ev("response.output_item.added", at+`,"item":`+message(index, ""))
	case 1:
		d.item = fmt.Sprintf(`{"id":"rs_%d","type":"reasoning","summary":[]}`, index)
		d.ev("response.output_item.added", at+`,"item":`+d.item)
	case 2:
		d.item = fmt.Sprintf(`{"id":"ws_%d","type":"web_search_call","action":{"type":"search"}}`, index)
		d.ev("response.output_item.added", at+`,"item":`+d.item)
	case 3:
		d.call = true
		d.item = head + `"type":"function_call","name":"Wörk","arguments":` + quoted(args) + `}`
		text(head+`"type":"function_call","name":"Wörk","arguments":""}`, "function_call_arguments", "arguments")
	case 4:
		d.call = true
		d.item = head + `"type":"custom_tool_call","name":"x","input":` + quoted(args) + `}`
		text(head+`"type":"custom_tool_call","name":"x","input":""}`, "custom_tool_call_input", "input")
	case 5:
		d.call = true
		d.item = head + `"type":"shell_call","action":{"commands":[` + quoted(args) + `]},"environment":null}`
		d.ev("response.output_item.added", at+`,"item":`+head+`"type":"shell_call","action":{"commands":[]}}`)
		d.ev("response.shell_call_command.delta", at+`,"delta":`+quoted(args))
	}
	d.ev("response.output_item.done", at+`,"item":`+d.item)
	return d
}

// drawStream returns a random stream, in which items may come at the same
// time, and a verdict for each of its calls.
func drawStream(t *rapid.T) (stream string, verdicts []holdgate.Verdict) {
	s := begin()
	var open []drawn
	var items []string
	step := func(i int) {
		s.ev(open[i].events[0][0], open[i].events[0][1])
		if open[i].events = open[i].events[1:]; len(open[i].events) == 0 {
			open = append(open[:i], open[i+1:]...)
		}
	}
	for index := range rapid.IntRange(0, 6).Draw(t, "items") {
		d := drawItem(t, index)
		items = append(items, d.item)
		if d.call {
			verdicts = append(verdicts, rapid.SampledFrom([]holdgate.Verdict{
				release, refuse, {Release: true, Note: "mind"}, {Release: true, Arguments: json.RawMessage(`{"b":"é"}`)},
				{Release: true, Note: "mind", Arguments: json.RawMessage(`{}`)},
			}).Draw(t, "verdict"))
		}
		open = append(open, d)
		step(len(open) - 1)
		for len(open) > 0 && rapid.IntRange(0, 5).Draw(t, "begin the next") > 0 {
			step(rapid.IntRange(0, len(open)-1).Draw(t, "which"))
		}
		if rapid.Bool().Draw(t, "keepalive") {
			s.ev("keepalive", "")
		}
	}
	for len(open) > 0 {
		step(rapid.IntRange(0, len(open)-1).Draw(t, "which"))
	}
	if rapid.IntRange(0, 4).Draw(t, "snapshot") == 0 {
		items = nil
	}
	return s.ends(items...).String(), verdicts
}

// value reads JSON; numbers stay as they were written.
func value(t *rapid.T, body []byte) any {
	dec := json.NewDecoder(strings.NewReader(string(body)))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return v
}

// accumulated is what the provider's own SDK makes of a stream before its end:
// an item that is added comes last, one that is done takes the place that its
// index names. It also checks that the numbers rise by one.
func accumulated(t *rapid.T, stream string) (items []any) {
	next := json.Number("0")
	for block := range strings.SplitSeq(strings.TrimSpace(stream), "\n\n") {
		_, data, _ := strings.Cut(block, "data: ")
		e, ok := value(t, []byte(data)).(map[string]any)
		if !ok {
			t.Fatalf("no object: %s", data)
		}
		if e["sequence_number"] != next {
			t.Fatalf("the number %v comes where %v should:\n%s", e["sequence_number"], next, stream)
		}
		n, _ := next.Int64()
		next = json.Number(fmt.Sprint(n + 1))
		switch e["type"] {
		case "response.output_item.added":
			items = append(items, e["item"])
		case "response.output_item.done":
			at, _ := e["output_index"].(json.Number).Int64()
			if int(at) >= len(items) {
				t.Fatalf("missing output at index %d:\n%s", at, stream)
			}
			items[at] = e["item"]
		}
	}
	return items
}

// TestStreamAndPlainAgree says that it makes no difference whether an answer
// is decided as a stream or as a plain response, nor which of a stream's copies
// a client reads.
func TestStreamAndPlainAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stream, verdicts := drawStream(t)
		s := codec().Stream()
		cut := rapid.IntRange(0, len(stream)).Draw(t, "cut")
		ps, err := parts(s, stream[:cut], stream[cut:])
		if err != nil {
			t.Fatalf("%v\n%s", err, stream)
		}
		if joined(ps) != stream {
			t.Fatalf("the parts are not the stream")
		}
		given := make(map[string]holdgate.Verdict) // by call, for calls that come at the same time end in any order
		for _, p := range ps {
			if p.Call != nil && !p.Observed {
				given[p.Call.ID] = verdicts[len(given)]
			}
		}
		rendered := render(s, ps, append(verdicts, release)...)
		whole, err := codec().Collect([]byte(stream))
		if err != nil {
			t.Fatalf("%v\n%s", err, stream)
		}
		fromStream, err := codec().Collect([]byte(rendered))
		if err != nil {
			t.Fatalf("%v\n%s", err, rendered)
		}
		a, err := codec().Answer(whole)
		if err != nil {
			t.Fatal(err)
		}
		var all []holdgate.Verdict
		for _, p := range a.Calls() {
			all = append(all, given[p.Call.ID])
		}
		fromPlain := value(t, a.Render(all))
		if diff := cmp.Diff(value(t, fromStream), fromPlain); diff != "" {
			t.Errorf("rendered (-stream +plain):\n%s\n%s", diff, rendered)
		}
		want, _ := fromPlain.(map[string]any)["output"].([]any)
		if diff := cmp.Diff(want, accumulated(t, rendered), equalEmpty()); diff != "" {
			t.Errorf("the items that a client puts together (-want +got):\n%s", diff)
		}
		expanded, err := codec().Expand(whole)
		if err != nil {
			t.Fatal(err)
		}
		again, err := codec().Collect(expanded)
		if err != nil {
			t.Fatalf("%v: %s", err, expanded)
		}
		if diff := cmp.Diff(value(t, whole), value(t, again)); diff != "" {
			t.Errorf("collected from expanded (-want +got):\n%s", diff)
		}
		accumulated(t, string(expanded))
	})
}

func equalEmpty() cmp.Option {
	return cmp.FilterValues(func(a, b []any) bool { return len(a) == 0 && len(b) == 0 }, cmp.Ignore())
}

// runs is a client that runs whatever could be taken for a call: it ends lines
// at whatever ends one for some client, reads data fields of any case, ignores
// types and indices, and decodes JSON with the laxest decoder at hand.
func runs(stream string) (calls []string) {
	for _, line := range strings.FieldsFunc(stream, func(c rune) bool { return strings.ContainsRune("\r\n\v\f\x1c\x1d\x1e\u0085\u2028\u2029", c) }) {
		name, data, _ := strings.Cut(strings.TrimSpace(line), ":")
		if !strings.EqualFold(strings.TrimSpace(name), "data") {
			continue
		}
		type item struct{ Type, Name string }
		var e struct {
			Item     item
			Output   []item
			Response struct{ Output []item }
			Delta    any
			Type     string
		}
		if json.Unmarshal([]byte(data), &e) != nil {
			continue
		}
		for _, it := range append(append(e.Output, e.Response.Output...), e.Item) {
			if it.Name == "Bash" {
				calls = append(calls, it.Type)
			}
		}
		if strings.Contains(e.Type, "arguments") {
			calls = append(calls, e.Type)
		}
	}
	return calls
}

// TestNoClientRunsWhatWasNotReleased puts events in any order, good and bad
// ones, and looks at what a client makes of what is sent.
func TestNoClientRunsWhatWasNotReleased(t *testing.T) {
	bash := function(0, "Bash", ls, "completed")
	event := func(typ, members string) string { return (&script{}).ev(typ, members).String() }
	args := `"item_id":"fc_0","output_index":0`
	events := []string{
		begin().String(), begin().said(0, "x").String(), (&script{}).opens(0, "Bash").String(), (&script{}).argues(0, ls).String(), (&script{}).closes(0, "Bash", ls).String(),
		(&script{}).opens(1, "Bash").String(), (&script{}).asks(2, "Bash", rm).String(), (&script{}).ends(bash).String(), (&script{}).ends().String(),
		(&script{}).ends(bash, function(1, "Bash", rm, "completed")).String(),
		event("response.in_progress", `"response":`+response("in_progress", bash)),
		event("response.output_item.done", added(0, `{"type":"message","Type":"function_call","name":"Bash"}`)),
		event("response.output_item.done", added(0, `{"\u0074ype":"function_call","call_id":"c","name":"Bash"}`)),
		event("response.output_item.done", added(0, `{"type":"new_call","call_id":"c","name":"Bash"}`)),
		event("response.output_item.done", added(3, `{"type":"mcp_approval_request","id":"m","server_label":"s","name":"Bash"}`)),
		event("response.new", `"item":`+bash), event("response.new", `"output":[`+bash+`]`), event("response.new", `"response":`+response("x", bash)),
		event("response.function_call_arguments.done", args+`,"arguments":"{}"`), event("response.incomplete", `"response":`+response("incomplete")),
		event("error", `"message":"x"`), event("keepalive", ""), "data: [DONE]\n\n", "\r", "\n",
		"event: keepalive\ndata: {\"type\":\"response.output_item.done\",\"item\":" + bash + "}\n\n",
		"Data: {\"item\":" + bash + "}\n\n", "data: {\"item\":" + bash + "}\r\r", "data: {\"item\":" + bash + "}", ": x\u2028data: {\"item\":" + bash + "}\n\n",
		"data: \r{\"item\":" + bash + "}\n\n", "data: {\"type\":\"x\",\"x\":[\ndata: {\"item\":" + bash + "}\ndata: ]}\n\n",
	}
	rapid.Check(t, func(t *rapid.T) {
		stream := ""
		for range rapid.IntRange(0, 8).Draw(t, "events") {
			stream += rapid.SampledFrom(events).Draw(t, "event")
		}
		cut := rapid.IntRange(0, len(stream)).Draw(t, "cut")
		s := codec().Stream()
		ps, _ := parts(s, stream[:cut], stream[cut:])
		var sent strings.Builder
		for _, p := range ps {
			if p.Call != nil && rapid.Bool().Draw(t, "notice") {
				sent.Write(s.(interface{ Notice(string) []byte }).Notice("asking"))
			}
			sent.Write(s.Render(p, refuse))
			sent.Write(s.Idle())
		}
		if got := runs(sent.String()); len(got) > 0 {
			t.Errorf("a client would run %q in\n%s", got, sent.String())
		}
	})
}

func FuzzStream(f *testing.F) {
	for _, s := range []string{
		"", begin().String(), usual(), interleaved(), background(), strings.ReplaceAll(usual(), "\n", "\r\n"), strings.ReplaceAll(usual(), "event: ", ": "),
		begin().ev("response.output_item.done", added(0, `{"type":"shell_call","call_id":"c","action":{"commands":["ls"]}}`)).ends().String(),
		begin().ends(function(0, "Bash", ls, "completed"), `{"type":"computer_call","call_id":"d","action":{}}`).String(),
		begin().opens(0, "Bash").argues(0, ls).ends().String(), begin().opens(0, "Bash").ev("error", `"message":"x"`).String(),
		"data:{\"type\":\"response.completed\",\"response\":{\"status\":{}}}", // has no plain form
	} {
		f.Add(s, uint16(40), uint16(300))
	}
	f.Fuzz(func(t *testing.T, stream string, a, b uint16) {
		c := &responses.Codec{CallLimit: 1 << 10, EventLimit: 1 << 12}
		s := c.Stream()
		whole, wholeErr := parts(s, stream)
		i := min(int(a), len(stream))
		j := min(i+int(b), len(stream))
		cut, cutErr := parts(c.Stream(), stream[:i], stream[i:j], stream[j:])
		if (wholeErr == nil) != (cutErr == nil) {
			t.Fatalf("whole: %v, cut at %d and %d: %v", wholeErr, i, j, cutErr)
		}
		if diff := cmp.Diff(calls(whole), calls(cut)); diff != "" || joined(whole) != joined(cut) {
			t.Fatalf("cut at %d and %d (-whole +cut):\n%s", i, j, diff)
		}
		if wholeErr != nil {
			if !strings.HasPrefix(stream, joined(whole)) {
				t.Fatal("the parts are no prefix")
			}
			return
		}
		if joined(whole) != stream || render(s, whole, release) != stream {
			t.Fatal("the parts are not the stream")
		}
		for _, v := range []holdgate.Verdict{refuse, {Release: true, Note: "mind"}, {Release: true, Arguments: json.RawMessage(`{"x":1}`)}} {
			s = c.Stream()
			out := render(s, mustParts(t, s, stream), v)
			left, err := parts((&responses.Codec{}).Stream(), out)
			if err != nil {
				t.Fatalf("rewritten: %v\n%s", err, out)
			}
			for _, p := range left {
				if p.Call == nil || p.Observed {
					continue
				}
				if !v.Release || v.Arguments != nil && string(p.Call.Tool.Arguments) != string(v.Arguments) {
					t.Fatalf("under %+v there is %q in\n%s", v, calls(left), out)
				}
			}
		}
		plain, err := c.Collect([]byte(stream))
		if err != nil {
			return
		}
		if _, err := c.Answer(plain); err != nil {
			t.Fatalf("collected: %v\n%s", err, plain)
		}
		if out, err := c.Expand(plain); err != nil {
			t.Fatalf("expanding: %v\n%s", err, plain)
		} else if _, err := (&responses.Codec{}).Collect(out); err != nil {
			t.Fatalf("collected from expanded: %v\n%s", err, out)
		}
	})
}
