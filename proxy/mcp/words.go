package mcp

import (
	"slices"
	"strings"
	"unicode"
)

// words are the words of a name, in lower case. A new one begins at a capital, and
// behind what is no letter.
func words(name string) []string {
	var list []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			list = append(list, strings.ToLower(string(word)))
		}
		word = word[:0]
	}
	runes := []rune(name)
	for i, r := range runes {
		if !unicode.IsLetter(r) {
			end()
			continue
		}
		small := i > 0 && unicode.IsLower(runes[i-1])
		acronym := i > 0 && unicode.IsUpper(runes[i-1]) && i+1 < len(runes) && unicode.IsLower(runes[i+1])
		if unicode.IsUpper(r) && (small || acronym) {
			end()
		}
		word = append(word, r)
	}
	end()
	return list
}

// prose are the words of a text, in lower case, without names such as list_issues.
func prose(text string) []string {
	list := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
	return slices.DeleteFunc(list, func(w string) bool { return strings.ContainsAny(w, "_0123456789") })
}

// foreign reports whether a text has letters of another script than that of the
// words which are known here.
func foreign(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) })
}

// stem is a verb without the ending of the third person.
func stem(w string) string {
	for _, end := range []string{"ches", "shes", "sses", "xes"} {
		if strings.HasSuffix(w, end) {
			return strings.TrimSuffix(w, "es")
		}
	}
	if root, ok := strings.CutSuffix(w, "ies"); ok {
		return root + "y"
	}
	return strings.TrimSuffix(w, "s")
}
