package flow

import (
	"slices"
	"strings"
)

// calledSpecial are the functions that call what they are handed.
func (w *walker) calledSpecial(c call, arg func(int, string) value) (value, bool) {
	switch c.spec.special {
	case "timed":
		// A text would be a program of its own.
		for _, a := range c.args {
			if len(a.places) > 0 || a.is(kindAny) {
				w.unseen("%s of a text", c.spec.name)
			}
			w.escape(a, value{})
		}
		return kinds(kindPart), true
	case "named":
		// A function that it calls may stand there by its name.
		for i, a := range c.args {
			if w.namesAct(a) || namesUnknown(c, i) {
				w.unseen("%s of a name", c.spec.name)
			}
			if len(a.fns) > 0 {
				w.escape(value{fns: a.fns}, join(kinds("frame"), anything()))
				c.args[i].fns = nil
			}
			w.escape(c.args[i], kinds("frame"))
		}
		return kinds("frame"), true
	case "task", "queue":
		return join(w.flow(c), kinds(c.spec.special)), true
	case "thread": // it calls what it is handed, with what it is handed
		args := value{}
		for i, a := range c.args {
			if c.keys[i] == "args" || c.keys[i] == "kwargs" || c.keys[i] == "*" || c.keys[i] == "**" || c.keys[i] == "" && i > 1 {
				args.add(w.elements(a, false))
			}
		}
		for _, a := range c.args {
			w.keeps(a)
			w.escape(a, args)
		}
		return kinds("thread"), true
	case "raises":
		out := anything()
		for _, a := range c.args {
			w.keeps(a)
			w.escape(a, join(c.args...))
			out.add(value{fns: a.fns})
		}
		return join(kinds("testcase"), out), true
	case "testmain": // of the program's own tests
		for _, k := range c.keys {
			if !slices.Contains([]string{"argv", "verbosity", "exit", "failfast", "buffer"}, k) {
				w.unseen("%s with %s", c.spec.name, k)
			}
		}
		if given, is := c.arg(99, "argv"); is && (len(given.objs) != 1 || len(given.objs[0].tuple) != 1 || given.objs[0].changed || len(given.kinds)+len(given.places) > 0) {
			w.unseen("%s of tests that are not known", c.spec.name)
		}
		if w.vars["load_tests"] != nil { // it is asked for the tests
			w.unseen("%s with load_tests", c.spec.name)
		}
		return anything(), true
	case "same":
		return arg(0, ""), true
	case "loopback":
		return w.loopback(c, arg(0, ""), arg(1, "")), true
	case "poolrun":
		fns := arg(0, "fn")
		if len(fns.fns) == 0 || len(fns.specs) > 0 {
			return value{}, false
		}
		out := value{}
		for _, f := range fns.fns {
			w.pass(f, call{at: c.at, args: c.args[1:], keys: c.keys[1:]})
			f.called = true
			out.add(f.result)
		}
		return join(w.container(c.at, value{}, out), kinds("task")), true
	}
	return value{}, false
}

// loopback is what talks, or listens, to the machine itself: it is judged as a request to
// there is. Its address is a host and a port.
func (w *walker) loopback(c call, address, handler value) value {
	name := strings.TrimPrefix(c.spec.name, "http.server.")
	host := w.position(address, 0)
	listens := name != c.spec.name
	known := len(host.places) > 0 && len(address.kinds)+len(host.kinds)+len(host.objs) == 0
	for _, p := range host.places {
		if known = known && !p.Below && slices.Contains([]string{"127.0.0.1", "localhost", "::1"}, p.Path); known && !listens {
			w.command(c, []string{"curl", "-s", "http://" + p.Path + "/"})
		}
	}
	if !known {
		w.unseen("%s: an address that is not known", c.spec.name)
	}
	if !listens {
		w.keeps(handler)
		return kinds("socket")
	}
	for _, f := range handler.fns {
		f.called = true
	}
	if len(handler.fns) != 1 || len(handler.kinds)+len(handler.specs)+len(handler.objs) > 0 || len(c.args) > 2 {
		w.unseen("%s with a handler that is not known", c.spec.name)
	}
	return kinds("loopserver")
}

// lists reports whether a command prints names of files below the folder at hand, and
// nothing else.
func (w *walker) lists(args value) bool {
	if len(args.objs) != 1 || len(args.kinds)+len(args.places)+len(args.fns)+len(args.specs) > 0 {
		return false
	}
	words, ok := w.words(args.objs[0])
	if !ok || len(words) < 2 || slices.ContainsFunc(words[1:], func(word string) bool {
		return climbs(word) || strings.HasPrefix(word, "/") || strings.HasPrefix(word, "~")
	}) {
		return false
	}
	has := func(options ...string) bool {
		return slices.ContainsFunc(words[2:], func(word string) bool { return slices.Contains(options, word) })
	}
	if has("--no-index", "--untracked", "--others", "-o") {
		return false
	}
	switch words[0] + " " + words[1] {
	case "git ls-files":
		return !slices.ContainsFunc(words[2:], func(word string) bool {
			return strings.HasPrefix(word, "-") && !slices.Contains([]string{"--", "-z", "-m", "-c", "--exclude-standard", "--modified", "--cached"}, word)
		})
	case "git diff":
		return has("--name-only")
	case "git grep":
		return has("-l", "--files-with-matches", "--name-only")
	}
	return false
}
