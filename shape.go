package holdgate

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Shape says what sort of call a call is, with what differs from one time to
// the next left out: two calls of one shape do the same kind of thing to the
// same kind of place. Grants match it, and past decisions are counted by it.
// It is made of parsed facts alone, never of the text of a command.
type Shape struct {
	Kind     Kind   `json:"kind"`
	Tool     string `json:"tool,omitempty"`
	Server   string `json:"server,omitempty"`
	Category string `json:"category,omitempty"`
	// About is what a call that is no tool call is about: the model with its
	// tools, the MCP method and name, the HTTP method and host, the type of gate.
	About string `json:"about,omitempty"`
	// Keys are the names of the arguments that act, sorted: all of them, but
	// for what only describes a command to the user.
	Keys     []string `json:"keys,omitempty"`
	Commands []string `json:"commands,omitempty"` // "git commit", "sudo rm", in their order
	Places   []Place  `json:"places,omitempty"`   // sorted
	Hosts    []string `json:"hosts,omitempty"`    // sorted
	SQL      []string `json:"sql,omitempty"`      // "select users", sorted
	Secrets  []string `json:"secrets,omitempty"`  // kinds of credentials that are in it, sorted

	Recursive bool `json:"recursive,omitempty"`
	Force     bool `json:"force,omitempty"`

	// Unclear says in words why the shape is not exact; empty where it is.
	Unclear []string `json:"unclear,omitempty"`
}

// A Place is a folder that a call touches. Inside the session's folder it is
// the topmost one below that; elsewhere it is the one that the path lies in. Of
// a path whose class matters ([Path.Class]) it is the path itself.
type Place struct {
	Access string `json:"access"` // "read", "write" or "delete"
	Where  string `json:"where"`  // "./src", "/etc/nginx"
	Inside bool   `json:"inside,omitempty"`
	Class  string `json:"class,omitempty"` // as in [Path]
}

// Exact reports whether the shape says all that the call would do: nothing in
// it is known at run time only, runs what nobody was shown, could not be read,
// or is made to deceive.
func (s Shape) Exact() bool { return len(s.Unclear) == 0 }

// Acts reports whether what the call does can hang on any of its arguments, so
// that calls of one shape can do quite different things. It is false only where
// the tool is known to read or write files, the call names some, and it neither
// deletes, runs a program or SQL, nor reaches the network.
func (s Shape) Acts() bool {
	files := (s.Category == "read" || s.Category == "write") && s.Kind == KindToolCall && len(s.Places) > 0
	return !files || len(s.Commands) > 0 || len(s.SQL) > 0 || len(s.Hosts) > 0 ||
		slices.ContainsFunc(s.Places, func(p Place) bool { return p.Access == "delete" })
}

// Key is the shape as one string: two shapes are the same if their keys are.
// It may hold what is secret, as names of hosts and folders are.
func (s Shape) Key() string {
	var b []byte
	count := func(n int) { b = append(strconv.AppendInt(b, int64(n), 10), '.') }
	list := func(parts ...string) {
		count(len(parts))
		for _, p := range parts {
			b = appendField(b, p)
		}
	}
	list(string(s.Kind), s.Tool, s.Server, s.Category, s.About, strconv.FormatBool(s.Recursive), strconv.FormatBool(s.Force))
	list(s.Keys...)
	list(s.Commands...)
	count(len(s.Places))
	for _, p := range s.Places {
		list(p.Access, p.Where, strconv.FormatBool(p.Inside), p.Class)
	}
	list(s.Hosts...)
	list(s.SQL...)
	list(s.Secrets...)
	list(s.Unclear...)
	return string(b)
}

// Within reports whether a call of shape s calls the same tool as one of shape
// o and reaches no further: no argument of another name, no other host, no
// other statement, no other place outside the session's folder, and inside it no
// other kind of access and nothing of a class that matters. What the arguments
// say apart from that may differ, which is little only where o does not act
// ([Shape.Acts]).
func (s Shape) Within(o Shape) bool {
	if s.Kind != o.Kind || s.Tool != o.Tool || s.Server != o.Server || s.Category != o.Category || s.About != o.About {
		return false
	}
	if s.Recursive && !o.Recursive || s.Force && !o.Force || !slices.Equal(s.Commands, o.Commands) {
		return false
	}
	return among(s.Keys, o.Keys) && s.Reaches(o)
}

// Reaches reports whether a call of shape s reaches no further than one of shape
// o, whichever tools they are and whatever their arguments are called.
func (s Shape) Reaches(o Shape) bool {
	return s.Exact() && o.Exact() && among(s.Hosts, o.Hosts) && among(s.SQL, o.SQL) && among(s.Secrets, o.Secrets) &&
		!slices.ContainsFunc(s.Places, func(p Place) bool { return !slices.ContainsFunc(o.Places, p.within) })
}

func (p Place) within(o Place) bool {
	return p == o || p.Access == o.Access && p.Inside && o.Inside && p.Class == ""
}

func among(list, all []string) bool {
	return !slices.ContainsFunc(list, func(s string) bool { return !slices.Contains(all, s) })
}

// String is the shape as one line for people: "Bash: git commit, in ./src".
func (s Shape) String() string {
	name := cmp.Or(s.Tool, s.About, string(s.Kind))
	if s.Server != "" {
		name = s.Server + "/" + name
	}
	switch {
	case len(s.Commands) > 0:
		name += ": " + strings.Join(some(s.Commands), "; ")
	case len(s.SQL) > 0:
		name += ": " + strings.Join(some(s.SQL), "; ")
	case len(s.Keys) > 0:
		name += " (" + strings.Join(some(s.Keys), ", ") + ")"
	}
	var places []string
	for _, p := range s.Places {
		places = appendNew(places, p.Where)
	}
	parts := []string{name}
	if len(places) > 0 {
		parts = append(parts, "in "+strings.Join(some(places), ", "))
	}
	if len(s.Hosts) > 0 {
		parts = append(parts, "to "+strings.Join(some(s.Hosts), ", "))
	}
	if !s.Exact() {
		parts = append(parts, "and what cannot be told")
	}
	return Visible(strings.Join(parts, ", "))
}

// some is the beginning of a list, and how much more there is.
func some(list []string) []string {
	const shown = 4
	if len(list) <= shown {
		return list
	}
	return append(slices.Clone(list[:shown]), fmt.Sprintf("%d more", len(list)-shown))
}
