package anthropic_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/holdgate/holdgate/proxy/anthropic"
	"github.com/holdgate/holdgate/proxy/wire"
)

// ev returns an event with an event field of its own type.
func ev(typ, data string) string {
	return string(wire.AppendEvent(nil, typ, []byte(data)))
}

func begin() string {
	return ev("message_start", `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{"output_tokens":1}}}`)
}

func open(index, block string) string {
	return ev("content_block_start", `{"type":"content_block_start","index":`+index+`,"content_block":`+block+`}`)
}

func add(index, delta string) string {
	return ev("content_block_delta", `{"type":"content_block_delta","index":`+index+`,"delta":`+delta+`}`)
}

func shut(index string) string {
	return ev("content_block_stop", `{"type":"content_block_stop","index":`+index+`}`)
}

func end(reason string) string {
	return ev("message_delta", `{"type":"message_delta","delta":{"stop_reason":"`+reason+`","stop_sequence":null},"usage":{"output_tokens":9}}`) +
		ev("message_stop", `{"type":"message_stop"}`)
}

const bash = `{"type":"tool_use","id":"t","name":"Bash","input":{}}`

func fragment(json string) string { return `{"type":"input_json_delta","partial_json":` + json + `}` }

// said is a text block with text in it.
func said(index string) string {
	return open(index, `{"type":"text","text":""}`) + add(index, `{"type":"text_delta","text":"hi"}`) + shut(index)
}

