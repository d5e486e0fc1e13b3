package secrets

import (
	"strings"

	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
)

// Kinds of value that a name calls a secret. What stands where a program takes a password is
// one whatever it is. Elsewhere a plain word may as well be the name of something.
const (
	namedPassword = "named_password"
	namedValue    = "named_value"
)

// optionRule is the rule about options, which stand before a lone -- only.
const optionRule = "option"

const (
	shortestNamed = 4 // what is shorter is found in too many other words
	leastValue    = 6 // of what may as well be a name
	longestNamed  = 4 << 10
)

// An agent writes what is searched, and people approve what they are shown. So no more than one
// word is hidden, in which no shell and no language reads anything but text.
var (
	oneWord   = lazyregexp.New(`^[\w!@#%^*+=.~/-]+$`)
	hostLike  = lazyregexp.New(`^[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}$`)
	pathLike  = lazyregexp.New(`^(?:~|\.{0,2})/[\w./-]*$`)
	fileLike  = lazyregexp.New(`\.(?:ya?ml|json|toml|ini|pem|crt|env|txt|key)$`)
	nameLike  = lazyregexp.New(`^(?:[a-z]+[-_.])*[A-Za-z]+(?:[-_.][a-z0-9]+)*$`)
	hasDigit  = lazyregexp.New(`[0-9]`)
	hasLetter = lazyregexp.New(`[A-Za-z]`)
	mixed     = lazyregexp.New(`[a-z][A-Z]|[A-Z][a-z].*[A-Z]`)
)

// namedIn is the value at start of the text to its end, and whether it is to be hidden.
func namedIn(s string, start, end int, kind string) (int, bool) {
	if end-start >= bytesAfterKeyword/2 { // a rule looks at a part of a long text
		for end < len(s) && end-start < longestNamed && oneWord.MatchString(s[end:end+1]) {
			end++
		}
	}
	if start > 0 && strings.IndexByte("\"'`", s[start-1]) >= 0 {
		if end == len(s) || s[end] != s[start-1] && s[end] != '\\' {
			return end, false // what is quoted goes on
		}
	} else if end < len(s) && (strings.IndexByte("$`({[:\\", s[end]) >= 0 || strings.HasPrefix(s[end:], "<(")) {
		return end, false // something is put behind it, or called
	}
	return end, secretValue(s[start:end], kind)
}

// secretValue reports whether a value that is named as a secret looks like one.
func secretValue(v, kind string) bool {
	switch {
	case len(v) < shortestNamed, !oneWord.MatchString(v), pathLike.MatchString(v), fileLike.MatchString(v), hostLike.MatchString(v):
		return false
	case kind == namedPassword:
		return true
	}
	return Telling(v)
}

// Telling reports whether a value is no word that something may be called by, so that it can
// be taken for a credential wherever it stands.
func Telling(v string) bool {
	if len(v) < leastValue || strings.Contains(v, "/") && strings.Contains(v, ".") || nameLike.MatchString(v) && !mixed.MatchString(v) {
		return false
	}
	return hasLetter.MatchString(v) && (hasDigit.MatchString(v) || strings.HasSuffix(v, "=") || len(v) >= 12 && mixed.MatchString(v) || len(v) >= 16)
}

// memberSecret reports whether the value of a member that is named as a secret looks like one, or
// like what a header says.
func memberSecret(name, v string) bool {
	if scheme, rest, ok := strings.Cut(v, " "); ok && nameLike.MatchString(scheme) {
		v = rest
	}
	kind := namedValue
	if strings.Contains(strings.ToLower(name), "pass") {
		kind = namedPassword
	}
	return secretValue(v, kind)
}

// notSecret are options and members that are called as secrets are, and hold none; asked are
// options that have a program ask for one.
var (
	notSecret = lazyregexp.New(`(?i)(?:page|next|start|starting|continuation|csrf|sync|cancellation|max)[_-]?token$`)
	asked     = lazyregexp.New(`(?i)^--?(?:no|disabled|skip|without|ask|prompt|show|require)-`)
)

// namesSecret reports whether a member by this name holds a secret.
func namesSecret(name string) bool {
	name = camel.ReplaceAllString(name, "${1}_${2}")
	return secretName.MatchString(name) && !notSecret.MatchString(name)
}

var (
	camel      = lazyregexp.New(`([a-z0-9])([A-Z])`)
	secretName = lazyregexp.New(`(?i)^(?:[\w.-]*[_.-])?(?:pass(?:word|wd|phrase|code)?|pwd|secret|token|authorization|cookie|(?:api|access|secret|private|auth|encryption|signing)[_-]?key)$`)
	secretFlag = lazyregexp.New(`(?i)^--?(?:[a-z0-9]+[-_])*(?:password|passwd|passphrase|token|secret|(?:api|access|secret|private|auth|account)[-_]?key)$`)
)
