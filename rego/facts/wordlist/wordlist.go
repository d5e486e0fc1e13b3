// Package wordlist looks words up in short tables, each of them one text.
package wordlist

import (
	"slices"
	"strings"
)

// Has reports whether a blank-separated list holds the word.
func Has(list, word string) bool {
	for w := range strings.FieldsSeq(list) {
		if w == word {
			return true
		}
	}
	return false
}

// Unique leaves out what is empty and what stands before.
func Unique(list []string) []string {
	var out []string
	for _, s := range list {
		if s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
