package programs

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/operands"
	"github.com/holdgate/holdgate/rego/facts/shell"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// gitCommand is git. It changes files, history and what runs later, by
// subcommand and by option.
func gitCommand(s *shell.Shell, in shell.Invocation, c *holdgate.Command) {
	words := in.Words[1:]
	g := s.Sub()
	i := 0
	for i < len(words) && strings.HasPrefix(words[i].Text, "-") {
		t := words[i].Text
		next := shell.Field{}
		if i+1 < len(words) {
			next = words[i+1]
		}
		switch {
		case t == "-C":
			g.MoveTo(next)
			i++
		case t == "-c" || t == "--config-env":
			gitOption(s, next, c)
			i++
		case strings.HasPrefix(t, "-c"):
			gitOption(s, shell.Field{Text: t[2:], Dynamic: words[i].Dynamic}, c)
		case t == "--git-dir" || t == "--work-tree" || t == "--namespace":
			i++
		case strings.HasPrefix(t, "--exec-path="):
			c.Unbound = append(c.Unbound, strings.TrimPrefix(t, "--exec-path="))
		}
		i++
	}
	if i >= len(words) {
		return
	}
	gitVerb(g, in, words[i].Text, words[i+1:], c)
}

// gitVerb reads a subcommand. The shell is the one that git runs in, after -C.
func gitVerb(s *shell.Shell, in shell.Invocation, verb string, words []shell.Field, c *holdgate.Command) {
	here := shell.Field{Text: "."}
	impact := &s.Found.Facts.Impact
	gitBrings(s, verb, words)
	if wordlist.Has("merge pull rebase cherry-pick revert", verb) {
		gitStrategy(s, verb, words, c)
	}
	gitOtherFiles(s, in, verb, words)
	switch verb {
	case "rm":
		gitRemoves(s, in, words)
	case "clean":
		gitCleans(s, in, words)
	case "checkout", "restore", "switch":
		gitCheckout(s, in, verb, words)
	case "reset":
		if o := shell.ParseOptions(words, "", ""); o.Has("", "hard") || o.Has("", "merge") {
			impact.Force = true
			use(s, in, here, collect.AccessWrite)
		}
	case "stash":
		if len(words) > 0 && (words[0].Text == "drop" || words[0].Text == "clear") {
			impact.Force = true
		}
	case "push":
		gitPushes(s, words)
	case "branch", "tag":
		o := shell.ParseOptions(words, "um", "")
		impact.Force = impact.Force || o.Has("D", "") || o.Has("d", "delete") || o.Has("f", "force")
	case "mv":
		apply(s, operands.Table()["mv"], shell.Invocation{Words: append([]shell.Field{{Text: "mv"}}, words...), Roots: in.Roots})
	case "config":
		gitSetting(s, words, c)
	case "clone", "fetch", "pull", "remote", "ls-remote", "submodule":
		gitTransfer(s, in, verb, words, c)
	case "filter-branch", "filter-repo", "bisect", "rebase", "submodule-foreach":
		gitRuns(s, verb, words, c)
	case "apply", "am":
		gitApplies(s, in, verb, words, c)
	case "worktree":
		gitWorktree(s, in, words)
	case "update-ref", "gc", "reflog", "prune":
		impact.Force = impact.Force || verb != "gc"
	case "checkout-index", "fast-export", "pack-objects", "index-pack", "sparse-checkout":
		strays(s, in)
	case "init":
		for _, f := range shell.ParseOptions(words, "b", "template separate-git-dir object-format initial-branch").Values("", "template") {
			if f.Text != "" {
				s.Touch(shell.Field{Text: ".git/hooks"}, collect.AccessWrite)
			}
		}
	case "blame", "annotate", "cat-file":
		gitShows(s, words)
	case "log", "diff", "show", "format-patch", "archive", "bundle":
		gitPrints(s, in, verb, words)
	case "grep":
		gitShows(s, words)
		for _, f := range shell.ParseOptions(words, "efABCmO", "open-files-in-pager").Values("O", "open-files-in-pager") {
			s.CodeText(f, shell.Invocation{Via: []string{"git grep -O"}})
		}
	}
}

