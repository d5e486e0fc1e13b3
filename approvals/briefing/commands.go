package briefing

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
)

// maxCommands is how many simple commands are listed.
const maxCommands = 60

// commands lists the simple commands that a command line comes down to, the
// most dangerous first. A short line in which all of them stand speaks for itself.
func (b *briefer) commands(written []member) {
	if b.facts == nil || len(b.facts.Commands) == 0 || b.plain(written) {
		return
	}
	all := ranked(b.facts.Commands)
	var lines []string
	for _, c := range all[:min(len(all), maxCommands)] {
		lines = append(lines, line(c)+note(c))
	}
	title := TitleRuns + ", the most dangerous first"
	if more := len(all) - maxCommands; more > 0 {
		b.b.Counts.Commands += more
		lines = append(lines, fmt.Sprintf("and %d more commands, not listed", more))
	}
	if len(all) == 1 {
		title = TitleRuns
	}
	if len(b.facts.ParseErrors) > 0 {
		title += ", as far as it could be read"
	}
	b.section(title, KindCommand, lines)
}

// plain reports whether a reader sees in the call's own command line which commands
// run, and what is known of them.
func (b *briefer) plain(written []member) bool {
	const short, low, few = 600, 10, 3 // characters, lines, commands
	if len(written) != 1 || len(b.facts.Commands) > few || len(b.facts.ParseErrors) > 0 {
		return false
	}
	text := written[0].text
	if len(text) > short || strings.Count(text, "\n") >= low {
		return false
	}
	hidden := func(word string) bool {
		word = strings.TrimSuffix(word, " code") // "ruby code" stands for the program that ruby is given
		return word != "stdin" && word != "pipe" && !strings.Contains(text, word)
	}
	return !slices.ContainsFunc(b.facts.Commands, func(c holdgate.Command) bool {
		return len(c.Env) > 0 || slices.ContainsFunc(slices.Concat(c.Argv, c.Via, c.Unresolved), hidden)
	})
}

// note says where a simple command stands and what is not known of it.
func note(c holdgate.Command) string {
	var notes []string
	if len(c.Via) > 0 {
		notes = append(notes, "through "+strings.Join(c.Via, ", "))
	}
	if len(c.Unresolved) > 0 {
		notes = append(notes, "NOT KNOWN before it runs: "+strings.Join(briefs(c.Unresolved), ", "))
	}
	if len(c.Unbound) > 0 {
		notes = append(notes, "runs content that was NOT SHOWN: "+strings.Join(c.Unbound, ", "))
	}
	for _, v := range c.Env {
		notes = append(notes, "with "+v.Name+"="+quoted(v.Value))
	}
	if c.Stdin != "" {
		notes = append(notes, "reads a "+c.Stdin)
	}
	if len(notes) == 0 {
		return ""
	}
	return "   [" + strings.Join(notes, "; ") + "]"
}

func briefs(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = brief(w)
	}
	return out
}

// line is a simple command as a shell would take it.
func line(c holdgate.Command) string {
	words := make([]string, len(c.Argv))
	for i, w := range c.Argv {
		words[i] = quoted(w)
	}
	return strings.Join(words, " ")
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./$*?{}~^!\[\]-]+$`)

// quoted is a word that a reader cannot take for two.
func quoted(w string) string {
	if plainWord.MatchString(w) {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// ranked sorts commands by how much a reader should want to see them first.
func ranked(commands []holdgate.Command) []holdgate.Command {
	sorted := slices.Clone(commands)
	slices.SortStableFunc(sorted, func(a, b holdgate.Command) int { return rank(a) - rank(b) })
	return sorted
}

// Programs by what they can do, for the order in which people read them. It
// decides nothing else.
var ranks = [][]string{
	{"rm", "rmdir", "unlink", "shred", "dd", "truncate", "wipefs", "fdisk", "parted", "mkfs", "kill", "pkill", "killall", "shutdown", "reboot", "dropdb"},
	{"curl", "wget", "ssh", "scp", "sftp", "rsync", "nc", "ncat", "socat", "ftp", "telnet", "aws", "gcloud", "az", "gh"},
	{"bash", "sh", "zsh", "dash", "fish", "python", "python3", "node", "perl", "ruby", "php", "eval", "source", "."},
	{"mv", "chmod", "chown", "ln", "tee", "sed", "systemctl", "crontab", "at", "docker", "kubectl", "terraform", "helm", "psql", "mysql", "sqlite3", "git"},
}

var harmless = []string{"ls", "cat", "echo", "printf", "cd", "pwd", "true", "false", "head", "tail", "wc", "grep", "test", "[", "which", "date", "sleep"}

func rank(c holdgate.Command) int {
	unknown := c.Program == "" || len(c.Unresolved) > 0 || len(c.Unbound) > 0
	i := slices.IndexFunc(ranks, func(names []string) bool { return slices.Contains(names, c.Program) })
	switch {
	case unknown && privileged(c):
		return 0 // it can do all that the others do
	case (i == 0 || forced(c)) && !deletesOne(c):
		return 1
	case unknown:
		return 2
	case i >= 0:
		return i + 3
	case slices.Contains(harmless, c.Program):
		return len(ranks) + 4
	}
	return len(ranks) + 3
}

// privileged reports whether the command runs with the rights of another user.
func privileged(c holdgate.Command) bool {
	return slices.ContainsFunc(c.Via, func(via string) bool {
		return slices.Contains([]string{"sudo", "su", "doas", "pkexec", "runuser"}, via)
	})
}

// deletesOne reports whether the command deletes one file, of those that the
// user may delete, and no more.
func deletesOne(c holdgate.Command) bool {
	if !slices.Contains([]string{"rm", "unlink"}, c.Program) || len(c.Argv) == 0 || len(c.Unresolved) > 0 || privileged(c) {
		return false
	}
	files := slices.DeleteFunc(slices.Clone(c.Argv[1:]), func(w string) bool { return slices.Contains([]string{"-f", "-i", "-v", "--"}, w) })
	return len(files) == 1 && !strings.HasPrefix(files[0], "-") && !strings.ContainsAny(files[0], "*?[{")
}

// forced reports whether git is told to throw something away.
func forced(c holdgate.Command) bool {
	return c.Program == "git" && slices.ContainsFunc(c.Argv, func(w string) bool {
		return strings.HasPrefix(w, "--force") || w == "--hard" || w == "--delete" || w == "--mirror" || w == "-f" || w == "-D"
	})
}
