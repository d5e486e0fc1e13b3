package facts

import (
	"cmp"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// How a path is touched.
const (
	accessRead   = "read"
	accessWrite  = "write"
	accessDelete = "delete"
)

// maxPaths bounds how many paths one call lists.
const maxPaths = 1000

// A pathRef is a path as it was found, and where it starts from.
type pathRef struct {
	text    string
	written string // as it stands in the line, where that differs
	access  string
	dirs    []string // folders that it may be relative to, as in shell; empty where not known
	dynamic bool     // part of it is known at run time only
	fresh   bool     // the call itself has made it, for temporary use
	remote  bool     // on another machine, or in a container
	reach   reach
}

// reach is how far a path that is touched stands for others.
type reach uint8

const (
	reachOne     reach = iota // for itself
	reachBeneath              // for all that lies beneath it
	reachOrigin               // for where packages come from
	reachHunt                 // for the credentials that are looked for in it
	reachName                 // for its name, size and times, and not for what it holds
)

// drive begins a path of Windows, which lies in no folder of another system.
var drive = regexp.MustCompile(`^([A-Za-z]:[\\/]|\\\\)`)

func dirsOf(dir string) []string {
	if dir == "" {
		return nil
	}
	return []string{dir}
}

// path adds a path. One that may start from several folders is listed from
// the likeliest, and again from each that leads outside.
func (x *extraction) path(r pathRef) {
	if r.text == "" || harmlessDevice(r.text) {
		return
	}
	if u, ok := netDevice(r.text); ok {
		x.facts.Category = "network"
		x.addURL(u)
		return
	}
	text := strings.TrimPrefix(r.text, "file://")
	text, known := x.expandTilde(text, r.remote)
	switch {
	case r.dynamic || !known, drive.MatchString(text) && !drive.MatchString(x.opts.Dir):
		x.addPath(r, text, false)
	case path.IsAbs(text):
		clean := path.Clean(text)
		x.addPath(r, clean, !r.remote && x.inside(clean))
	case len(r.dirs) == 0:
		x.addPath(r, path.Clean(text), false)
	default:
		for i, d := range r.dirs {
			clean := joinDir(d, text)
			if inside := x.inside(clean); i == 0 || !inside {
				x.addPath(r, clean, inside && !r.remote)
			}
		}
	}
}

func (x *extraction) addPath(r pathRef, clean string, inside bool) {
	if r.access != accessRead && !x.modes {
		x.writes[fileKey(clean)]++
	}
	if r.access == accessWrite && !x.fixed {
		x.written = append(x.written, clean)
	}
	class := classify(clean, r.access)
	if r.reach == reachName && class == classSecret {
		class = ""
	}
	if x.above(clean, r, inside) {
		class = map[bool]string{true: classSecret, false: classPersistence}[r.access == accessRead]
	}
	if class == "" && classify(lookalike(clean), r.access) != "" {
		x.suspiciousKind("mixed_script")
	}
	p := Path{Path: cmp.Or(r.written, r.text), Clean: clean, Access: r.access, Class: class, Inside: inside, Self: x.ownPath(clean, r.access), Fresh: r.fresh}
	if x.once("path", p.Path, p.Clean, p.Access, p.Class, strconv.FormatBool(p.Fresh)) {
		if len(x.facts.Paths) >= maxPaths {
			x.GiveUp("too many paths")
		}
		x.facts.Paths = append(x.facts.Paths, p)
		x.joined(r.text)
	}
}

// cleanDir is a folder that an argument names, absolute where it can be; ""
// where it is not known.
func (x *extraction) cleanDir(dir string) string {
	dir, known := x.expandTilde(dir, false)
	switch {
	case !known:
		return ""
	case path.IsAbs(dir):
		return path.Clean(dir)
	}
	return path.Join(x.start(), dir)
}

// start is the folder that a call starts in: the session's, or "." where that
// is not known.
func (x *extraction) start() string {
	if x.opts.Dir == "" {
		return "."
	}
	return path.Clean(x.opts.Dir)
}

// joinDir is a path seen from a folder. A folder below a home that is not
// known begins with "~", and what climbs out of it stays as written.
func joinDir(dir, p string) string {
	if dir != "~" && !strings.HasPrefix(dir, "~/") {
		return path.Join(dir, p)
	}
	return "~/" + path.Join(".", strings.TrimLeft(dir[1:], "/"), strings.TrimLeft(p, "/"))
}

// expandTilde replaces a leading ~. It reports false where that names a
// folder which is not known.
func (x *extraction) expandTilde(s string, remote bool) (string, bool) {
	if !strings.HasPrefix(s, "~") {
		return s, true
	}
	if (s == "~" || strings.HasPrefix(s, "~/")) && x.opts.Home != "" && !remote {
		return x.opts.Home + s[1:], true
	}
	return s, false
}

// inside reports whether a cleaned path lies in the session's folder. One
// that is relative starts in that folder, wherever it is.
func (x *extraction) inside(p string) bool {
	if dir := x.start(); dir != "." {
		return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
	}
	first, _, _ := strings.Cut(p, "/")
	return !path.IsAbs(p) && first != ".." && first != "~"
}

// harmlessDevice reports whether the path is a device that holds nothing.
func harmlessDevice(p string) bool {
	switch p {
	case "-", "/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero", "/dev/random", "/dev/urandom":
		return true
	}
	return strings.HasPrefix(p, "/dev/fd/") && !strings.Contains(p, "..")
}

// netDevice reads bash's /dev/tcp/HOST/PORT and /dev/udp/HOST/PORT.
func netDevice(p string) (URL, bool) {
	for _, scheme := range []string{"tcp", "udp"} {
		rest, ok := strings.CutPrefix(p, "/dev/"+scheme+"/")
		if host, port, whole := strings.Cut(rest, "/"); ok && whole {
			host = strings.ToLower(host)
			return URL{URL: scheme + "://" + host + ":" + port, Scheme: scheme, Host: host}, true
		}
	}
	return URL{}, false
}
