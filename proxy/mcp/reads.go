package mcp

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/holdgate/holdgate"
)

// The words by which a tool's name, description and parameters are judged. Where
// one is as often a verb as the name of a thing (get_commit reads, git_commit does
// not), it is in leads, and counts only where a name or a description begins with it.
const (
	readingVerbs = `get list search read describe count find show fetch retrieve query lookup look view inspect explain summarize summarise compare
		diff check preview peek browse`
	// tellingVerbs begin descriptions of such tools, and names of others: return_order.
	tellingVerbs = `return provide display give tell`
	// stateNouns end the names of tools that say how something is: git_status.
	stateNouns = `status history info details metadata stats statistics summary schema version log logs`

	actingVerbs = `create delete remove update upsert insert add append write edit modify send submit execute exec eval evaluate invoke trigger stop
		restart kill terminate cancel reopen enable disable install uninstall publish upload download dump rename move truncate purge clear flush
		reset revoke rotate grant unassign assign approve reject decline pay buy purchase sell subscribe unsubscribe login logout authorize authorise
		register save replace rebase checkout enqueue restore revert rollback mark mute ban unlock invite kick click drag hover navigate generate
		convert rebuild reindex sync apply attach detach encrypt decrypt dismiss resolve unarchive wipe erase drop destroy overwrite migrate provision
		notify compose unpublish deactivate activate expire impersonate`
	leadingVerbs = `run post put patch set call start open close import export comment merge commit push fork build deploy test charge transfer refund
		star follow vote block lock pin book copy sign join leave share process print load scan make do take use fix clean change reply forward
		archive draft email alert schedule scale drain type press select fill place react render compile clone transform format log`
	secretWords  = `secret secrets password passwords passwd passphrase token tokens credential credentials cookie cookies otp key keys env environment vault`
	joiningWords = `and or then else if when`

	// Parameters that can make a tool do more than look: what it runs, where it
	// reaches, what it writes; by the last word of their names, or by all of it.
	freeEndings = `command cmd commandline script sql url uri urls uris endpoint webhook callback path paths file files filename filenames filepath dir directory
		expression expr statement body payload mutation cypher template`
	freeNames = `code data content contents args arguments argv shell bash javascript js python function input stdin headers html message diff patch
		action operation method verb op cwd destination output recipient recipients`
	runsQueries = `sql statement mutation graphql cypher execute executed executes run runs script`
)

// maxReadDepth bounds how deep schemas are looked at.
const maxReadDepth = 32

// A wordList answers whether it has a word, or has it without the ending of the
// third person.
type wordList map[string]bool

func newWordList(list string) wordList {
	l := wordList{}
	for _, w := range strings.Fields(list) {
		l[w] = true
	}
	return l
}

func (l wordList) has(w string) bool { return l[w] || l[stem(w)] }

func (l wordList) hasAny(list []string) bool { return slices.ContainsFunc(list, l.has) }

// vocabulary holds the words above.
var vocabulary = sync.OnceValue(func() (v struct {
	reading, telling, states, acting, leads, secrets, joins wordList
	endings, names, runs                                    wordList
}) {
	v.telling = newWordList(readingVerbs + " " + tellingVerbs)
	v.reading, v.states, v.acting, v.leads = newWordList(readingVerbs), newWordList(stateNouns), newWordList(actingVerbs), newWordList(leadingVerbs)
	v.secrets, v.joins = newWordList(secretWords), newWordList(joiningWords)
	v.endings, v.names, v.runs = newWordList(freeEndings), newWordList(freeNames), newWordList(runsQueries)
	return v
})

// Reads reports whether a tool only reads by all that its server says of it: its
// name has a verb that reads and none that acts, its description says nothing
// else, no parameter could make it do something else, and its hints agree. Where
// any of these is missing or in doubt, it does not. It is the server's word all
// the same.
func Reads(d holdgate.Definition) bool {
	hints := Hints(d.Annotations)
	if says, given := hints["readOnlyHint"]; given && !says || hints["destructiveHint"] {
		return false
	}
	var schema map[string]any
	if json.Unmarshal(d.Schema, &schema) != nil || schema == nil {
		return false
	}
	verb, first, ok := readsByName(words(d.Name))
	return ok && readsByText(d.Description, first) && onlyReads(schema, verb == "query", 0)
}

// Declares reports whether the definition has each of the arguments as a
// parameter of its own.
func Declares(d holdgate.Definition, arguments []byte) bool {
	var given map[string]json.RawMessage
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(arguments, &given) != nil || json.Unmarshal(d.Schema, &schema) != nil {
		return false
	}
	for name := range given {
		if _, ok := schema.Properties[name]; !ok {
			return false
		}
	}
	return true
}

