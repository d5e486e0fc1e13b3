package wire

import (
	"strconv"
	"strings"
)

// Posts reports whether some server could take a request for a POST to a path
// that ends in suffix, whatever comes before. The suffix begins with a slash.
//
// Servers are lenient in many ways, and a request that one of them answers must
// not pass unseen because it is spelled oddly. So the method's case makes no
// difference, and PUT and PATCH count too. In the path, percent-encoding is
// decoded once more; backslashes are slashes; what follows a question mark, a
// number sign or a NUL is left out; in each segment, what follows a semicolon
// (RFC 3986, section 3.3) and blanks, dots and control characters around it
// are; empty segments, the extension .json at the end and the case of letters
// make no difference. To take too much for a match does no harm: what is no
// request of the format is refused when it is read.
//
// A segment of the suffix that ends in a star stands for every one that begins
// as it does.
func Posts(method, path, suffix string) bool {
	return posts(method) && endsIn(path, suffix)
}

// Gets does for GET what [Posts] does for POST.
func Gets(method, path, suffix string) bool {
	return strings.EqualFold(strings.TrimSpace(method), "GET") && endsIn(path, suffix)
}

func endsIn(path, suffix string) bool {
	if isPlain(path) {
		return plainEndsIn(path, suffix)
	}
	want := strings.Split(suffix, "/")[1:]
	got := segments(path)
	if len(got) < len(want) {
		return false
	}
	got = got[len(got)-len(want):]
	for i := range want {
		start, open := strings.CutSuffix(want[i], "*")
		if open && !strings.HasPrefix(strings.ToUpper(got[i]), strings.ToUpper(start)) || !open && !strings.EqualFold(got[i], start) {
			return false
		}
	}
	return true
}

// isPlain reports whether a path holds nothing that servers read in two ways,
// but for empty segments and the case of letters. Nearly all do not.
func isPlain(path string) bool {
	for i := range len(path) {
		switch c := path[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '/', c == '_', c == '-', c == ':':
		default:
			return false
		}
	}
	return true
}

// plainEndsIn is endsIn for a plain path: every format asks of every request.
func plainEndsIn(path, suffix string) bool {
	for suffix != "" {
		path = strings.TrimRight(path, "/")
		at, want := strings.LastIndexByte(path, '/')+1, strings.LastIndexByte(suffix, '/')
		got := path[at:]
		start, open := strings.CutSuffix(suffix[want+1:], "*")
		if got == "" || open && len(got) < len(start) {
			return false
		}
		if open {
			got = got[:len(start)]
		}
		if !strings.EqualFold(got, start) {
			return false
		}
		path, suffix = path[:at], suffix[:max(want, 0)]
	}
	return true
}

// PostsMethod reports whether some server could take a request for a POST to a
// path whose last segment ends in a colon and the name of a custom method
// (Google's AIP-136), such as models/M:generateContent, with the leniency of
// [Posts].
func PostsMethod(method, path, name string) bool {
	if !posts(method) {
		return false
	}
	got := segments(path)
	if len(got) == 0 {
		return false
	}
	last := got[len(got)-1]
	colon := strings.LastIndexByte(last, ':') // the names of some models have one too
	return colon >= 0 && strings.EqualFold(strings.TrimFunc(last[colon+1:], isPadding), name)
}

func posts(method string) bool {
	switch strings.ToUpper(strings.TrimSpace(method)) {
	case "POST", "PUT", "PATCH":
		return true
	}
	return false
}

// segments returns a path's segments as the most lenient server reads them.
func segments(path string) []string {
	path = Unescaped(path)
	if i := strings.IndexAny(path, "?#\x00"); i >= 0 {
		path = path[:i]
	}
	var out []string
	for _, s := range strings.FieldsFunc(path, func(c rune) bool { return c == '/' || c == '\\' }) {
		s, _, _ = strings.Cut(s, ";")
		if strings.TrimFunc(s, isSpace) == ".." {
			out = out[:max(0, len(out)-1)]
		} else if s = strings.TrimFunc(s, isPadding); s != "" {
			out = append(out, s)
		}
	}
	if last := len(out) - 1; last >= 0 {
		out[last] = withoutJSON(out[last])
	}
	return out
}

// Unescaped returns a path, or another text, with its percent-encoding decoded. What is
// no such encoding stays as it is.
func Unescaped(path string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(path, "%")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if c, err := strconv.ParseUint(rest[:min(2, len(rest))], 16, 8); err == nil && len(rest) >= 2 {
			b.WriteByte(byte(c))
			rest = rest[2:]
		} else {
			b.WriteByte('%')
		}
		path = rest
	}
}

// withoutJSON returns the segment without the extension .json.
func withoutJSON(segment string) string {
	const extension = ".json"
	if n := len(segment) - len(extension); n > 0 && strings.EqualFold(segment[n:], extension) {
		return strings.TrimRightFunc(segment[:n], isPadding)
	}
	return segment
}

func isSpace(c rune) bool   { return c <= ' ' || c == 0x7f || isBlank(c) }
func isPadding(c rune) bool { return c == '.' || isSpace(c) }
