package collect

import (
	"net/url"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
)

// maxURLs bounds how many addresses one call lists.
const maxURLs = 200

// urlInText finds addresses inside of words and prose.
var urlInText = lazyregexp.New(`(?i)\b[a-z][a-z0-9+.-]{1,15}://[^\s"'<>` + "`" + `|;)\\]+`)

// URLsIn adds every address in the text.
func (x *Findings) URLsIn(s string) {
	for _, u := range urlInText.FindAllString(s, maxURLs) {
		x.Tick()
		x.URL(strings.TrimRight(u, ".,"))
	}
}

// URL adds an address. One without a scheme is read as its user would mean
// it: https, or a local file.
func (x *Findings) URL(s string) {
	s = strings.TrimSpace(s)
	if s == "" || len(x.Facts.URLs) >= maxURLs {
		return
	}
	x.address(s)
	full := s
	if !strings.Contains(s, "://") {
		switch scheme, _, ok := strings.Cut(s, ":"); {
		case ok && (scheme == "data" || scheme == "mailto" || scheme == "javascript" || scheme == "about"):
			x.addURL(holdgate.URL{URL: redactURL(s), Scheme: scheme})
			return
		case strings.HasPrefix(s, "/"), strings.HasPrefix(s, "."):
			return
		}
		full = "https://" + s
	}
	u, err := url.Parse(full)
	if err != nil {
		host, _, _ := strings.Cut(afterScheme(full), "/")
		x.addURL(holdgate.URL{URL: redactURL(s), Scheme: strings.ToLower(schemeOf(full)), Host: hostOnly(host)})
		x.Fail("url that cannot be read")
		return
	}
	if strings.ContainsAny(u.Host, "\\") || strings.Contains(afterScheme(full), "\\") {
		x.Fail("url with a backslash")
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if mixedScript(host) {
		x.suspiciousKind("mixed_script")
	}
	x.addURL(holdgate.URL{URL: redactURL(s), Scheme: strings.ToLower(u.Scheme), Host: host})
	if u.Scheme == "file" {
		x.Path(Ref{Text: u.Path, Access: AccessRead})
	}
}

func (x *Findings) addURL(u holdgate.URL) {
	u.Self = x.ownURL(u.URL)
	if x.Once("url", u.URL) {
		x.Facts.URLs = append(x.Facts.URLs, u)
	}
}

func (x *Findings) suspiciousKind(kind string) {
	if x.Once("suspicious", kind) {
		x.Facts.SuspiciousText = append(x.Facts.SuspiciousText, kind)
	}
}

// password is the user information of an address.
var password = lazyregexp.New(`://[^/\s@]*:[^/\s@]*@`)

// redactURL takes the user's name and password out of an address: no fact
// holds a credential.
func redactURL(s string) string { return password.ReplaceAllString(s, "://***@") }

func schemeOf(s string) string {
	scheme, _, _ := strings.Cut(s, "://")
	return scheme
}

func afterScheme(s string) string {
	_, rest, _ := strings.Cut(s, "://")
	rest, _, _ = strings.Cut(rest, "?")
	return rest
}

// hostOnly takes user and port off what stands where a host should.
func hostOnly(s string) string {
	if i := strings.LastIndex(s, "@"); i >= 0 {
		s = s[i+1:]
	}
	if i := strings.LastIndex(s, ":"); i >= 0 && !strings.Contains(s, "]") {
		s = s[:i]
	}
	return strings.TrimSuffix(strings.ToLower(strings.Trim(s, "[]")), ".")
}

// Host adds a machine that a command talks to without an address: ssh, scp
// and their like.
func (x *Findings) Host(scheme, target string) {
	if h := hostOnly(target); h != "" {
		x.addURL(holdgate.URL{URL: scheme + "://" + h, Scheme: scheme, Host: h})
	}
}
