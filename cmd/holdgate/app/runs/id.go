package runs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

// ID names the agent of a run whose sidecar is its own.
func ID(c config.Config, program string) string {
	return freeID(c, program, func(string) bool { return false })
}

// freeID names an agent by its program, with a number behind it where the name is
// another's: of one that uses the same sidecar, which taken says; of one that the
// configuration knows by what it shows, for whom rules, grants and credentials
// are meant that are not for any program of that name; or of those who show nothing.
func freeID(c config.Config, program string, taken func(id string) bool) string {
	name := AgentID(program)
	id := name
	for n := 2; ; n++ {
		if _, configured := c.Agents[id]; !configured && id != holdgate.AgentDefault && !taken(id) {
			return id
		}
		id = fmt.Sprintf("%s-%d", name, n)
	}
}

// AgentID names an agent by its program. Policy and people see it, so that it
// is of plain characters only.
func AgentID(program string) string {
	const most = 60
	id := strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return '-'
		}
		return r
	}, filepath.Base(program))
	if id == "." || id == string(os.PathSeparator) {
		return ""
	}
	return id[:min(len(id), most)]
}
