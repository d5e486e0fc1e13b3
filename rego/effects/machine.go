package effects

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
)

// changing says what programs that the tables count to the machine change, where
// their name alone does not say it.
var changing = map[string]string{
	"iptables": "the firewall", "ip6tables": "the firewall", "nft": "the firewall", "ufw": "the firewall", "firewall-cmd": "the firewall", "pfctl": "the firewall",
	"sysctl": "settings of the kernel", "modprobe": "which modules the kernel has", "insmod": "which modules the kernel has", "rmmod": "which modules the kernel has",
	"ip": "the network of the machine", "ifconfig": "the network of the machine", "route": "the network of the machine", "nmcli": "the network of the machine",
	"visudo": "who has the rights of root", "usermod": "a user of the machine", "groupmod": "a group of the machine", "passwd": "a password", "chpasswd": "passwords",
	"hostnamectl": "the name of the machine", "timedatectl": "the clock of the machine", "date": "the clock of the machine", "swapon": "the memory of the machine", "swapoff": "the memory of the machine",
}

// machine adds what a command does to the machine that it runs on.
func (w *work) machine(c command) {
	e := holdgate.Effect{Kind: holdgate.EffectChange, What: "machine", Where: c.Program, Undoable: holdgate.UndoableUnknown, Because: "machine"}
	rest := c.Argv[min(1, len(c.Argv)):]
	names := slices.DeleteFunc(slices.Clone(rest), func(word string) bool { return strings.HasPrefix(word, "-") })
	by := " (" + line(c.Argv) + ")"
	switch c.Program {
	case "chmod", "chown", "chgrp", "setfacl", "chattr":
		w.rights(c, &e, names)
	case "kill", "pkill", "killall", "xkill", "skill":
		e.What, e.Undoable, e.Because = "process", holdgate.UndoableNo, "process"
		e.Says = "Ends the process " + listing(names) + " (" + c.Program + ")"
		if len(names) == 0 {
			e.Says = "Ends processes" + by
		} else if _, ok := printed(names[0]); ok {
			e.Says = "Ends " + listing(names) + " (" + c.Program + ")"
		}
	case "shutdown", "poweroff", "halt":
		e.Says = "Shuts the machine down" + by
	case "reboot":
		e.Says = "Restarts the machine" + by
	case "useradd", "adduser", "groupadd", "addgroup", "userdel", "deluser", "groupdel", "delgroup":
		what := map[bool]string{true: "user", false: "group"}[strings.Contains(c.Program, "user")]
		e.Says = "Adds the " + what + " " + listing(names[max(0, len(names)-1):]) + by
		if strings.Contains(c.Program, "del") {
			e.Kind, e.Undoable = holdgate.EffectDelete, holdgate.UndoableNo
			e.Says = "Deletes the " + what + " " + listing(names[max(0, len(names)-1):]) + by
		}
	case "mount", "umount":
		e.Says = map[bool]string{true: "Mounts ", false: "Unmounts "}[c.Program == "mount"] + line(names)
		w.tells(c, names...)
	default:
		if w.container(c) {
			return
		}
		e = w.onMachine(c, e)
		if e.Kind == holdgate.EffectDelete {
			w.add(c, weighsGrave+4, e)
			return
		}
	}
	w.add(c, weighsGrave-5, e)
}

// onMachine says what a subcommand, or else the program itself, changes.
func (w *work) onMachine(c command, e holdgate.Effect) holdgate.Effect {
	switch {
	case changing[c.Program] != "":
		e.Says = "Changes " + changing[c.Program] + " (" + line(c.Argv) + ")"
	case len(c.Subcommand) > 0:
		act := w.acts(c, "")
		if act.Because = e.Because; act.Kind == holdgate.EffectDelete {
			act.Undoable = holdgate.UndoableNo
		}
		return act
	default:
		e.Says = "Changes the machine: " + line(c.Argv)
	}
	return e
}

// rights says who may do what with files from now on.
func (w *work) rights(c command, e *holdgate.Effect, names []string) {
	e.What, e.Undoable, e.Because = "rights", holdgate.UndoableYes, "rights"
	if len(names) < 2 {
		e.Says = "Changes rights: " + line(c.Argv)
		return
	}
	w.tells(c, names[1:]...)
	if c.finder > 0 {
		w.tells(c, w.commands[c.finder-1].Argv...)
	}
	if c.finder > 0 || c.has("-R", "--recursive") { // nobody knows what each of them had
		e.Undoable = holdgate.UndoableUnknown
	}
	e.Where = strings.Join(names[1:], ", ")
	all := ""
	if c.has("-R", "--recursive") {
		all = " and all below"
	}
	e.Says = "Changes the rights of " + listing(names[1:]) + all + " to " + quoted(names[0])
	if c.Program == "chown" {
		e.Says = "Gives " + listing(names[1:]) + all + " to the user " + quoted(names[0])
	}
}

// container adds what runs in a container, and what that can reach. It reports
// false where none is started.
func (w *work) container(c command) bool {
	if v := c.verb(); v != "run" && v != "create" || len(c.Subcommand) > 1 && c.Subcommand[0] != "container" {
		return false
	}
	image, runs := c.image()
	if image == "" {
		return false
	}
	e := holdgate.Effect{Kind: holdgate.EffectChange, What: "machine", Where: c.Program, Undoable: holdgate.UndoableUnknown, Because: "machine", Says: "Runs a container of " + quoted(image)}
	weight := weighsSome + 3
	var reach []string
	for i, word := range c.Argv {
		value := ""
		switch {
		case i > 0 && slices.Contains([]string{"-v", "--volume"}, c.Argv[i-1]):
			value = word
		case strings.HasPrefix(word, "--volume="), strings.HasPrefix(word, "-v="):
			_, value, _ = strings.Cut(word, "=")
		case word == "--privileged":
			reach = append(reach, "all rights over this machine")
			weight = weighsGrave + 10
		}
		from, to, ok := strings.Cut(value, ":")
		if ok && from != "" && strings.ContainsAny(from[:1], "/.~$") {
			reach = append(reach, quoted(from)+" of this machine")
			w.tells(c, from)
			if from == "/" || strings.HasSuffix(from, ".sock") || !strings.HasSuffix(to, ":ro") && w.classed(from) {
				weight = weighsGrave + 9
			}
		}
	}
	if len(reach) > 0 {
		e.Says += " that has " + strings.Join(reach, " and ")
	}
	if len(runs) > 0 {
		e.Says += ": " + line(runs)
	}
	w.add(c, weight, e)
	return true
}

// image is the image of which a command runs a container, and what runs in it.
func (c command) image() (image string, runs []string) {
	from := slices.Index(c.Argv, c.verb()) + 1
	for i := from; i < len(c.Argv); i++ {
		switch word := c.Argv[i]; {
		case !strings.HasPrefix(word, "-"):
			return word, c.Argv[i+1:]
		case strings.Contains(word, "="), flags[strings.TrimPrefix(word, "--")], strings.Trim(word, "-ditPq") == "", word == "--init", word == "--read-only", word == "--publish-all":
		default:
			i++
		}
	}
	return "", nil
}

// classed reports whether a path of the call is one of those to look twice at.
func (w *work) classed(path string) bool {
	return slices.ContainsFunc(w.facts.Paths, func(p holdgate.Path) bool { return p.Path == path && p.Class != "" })
}
