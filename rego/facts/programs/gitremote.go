package programs

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/shell"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// gitTransfer is what talks to another repository.
func gitTransfer(s *shell.Shell, in shell.Invocation, verb string, words []argv.Field, c *holdgate.Command) {
	o := argv.ParseOptions(words, "bcuoj", "branch config upload-pack origin depth reference template jobs")
	for _, f := range append(o.Values("c", "config"), o.Values("", "template")...) {
		gitConfig(s, f, c)
	}
	gitPrograms(s, o)
	for i, f := range o.Operands {
		gitRemote(s, f)
		if i == 0 && wordlist.Has("clone fetch pull ls-remote", verb) && leadsAway(s, f) {
			c.Unbound = append(c.Unbound, f.Text)
		}
		if verb == "clone" && i == 1 {
			use(s, in, f, collect.AccessWrite)
		}
	}
	if verb == "submodule" && len(o.Operands) > 1 && o.Operands[0].Text == "foreach" {
		s.CodeText(argv.Field{Text: argv.Join(o.Operands[1:], " "), Dynamic: argv.Dynamics(o.Operands)}, shell.Invocation{Via: []string{"git submodule foreach"}})
	}
}

// gitBrings notes what brings code that nobody was shown, and what puts it into
// the files of the project, where builds and scripts run it.
func gitBrings(s *shell.Shell, verb string, words []argv.Field) {
	brings, from := collect.FetchNone, argv.ParseOptions(words, "jo", "depth jobs server-option").Operands
	switch {
	case verb == "pull", verb == "fetch", verb == "remote" && textOf(from, 0) == "update":
		if brings = collect.FetchOwn; slices.ContainsFunc(from, foreignRef) || verb != "remote" && len(from) > 0 && from[0].Text != "origin" {
			brings = collect.FetchForeign
		}
	case wordlist.Has("clone lfs svn p4 subtree", verb), verb == "submodule" && wordlist.Has("update add", textOf(from, 0)), verb == "remote" && textOf(from, 0) == "add":
		brings = collect.FetchForeign
	case slices.ContainsFunc(words, func(w argv.Field) bool { return strings.Contains(w.Text, "FETCH_HEAD") }):
		brings = collect.FetchForeign
	}
	s.Found.Fetches = max(s.Found.Fetches, brings)
	s.Found.Places = s.Found.Places || brings == collect.FetchForeign && verb != "fetch" && verb != "remote" ||
		wordlist.Has("pull checkout switch merge rebase reset restore cherry-pick revert read-tree checkout-index worktree am apply", verb)
}

// trunks are branches that every repository has.
const trunks = "main master develop development trunk dev next stable release staging production HEAD"

// foreignCommits are those of git's words that name commits of a repository which is
// neither the project's own nor the one that it was forked from, where git puts them into
// a branch or the files of the project: merge friend/main.
func foreignCommits(s *shell.Shell, verb string, words []argv.Field) (list []string) {
	if !wordlist.Has("merge rebase cherry-pick reset checkout switch branch tag pull read-tree worktree", verb) {
		return nil
	}
	operands := argv.ParseOptions(words, "mCcFXxS", "message file strategy-option exec").Operands
	if verb == "pull" && len(operands) > 0 && operands[0].Known() && remoteName.MatchString(operands[0].Text) && !wordlist.Has("origin upstream .", operands[0].Text) {
		return []string{operands[0].Text}
	}
	var remotes []string
	for i, f := range words {
		if i > 0 && wordlist.Has("-b -B -c -C --orphan --track", words[i-1].Text) && wordlist.Has("checkout switch worktree", verb) || wordlist.Has("branch tag", verb) && len(operands) > 0 && f.Text == operands[0].Text {
			continue // the name of a new branch
		}
		for ref := range strings.SplitSeq(f.Text, "..") {
			ref = strings.TrimPrefix(strings.TrimPrefix(strings.TrimLeft(ref, "^."), "refs/"), "remotes/")
			if at := strings.IndexAny(ref, "~^@{:"); at > 0 {
				ref = ref[:at]
			}
			remote, branch, ok := strings.Cut(ref, "/")
			switch {
			case ref == "FETCH_HEAD" && s.Found.Fetches != collect.FetchOwn:
				list = append(list, f.Text)
			case !ok || !remoteName.MatchString(remote) || wordlist.Has("origin upstream heads tags", remote):
			case wordlist.Has(trunks, branch), strings.Contains(f.Text, "remotes/"+remote):
				list = append(list, f.Text)
			default:
				if remotes == nil {
					remotes = namedRemotes(s)
				}
				if slices.Contains(remotes, remote) {
					list = append(list, f.Text)
				}
			}
		}
	}
	return list
}

