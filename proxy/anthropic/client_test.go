package anthropic_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/anthropic"
	"pgregory.net/rapid"
)

// runs is a client that runs whatever could be taken for a call: it ends lines
// at whatever ends one for some client, reads data fields of any case, ignores event fields, order and indices, and decodes
// JSON with the laxest decoder at hand.
func runs(stream string) (calls []string) {
	for _, line := range strings.FieldsFunc(stream, func(c rune) bool { return strings.ContainsRune("\r\n\v\f\x1c\x1d\x1e\u0085\u2028\u2029", c) }) {
		name, data, _ := strings.Cut(strings.TrimSpace(line), ":")
		if !strings.EqualFold(strings.TrimSpace(name), "data") {
			continue
		}
		var e struct {
			Content_block, Message struct {
				Type, Name string
				Content    []struct{ Type, Name string }
			}
		}
		if json.Unmarshal([]byte(data), &e) != nil {
			continue
		}
		blocks := append(e.Message.Content, e.Content_block.Content...)
		blocks = append(blocks, struct{ Type, Name string }{e.Content_block.Type, e.Content_block.Name})
		for _, b := range blocks {
			if strings.Contains(strings.ToLower(b.Type), "tool_use") && b.Type != "server_tool_use" {
				calls = append(calls, b.Name)
			}
		}
	}
	return calls
}

// TestNoClientRunsWhatWasNotReleased puts events in any order, good and bad
// ones, and looks at what a client makes of what is sent.
func TestNoClientRunsWhatWasNotReleased(t *testing.T) {
	events := []string{
		begin(), open("0", `{"type":"text","text":"x"}`), add("0", `{"type":"text_delta","text":"y"}`), shut("0"),
		open("0", bash), add("0", fragment(`"{}"`)), open("1", bash), add("1", fragment(`"{"`)), shut("1"), end("tool_use"), pinged, ": x\n\n",
		open("0", `{"type":"text","Type":"tool_use","name":"evil"}`),
		open("0", `{"type":"text","type":"tool_use","name":"evil"}`),
		open("0", `{"\u0074ype":"tool_use","name":"evil"}`),
		open("0", `{"type":"new_tool_use","name":"evil"}`),
		open("0", `{"type":"text","text":"","content":[]}`),
		open("1", `{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`),
		ev("message_start", `{"type":"message_start","message":{"content":[`+bash+`]}}`),
		"event: ping\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":" + bash + "}\n\n",
		"Data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":" + bash + "}\n\n",
		"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":" + bash + "}\r\r",
		"data: {\"type\":\"x\",\"content_block\":" + bash + "}",
		ev("error", `{"type":"error","error":{"type":"api_error","message":"x"}}`),
		": x\u2028data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":" + bash + "}\n\n",
		"data: \r{\"type\":\"content_block_start\",\"index\":0,\"content_block\":" + bash + "}\n\n",
		"data: {\"type\":\"x\",\"x\":[\ndata: {\"content_block\":" + bash + "}\ndata: ]}\n\n",
		"data: [DONE]\n\n", "\r", "\n",
	}
	rapid.Check(t, func(t *rapid.T) {
		stream := begin()
		if rapid.Bool().Draw(t, "no message at first") {
			stream = ""
		}
		for range rapid.IntRange(0, 8).Draw(t, "events") {
			stream += rapid.SampledFrom(events).Draw(t, "event")
		}
		cut := rapid.IntRange(0, len(stream)).Draw(t, "cut")
		s := new(anthropic.Codec).Stream().(*anthropic.Stream)
		var sent strings.Builder
		send := func(push string) (ok bool) {
			ps, err := s.Push([]byte(push))
			for _, p := range ps {
				if p.Call != nil && rapid.Bool().Draw(t, "notice") {
					sent.Write(s.Notice("asking"))
				}
				sent.Write(s.Render(p, holdgate.Verdict{Notice: "no"}))
				sent.Write(s.Idle())
			}
			return err == nil
		}
		if send(stream[:cut]) && send(stream[cut:]) {
			if ps, err := s.End(); err == nil || len(ps) > 0 {
				sent.WriteString(render(s, ps, holdgate.Verdict{}))
			}
		}
		if calls := runs(sent.String()); len(calls) > 0 {
			t.Errorf("a client would run %q in\n%s", calls, sent.String())
		}
	})
}

// TestOneReadsWhileAnotherWrites is for the race detector: a proxy keeps the
// client waiting while it reads on.
func TestOneReadsWhileAnotherWrites(t *testing.T) {
	s := new(anthropic.Codec).Stream().(*anthropic.Stream)
	first := mustPush(t, s, begin()+said("0"))
	var wg sync.WaitGroup
	wg.Go(func() {
		render(s, first, release)
		s.Notice("asking")
		for range 100 {
			s.Idle()
		}
	})
	later := mustParts(t, s, open("1", bash), shut("1"), end("tool_use"))
	wg.Wait()
	if got := render(s, later, release); !strings.Contains(got, `"index":2`) {
		t.Errorf("got %s", got)
	}
}