// plainApply are options of git apply that put a patch in as it stands: all of it, forwards.
var plainApply = regexp.MustCompile(`^(--|-3|--3way|--index|--cached|--reject|--recount|-v|--verbose|-q|--quiet|--allow-empty|-N|--intent-to-add|--whitespace=[a-z-]+)$`)

// gitApplies is git apply and git am: what a patch holds runs later, as the project's own
// code. One that git has printed of the repository in this very call is that already.
func gitApplies(s *shell.Shell, in shell.Invocation, verb string, words []shell.Field, c *holdgate.Command) {
	o := shell.ParseOptions(words, "pC", "directory exclude include")
	if verb == "apply" && !o.Has("", "apply") && (o.Has("", "check") || o.Has("", "stat") || o.Has("", "numstat") || o.Has("", "summary")) {
		useAll(s, in, o.Operands, collect.AccessRead)
		return
	}
	plain := verb == "apply" && len(in.Assigns) == 0 && in.Words[1].Text == verb && s.TakesPatch() &&
		!slices.ContainsFunc(words, func(w shell.Field) bool { return strings.HasPrefix(w.Text, "-") && !plainApply.MatchString(w.Text) })
	if plain && (len(o.Operands) > 0 && !slices.ContainsFunc(o.Operands, func(f shell.Field) bool { return !s.OwnPatch(f) }) || len(o.Operands) == 0 && s.Stdin.Patch) {
		useAll(s, in, o.Operands, collect.AccessRead)
		return
	}
	c.Unbound = append(c.Unbound, shell.Texts(o.Operands)...)
	if len(o.Operands) == 0 && s.Stdin.Kind == "pipe" && !s.Stdin.Known {
		c.Unbound = append(c.Unbound, "stdin")
	}
	if len(o.Operands) == 0 && s.Stdin.Kind == "file" {
		c.Unbound = append(c.Unbound, s.Stdin.File)
	}
	use(s, in, shell.Field{Text: "."}, collect.AccessWrite)
}

// gitRemoves is git rm.
func gitRemoves(s *shell.Shell, in shell.Invocation, words []shell.Field) {
	impact := &s.Found.Facts.Impact
	o := shell.ParseOptions(words, "", "pathspec-from-file")
	impact.Recursive = impact.Recursive || o.Has("r", "")
	impact.Force = impact.Force || o.Has("f", "force")
	if !o.Has("", "cached") {
		useAll(s, in, o.Operands, collect.AccessDelete)
	}
}

// gitCleans is git clean, which asks for force to do anything.
func gitCleans(s *shell.Shell, in shell.Invocation, words []shell.Field) {
	impact := &s.Found.Facts.Impact
	o := shell.ParseOptions(words, "e", "exclude")
	if o.Has("n", "dry-run") || !o.Has("f", "force") {
		return
	}
	impact.Force = true
	impact.Recursive = impact.Recursive || o.Has("d", "")
	if len(o.Operands) == 0 {
		o.Operands = []shell.Field{{Text: "."}}
	}
	useAll(s, in, o.Operands, collect.AccessDelete)
}

// gitPushes is git push.
func gitPushes(s *shell.Shell, words []shell.Field) {
	impact := &s.Found.Facts.Impact
	o := shell.ParseOptions(words, "o", "push-option repo receive-pack exec")
	forced := o.Has("f", "force") || o.Has("d", "delete") || o.Has("", "mirror") || o.Has("", "force-with-lease") || o.Has("", "prune")
	for _, f := range o.Operands {
		forced = forced || strings.HasPrefix(f.Text, "+") || strings.HasPrefix(f.Text, ":")
		gitRemote(s, f)
	}
	impact.Force = impact.Force || forced
	gitPrograms(s, o)
}

