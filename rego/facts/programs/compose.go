package programs

import (
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/shell"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// composeFiles say what services Compose starts, by any of these names.
const composeFiles = "compose.yaml compose.yml docker-compose.yaml docker-compose.yml compose.override.yaml compose.override.yml docker-compose.override.yaml docker-compose.override.yml"

// containerCommand is docker and its kin. Compose starts what its file says, as a
// build does; inspect shows the environment of a container.
func containerCommand(s *shell.Shell, in shell.Invocation, c *holdgate.Command) {
	mentions(s, in)
	words := in.Words[1:]
	if in.Name() == "docker-compose" {
		composeCommand(s, words, c)
		return
	}
	context := ""
	for i, w := range words {
		switch {
		case strings.HasPrefix(w.Text, "-"):
			if name, value, glued := strings.Cut(w.Text, "="); glued && name == "--context" {
				context = value
			}
			if wordlist.Has("-c --context", w.Text) && i+1 < len(words) {
				context = words[i+1].Text
			}
		case wordlist.Has("compose exec", w.Text) && context != "" && context != "default":
			c.Unresolved = append(c.Unresolved, "--context "+context) // the services of another machine
			return
		case w.Text == "compose":
			composeCommand(s, words[i+1:], c)
			return
		case w.Text == "inspect" && (i == 0 || words[i-1].Text == "container" || strings.HasPrefix(words[0].Text, "-")):
			if inspectsEnvironment(words[i+1:]) && !s.Quiet {
				s.Found.Path(collect.Ref{Text: ownEnvironment, Access: collect.AccessRead, Remote: true})
			}
			return
		case w.Text == "exec" || w.Text == "run" || w.Text == "image" || w.Text == "volume" || w.Text == "network":
			return
		}
	}
}

// composeCommand notes the files that Compose reads: they may start anything, with
// any folder of this machine.
func composeCommand(s *shell.Shell, words []argv.Field, c *holdgate.Command) {
	var files []string
	verb := ""
	for i := 0; i < len(words) && verb == ""; i++ {
		name, value, glued := strings.Cut(words[i].Text, "=")
		switch {
		case !strings.HasPrefix(name, "-"):
			verb = name
			continue
		case glued, !wordlist.Has("-f --file -p --project-name --profile --project-directory --env-file --ansi --progress --parallel", name):
		case i+1 < len(words):
			i++
			value = words[i].Text
		}
		switch name {
		case "-f", "--file", "--env-file":
			files = append(files, value)
		case "--project-directory":
			files = append(files, strings.TrimSuffix(value, "/")+"/compose.yaml")
		}
	}
	if !wordlist.Has("up create run start restart build watch", verb) {
		return
	}
	if len(files) == 0 {
		files = strings.Fields(composeFiles)
	}
	c.Unbound = append(c.Unbound, files...)
}

// inspectsEnvironment reports whether inspect shows more than what its format
// names: what a container is called, and how it fares.
func inspectsEnvironment(words []argv.Field) bool {
	o := argv.ParseOptions(words, "f", "format type")
	formats := o.Values("f", "format")
	if t := o.Values("", "type"); len(t) > 0 && t[0].Text != "container" {
		return false
	}
	for _, f := range formats {
		if !f.Known() || !strings.Contains(f.Text, "{{") || strings.Contains(f.Text, "Config") && !plainConfig(f.Text) || strings.Contains(f.Text, "Env") ||
			strings.Contains(strings.ReplaceAll(f.Text, " ", ""), "json.}}") || strings.Contains(f.Text, "{{.}}") || strings.Contains(f.Text, "$") {
			return true
		}
	}
	return len(formats) == 0
}

// plainConfig reports whether each part of the configuration that a format names is
// one that holds no credentials.
func plainConfig(format string) bool {
	for _, part := range strings.Split(format, "Config")[1:] {
		plain := false
		for _, name := range []string{".Image", ".Labels", ".Hostname", ".WorkingDir", ".User", ".ExposedPorts", ".Healthcheck", ".Memory", ".PortBindings", ".RestartPolicy", ".NetworkMode", ".Binds"} {
			plain = plain || strings.HasPrefix(part, name)
		}
		if !plain {
			return false
		}
	}
	return true
}
