package route

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// Headers by which frameworks let a client say what it could not put into the
// request line. They are compared as CGI and what descends from it read names:
// without case, and with an underscore for a hyphen.
var (
	methodHeaders = []string{"x-http-method-override", "x-http-method", "x-method-override"}
	urlHeaders    = []string{"x-original-url", "x-rewrite-url"}
)

// TwoReadings says what policy must know of a request that two servers could
// take for two different ones: the method that it asks for besides its own, and
// why it is unresolved.
func TwoReadings(method string, u *url.URL, h http.Header) (override string, unresolved []string) {
	unresolved = pathReadings(u)
	var asked []string
	ask := func(m string) {
		m = strings.ToUpper(strings.TrimSpace(m))
		if m != "" && m != method && !slices.Contains(asked, m) {
			asked = append(asked, m)
		}
	}
	elsewhere := false
	for name, values := range wire.EndToEnd(h) {
		name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
		elsewhere = elsewhere || slices.Contains(urlHeaders, name)
		if slices.Contains(methodHeaders, name) {
			for _, v := range values {
				ask(v)
			}
		}
	}
	for _, v := range u.Query()["_method"] {
		ask(v)
	}
	if elsewhere {
		unresolved = append(unresolved, holdgate.UnresolvedURL)
	}
	if len(asked) > 1 || len(asked) == 1 && strings.ContainsFunc(asked[0], func(c rune) bool { return c < 'A' || c > 'Z' }) {
		return "", append(unresolved, holdgate.UnresolvedMethod)
	}
	if len(asked) == 1 {
		override = asked[0]
	}
	return override, unresolved
}

// pathReadings says why a path could be read in two ways.
func pathReadings(u *url.URL) (unresolved []string) {
	raw, p := strings.ToLower(u.EscapedPath()), u.Path
	add := func(is bool, why string) {
		if is {
			unresolved = append(unresolved, why)
		}
	}
	add(strings.Contains(raw, "%2f") || strings.Contains(raw, "%5c"), holdgate.UnresolvedSlash)
	add(strings.Contains(p, "%"), holdgate.UnresolvedEscape)
	add(strings.Contains(p, "\\"), holdgate.UnresolvedBackslash)
	add(hasDots(p), holdgate.UnresolvedDots)
	add(strings.Contains(p, "//"), holdgate.UnresolvedEmpty)
	add(strings.Contains(p, ";"), holdgate.UnresolvedParameter)
	add(!utf8.ValidString(p) || strings.ContainsFunc(p, func(c rune) bool { return c < ' ' || c == 0x7f }), holdgate.UnresolvedBytes)
	return unresolved
}

// hasDots reports whether a segment is a dot or two to some server: to those
// that take a backslash for a slash or cut at a semicolon as well.
func hasDots(p string) bool {
	for segment := range strings.FieldsFuncSeq(p, func(c rune) bool { return c == '/' || c == '\\' }) {
		segment, _, _ = strings.Cut(segment, ";")
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

// passingHeaders say which try a request is, when it was made or who traces it,
// and nothing of what it asks for: they differ between a request and its retry.
// Credentials are compared by the account that they name.
var passingHeaders = []string{
	"Amz-Sdk-Invocation-Id", "Amz-Sdk-Request", "Authorization", "Baggage", "Content-Length", "Date", "Expect", "Sec-Websocket-Key", "Sentry-Trace", "Traceparent", "Tracestate",
	"X-Amz-Date", "X-Amzn-Trace-Id", "X-Client-Request-Id", "X-Cloud-Trace-Context", "X-Correlation-Id", "X-Goog-Api-Client", "X-Ms-Client-Request-Id",
	"X-Ms-Date", "X-Request-Id", "X-Stainless-Retry-Count",
}

// Meaning is what a request's headers say besides the request line: an approval
// is for a request with these. Headers are text, with no line breaks in it.
func Meaning(h http.Header) string {
	h = wire.EndToEnd(h)
	for _, name := range passingHeaders {
		h.Del(name)
	}
	var b strings.Builder
	_ = h.Write(&b) // sorted; a strings.Builder takes everything
	return b.String()
}
