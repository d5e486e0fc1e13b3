package effects

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
)

// tool is a call that its name and its arguments have to tell. A name says what a
// tool does in its server's words, and no more: it makes nothing harmless.
func (w *work) tool(t *holdgate.Tool) weighed {
	e := holdgate.Effect{Kind: holdgate.EffectChange, What: "tool", Where: joinedName(t), Undoable: holdgate.UndoableUnknown, Because: "tool"}
	server, name := served(t)
	verb, says := toolPhrase(server, name, t.Arguments)
	weight := weighsSome
	switch category := w.facts.Category; {
	case category == "network" && (verb == "" || readVerbs[verb] || verb == "open" || verb == "navigate"):
		e.Kind, e.Undoable, e.Because = holdgate.EffectFetch, holdgate.UndoableYes, "fetched"
		if at := w.hosts(); len(at) > 0 {
			e.Where = strings.Join(at, ", ")
			return weighed{with(e, "Fetches "+listing(at)+" ("+name+")"), weighsLittle}
		}
	case category == "spawn":
		e.Kind, e.What, e.Because = holdgate.EffectRun, "agent", "code"
		return weighed{with(e, "Starts another agent ("+name+")"), weight}
	case category == "message", sending[verb]:
		e.Kind, e.Undoable, e.Because = holdgate.EffectSend, holdgate.UndoableNo, "sent"
		weight = weighsSome + 8
	case destroys(verb):
		e.Kind, e.Undoable, e.Because = holdgate.EffectDelete, holdgate.UndoableNo, "remote"
		weight = weighsGrave + 2
	case category == "read" && (verb == "" || readVerbs[verb] || reading[verb]):
		e.Kind, e.Undoable, e.Because = holdgate.EffectRead, holdgate.UndoableYes, ""
		weight = weighsLeast
	case category == "exec":
		e.Kind, e.What, e.Because = holdgate.EffectRun, "code", "code"
	}
	if w.facts.Impact.Currency != "" {
		weight, e.Undoable, e.Because = weighsOutside+4, holdgate.UndoableNo, "money"
	}
	return weighed{with(e, says+about(t.Arguments)), weight}
}

// modal are words before a verb by which gateways name what somebody may do.
var modal = wordSet("can may could should allow allowed is")

// sending are verbs after which others have it.
var sending = wordSet("buy email message notify pay post publish purchase refund reply send share transfer withdraw invite tweet submit")

// reading are verbs that change nothing where the tool is known to read; in
// other tools they could.
var reading = wordSet("open select scroll hover navigate wait take load monitor track resolve use validate compile count add write update")

func with(e holdgate.Effect, says string) holdgate.Effect {
	e.Says = says
	return e
}

// served is the server and the name of a tool, also of one that stands in a
// model's answer.
func served(t *holdgate.Tool) (server, name string) {
	if parts := strings.SplitN(t.Name, "__", 3); t.Server == "" && len(parts) == 3 && parts[0] == "mcp" {
		return parts[1], parts[2]
	}
	return t.Server, t.Name
}

func joinedName(t *holdgate.Tool) string {
	if t.Server == "" {
		return t.Name
	}
	return t.Server + "/" + t.Name
}

// toolPhrase says what the name of a tool does: "delete_repository" of github is
// "Deletes repository through github". Where no word of the name is a verb, what
// the arguments call the action is; and else the tool is called by its name.
func toolPhrase(server, name string, args json.RawMessage) (verb, says string) {
	through := ""
	if server != "" {
		through = " through " + quoted(server)
	}
	own := words(name)
	for _, w := range words(server) {
		if len(own) > 1 && own[0] == w {
			own = own[1:]
		}
	}
	for len(own) > 1 && modal[own[0]] { // can_read
		own = own[1:]
	}
	if at := verbIn(own); at >= 0 {
		rest := slices.Concat(own[:at], own[at+1:])
		if len(rest) > 1 && rest[0] == "or" && isVerb(rest[1]) { // create_or_update_file
			rest[1] = strings.ToLower(does(toolVerb(rest[1])))
		}
		if at > 0 && slices.Contains([]string{"browser", "computer", "api"}, rest[0]) {
			rest = rest[1:]
		}
		return own[at], spaced(append([]string{does(toolVerb(own[at]))}, rest...)...) + through
	}
	if action := words(text(args, "action", "operation", "method", "command")); len(action) > 0 && len(action) < 4 && verbIn(action) >= 0 {
		at := verbIn(action)
		rest := slices.Concat(action[at+1:], action[:at])
		return action[at], spaced(append([]string{does(toolVerb(action[at]))}, rest...)...) + " with " + quoted(name) + through
	}
	return "", "Calls " + quoted(name) + map[bool]string{true: " of " + quoted(server)}[server != ""]
}

