package flow

import (
	"errors"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
)

// plainVariables are those of the environment that hold no secret.
var plainVariables = strings.Fields("HOME PATH USER LOGNAME PWD SHELL LANG LC_ALL TERM TZ CI NODE_ENV VIRTUAL_ENV EDITOR TMPDIR PORT DEBUG PYTHONPATH COLUMNS LINES HOSTNAME GOPATH GOOS GOARCH")

// variableOf is what a variable of the environment holds.
func (w *walker) variableOf(name value) value {
	t := name.text()
	if len(t.kinds) > 0 || t.none() {
		w.unseen("variables of the environment")
	}
	for _, p := range t.places {
		if p.Below || !slices.Contains(plainVariables, p.Path) {
			w.unseen("the environment's %s", p.Path)
		}
	}
	return anything()
}

// shown notes that the environment as a whole is made text of, or handed on.
func (w *walker) shown(v value) {
	if v.is("environ") {
		w.unseen("all variables of the environment")
	}
}

// actSpecial are the functions that start programs and reach further.
func (w *walker) actSpecial(c call, arg func(int, string) value) (value, bool) {
	switch c.spec.special {
	case "shell":
		w.shell(arg(0, "cmd"), c.spec.name)
		for i, k := range c.keys {
			if i > 0 && !slices.Contains(plainOptions, k) {
				w.unseen("%s with %s", c.spec.name, k)
			}
		}
		return anything(), true
	case "argv":
		w.argv(c, arg(0, "args"))
		if w.lists(arg(0, "args")) {
			return kinds("listing"), true
		}
		return anything(), true
	case "request":
		w.request(c, arg(0, "url"))
		if w.table.script {
			return anything(), true
		}
		return kinds("response"), true
	case "rmtree":
		w.touch("delete", arg(0, "path"), c.spec.name)
		w.effects.Trees = true
		return value{}, true
	case "move":
		w.move(arg(0, "src"), arg(1, "dst"), c.spec.name)
		return arg(1, "dst").text(), true
	}
	if v, ok := w.calledSpecial(c, arg); ok {
		return v, true
	}
	if v, ok := w.environSpecial(c, arg); ok {
		return v, true
	}
	if v, ok := w.lookSpecial(c, arg); ok {
		return v, true
	}
	if v, ok := w.looseSpecial(c, arg); ok {
		return v, true
	}
	return w.storeSpecial(c, arg)
}

// lookSpecial are functions that say what a value has, and what a program was asked for.
func (w *walker) lookSpecial(c call, arg func(int, string) value) (value, bool) {
	switch c.spec.special {
	case "vars":
		of := arg(0, "")
		if len(c.args) != 1 || of.none() {
			w.unseen("all names of the program")
		}
		w.escape(of, anything())
		return w.container(c.at, anything(), w.elements(of, false)), true
	case "argparser":
		for _, k := range c.keys {
			if !slices.Contains(parserOptions, k) {
				w.unseen("%s with %s", c.spec.name, k)
			}
		}
		for _, a := range c.args {
			w.escape(a, anything())
		}
		return kinds("parser"), true
	}
	return value{}, false
}

// parserOptions are arguments of argparse that neither read files nor name code.
var parserOptions = strings.Fields("prog usage description epilog parents formatter_class prefix_chars argument_default conflict_handler add_help allow_abbrev exit_on_error title dest help required metavar aliases")

