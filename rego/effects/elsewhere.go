package effects

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
)

// ansible adds what ansible runs on the hosts of its inventory, and reports whether it is
// that program.
func (w *work) ansible(c command) bool {
	if c.Program != "ansible" {
		return false
	}
	module, args, on := c.after("command", "-m", "--module-name"), c.after("", "-a", "--args"), ""
	for i := 1; i < len(c.Argv); i++ {
		word := c.Argv[i]
		if !strings.HasPrefix(word, "-") {
			on = word
			break
		}
		if !strings.Contains(word, "=") && !slices.Contains([]string{"-b", "--become", "-C", "--check", "-D", "--diff", "-o", "-v", "-vv", "-vvv", "-k", "-K"}, word) {
			i++ // its value
		}
	}
	where := "the hosts " + quoted(on)
	if on == "all" || on == "*" || on == "" {
		where = "every host of the inventory"
	}
	if inventory := c.after("", "-i", "--inventory", "--inventory-file"); inventory != "" {
		where += " (" + quoted(inventory) + ")"
	}
	if c.has("-b", "--become") {
		where += ", as root"
	}
	module = strings.TrimPrefix(module, "ansible.builtin.")
	e := holdgate.Effect{Kind: holdgate.EffectRun, What: "host", Where: on, Undoable: holdgate.UndoableUnknown, Because: "remote"}
	switch module {
	case "shell", "command", "raw", "script":
		e.Says = "Runs " + short(args, 80) + " on " + where
	case "ping", "setup":
		e.Kind, e.Undoable = holdgate.EffectRead, holdgate.UndoableYes
		e.Says = "Asks " + where + " (ansible " + module + ")"
		w.add(c, weighsSome, e)
		return true
	default:
		e.Kind, e.Says = holdgate.EffectChange, "Changes "+where+" by ansible: "+short(strings.TrimSpace(module+" "+args), 80)
	}
	w.add(c, weighsOutside+3, e)
	return true
}

// lftp adds what the commands do that lftp is given, and reports whether it was given any.
func (w *work) lftp(c command) bool {
	script := c.after("", "-e", "-c")
	if c.Program != "lftp" || script == "" {
		return false
	}
	where := listing(c.at)
	if where == "" {
		if where = c.site(script); where == "" {
			where = c.somewhere()
		}
	}
	found := false
	for _, text := range strings.FieldsFunc(script, func(r rune) bool { return r == ';' || r == '\n' || r == '&' }) {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if e, weight, ok := transfer(text, where); ok {
			found = true
			w.add(c, weight, e)
		}
	}
	return found
}

// site is the host that lftp is given, or that its commands open.
func (c command) site(script string) string {
	for i := 1; i < len(c.Argv); i++ {
		switch word := c.Argv[i]; {
		case slices.Contains([]string{"-e", "-c", "-u", "-p", "-f"}, word):
			i++
		case !strings.HasPrefix(word, "-"):
			return quoted(word)
		}
	}
	words := strings.FieldsFunc(script, func(r rune) bool { return r == ';' || r == ' ' || r == '\n' })
	if i := slices.Index(words, "open"); i >= 0 {
		for _, word := range words[i+1:] {
			if !strings.HasPrefix(word, "-") && !strings.Contains(word, ",") {
				return quoted(word)
			}
		}
	}
	return ""
}

// transfer is what one command of lftp does; not ok where it only looks, or is not known.
func transfer(text, where string) (e holdgate.Effect, weight int, ok bool) {
	words := strings.Fields(text)
	var files []string
	back, clears := false, false
	for _, word := range words[1:] {
		switch {
		case word == "-R" || word == "--reverse":
			back = true
		case word == "-e" || word == "--delete":
			clears = true
		case strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && len(word) > 2:
			back, clears = back || strings.Contains(word, "R"), clears || strings.Contains(word, "e")
		case !strings.HasPrefix(word, "-"):
			files = append(files, word)
		}
	}
	e = holdgate.Effect{What: "host", Where: strings.Join(files, ", "), Undoable: holdgate.UndoableNo, Because: "sent"}
	switch verb := words[0]; {
	case strings.HasPrefix(text, "!") || verb == "shell" || verb == "local":
		e.Kind, e.Undoable, e.Because, e.Says = holdgate.EffectRun, holdgate.UndoableUnknown, "code", "Runs "+short(strings.TrimLeft(text, "! "), 80)
		return e, weighsSome + 4, true
	case verb == "rm" || verb == "mrm" || verb == "rmdir" || verb == "glob" && len(words) > 1 && words[1] == "rm":
		e.Kind, e.Says = holdgate.EffectDelete, "Deletes "+listing(files)+" at "+where
		return e, weighsOutside + 5, true
	case verb == "mirror" && back, verb == "put", verb == "mput", verb == "reput":
		e.Kind, e.What = holdgate.EffectSend, "file"
		from, to := files, where
		if verb == "mirror" && len(files) > 1 {
			from, to = files[:1], quoted(files[1])+" at "+where
		}
		e.Says, weight = "Sends "+listing(from)+" to "+to, weighsOutside-2
		if len(files) == 0 {
			e.Says = "Sends the folder to " + where
		}
		if clears {
			e.Kind, weight = holdgate.EffectDelete, weighsLost
			e.Says += ", and deletes there what is not here"
		}
		return e, weight, true
	case verb == "mv" || verb == "chmod" || verb == "ln" || verb == "mkdir" || verb == "site" || verb == "quote":
		e.Kind, e.Undoable, e.Because, e.Says = holdgate.EffectChange, holdgate.UndoableUnknown, "remote", "Changes "+where+": "+short(text, 80)
		return e, weighsOutside, true
	case verb == "get", verb == "mget", verb == "pget", verb == "mirror", verb == "get1":
		e.Kind, e.Undoable, e.Because, e.Says = holdgate.EffectWrite, holdgate.UndoableUnknown, "git", "Downloads "+listing(files)+" from "+where
		return e, weighsLittle + 4, true
	}
	return e, 0, false
}

// after is what stands behind one of the options, or another text where none does.
func (c command) after(otherwise string, options ...string) string {
	for i, word := range c.Argv {
		name, value, joined := strings.Cut(word, "=")
		switch {
		case joined && slices.Contains(options, name):
			return value
		case slices.Contains(options, word) && i+1 < len(c.Argv):
			return c.Argv[i+1]
		}
	}
	return otherwise
}