// readsByName finds the word by which a name is one of a tool that reads, and
// says whether the name begins with it. Before it stands what the things behind it
// belong to: slack_get_channel_history.
func readsByName(name []string) (verb string, first, ok bool) {
	v := vocabulary()
	at := slices.IndexFunc(name, func(w string) bool { return v.reading[w] })
	if at < 0 && len(name) > 1 && v.states[name[len(name)-1]] {
		at = len(name) - 1
	}
	if at < 0 || at > 0 && v.leads[name[0]] {
		return "", false, false
	}
	for i, w := range name {
		if v.acting[w] || v.secrets[w] || v.joins[w] || i == at+1 && (w == "in" || w == "out" || w == "off") { // check_in
			return "", false, false
		}
	}
	return name[at], at == 0, true
}

// readsByText reports whether a description says nothing of a tool but that it
// reads. Where its name does not begin with a verb, the description must.
func readsByText(text string, verbFirst bool) bool {
	v := vocabulary()
	first, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if sentence, more, ok := strings.Cut(first, ". "); ok {
		first, rest = sentence, more+"\n"+rest
	}
	opening := prose(first)
	switch {
	case len(opening) == 0, v.acting.hasAny(opening), v.leads.has(opening[0]), !verbFirst && !v.telling.has(opening[0]), foreign(text):
		return false
	}
	more := prose(rest)
	for i, w := range more {
		if i > 0 && slices.Contains([]string{"and", "then", "also", "will", "or", "which", "that", "it"}, more[i-1]) && v.acting.has(w) {
			return false
		}
	}
	return true
}

// onlyReads reports whether a schema has no parameter that is free to make a tool
// act, and takes none that it does not name.
func onlyReads(schema any, queries bool, depth int) bool {
	if depth > maxReadDepth {
		return false
	}
	switch s := schema.(type) {
	case []any:
		return !slices.ContainsFunc(s, func(e any) bool { return !onlyReads(e, queries, depth+1) })
	case map[string]any:
		if acceptsMore(s) {
			return false
		}
		parameters, _ := s["properties"].(map[string]any)
		for name, p := range parameters {
			if acts(name, p, queries) || !onlyReads(p, queries, depth+1) {
				return false
			}
		}
		for _, key := range []string{"$defs", "definitions"} {
			parts, _ := s[key].(map[string]any)
			if !onlyReads(slices.Collect(maps.Values(parts)), queries, depth+1) {
				return false
			}
		}
		for _, key := range []string{"items", "prefixItems", "anyOf", "oneOf", "allOf", "if", "then", "else", "not", "contains"} {
			if !onlyReads(s[key], queries, depth+1) {
				return false
			}
		}
	}
	return true
}

// acceptsMore reports whether a schema takes members that it does not name.
func acceptsMore(s map[string]any) bool {
	for _, key := range []string{"patternProperties", "propertyNames", "unevaluatedProperties", "dependentSchemas", "additionalProperties", "$dynamicRef"} {
		if more, ok := s[key]; ok && more != false {
			return true
		}
	}
	_, named := s["properties"].(map[string]any)
	return hasType(s, "object") && !named
}

func hasType(s map[string]any, name string) bool {
	list, _ := s["type"].([]any)
	return s["type"] == name || slices.Contains(list, any(name))
}

// acts reports whether a parameter can make a tool do more than look.
func acts(name string, schema any, queries bool) bool {
	v, w := vocabulary(), words(name)
	s, _ := schema.(map[string]any)
	switch {
	case len(w) == 0, v.acting[w[0]], s == nil:
		return true
	case chosen(s) != nil:
		return slices.ContainsFunc(chosen(s), func(c any) bool {
			choice, _ := c.(string)
			return v.acting.hasAny(words(choice))
		})
	case isClosed(s):
		return false
	case s["type"] == nil && s["$ref"] == nil && s["anyOf"] == nil && s["oneOf"] == nil && s["allOf"] == nil:
		return true
	}
	whole, last := strings.Join(w, ""), w[len(w)-1]
	if whole == "query" {
		described, _ := s["description"].(string)
		return queries || v.runs.hasAny(prose(described))
	}
	return v.endings[last] || v.endings[whole] || v.names[whole]
}

// chosen are the values among which a parameter lets choose; nil where it is free.
func chosen(s map[string]any) []any {
	if one, ok := s["const"]; ok {
		return []any{one}
	}
	list, _ := s["enum"].([]any)
	return list
}

// isClosed reports whether a parameter has no room for text.
func isClosed(schema any) bool {
	s, _ := schema.(map[string]any)
	for _, key := range []string{"anyOf", "oneOf"} {
		if list, ok := s[key].([]any); ok {
			return !slices.ContainsFunc(list, func(e any) bool { return !isClosed(e) })
		}
	}
	types, ok := s["type"].([]any)
	if !ok {
		types = []any{s["type"]}
	}
	return !slices.ContainsFunc(types, func(t any) bool { return t != "boolean" && t != "integer" && t != "number" && t != "null" })
}
