package databases

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/shell"
)

// sqlServer names the server to which an SQL shell connects, as its words and its
// environment have it; all of them where several could be meant, and none where its
// statements connect to another.
func sqlServer(s *shell.Shell, in shell.Invocation, o argv.Options) string {
	hosts, port := o.Values("h", "host"), o.Values("p", "port")
	if reconnects.MatchString(s.Stdin.Text) || slices.ContainsFunc(in.Words, func(f argv.Field) bool { return reconnects.MatchString(f.Text) }) {
		return ""
	}
	switch in.Name() {
	case "sqlite3", "sqlite", "duckdb":
		return ""
	case "mysql", "mariadb":
		port = o.Values("P", "port")
	case "sqlcmd":
		hosts, port = o.Values("S", ""), nil
	}
	var servers []string
	add := func(server string) {
		if server != "" && !slices.Contains(servers, server) {
			servers = append(servers, server)
		}
	}
	for _, h := range hosts {
		add(h.Text)
	}
	for _, f := range slices.Concat(o.Values("d", "dbname"), o.Values("", "url"), o.Operands) {
		for _, m := range inAddress.FindAllStringSubmatch(f.Text, -1) {
			add(m[1])
		}
	}
	for _, v := range s.Overlaid(s.Env, in.Assigns...) {
		switch variable, value, _ := strings.Cut(v.Text, "="); {
		case variable == "PGHOSTADDR", (variable == "PGHOST" || variable == "MYSQL_HOST") && len(servers) == 0:
			add(value)
		}
	}
	if len(servers) == 1 && len(port) == 1 && !strings.Contains(servers[0], ":") {
		return servers[0] + ":" + port[0].Text
	}
	return strings.Join(servers, " or ")
}

// reconnects finds commands of SQL shells after which statements go elsewhere.
var reconnects = lazyregexp.New(`(?i)(\\(c|r|connect)|\bconnect)\s+\S`)

// inAddress finds the server in "postgres://user@db1:5433/shop" and in "host=db1 dbname=shop".
var inAddress = lazyregexp.New(`(?:^\w+://(?:[^/?#]*@)?|(?:^|[\s?&])host(?:addr)?\s*=\s*'?)([^/?#&\s']+)`)
