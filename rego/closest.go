package rego

import (
	"fmt"
	"strings"
)

// meant are words of other programs for those of a decision.
var meant = map[string]string{
	"block": "deny", "reject": "deny", "refuse": "deny", "forbid": "deny", "denied": "deny", "stop": "deny",
	"ask": "hold", "approve": "hold", "approval": "hold", "require_approval": "hold", "requires-approval": "hold", "review": "hold",
	"pause": "hold", "wait": "hold", "permit": "allow", "accept": "allow", "pass": "allow", "auto": "allow", "allowed": "allow",
	"severity": "risk", "message": "reason", "id": "rule", "name": "rule", "severe": "critical", "info": "low", "warning": "medium",
}

// didYouMean ends an error about a word that is not known: it names the known
// one that was probably meant, or else all of them.
func didYouMean(word string, known []string) string {
	best, least := "", 1+len(word)/3
	for _, k := range known {
		if d := distance(strings.ToLower(word), k); d <= least {
			best, least = k, d-1
		}
		if best == "" && meant[strings.ToLower(word)] == k {
			best = k
		}
	}
	if best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return "want one of " + strings.Join(known, ", ")
}

// distance counts the letters to add, drop, change or swap with the next to make
// b of a.
func distance(a, b string) int {
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
