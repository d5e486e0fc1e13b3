package report

import (
	"regexp"
	"strings"
)

var (
	quotedText = regexp.MustCompile("\"(?:\\\\.|[^\"\\\\])*\"|`[^`]*`")
	// What a token may be to stay: a word, a name of a rule or a key, a number, a time.
	plainToken = regexp.MustCompile(`^(?:[A-Za-z]{1,14}(?:'[a-z]{1,2}|-[a-z]{1,14})?|[a-z]{1,14}(?:[._][a-z]{1,14}){1,4}|[0-9]{1,6}(?:\.[0-9]{1,6})?%?|[0-9.]{1,8}(?:ns|µs|ms|s|m|h|B|KiB|MiB|GiB))$`)
	tokens     = regexp.MustCompile(`[^\s,;:=()\[\]{}<>!?]+`)
)

// hidden stands for a token that does not show.
const hidden = "…"

// Scrub returns a text of which only words, numbers and names of rules show: what is
// quoted does not, nor paths, addresses, tokens, digests, or words that are too long to
// be in a dictionary. It errs to the side of hiding.
func Scrub(text string) string {
	text = quotedText.ReplaceAllString(text, `"`+hidden+`"`)
	return tokens.ReplaceAllStringFunc(text, func(t string) string {
		bare := strings.Trim(t, `.'"`)
		if bare == "" || bare == hidden || plainToken.MatchString(bare) {
			return t
		}
		return hidden
	})
}
