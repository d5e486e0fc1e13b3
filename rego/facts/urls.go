package facts

import (
	"net/url"
	"regexp"
	"strings"
)

// maxURLs bounds how many addresses one call lists.
const maxURLs = 200

// urlInText finds addresses inside of words and prose.
var urlInText = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]{1,15}://[^\s"'<>` + "`" + `|;)\\]+`)

// urlsIn adds every address in the text.
func (x *extraction) urlsIn(s string) {
	for _, u := range urlInText.FindAllString(s, maxURLs) {
		x.Tick()
		x.url(strings.TrimRight(u, ".,"))
	}
}

// url adds an address. One without a scheme is read as its user would mean
// it: https, or a local file.
func (x *extraction) url(s string) {
	s = strings.TrimSpace(s)
	if s == "" || len(x.facts.URLs) >= maxURLs {
		return
	}
	x.address(s)
	full := s
	if !strings.Contains(s, "://") {
		switch scheme, _, ok := strings.Cut(s, ":"); {
		case ok && (scheme == "data" || scheme == "mailto" || scheme == "javascript" || scheme == "about"):
			x.addURL(URL{URL: redactURL(s), Scheme: scheme})
			return
		case strings.HasPrefix(s, "/"), strings.HasPrefix(s, "."):
			return
		}
		full = "https://" + s
	}
	u, err := url.Parse(full)
	if err != nil {
		host, _, _ := strings.Cut(afterScheme(full), "/")
		x.addURL(URL{URL: redactURL(s), Scheme: strings.ToLower(schemeOf(full)), Host: hostOnly(host)})
		x.fail("url that cannot be read")
		return
	}
	if strings.ContainsAny(u.Host, "\\") || strings.Contains(afterScheme(full), "\\") {
		x.fail("url with a backslash")
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if mixedScript(host) {
		x.suspiciousKind("mixed_script")
	}
	x.addURL(URL{URL: redactURL(s), Scheme: strings.ToLower(u.Scheme), Host: host})
	if u.Scheme == "file" {
		x.path(pathRef{text: u.Path, access: accessRead})
	}
}

func (x *extraction) addURL(u URL) {
	u.Self = x.ownURL(u.URL)
	if x.once("url", u.URL) {
		x.facts.URLs = append(x.facts.URLs, u)
	}
}

func (x *extraction) suspiciousKind(kind string) {
	if x.once("suspicious", kind) {
		x.facts.SuspiciousText = append(x.facts.SuspiciousText, kind)
	}
}

// password is the user information of an address.
var password = regexp.MustCompile(`://[^/\s@]*:[^/\s@]*@`)

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

// host adds a machine that a command talks to without an address: ssh, scp
// and their like.
func (x *extraction) host(scheme, target string) {
	if h := hostOnly(target); h != "" {
		x.addURL(URL{URL: scheme + "://" + h, Scheme: scheme, Host: h})
	}
}