// toolVerb is a verb of a tool's name as a sentence has it; programs mean
// something of their own by some.
func toolVerb(verb string) string {
	switch verb {
	case "exec":
		return "execute"
	case "up", "down", "i", "un":
		return verb
	}
	return long(verb)
}

// text is the first of the arguments that is there and a text.
func text(raw json.RawMessage, names ...string) string {
	var args map[string]json.RawMessage
	if json.Unmarshal(raw, &args) != nil {
		return ""
	}
	for _, n := range names {
		var s string
		if json.Unmarshal(args[n], &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

func (w *work) hosts() (at []string) {
	for _, u := range w.facts.URLs {
		if s := trimmed(u); s != "" && !slices.Contains(at, s) {
			at = append(at, s)
		}
	}
	return at
}

// maxAbout is how many characters of a tool's arguments its sentence has.
const maxAbout = 140

// about is what a call is about, in parentheses: its arguments. What tells
// who and what comes before what tells how, long texts come last.
func about(raw json.RawMessage) string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var args map[string]any
	if dec.Decode(&args) != nil {
		return ""
	}
	var list []argument
	for _, k := range slices.Sorted(maps.Keys(args)) {
		if k == "action" && len(args) > 1 {
			continue
		}
		if v := value(args[k]); v != "" {
			list = append(list, argument{quotedName(k), v, rank(k, args[k])})
		}
	}
	if repo, owner := find(list, "repo"), find(list, "owner"); repo >= 0 && owner >= 0 {
		list[repo].value = list[owner].value + "/" + list[repo].value
		list = slices.Delete(list, owner, owner+1)
	}
	if len(list) == 0 {
		return ""
	}
	slices.SortStableFunc(list, func(a, b argument) int { return cmp.Compare(a.rank, b.rank) })
	told := make([]string, len(list))
	for i, a := range list {
		told[i] = a.name + ": " + a.value
	}
	return " (" + short(strings.Join(told, ", "), maxAbout) + ")"
}

// An argument is one of a tool's, ready to be told.
type argument struct {
	name, value string
	rank        int
}

func find(list []argument, name string) int {
	return slices.IndexFunc(list, func(a argument) bool { return a.name == name })
}

// who and what are words in the names of arguments that say whom a call reaches,
// and what it acts on.
var (
	who  = wordSet("to recipient recipients cc bcc channel email user users username assignee attendees chat phone owner member account customer target role audience invitees")
	what = wordSet("id ids name names repo repository project key path file url number issue title subject branch database table bucket service instance region environment namespace amount currency quantity status state version selector element")
)

// rank orders arguments: whom it reaches, what it acts on, the rest, long texts.
func rank(name string, v any) int {
	own := words(name)
	has := func(set map[string]bool) bool {
		return slices.ContainsFunc(own, func(w string) bool { return set[w] })
	}
	s, isText := v.(string)
	switch {
	case isText && (len(s) > 60 || strings.Contains(s, "\n")):
		return 4
	case has(who):
		return 0
	case has(what):
		return 1
	case isText && slices.ContainsFunc(own, func(w string) bool {
		return slices.Contains([]string{"body", "text", "message", "content", "description", "html"}, w)
	}):
		return 3
	}
	return 2
}

// value is an argument in a few words; empty where it has none.
func value(v any) string {
	const most = 40
	switch v := v.(type) {
	case string:
		return quoted(short(v, most))
	case json.Number, bool:
		return fmt.Sprint(v)
	case []any:
		var words []string
		for _, each := range v {
			if m, ok := each.(map[string]any); ok {
				each = label(m)
			}
			if s := value(each); s != "" {
				words = append(words, s)
			}
		}
		if len(words) < len(v) {
			return counted(len(v), "item")
		}
		return some(words)
	case map[string]any:
		var words []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if s := value(v[k]); s != "" && len(words) < 4 {
				words = append(words, quotedName(k)+" "+s)
			}
		}
		return short(strings.Join(words, ", "), most*2)
	}
	return ""
}

// label is what an object of a list is called.
func label(m map[string]any) any {
	for _, k := range []string{"path", "file_path", "name", "title", "email", "id", "key", "content", "text"} {
		if v, ok := m[k].(string); ok {
			return v
		}
	}
	return nil
}
