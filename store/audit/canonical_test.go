package audit

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/holdgate/holdgate"
)

// The form that is hashed is the canonical form of the stored line without its
// hash, for entries of every shape.
func TestTheHashIsOverTheCanonicalForm(t *testing.T) {
	for name, e := range entries() {
		t.Run(name, func(t *testing.T) {
			if err := e.canonicalized(); err != nil {
				t.Fatal(err)
			}
			line, hash, err := encode(e)
			if err != nil {
				t.Fatal(err)
			}
			var members map[string]json.RawMessage
			if err := json.Unmarshal(line, &members); err != nil {
				t.Fatal(err)
			}
			delete(members, "hash")
			rest, err := json.Marshal(members)
			if err != nil {
				t.Fatal(err)
			}
			want, err := holdgate.Canonical(rest)
			if err != nil {
				t.Fatal(err)
			}
			if got := hashOf(want); got != hash {
				t.Errorf("the hash is %s, that of the canonical form %s\n%s", hash, got, want)
			}
			l, wrong := parseLine(line)
			if wrong != "" || l.hash != hash {
				t.Errorf("reading it back: %q, hash %s", wrong, l.hash)
			}
		})
	}
}

func entries() map[string]Entry {
	hold := holdgate.Hold
	decision := Entry{
		Seq: 7, Type: TypeDecision, RequestID: "r1", Exchange: "x1", Door: "up/anthropic", Note: "n", PrevHash: "00",
		Call: &Call{Proven: true,
			Agent: "a", Digest: "d", HTTP: "GET h/p", ID: "toolu_1", Kind: holdgate.KindToolCall, MCP: "s m", Model: "m",
			Session: "s", Tool: &Tool{Name: "Bash", Server: "srv"},
		},
		Decision: &Decision{Action: holdgate.Allow, Reason: "r", Revision: "v", Risk: holdgate.RiskLow, Rule: "x.y", Would: &hold},
		Input:    json.RawMessage(`{"command":"ls\n"}`),
	}
	unsorted := decision
	unsorted.Input = json.RawMessage(`{"z": 1, "a": {"y": 1e3, "b": "\u2028\/\u0001"}}`)
	seen := decision
	seen.Seen = json.RawMessage(`{"mode": "auto", "at": "2026-11-22T05:00:00Z"}`)
	hostile := decision
	hostile.Note = "<b>\u2028&\x00\x7f\u202e" + `"},"hash":"`
	return map[string]Entry{
		"an empty entry":             {},
		"a decision":                 decision,
		"an input in no order":       unsorted,
		"what policy saw":            seen,
		"an outcome":                 {Type: TypeOutcome, Outcome: &holdgate.Outcome{Decision: holdgate.AnswerApprove, By: "ann", Reason: "ok"}},
		"characters of special kind": hostile,
		"an input of many bytes":     {Input: json.RawMessage(`"` + string(bytes.Repeat([]byte("é"), 1<<20)) + `"`)},
	}
}

func TestParseHead(t *testing.T) {
	hash := string(bytes.Repeat([]byte("a"), 64))
	if h, err := ParseHead("12:" + hash); err != nil || h != (Head{12, hash}) || h.String() != "12:"+hash {
		t.Errorf("got %v, %v", h, err)
	}
	for _, s := range []string{"", ":", "12", "12:", ":" + hash, "0:" + hash, "012:" + hash, "-1:" + hash, "1:" + hash[1:], "1:" + hash + "a", "1:A" + hash[1:], " 1:" + hash} {
		if _, err := ParseHead(s); err == nil {
			t.Errorf("%q is taken for a head", s)
		}
	}
}