// environSpecial are the functions that read and change what programs find around them.
func (w *walker) environSpecial(c call, arg func(int, string) value) (value, bool) {
	switch c.spec.special {
	case "getenv":
		return w.variableOf(arg(0, "key")), true
	case "setenv":
		name, to := arg(0, "key").text(), arg(1, "value").text()
		if len(name.places) != 1 || len(name.kinds)+len(to.kinds) > 0 || len(to.places) != 1 || !modeVariable.MatchString(name.places[0].Path) || strings.Contains(strings.ToLower(to.places[0].Path), "prod") {
			w.unseen("a variable of the environment that is set")
		}
		return anything(), true
	case "syspath":
		from := arg(len(c.args)-1, "").text()
		for _, p := range from.places {
			switch {
			case p.Below || strings.HasPrefix(p.Path, "~") || climbs(p.Path):
				w.unseen("modules from %s", p.Path)
			case strings.Trim(p.Path, "./") != "" && w.last:
				w.effects.Folders, _ = union(w.effects.Folders, []string{p.Path}, false)
			}
		}
		if len(from.kinds) > 0 {
			w.unseen("modules from elsewhere")
		}
		return value{}, true
	}
	return value{}, false
}

// modeVariable is a variable that says in which of its ways a program runs.
var modeVariable = lazyregexp.New(`^(DJANGO_SETTINGS_MODULE|TZ|LANG|LC_ALL|MPLBACKEND|PYTHONHASHSEED|LOG_LEVEL|[A-Z]+_ENV|ENV|CI|NO_COLOR|COLUMNS)$`)

// move notes that a file gets another name: its folder loses it only where the
// new one may lie elsewhere.
func (w *walker) move(from, to value, by string) {
	what := "write"
	for _, p := range to.text().places {
		if strings.HasPrefix(p.Path, "/") || strings.HasPrefix(p.Path, "~") || climbs(p.Path) {
			what = "delete"
		}
	}
	w.touch(what, from, by)
	w.touch("write", to, by)
}

// shell notes a line that is handed to a shell.
func (w *walker) shell(line value, by string) {
	t := line.text()
	if len(t.kinds) > 0 || t.none() || len(line.objs) > 0 {
		w.unseen("%s: a command that is not known", by)
	}
	for _, p := range t.places {
		if p.Below {
			w.unseen("%s: a command that is not known", by)
		} else if w.last {
			w.effects.Shell, _ = union(w.effects.Shell, []string{p.Path}, false)
		}
	}
}

// requestOptions are arguments of a request that lead nowhere else.
var requestOptions = strings.Fields("url timeout params headers json data")

// request notes a request as curl would make it: it is judged as that command is.
func (w *walker) request(c call, url value) {
	for i, k := range c.keys {
		if k != "" && !slices.Contains(requestOptions, k) || k == "" && i > 1 {
			w.unseen("%s with %s", c.spec.name, k)
		}
	}
	t := url.text()
	if len(t.kinds) > 0 || t.none() || len(url.objs) > 0 {
		w.unseen("%s: an address that is not known", c.spec.name)
	}
	verb := w.methodOf(c)
	for _, p := range t.places {
		words := []string{"curl", "-s"}
		if verb != "" {
			words = append(words, "-X", verb)
		}
		if len(c.args) > 1 {
			words = append(words, "-d", "x")
		}
		if p.Below || p.Path == "" || strings.HasPrefix(p.Path, "-") {
			w.unseen("%s: an address that is not known", c.spec.name)
			continue
		}
		w.command(c, append(words, p.Path))
	}
}

// methodOf is the method of a request: by the function's name, or as options say.
func (w *walker) methodOf(c call) string {
	last := c.spec.name[strings.LastIndex(c.spec.name, ".")+1:]
	if slices.Contains([]string{"post", "put", "patch", "head", "options"}, last) {
		return strings.ToUpper(last)
	}
	method := ""
	if options, given := c.arg(1, ""); given && w.table.script {
		for _, o := range options.objs {
			m := o.attrs["method"]
			if m == nil {
				continue
			}
			if t := m.text(); len(t.kinds) > 0 || len(t.places) != 1 || method != "" && method != t.places[0].Path {
				w.unseen("%s with a method that is not known", c.spec.name)
			} else {
				method = strings.ToUpper(t.places[0].Path)
			}
		}
	}
	return method
}

// plainOptions are arguments of subprocess.run and its like that change
// neither the program nor where it runs.
var plainOptions = strings.Fields("args cmd text capture_output check stdout stderr timeout encoding errors universal_newlines shell input")