// TestEveryCallIsSeen has streams that hide a call from a lax reader.
func TestEveryCallIsSeen(t *testing.T) {
	run := begin() + open("0", bash) + add("0", fragment(`"{\"a\":1}"`)) + shut("0")
	const want = `call t Bash object {"a":1}`
	tests := []struct{ name, stream, want string }{
		{"plain", run, want},
		{"stop reason end_turn", run + end("end_turn"), want},
		{"CRLF line ends", strings.ReplaceAll(run, "\n", "\r\n"), want},
		{"data over two lines", strings.ReplaceAll(run, `,"index"`, "\ndata: ,\"index\""), want},
		{"no blank after data", strings.ReplaceAll(run, "data: ", "data:"), want},
		{"no event fields", strings.ReplaceAll(run, "event: ", ": "), want},
		{"no blank line at the end", strings.TrimSuffix(run, "\n"), want},
		{"no line end at the end", strings.TrimSuffix(run, "\n\n"), want},
		{"escaped keys", strings.ReplaceAll(run, `"type"`, `"\u0074ype"`), want},
		{"escaped type", strings.ReplaceAll(run, `"tool_use"`, `"tool\u005fuse"`), want},
		{"escaped name", strings.ReplaceAll(run, `"Bash"`, `"\u0042ash"`), want},
		{"blanks in the data", strings.ReplaceAll(run, `,"`, " ,\t\""), want},
		{"type last", begin() + open("0", `{"input":{},"name":"Bash","id":"t","type":"tool_use"}`) + add("0", fragment(`"{\"a\":1}"`)) + shut("0"), want},
		{"unknown type that contains tool_use", strings.ReplaceAll(run, `"tool_use"`, `"new_tool_use_2"`), want},
		{"unknown type in capitals", strings.ReplaceAll(run, `"tool_use"`, `"TOOL_USE"`), want},
		{"unknown type that ends in _call", strings.ReplaceAll(run, `"tool_use"`, `"shell_call"`), want},
		{"unknown type with an input", strings.ReplaceAll(run, `"tool_use"`, `"action"`), want},
		{"unknown type without name and input", begin() + open("0", `{"type":"shell_call","id":"t","argv":["rm"]}`) + shut("0"), `call t shell_call object {"type":"shell_call","id":"t","argv":["rm"]}`},
		{"input as a string", begin() + open("0", `{"type":"tool_use","id":"t","name":"Bash","input":"{\"a\":1}"}`) + shut("0"), want},
		{"input null", begin() + open("0", `{"type":"tool_use","id":"t","name":"Bash","input":null}`) + shut("0"), `call t Bash raw "null"`},
		{"no input", begin() + open("0", `{"type":"tool_use","id":"t","name":"Bash"}`) + shut("0"), `call t Bash object {}`},
		{"arguments with NaN", begin() + open("0", bash) + add("0", fragment(`"{\"a\":NaN}"`)) + shut("0"), `call t Bash raw "{\"a\":NaN}"`},
		{"arguments that are two objects", begin() + open("0", bash) + add("0", fragment(`"{}{}"`)) + shut("0"), `call t Bash raw "{}{}"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ps := mustParts(t, new(anthropic.Codec).Stream(), tt.stream)
			var calls []string
			for _, line := range strings.Split(summary(ps), "\n") {
				if strings.HasPrefix(line, "call ") {
					head, rest, _ := strings.Cut(line, ", ")
					_, args, _ := strings.Cut(rest, " bytes")
					calls = append(calls, head+args)
				}
			}
			if diff := cmp.Diff([]string{tt.want}, calls); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			checkCuts(t, tt.stream)
		})
	}
}

// TestStreamRefuses has streams that two clients could read differently. No
// byte of the call in them may be returned.
func TestStreamRefuses(t *testing.T) {
	call := open("0", bash) + add("0", fragment(`"{}"`)) + shut("0")
	tests := []struct{ name, stream string }{
		{"a duplicate key", begin() + open("0", `{"type":"text","type":"tool_use","name":"Bash","input":{}}`)},
		{"a duplicate key, once escaped", begin() + open("0", `{"type":"text","\u0074ype":"tool_use","name":"Bash","input":{}}`)},
		{"a duplicate name", begin() + open("0", `{"type":"tool_use","name":"Read","name":"Bash","input":{}}`)},
		{"a key in another case", begin() + open("0", `{"Type":"tool_use","type":"text","text":""}`)},
		{"only a key in another case", begin() + open("0", `{"type":"tool_use","Name":"Bash","input":{}}`)},
		{"an envelope key in another case", begin() + ev("content_block_start", `{"type":"content_block_start","index":0,"Content_Block":`+bash+`}`)},
		{"a delta's key in another case", begin() + open("0", bash) + add("0", `{"type":"input_json_delta","Partial_JSON":"{}"}`)},
		{"an event type in another case", begin() + ev("Content_Block_Start", `{"type":"Content_Block_Start","index":0}`)},
		{"an event field that contradicts", begin() + ev("ping", `{"type":"content_block_start","index":0,"content_block":`+bash+`}`)},
		{"a type that contradicts", begin() + ev("content_block_start", `{"type":"ping","index":0,"content_block":`+bash+`}`)},
		{"no type", begin() + "data: {\"index\":0}\n\n"},
		{"an index that is no JSON", begin() + open("0", `{"type":"text","text":""}`) + add("00", `{"type":"text_delta","text":"x"}`)},
		{"a fragment with an index that is no JSON", begin() + open("0", bash) + add("00", fragment(`"{}"`)) + shut("0")},
		{"an unknown type with a block", begin() + ev("new_start", `{"type":"new_start","index":0,"content_block":`+bash+`}`)},
		{"a delta event with a block", begin() + open("0", `{"type":"text","text":""}`) + add("0", `{"type":"text_delta","text":"x"},"content_block":`+bash)},
		{"a ping with a block", begin() + ev("ping", `{"type":"ping","index":0,"content_block":`+bash+`}`)},
		{"a ping with a message", begin() + ev("ping", `{"type":"ping","message":{"content":[`+bash+`]}}`)},
		{"a whole message as an event", ev("message", `{"type":"message","role":"assistant","content":[`+bash+`]}`)},
		{"content in the message_delta", begin() + ev("message_delta", `{"type":"message_delta","delta":{"stop_reason":"tool_use","content":[`+bash+`]}}`)},
		{"a call in a delta", begin() + open("0", `{"type":"text","text":""}`) + add("0", `{"type":"new_delta","tool_use":{"name":"Bash","input":{}}}`)},
		{"a call beside a delta's text", begin() + open("0", `{"type":"text","text":""}`) + add("0", `{"type":"text_delta","text":"x","actions":[{"type":"tool_use","name":"Bash","input":{}}]}`)},
		{"a call in the message_delta", begin() + ev("message_delta", `{"type":"message_delta","delta":{"stop_reason":"tool_use","tool_calls":[{"name":"Bash"}]}}`)},
		{"a call in the message", ev("message_start", `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"pending":[{"type":"tool_use","name":"Bash","input":{}}]}}`)},
		{"an event that is a call", begin() + ev("tool_use", `{"type":"tool_use","name":"Bash","input":{}}`)},
		{"a message_delta without delta", begin() + ev("message_delta", `{"type":"message_delta"}`)},
		{"event fields on some events only", begin() + strings.ReplaceAll(call, "event: ", ": ")},
		{"data in another case", begin() + "event: ping\nDATA: {}\n\n"},
		{"two values in the data", begin() + ev("ping", `{"type":"ping"}{"type":"ping"}`)},
		{"data that is no JSON", begin() + ev("content_block_start", `{"type":`)},
		{"bad UTF-8", begin() + ev("ping", "{\"type\":\"ping\",\"x\":\"\xff\"}")},
		{"a block before the message", call},
		{"a second message", begin() + call + begin()},
		{"content in the message_start that is numbered anew", ev("message_start", `{"type":"message_start","message":{"content":[`+bash+`]}}`) + open("0", bash) + shut("0")},
		{"content in the message_start that is no array", ev("message_start", `{"type":"message_start","message":{"content":`+bash+`}}`)},
		{"content of the message_start in another case", ev("message_start", `{"type":"message_start","message":{"Content":[`+bash+`]}}`)},
		{"a delta with its text twice", begin() + open("0", `{"type":"text","text":""}`) + add("0", `{"type":"text_delta","text":"x","text":"y"}`)},
		{"an event with its delta twice", begin() + open("0", `{"type":"text","text":""}`) + add("0", `{"type":"text_delta","text":"x"},"delta":{"type":"text_delta","text":"y"}`)},
		{"a delta that brings a block", begin() + open("0", `{"type":"text","text":""}`) + add("0", `{"type":"text_delta","text":"x"},"Content_Block":{"type":"text"}`)},
		{"bad UTF-8 in a text", begin() + open("0", `{"type":"text","text":""}`) + add("0", `{"type":"text_delta","text":"`+"\xff"+`"}`)},
		{"a message_start without message", ev("message_start", `{"type":"message_start"}`)},
		{"a block inside a block", begin() + open("0", `{"type":"text","text":""}`) + open("1", bash)},
		{"a delta for another block", begin() + said("0") + open("1", bash) + add("0", fragment(`"{}"`))},
		{"a delta after the block", begin() + call + add("0", fragment(`"x"`))},
		{"a stop for another block", begin() + open("0", bash) + shut("1")},
		{"a gap in the indices", begin() + open("1", bash)},
		{"an index twice", begin() + said("0") + open("0", bash)},
		{"an index with an exponent", begin() + open("0e0", bash)},
		{"an index that is a string", begin() + open(`"0"`, bash)},
		{"a delta without index", begin() + open("0", bash) + ev("content_block_delta", `{"type":"content_block_delta","delta":`+fragment(`"{}"`)+`}`)},
		{"a call after the message_delta", begin() + end("end_turn") + call},
		{"a message_delta inside a call", begin() + open("0", bash) + end("tool_use")},
		{"a call after the message_stop", begin() + ev("message_stop", `{"type":"message_stop"}`) + call},
		{"a call after an error", begin() + ev("error", `{"type":"error","error":{"type":"api_error","message":"x"}}`) + call},
		{"an error inside a call", begin() + open("0", bash) + ev("error", `{"type":"error","error":{"type":"overloaded_error","message":"x"}}`)},
		{"an unknown event inside a call", begin() + open("0", bash) + ev("new", `{"type":"new"}`)},
		{"the end inside a call", begin() + open("0", bash) + add("0", fragment(`"{}"`))},
		{"a text delta inside a call", begin() + open("0", bash) + add("0", `{"type":"text_delta","text":"x"}`)},
		{"a fragment inside a text", begin() + open("0", `{"type":"text","text":""}`) + add("0", fragment(`"{}"`))},
		{"a fragment that is no string", begin() + open("0", bash) + add("0", fragment(`{}`))},
		{"input whole and in fragments", begin() + open("0", `{"type":"tool_use","name":"Bash","input":{"a":1}}`) + add("0", fragment(`"{\"a\":2}"`)) + shut("0")},
		{"a tool_use without name", begin() + open("0", `{"type":"tool_use","id":"t","input":{}}`)},
		{"a name that is no string", begin() + open("0", `{"type":"tool_use","name":["Bash"],"input":{}}`)},
		{"a block without type", begin() + open("0", `{"name":"Bash","input":{}}`)},
		{"a block that is no object", begin() + open("0", `[`+bash+`]`)},
		{"duplicate keys in the arguments", begin() + open("0", bash) + add("0", fragment(`"{\"a\":1,\"a\":2}"`)) + shut("0")},
		{"duplicate keys in the arguments over two fragments", begin() + open("0", bash) + add("0", fragment(`"{\"a\":1,\"\\u00"`)) + add("0", fragment(`"61\":2}"`)) + shut("0")},
		{"keys of the arguments that differ in case", begin() + open("0", bash) + add("0", fragment(`"{\"a\":1,\"A\":2}"`)) + shut("0")},
		{"half a surrogate pair in the arguments", begin() + open("0", bash) + add("0", fragment(`"{\"a\":\"\ud83d\"}"`)) + shut("0")},
		{"an escaped half in the arguments", begin() + open("0", bash) + add("0", fragment(`"{\"a\":\"\\ud83d\"}"`)) + shut("0")},
		{"CR line ends", strings.ReplaceAll(begin()+call, "\n", "\r")},
		{"a call behind a lone CR", begin() + strings.ReplaceAll(call, "\ndata: ", "\n\rx\ndata: \r")},
		{"a call behind a CR in a comment", begin() + strings.ReplaceAll(call, "event: ", ": \revent: ")},
		{"a call in a comment with a line end of Unicode", begin() + strings.ReplaceAll(strings.ReplaceAll(call, "event: ", ": x\u2028event: "), "\ndata: ", "\n: x\u2028data: ")},
		{"a call in a text with a line end of Unicode", begin() + "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"x\u2028data: {\"}}\n\n" + shut("0")},
		{"a call behind a control character", begin() + strings.ReplaceAll(call, "data: ", "\x1cdata: ")},
		{"a call behind a NUL", begin() + strings.ReplaceAll(call, "data: ", "\x00data: ")},
		{"a call in an unknown field", begin() + strings.ReplaceAll(call, "data: ", "x: ")},
		{"a call in a line without a field", begin() + strings.ReplaceAll(call, "data: ", "")},
		{"a call in a data line of its own", begin() + "event: ping\ndata: {\"type\":\"ping\",\"x\":[\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":" + bash + "}\ndata: ]}\n\n"},
		{"a list of events", begin() + "data: [{\"type\":\"content_block_start\",\"index\":0,\"content_block\":" + bash + "}]\n\n"},
		{"data that are a line end of Unicode", begin() + "data: \u2028\n\n"},
		{"a second message after the end", begin() + said("0") + end("end_turn") + begin() + call},
		{"a call after [DONE] and message_stop", begin() + said("0") + end("end_turn") + "data: [DONE]\n\n" + call},
		{"a function_call as a delta", begin() + open("0", `{"type":"text","text":""}`) + ev("content_block_delta", `{"type":"content_block_delta","index":0,"content_block":`+bash+`}`)},
		{"a JSON document", `{"type":"message","content":[` + bash + `]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, pieces := range [][]string{{tt.stream}, strings.Split(tt.stream, "")} {
				s := new(anthropic.Codec).Stream()
				ps, err := parts(s, pieces...)
				if err == nil {
					t.Fatalf("no error; parts:\n%s", summary(ps))
				}
				if got := joined(ps); !strings.HasPrefix(tt.stream, got) {
					t.Errorf("the parts before the error are no prefix of the stream:\n%s", got)
				}
				if _, again := s.Push([]byte(call)); again == nil {
					t.Errorf("then bytes are taken again")
				}
			}
		})
	}
}

