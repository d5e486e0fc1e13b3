package effects

import (
	"path"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
)

// call adds what is in no command, path or statement: a request to a service, and
// tools of which only the name says what they do.
func (w *work) call(c holdgate.Call) {
	switch {
	case c.HTTP != nil:
		w.found = append(w.found, request(c.HTTP))
	case c.Tool == nil || len(w.commands) > 0:
	case len(w.found) == 0 || len(w.facts.SQL) == 0 && w.elsewhere(c.Tool):
		w.found = append(w.found, w.tool(c.Tool))
	}
}

// elsewhere reports whether the paths of a tool's call lie in a service and not on
// this machine: it names the place there. What is said of them as files is then
// taken back.
func (w *work) elsewhere(t *holdgate.Tool) bool {
	if server, _ := served(t); server == "" {
		return false
	}
	repo := text(t.Arguments, "repo", "repository", "repository_id", "project_id", "project", "bucket")
	if repo == "" || strings.HasPrefix(repo, "/") || strings.HasPrefix(repo, ".") || text(t.Arguments, "owner", "branch", "ref", "org", "project_id", "bucket") == "" {
		return false
	}
	if slices.ContainsFunc(w.facts.Paths, func(p holdgate.Path) bool { return path.IsAbs(p.Path) }) {
		return false
	}
	if !slices.ContainsFunc(w.facts.Paths, func(p holdgate.Path) bool { return p.Class != "" }) {
		w.found = nil
	}
	return true
}

func request(h *holdgate.HTTP) weighed {
	where := h.Host + h.Path
	e := holdgate.Effect{What: "host", Where: where, Undoable: holdgate.UndoableNo, Because: "sent"}
	by := ""
	if h.Operation != "" {
		by = " (" + h.Operation + ")"
	}
	if acted, weight, ok := operation(h, e); ok {
		return weighed{with(acted, acted.Says+by), weight}
	}
	weight := weighsSome + 7
	switch {
	case h.Upgrade != "":
		e.Kind, e.Says = holdgate.EffectSend, "Opens a connection to "+quoted(where)+" over which anything can go"
	case h.Method == "GET" || h.Method == "HEAD" || h.Method == "OPTIONS":
		e.Kind, e.Undoable, e.Because, e.Says = holdgate.EffectFetch, holdgate.UndoableYes, "fetched", "Fetches "+quoted(where)+by
		weight = weighsLittle
	case h.Method == "DELETE":
		e.Kind, e.Because, e.Says = holdgate.EffectDelete, "remote", "Deletes "+quoted(where)+by
		weight = weighsOutside + 5
	case h.Method == "PUT" || h.Method == "PATCH":
		e.Kind, e.Undoable, e.Because, e.Says = holdgate.EffectChange, holdgate.UndoableUnknown, "remote", "Changes "+quoted(where)+by
		weight = weighsOutside
	default:
		e.Kind, e.Says = holdgate.EffectSend, "Sends data to "+quoted(where)+by
	}
	return weighed{e, weight}
}

// operation is a request of which the tables know what it does: that says more than
// its method, which asks for many things.
func operation(h *holdgate.HTTP, e holdgate.Effect) (holdgate.Effect, int, bool) {
	named := strings.Split(h.Operation, ".")
	if h.Upgrade != "" || h.Method == "GET" || h.Method == "HEAD" || len(named) < 2 {
		return e, 0, false
	}
	own := words(named[len(named)-1])
	verb := verbIn(own)
	if verb < 0 || readVerbs[own[verb]] {
		return e, 0, false
	}
	nouns := slices.Concat(words(strings.Join(named[1:len(named)-1], " ")), own[:verb], own[verb+1:])
	e.Kind, e.Undoable, e.Because = holdgate.EffectChange, holdgate.UndoableUnknown, "remote"
	e.Says = spaced(append([]string{does(toolVerb(own[verb]))}, nouns...)...) + " at " + quoted(h.Host+h.Path)
	weight := weighsOutside
	switch {
	case destroys(own[verb]):
		e.Kind, e.Undoable, weight = holdgate.EffectDelete, holdgate.UndoableNo, weighsOutside+5
	case sending[own[verb]]:
		e.Kind, e.Undoable, e.Because, weight = holdgate.EffectSend, holdgate.UndoableNo, "sent", weighsSome+7
	}
	return e, weight, true
}