// gitWorktree is git worktree.
func gitWorktree(s *shell.Shell, in shell.Invocation, words []shell.Field) {
	if !slices.ContainsFunc(words, func(w shell.Field) bool { return sibling.MatchString(w.Text) }) {
		strays(s, in)
	}
	if o := shell.ParseOptions(words, "", ""); len(words) > 1 && words[0].Text == "remove" && o.Has("f", "force") {
		for _, f := range o.Operands[1:] { // without force what git does not keep stays
			if !madeTree(s, f) {
				use(s, in, f, collect.AccessDelete)
			}
		}
	}
}

// gitPrints is what prints commits, or writes them to a file.
func gitPrints(s *shell.Shell, in shell.Invocation, verb string, words []shell.Field) {
	if o := shell.ParseOptions(words, "nSGL", ""); verb != "log" || o.Has("pu", "patch") {
		gitShows(s, words)
	}
	o := shell.ParseOptions(words, "on", "output output-directory")
	for _, f := range append(o.Values("", "output"), o.Values("", "output-directory")...) {
		use(s, in, f, collect.AccessWrite)
	}
	if verb == "bundle" && len(o.Operands) > 1 && o.Operands[0].Text == "create" {
		use(s, in, o.Operands[1], collect.AccessWrite)
	}
	if verb == "archive" || verb == "format-patch" {
		useAll(s, in, o.Values("o", ""), collect.AccessWrite)
	}
}

// sibling is a folder beside the one at hand, where people keep further trees of a
// repository.
var sibling = regexp.MustCompile(`^\.\./[A-Za-z][\w.-]*$`)

// gitShows notes the secrets whose content, now or once, git shows: by path, or
// by revision and path.
func gitShows(s *shell.Shell, words []shell.Field) {
	for _, w := range words {
		name := w.Text
		if _, file, ok := strings.Cut(name, ":"); ok {
			name = file
		}
		if !strings.HasPrefix(name, "-") && collect.Classify(name, collect.AccessRead) == collect.ClassSecret {
			s.Touch(shell.Field{Text: name, Dynamic: w.Dynamic}, collect.AccessRead)
		}
	}
}

// gitOtherFiles touches files beside those that git tracks: it prints them, puts
// them into commits, or writes them.
func gitOtherFiles(s *shell.Shell, in shell.Invocation, verb string, words []shell.Field) {
	switch verb {
	case "commit", "tag", "merge", "notes":
		o := shell.ParseOptions(words, "mFCctu", "message file template author date reuse-message reedit-message")
		useAll(s, in, append(o.Values("F", "file"), o.Values("", "template")...), collect.AccessRead)
	case "blame", "annotate":
		useAll(s, in, shell.ParseOptions(words, "LSCM", "contents ignore-revs-file").Values("", "contents"), collect.AccessRead)
	case "hash-object":
		useAll(s, in, shell.ParseOptions(words, "t", "path").Operands, collect.AccessRead)
	case "diff":
		if o := shell.ParseOptions(words, "USGO", "output format pretty"); o.Has("", "no-index") {
			useAll(s, in, o.Operands, collect.AccessRead)
		}
	case "init":
		useAll(s, in, shell.ParseOptions(words, "b", "initial-branch template separate-git-dir object-format").Operands, collect.AccessWrite)
	case "interpret-trailers":
		if o := shell.ParseOptions(words, "", "trailer where if-exists if-missing"); o.Has("", "in-place") {
			useAll(s, in, o.Operands, collect.AccessWrite)
		}
	case "bugreport":
		useAll(s, in, shell.ParseOptions(words, "os", "output-directory suffix").Values("o", "output-directory"), collect.AccessWrite)
	case "shortlog", "stash":
		useAll(s, in, shell.ParseOptions(words, "m", "output message").Values("", "output"), collect.AccessWrite)
	}
}

