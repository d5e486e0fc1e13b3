package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
)

// meant are words of other programs for those of a decision.
var meant = map[string]string{
	"block": "deny", "reject": "deny", "refuse": "deny", "forbid": "deny", "denied": "deny", "stop": "deny",
	"ask": "hold", "approve": "hold", "approval": "hold", "require_approval": "hold", "requires-approval": "hold", "review": "hold",
	"pause": "hold", "wait": "hold", "permit": "allow", "accept": "allow", "pass": "allow", "auto": "allow", "allowed": "allow",
	"severity": "risk", "message": "reason", "id": "rule", "name": "rule", "severe": "critical", "info": "low", "warning": "medium",
}

// DidYouMean ends an error about a word that is not known: it names the known
// one that was probably meant, or else all of them.
func DidYouMean(word string, known []string) string {
	best := holdgate.Closest(word, known)
	if other := meant[strings.ToLower(word)]; best == "" && slices.Contains(known, other) {
		best = other
	}
	if best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return "want one of " + strings.Join(known, ", ")
}
