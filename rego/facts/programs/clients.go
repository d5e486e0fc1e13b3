package programs

import (
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/programs/databases"
	"github.com/holdgate/holdgate/rego/facts/shell"
)

// clients are programs whose words are addresses, by the scheme that an address
// without one has: so that an address is one fact however it is written.
var clients = map[string]string{
	"http": "http", "https": "https", "xh": "http", "xhs": "https", "curlie": "http", "hurl": "http", "wget": "http", "wget2": "http", "aria2c": "http", "httpx": "http", "lynx": "http", "w3m": "http", "links": "http", "elinks": "http",
	"hey": "http", "oha": "http", "ab": "http", "wrk": "http", "wrk2": "http", "k6": "http", "bombardier": "http", "vegeta": "http", "autocannon": "http", "siege": "http", "lighthouse": "http", "open": "http", "xdg-open": "http",
	"grpcurl": "grpc", "grpc_cli": "grpc", "evans": "grpc", "ghz": "grpc", "websocat": "ws", "wscat": "ws",
	"nc": "tcp", "ncat": "tcp", "netcat": "tcp", "telnet": "tcp", "socat": "tcp", "openssl": "tcp", "tcping": "tcp",
}

var (
	// hostPort is a word with a host and a port in it, or with a port of this machine
	// alone. What stands before it is a kind of address as socat has it, or an option.
	hostPort = lazyregexp.New(`^(?:--?[\w-]+=|@)?(?:[A-Za-z][\w-]*:)??(\[[0-9A-Fa-f:.%]+\]|[\w.-]*):([0-9]{1,5})((?:[/,?#].*)?)$`)
	// onlyPath is a path at this machine, as httpie has it.
	onlyPath = lazyregexp.New(`^:(/.*)?$`)
	onlyPort = lazyregexp.New(`^[0-9]{1,5}$`)
)

// addresses adds the addresses that a client's words name: localhost:80/x, :80/x,
// :/x, and a host before a port.
func addresses(s *shell.Shell, scheme string, words []argv.Field) {
	for i, w := range words {
		if strings.Contains(w.Text, "://") {
			continue // listed as every address is
		}
		if m := hostPort.FindStringSubmatch(w.Text); m != nil {
			rest := m[3]
			if !strings.HasPrefix(rest, "/") {
				rest = ""
			}
			s.Found.URL(scheme + "://" + orLocal(m[1]) + ":" + m[2] + rest)
		} else if scheme == "http" && onlyPath.MatchString(w.Text) {
			s.Found.URL(scheme + "://localhost" + w.Text[1:])
		} else if scheme == "tcp" && i > 0 && onlyPort.MatchString(w.Text) && !strings.HasPrefix(words[i-1].Text, "-") {
			s.Found.URL("tcp://" + strings.Trim(words[i-1].Text, "[]") + ":" + w.Text)
		}
	}
}

// orLocal is a host, or this machine where none is written.
func orLocal(host string) string {
	if host == "" {
		return "localhost"
	}
	return host
}

// mongo is the shell of MongoDB.
func mongo(s *shell.Shell, in shell.Invocation, c *holdgate.Command) {
	mentions(s, in)
	databases.Mongo(s, in, c)
}
