package programs

import (
	"path"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/shell"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// publicFolders are names of folders that projects make for everybody to read.
const publicFolders = "dist build out public static www site _site _build html htmlcov coverage docs storybook-static playwright-report target"

// servesOthers notes a server of files that other machines reach, where its folder is
// not one that is made to be read by everybody: python3 -m http.server.
func servesOthers(s *shell.Shell, name string, words []argv.Field, c *holdgate.Command) {
	var addresses, folders []argv.Field
	switch name {
	case "http.server":
		o := argv.ParseOptions(words, "bdp", "bind directory protocol")
		addresses, folders = append(o.Values("b", "bind"), o.CutShort("bind")...), append(o.Values("d", "directory"), o.CutShort("directory")...)
	case "http-server":
		o := argv.ParseOptions(words, "paectPCKo", "port ext proxy cors cert key")
		addresses, folders = o.Values("a", ""), o.Operands
	case "serve":
		o := argv.ParseOptions(words, "lpc", "listen port config ssl-cert ssl-key ssl-pass")
		addresses, folders = append(o.Values("l", "listen"), o.Values("p", "")...), o.Operands
	case "php":
		o := argv.ParseOptions(words, "Stcd", "server docroot")
		if addresses, folders = o.Values("S", "server"), o.Values("t", "docroot"); len(addresses) == 0 {
			return
		}
	}
	if len(addresses) > 0 && !slices.ContainsFunc(addresses, func(f argv.Field) bool { return !staysHere(f) }) {
		return
	}
	if len(folders) == 0 {
		folders = []argv.Field{{Text: "."}}
	}
	c.Serves = c.Serves || slices.ContainsFunc(folders[len(folders)-1:], func(f argv.Field) bool { return !madePublic(s, f) })
}

// staysHere reports whether an address to listen at is one that no other machine reaches.
func staysHere(f argv.Field) bool {
	address := strings.TrimPrefix(strings.TrimPrefix(f.Text, "tcp://"), "http://")
	if host, _, ok := strings.Cut(strings.TrimPrefix(address, "[::1]"), ":"); ok && host != "" {
		address = host
	}
	return f.Sure() && (wordlist.Has("localhost 127.0.0.1 ::1 [::1]", address) || strings.HasPrefix(address, "[::1]:"))
}

// madePublic reports whether a folder is one that the project makes for its readers, or
// is for temporary use.
func madePublic(s *shell.Shell, f argv.Field) bool {
	if !f.Sure() || len(s.Dirs) != 1 {
		return false
	}
	at := path.Clean(collect.JoinAny(s.Dirs[0], f.Text))
	return strings.HasPrefix(at, "/tmp/") || s.Stays(f) && wordlist.Has(publicFolders, path.Base(at))
}
