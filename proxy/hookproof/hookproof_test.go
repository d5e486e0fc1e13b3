package hookproof_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/hookproof"
)

func TestAProofIsOfOneAnswerToOneQuestion(t *testing.T) {
	key, other := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	nonce, later := hookproof.NewNonce(), hookproof.NewNonce()
	told, answer := []byte(`{"a":1}`), []byte(`{"status":"approved"}`)
	proof := hookproof.Proof(key, nonce, "claude", told, answer)
	for _, c := range []struct {
		name         string
		proof        string
		key          []byte
		nonce, agent string
		told, answer []byte
		want         bool
	}{
		{"it holds", proof, key, nonce, "claude", told, answer, true},
		{"not by another key", proof, other, nonce, "claude", told, answer, false},
		{"nor for a later question", proof, key, later, "claude", told, answer, false},
		{"nor for another agent", proof, key, nonce, "codex", told, answer, false},
		{"nor for another call", proof, key, nonce, "claude", []byte(`{"a":2}`), answer, false},
		{"nor for another answer", proof, key, nonce, "claude", told, []byte(`{"status":"approved" }`), false},
		{"nor where a part moves to the next", proof, key, nonce, "claude", told[:2], append(bytes.Clone(told[2:]), answer...), false},
		{"no proof is none", "", key, nonce, "claude", told, answer, false},
		{"nor is one without a key", hookproof.Proof(nil, nonce, "claude", told, answer), nil, nonce, "claude", told, answer, false},
		{"nor one of no nonce", "", key, "", "claude", told, answer, false},
		{"nor one of a nonce with more lines", "", key, nonce + "\nclaude", "claude", told, answer, false},
	} {
		if got := hookproof.Holds(c.proof, c.key, c.nonce, c.agent, c.told, c.answer); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

func TestAKeyIsReadWholeOrNotAtAll(t *testing.T) {
	for text, good := range map[string]bool{
		strings.Repeat("ab", 32) + "\n": true, strings.Repeat("ab", 31): false, strings.Repeat("ab", 33): false, strings.Repeat("zz", 32): false, "": false,
	} {
		if _, err := hookproof.ParseKey([]byte(text)); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}