var remoteName = lazyregexp.New(`^[\w.-]+$`)

// namedRemotes are the remotes that the line adds, or fetches from by name.
func namedRemotes(s *shell.Shell) []string {
	list := []string{}
	for _, c := range s.Found.Facts.Commands {
		if c.Program != "git" {
			continue
		}
		for i, w := range c.Argv[:max(0, len(c.Argv)-1)] {
			if wordlist.Has("add fetch rename set-url update", w) {
				list = append(list, c.Argv[i+1:]...)
			}
		}
	}
	return slices.DeleteFunc(list, func(w string) bool { return wordlist.Has("origin upstream", w) })
}

// foreignRef reports whether a ref can be anybody's: a pull request, or one that
// is fetched under another name.
func foreignRef(f argv.Field) bool {
	return !f.Known() || strings.ContainsAny(f.Text, ":+*@{") || strings.HasPrefix(f.Text, "refs/") || strings.HasPrefix(f.Text, "pull/") || strings.HasPrefix(f.Text, "merge-requests/")
}

// gitStrategy notes a way to merge that is not one of git's own: a program of that
// name.
func gitStrategy(s *shell.Shell, verb string, words []argv.Field, c *holdgate.Command) {
	o := argv.ParseOptions(words, "sXmx", "strategy strategy-option onto exec message")
	list := o.CutShort("strategy")
	if !wordlist.Has("cherry-pick revert", verb) {
		list = append(list, o.Values("s", "")...)
	}
	for _, f := range list {
		if !wordlist.Has("ort recursive resolve octopus ours subtree", f.Text) {
			c.Unresolved = append(c.Unresolved, "git merge-"+f.Text)
		}
	}
}

// leadsAway reports whether a word is the path of a repository outside of the
// session's folder.
func leadsAway(s *shell.Shell, f argv.Field) bool {
	f.Text = strings.TrimPrefix(f.Text, "file://")
	return collect.LeadsOut(f.Text) && !s.Stays(f)
}

// gitPrograms follows the programs that a transfer starts.
func gitPrograms(s *shell.Shell, o argv.Options) {
	for _, long := range []string{"upload-pack", "receive-pack", "exec"} {
		for _, f := range o.Values("", long) {
			s.CodeText(f, shell.Invocation{Via: []string{"git --" + long}})
		}
	}
	for _, f := range o.Values("u", "") {
		if f.Text != "" && strings.ContainsAny(f.Text, " ;|&$`/") {
			s.CodeText(f, shell.Invocation{Via: []string{"git -u"}})
		}
	}
}

// gitRemote notes where a repository lies, and follows the transport that
// runs a command.
func gitRemote(s *shell.Shell, f argv.Field) {
	if code, ok := strings.CutPrefix(f.Text, "ext::"); ok {
		s.CodeText(argv.Field{Text: code, Dynamic: f.Dynamic}, shell.Invocation{Via: []string{"git ext::"}})
		return
	}
	if strings.Contains(f.Text, "://") {
		s.Found.URL(f.Text)
		return
	}
	if host, rest, ok := strings.Cut(f.Text, ":"); ok && remoteHost(host) && rest != "" {
		s.Found.Host("ssh", host)
	}
}

// gitPushes is git push.
func gitPushes(s *shell.Shell, words []argv.Field) {
	impact := &s.Found.Facts.Impact
	o := argv.ParseOptions(words, "o", "push-option repo receive-pack exec")
	forced := o.Has("f", "force") || o.Has("d", "delete") || o.Has("", "mirror") || o.Has("", "force-with-lease") || o.Has("", "prune")
	for _, f := range o.Operands {
		forced = forced || strings.HasPrefix(f.Text, "+") || strings.HasPrefix(f.Text, ":")
		gitRemote(s, f)
	}
	impact.Force = impact.Force || forced
	gitPrograms(s, o)
}