// argv notes a program that is started with its arguments.
func (w *walker) argv(c call, args value) {
	for i, k := range c.keys {
		if i > 0 && !slices.Contains(plainOptions, k) {
			w.unseen("%s with %s", c.spec.name, k)
		}
	}
	if _, shell := c.arg(99, "shell"); shell {
		if len(args.objs) > 0 {
			w.unseen("%s: a list for a shell", c.spec.name)
		}
		w.shell(args, c.spec.name)
		return
	}
	if input, given := c.arg(99, "input"); given {
		w.fed(c, args, input)
		return
	}
	if t := args.text(); len(t.kinds) > 0 && len(args.objs) == 0 || args.none() {
		w.unseen("%s: a command that is not known", c.spec.name)
	}
	for _, p := range args.places {
		w.command(c, []string{p.Path})
	}
	for _, o := range args.objs {
		if words, ok := w.words(o); ok {
			w.command(c, words)
		} else if line, ok := lineOf(o); ok {
			w.shell(places(outcome.Place{Path: line}), c.spec.name)
		} else {
			w.unseen("%s: a command that is not known", c.spec.name)
		}
	}
}

// lineOf is the line of a shell that runs the words of a list, of which some are not
// known: they are variables in it, which a shell makes one word each.
func lineOf(o *object) (string, bool) {
	if o.changed || len(o.tuple) == 0 || o.class != nil || len(o.tuple[0].places) != 1 || len(o.tuple[0].kinds) > 0 || o.tuple[0].places[0].Below {
		return "", false
	}
	var line []string
	for _, t := range o.tuple {
		word := `"$value"`
		switch {
		case t.none() || len(t.objs)+len(t.fns)+len(t.specs) > 0:
			return "", false
		case len(t.kinds) == 0 && len(t.places) == 1 && !t.places[0].Below:
			q, err := quoted([]string{t.places[0].Path})
			if err != nil {
				return "", false
			}
			word = q
		}
		line = append(line, word)
	}
	return strings.Join(line, " "), true
}

// words are those of a list, where all of them are known.
func (w *walker) words(o *object) (words []string, ok bool) {
	for _, t := range o.tuple {
		if len(t.places) != 1 || len(t.text().kinds) > 0 || t.places[0].Below || len(t.objs) > 0 {
			return nil, false
		}
		words = append(words, t.places[0].Path)
	}
	return words, !o.changed && len(words) > 0 && o.class == nil
}

// fed notes a program that is handed a text on its standard input. One that is not known
// is as what comes from elsewhere.
func (w *walker) fed(c call, args, input value) {
	if len(args.objs) != 1 || len(args.places)+len(args.kinds) > 0 {
		w.unseen("%s: a command that is not known", c.spec.name)
		return
	}
	words, ok := w.words(args.objs[0])
	if !ok {
		w.unseen("%s: a command that is not known", c.spec.name)
		return
	}
	line, err := quoted(words)
	t := input.text()
	feed := "cat"
	if len(t.kinds) == 0 && len(t.places) == 1 && !t.places[0].Below && len(input.objs) == 0 {
		var feedErr error
		feed, feedErr = quoted([]string{"printf", "%s", t.places[0].Path})
		err = errors.Join(err, feedErr)
	}
	if err != nil {
		w.unseen("%s: a command that is not known", c.spec.name)
		return
	}
	w.shell(places(outcome.Place{Path: feed + " | " + line}), c.spec.name)
}

// quoted writes words as a shell line.
func quoted(words []string) (string, error) {
	list := make([]string, len(words))
	for i, word := range words {
		q, err := syntax.Quote(word, syntax.LangBash)
		if err != nil {
			return "", err
		}
		list[i] = q
	}
	return strings.Join(list, " "), nil
}

func (w *walker) command(c call, words []string) {
	if w.last && !slices.ContainsFunc(w.effects.Commands, func(o []string) bool { return slices.Equal(o, words) }) {
		w.effects.Commands = append(w.effects.Commands, words)
	}
}