func TestStreamKeepsToItsLimits(t *testing.T) {
	fragments := strings.Repeat(add("0", fragment(`"xxxxxxxxxxxxxxxxxxxxxxxxx"`)), 100)
	var calls string
	for i := range 100 {
		calls += open(strconv.Itoa(i), bash) + shut(strconv.Itoa(i))
	}
	tests := []struct {
		name, stream string
		large        bool
	}{
		{"a long call", begin() + open("0", bash) + fragments + shut("0"), true},
		{"a short call with many pings", begin() + open("0", bash) + strings.Repeat(pinged, 200) + shut("0"), true},
		{"long arguments of the provider's call", begin() + open("0", `{"type":"server_tool_use","id":"s","name":"x","input":{}}`) + fragments + fragments + shut("0"), true},
		{"a long event", begin() + open("0", `{"type":"text","text":"`+strings.Repeat("x", 9000)+`"}`), true},
		{"a long text of short events", begin() + open("0", `{"type":"text","text":""}`) + strings.Repeat(add("0", `{"type":"text_delta","text":"xxxxx"}`), 200) + shut("0"), false},
		{"many short calls", begin() + calls, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parts((&anthropic.Codec{CallLimit: 4000, EventLimit: 8000}).Stream(), tt.stream)
			if errors.Is(err, wire.ErrTooLarge) != tt.large || !tt.large && err != nil {
				t.Errorf("error %v, want too large: %v", err, tt.large)
			}
		})
	}
}

// TestNothingOfACallIsReturnedBeforeItsEnd feeds a call byte by byte.
func TestNothingOfACallIsReturnedBeforeItsEnd(t *testing.T) {
	s := new(anthropic.Codec).Stream()
	if _, err := s.Push([]byte(begin() + said("0"))); err != nil {
		t.Fatal(err)
	}
	call := open("1", bash) + ": x\n\n" + add("1", fragment(`"{}"`)) + ev("ping", `{"type":"ping"}`) + shut("1")
	for i := range len(call) {
		ps, err := s.Push([]byte{call[i]})
		if err != nil {
			t.Fatal(err)
		}
		if last := i == len(call)-1; (len(ps) > 0) != last {
			t.Fatalf("byte %d of %d: %d parts", i, len(call), len(ps))
		}
	}
}
