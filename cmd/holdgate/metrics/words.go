package metrics

import (
	"sync"
	"unicode/utf8"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store/audit"
)

// Other is the label of what has none of its own.
const Other = "other"

const (
	maxRules    = 300 // of which decisions are counted by name
	maxChannels = 20  // besides those that the configuration names: cli, page, api, ...
	maxWord     = 80  // bytes
)

var (
	kinds    = set(holdgate.KindToolCall, holdgate.KindModelRequest, holdgate.KindHTTPRequest, holdgate.KindMCPRequest, holdgate.KindGate, holdgate.KindMessage)
	actions  = set(holdgate.Deny.String(), holdgate.Allow.String(), holdgate.Hold.String())
	statuses = set(holdgate.StatusApproved, holdgate.StatusDenied, holdgate.StatusSteered, holdgate.StatusExpired, holdgate.StatusCancelled)
	answers  = set(holdgate.AnswerApprove, holdgate.AnswerDeny, holdgate.AnswerSteer, holdgate.AnswerChoose, holdgate.AnswerEdit, holdgate.AnswerTimeout, holdgate.AnswerCancel)
	types    = set(audit.Types()...)
)

// noChannel is the channel of a request that ended without an answer.
const noChannel = "none"

// silences are how requests end without one, and the last answer that they have then.
var silences = map[holdgate.Status]holdgate.Answer{holdgate.StatusExpired: holdgate.AnswerTimeout, holdgate.StatusCancelled: holdgate.AnswerCancel}

// refusals are the rules by which Holdgate itself refuses.
var refusals = []string{
	holdgate.RulePolicyError, holdgate.RuleMalformed, holdgate.RuleTooLarge, holdgate.RuleStore, holdgate.RuleQuota,
	holdgate.RuleUnsupported, holdgate.RuleIdentity, holdgate.RuleAddress, holdgate.RulePaused, holdgate.RuleStopped,
}

func set[T ~string](values ...T) map[string]bool {
	m := make(map[string]bool, len(values))
	for _, v := range values {
		m[string(v)] = true
	}
	return m
}

// known is a word of a closed set, or [Other].
func known(word string, of map[string]bool) string {
	if of[word] {
		return word
	}
	return Other
}

// words are the values of a label whose set is open: the first of them.
type words struct {
	mu   sync.RWMutex
	most int
	m    map[string]bool
}

func newWords(most int) *words { return &words{most: most, m: make(map[string]bool)} }

// know takes words up before any others.
func (w *words) know(list ...string) {
	for _, word := range list {
		w.keep(word)
	}
}

// keep is the word where it is one of those that are kept, or can be; else [Other].
func (w *words) keep(word string) string {
	if word == "" || len(word) > maxWord {
		return Other
	}
	w.mu.RLock()
	kept, full := w.m[word], len(w.m) >= w.most
	w.mu.RUnlock()
	switch {
	case kept:
		return word
	case full || !utf8.ValidString(word):
		return Other
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.m) >= w.most && !w.m[word] {
		return Other
	}
	w.m[word] = true
	return word
}

// text is a text that can be a label.
func text(s string) string {
	if !utf8.ValidString(s) {
		return Other
	}
	return s
}