func useAll(s *shell.Shell, in shell.Invocation, fs []shell.Field, access string) {
	for _, f := range fs {
		use(s, in, f, access)
	}
}

// gitCheckout is what overwrites files of the working tree.
func gitCheckout(s *shell.Shell, in shell.Invocation, verb string, words []shell.Field) {
	o := shell.ParseOptions(words, "bBcCsx", "source orphan")
	if verb != "restore" && o.Has("f", "force") || o.Has("", "discard-changes") {
		s.Found.Facts.Impact.Force = true
		use(s, in, shell.Field{Text: "."}, collect.AccessWrite)
	}
	files := o.Operands
	if verb != "restore" {
		files = nil
		for i, w := range words {
			if w.Text == "--" {
				files = words[i+1:]
				break
			}
			if w.Text == "." || strings.HasPrefix(w.Text, "./") || strings.HasPrefix(w.Text, ":/") {
				files = append(files, w)
			}
		}
		if verb == "checkout" && !o.Has("bBt", "orphan") && !slices.ContainsFunc(words, func(w shell.Field) bool { return w.Text == "--" }) {
			gitCheckoutFiles(s, in, o.Operands)
		}
	}
	if verb == "restore" && o.Has("S", "staged") && !o.Has("W", "worktree") {
		return
	}
	useAll(s, in, files, collect.AccessWrite)
}

// gitCheckoutFiles are the files that a checkout without "--" puts back: all words behind
// the first, and the first where it can be no branch.
func gitCheckoutFiles(s *shell.Shell, in shell.Invocation, operands []shell.Field) {
	for i, f := range operands {
		base := path.Base(f.Text)
		names := wordlist.Has(shell.SourceEnds+" .json .yaml .yml .md .txt .lock .xml .csv .ini .cfg .conf", path.Ext(base)) ||
			wordlist.Has("Makefile Dockerfile Jenkinsfile Justfile Rakefile Gemfile Procfile Vagrantfile README LICENSE CHANGELOG", base) ||
			wordlist.Has(workFolders, f.Text) || strings.HasSuffix(f.Text, "/") || strings.HasPrefix(f.Text, "./") || strings.HasPrefix(f.Text, "../") || f.Text == ".." || strings.HasPrefix(f.Text, ":")
		if i > 0 || names {
			use(s, in, f, collect.AccessDelete)
		}
	}
}

// gitSetting is git config where it writes: some settings run later.
func gitSetting(s *shell.Shell, words []shell.Field, c *holdgate.Command) {
	o := shell.ParseOptions(words, "f", "file blob type default")
	if o.Has("l", "list") || o.Has("", "get") || o.Has("", "get-all") || o.Has("", "get-regexp") || o.Has("e", "edit") || len(o.Operands) < 2 {
		return
	}
	if wordlist.Has("get list", o.Operands[0].Text) {
		return
	}
	kv := o.Operands
	if kv[0].Text == "set" {
		kv = kv[1:]
	}
	if !o.Has("", "global") && !o.Has("", "system") && len(o.Values("f", "file")) == 0 && kv[0].Known() && harmlessGitKey(kv[0].Text) {
		return
	}
	file := shell.Field{Text: ".git/config"}
	switch f := o.Values("f", "file"); {
	case len(f) > 0:
		file = f[0]
	case o.Has("", "global"):
		file = shell.Field{Text: "~/.gitconfig"}
	case o.Has("", "system"):
		file = shell.Field{Text: "/etc/gitconfig"}
	}
	s.Touch(file, collect.AccessWrite)
	if len(kv) > 1 {
		gitConfig(s, shell.Field{Text: kv[0].Text + "=" + kv[1].Text, Dynamic: kv[1].Dynamic}, c)
	}
}

