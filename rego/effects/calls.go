package effects

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
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
	case c.Tool != nil && len(w.found) == 0 && len(w.commands) == 0:
		w.found = append(w.found, w.tool(c.Tool))
	}
}

func request(h *holdgate.HTTP) weighed {
	where := h.Host + h.Path
	e := holdgate.Effect{What: "host", Where: where, Undoable: holdgate.UndoableNo, Because: "sent"}
	by := ""
	if h.Operation != "" {
		by = " (" + h.Operation + ")"
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

// tool is a call that its name and its arguments have to tell.
func (w *work) tool(t *holdgate.Tool) weighed {
	name := t.Name
	e := holdgate.Effect{Kind: holdgate.EffectChange, What: "tool", Where: joinedName(t), Undoable: holdgate.UndoableUnknown, Because: "tool"}
	server := t.Server
	if parts := strings.SplitN(name, "__", 3); server == "" && len(parts) == 3 && parts[0] == "mcp" {
		server, name = parts[1], parts[2]
	}
	says := "Calls " + quoted(name)
	if server != "" {
		says += " of " + quoted(server)
	}
	weight := weighsSome
	switch w.facts.Category {
	case "read":
		e.Kind, e.Undoable, e.Because = holdgate.EffectRead, holdgate.UndoableYes, ""
		weight = weighsLeast
	case "network":
		e.Kind, e.Undoable, e.Because = holdgate.EffectFetch, holdgate.UndoableYes, "fetched"
		if at := w.hosts(); len(at) > 0 {
			says = "Fetches " + listing(at) + " (" + name + ")"
			e.Where = strings.Join(at, ", ")
			return weighed{with(e, says), weighsLittle}
		}
	case "message":
		e.Kind, e.Undoable, e.Because = holdgate.EffectSend, holdgate.UndoableNo, "sent"
		weight = weighsSome + 8
	case "spawn":
		e.Kind, e.What, e.Because = holdgate.EffectRun, "agent", "code"
		says = "Starts another agent (" + name + ")"
	case "exec":
		e.Kind, e.What, e.Because = holdgate.EffectRun, "code", "code"
	}
	if w.facts.Impact.Currency != "" {
		weight, e.Undoable, e.Because = weighsOutside+4, holdgate.UndoableNo, "money"
	}
	if about := scalars(t.Arguments); len(about) > 0 && w.facts.Category != "spawn" {
		says += " (" + short(strings.Join(about, ", "), 120) + ")"
	}
	return weighed{with(e, says), weight}
}

func with(e holdgate.Effect, says string) holdgate.Effect {
	e.Says = says
	return e
}

func joinedName(t *holdgate.Tool) string {
	if t.Server == "" {
		return t.Name
	}
	return t.Server + "/" + t.Name
}

func (w *work) hosts() (at []string) {
	for _, u := range w.facts.URLs {
		if s := trimmed(u); s != "" && !slices.Contains(at, s) {
			at = append(at, s)
		}
	}
	return at
}

// scalars are the arguments that are short words and numbers, by name, the
// shortest first: they name what a call is about.
func scalars(raw json.RawMessage) (list []string) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var args map[string]any
	if dec.Decode(&args) != nil {
		return nil
	}
	var texts []string
	for _, k := range slices.Sorted(maps.Keys(args)) {
		switch v := args[k].(type) {
		case string:
			s := quoted(k) + ": " + quoted(short(v, 40))
			if len(v) > 40 || strings.ContainsAny(v, "\n") {
				texts = append(texts, s)
			} else {
				list = append(list, s)
			}
		case json.Number, bool:
			list = append(list, fmt.Sprintf("%s: %v", quoted(k), v))
		}
	}
	return append(list, texts...)
}