// gitTransfer is what talks to another repository.
func gitTransfer(s *shell.Shell, in shell.Invocation, verb string, words []shell.Field, c *holdgate.Command) {
	o := shell.ParseOptions(words, "bcuoj", "branch config upload-pack origin depth reference template jobs")
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
		s.CodeText(shell.Field{Text: shell.Join(o.Operands[1:], " "), Dynamic: shell.Dynamics(o.Operands)}, shell.Invocation{Via: []string{"git submodule foreach"}})
	}
}

// gitBrings notes what brings code that nobody was shown, and what puts it into
// the files of the project, where builds and scripts run it.
func gitBrings(s *shell.Shell, verb string, words []shell.Field) {
	brings, from := collect.FetchNone, shell.ParseOptions(words, "jo", "depth jobs server-option").Operands
	switch {
	case verb == "pull", verb == "fetch", verb == "remote" && textOf(from, 0) == "update":
		if brings = collect.FetchOwn; slices.ContainsFunc(from, foreignRef) || verb != "remote" && len(from) > 0 && from[0].Text != "origin" {
			brings = collect.FetchForeign
		}
	case wordlist.Has("clone lfs svn p4 subtree", verb), verb == "submodule" && wordlist.Has("update add", textOf(from, 0)), verb == "remote" && textOf(from, 0) == "add":
		brings = collect.FetchForeign
	case slices.ContainsFunc(words, func(w shell.Field) bool { return strings.Contains(w.Text, "FETCH_HEAD") }):
		brings = collect.FetchForeign
	}
	s.Found.Fetches = max(s.Found.Fetches, brings)
	s.Found.Places = s.Found.Places || brings == collect.FetchForeign && verb != "fetch" && verb != "remote" ||
		wordlist.Has("pull checkout switch merge rebase reset restore cherry-pick revert read-tree checkout-index worktree am apply", verb)
}

// foreignRef reports whether a ref can be anybody's: a pull request, or one that
// is fetched under another name.
func foreignRef(f shell.Field) bool {
	return !f.Known() || strings.ContainsAny(f.Text, ":+*@{") || strings.HasPrefix(f.Text, "refs/") || strings.HasPrefix(f.Text, "pull/") || strings.HasPrefix(f.Text, "merge-requests/")
}

// gitStrategy notes a way to merge that is not one of git's own: a program of that
// name.
func gitStrategy(s *shell.Shell, verb string, words []shell.Field, c *holdgate.Command) {
	o := shell.ParseOptions(words, "sXmx", "strategy strategy-option onto exec message")
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
func leadsAway(s *shell.Shell, f shell.Field) bool {
	f.Text = strings.TrimPrefix(f.Text, "file://")
	return collect.LeadsOut(f.Text) && !s.Stays(f)
}

// gitPrograms follows the programs that a transfer starts.
func gitPrograms(s *shell.Shell, o shell.Options) {
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
func gitRemote(s *shell.Shell, f shell.Field) {
	if code, ok := strings.CutPrefix(f.Text, "ext::"); ok {
		s.CodeText(shell.Field{Text: code, Dynamic: f.Dynamic}, shell.Invocation{Via: []string{"git ext::"}})
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

// gitRuns follows the shell text that rewriting commands take.
func gitRuns(s *shell.Shell, verb string, words []shell.Field, c *holdgate.Command) {
	switch verb {
	case "filter-branch", "filter-repo":
		s.Found.Facts.Impact.Force = true
		for i, w := range words[:max(len(words)-1, 0)] {
			if strings.HasSuffix(w.Text, "-filter") {
				s.CodeText(words[i+1], shell.Invocation{Via: []string{"git " + verb}})
			}
		}
	case "rebase":
		for _, f := range shell.ParseOptions(words, "xsX", "exec onto").Values("x", "exec") {
			s.CodeText(f, shell.Invocation{Via: []string{"git rebase -x"}})
		}
	case "bisect":
		if len(words) > 1 && words[0].Text == "run" {
			s.Run(shell.Invocation{Words: words[1:], Via: []string{"git bisect run"}, Plain: true})
		}
	}
}
