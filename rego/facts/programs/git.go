package programs

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
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
		next := argv.Field{}
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
			gitOption(s, argv.Field{Text: t[2:], Dynamic: words[i].Dynamic}, c)
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
func gitVerb(s *shell.Shell, in shell.Invocation, verb string, words []argv.Field, c *holdgate.Command) {
	here := argv.Field{Text: "."}
	impact := &s.Found.Facts.Impact
	if foreign := foreignCommits(s, verb, words); len(foreign) > 0 {
		c.Unbound, s.Found.Fetches, s.Found.Places = append(c.Unbound, foreign...), collect.FetchForeign, true
	}
	gitBrings(s, verb, words)
	if wordlist.Has("merge pull rebase cherry-pick revert", verb) {
		gitStrategy(s, verb, words, c)
	}
	gitOtherFiles(s, in, verb, words)
	switch verb {
	case "rm":
		gitRemoves(s, in, words)
	case "add", "stage":
		gitAdds(s, words)
	case "clean":
		gitCleans(s, in, words)
	case "checkout", "restore", "switch":
		gitCheckout(s, in, verb, words)
	case "reset":
		if o := argv.ParseOptions(words, "", ""); o.Has("", "hard") || o.Has("", "merge") {
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
		o := argv.ParseOptions(words, "um", "")
		impact.Force = impact.Force || o.Has("D", "") || o.Has("d", "delete") || o.Has("f", "force")
	case "mv":
		apply(s, operands.Table()["mv"], shell.Invocation{Words: append([]argv.Field{{Text: "mv"}}, words...), Roots: in.Roots})
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
		for _, f := range argv.ParseOptions(words, "b", "template separate-git-dir object-format initial-branch").Values("", "template") {
			if f.Text != "" {
				s.Touch(argv.Field{Text: ".git/hooks"}, collect.AccessWrite)
			}
		}
	case "blame", "annotate", "cat-file":
		gitShows(s, words)
	case "log", "diff", "show", "format-patch", "archive", "bundle":
		gitPrints(s, in, verb, words)
	case "grep":
		gitShows(s, words)
		for _, f := range argv.ParseOptions(words, "efABCmO", "open-files-in-pager").Values("O", "open-files-in-pager") {
			s.CodeText(f, shell.Invocation{Via: []string{"git grep -O"}})
		}
	}
}

// plainApply are options of git apply that put a patch in as it stands: all of it, forwards.
var plainApply = lazyregexp.New(`^(--|-3|--3way|--index|--cached|--reject|--recount|-v|--verbose|-q|--quiet|--allow-empty|-N|--intent-to-add|--whitespace=[a-z-]+)$`)

// gitApplies is git apply and git am: what a patch holds runs later, as the project's own
// code. One that git has printed of the repository in this very call is that already.
func gitApplies(s *shell.Shell, in shell.Invocation, verb string, words []argv.Field, c *holdgate.Command) {
	o := argv.ParseOptions(words, "pC", "directory exclude include")
	if verb == "apply" && !o.Has("", "apply") && (o.Has("", "check") || o.Has("", "stat") || o.Has("", "numstat") || o.Has("", "summary")) {
		useAll(s, in, o.Operands, collect.AccessRead)
		return
	}
	plain := verb == "apply" && len(in.Assigns) == 0 && in.Words[1].Text == verb && s.TakesPatch() &&
		!slices.ContainsFunc(words, func(w argv.Field) bool { return strings.HasPrefix(w.Text, "-") && !plainApply.MatchString(w.Text) })
	if plain && (len(o.Operands) > 0 && !slices.ContainsFunc(o.Operands, func(f argv.Field) bool { return !s.OwnPatch(f) }) || len(o.Operands) == 0 && s.Stdin.Patch) {
		useAll(s, in, o.Operands, collect.AccessRead)
		return
	}
	c.Unbound = append(c.Unbound, argv.Texts(o.Operands)...)
	if len(o.Operands) == 0 && s.Stdin.Kind == "pipe" && !s.Stdin.Known {
		c.Unbound = append(c.Unbound, "stdin")
	}
	if len(o.Operands) == 0 && s.Stdin.Kind == "file" {
		c.Unbound = append(c.Unbound, s.Stdin.File)
	}
	use(s, in, argv.Field{Text: "."}, collect.AccessWrite)
}

// gitAdds is git add: a secret in the repository is a secret that is shown.
func gitAdds(s *shell.Shell, words []argv.Field) {
	o := argv.ParseOptions(words, "", "pathspec-from-file chmod")
	forced := o.Has("f", "force") || len(o.CutShort("force")) > 0
	for _, f := range o.Operands {
		name := strings.TrimPrefix(f.Text, ":/")
		if collect.HoldsCredentials(name) || forced && (f.Glob || !f.Known() || wordlist.Has(". ./ * :", name) || name == "") {
			s.Touch(argv.Field{Text: cmp.Or(secretOf(name), ".env")}, collect.AccessRead)
		}
	}
	if forced && (o.Has("A", "all") || o.Has("", "pathspec-from-file")) {
		s.Touch(argv.Field{Text: ".env"}, collect.AccessRead)
	}
}

// secretOf is a path that names a secret by itself, or nothing.
func secretOf(name string) string {
	if collect.HoldsCredentials(name) {
		return name
	}
	return ""
}

// gitRemoves is git rm.
func gitRemoves(s *shell.Shell, in shell.Invocation, words []argv.Field) {
	impact := &s.Found.Facts.Impact
	o := argv.ParseOptions(words, "", "pathspec-from-file")
	impact.Recursive = impact.Recursive || o.Has("r", "")
	impact.Force = impact.Force || o.Has("f", "force")
	if !o.Has("", "cached") {
		useAll(s, in, o.Operands, collect.AccessDelete)
	}
}

// gitCleans is git clean, which asks for force to do anything.
func gitCleans(s *shell.Shell, in shell.Invocation, words []argv.Field) {
	impact := &s.Found.Facts.Impact
	o := argv.ParseOptions(words, "e", "exclude")
	if o.Has("n", "dry-run") || !o.Has("f", "force") {
		return
	}
	impact.Force = true
	impact.Recursive = impact.Recursive || o.Has("d", "")
	if len(o.Operands) == 0 {
		o.Operands = []argv.Field{{Text: "."}}
	}
	useAll(s, in, o.Operands, collect.AccessDelete)
}

// gitWorktree is git worktree.
func gitWorktree(s *shell.Shell, in shell.Invocation, words []argv.Field) {
	if !slices.ContainsFunc(words, func(w argv.Field) bool { return sibling.MatchString(w.Text) }) {
		strays(s, in)
	}
	if o := argv.ParseOptions(words, "", ""); len(words) > 1 && words[0].Text == "remove" && o.Has("f", "force") {
		for _, f := range o.Operands[1:] { // without force what git does not keep stays
			if !madeTree(s, f) {
				use(s, in, f, collect.AccessDelete)
			}
		}
	}
}

// gitPrints is what prints commits, or writes them to a file.
func gitPrints(s *shell.Shell, in shell.Invocation, verb string, words []argv.Field) {
	if o := argv.ParseOptions(words, "nSGL", ""); verb != "log" || o.Has("pu", "patch") {
		gitShows(s, words)
	}
	o := argv.ParseOptions(words, "on", "output output-directory")
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
var sibling = lazyregexp.New(`^\.\./[A-Za-z][\w.-]*$`)

// gitShows notes the secrets whose content, now or once, git shows: by path, or
// by revision and path.
func gitShows(s *shell.Shell, words []argv.Field) {
	for _, w := range words {
		name := w.Text
		if _, file, ok := strings.Cut(name, ":"); ok {
			name = file
		}
		if !strings.HasPrefix(name, "-") && collect.Classify(name, collect.AccessRead) == collect.ClassSecret {
			s.Touch(argv.Field{Text: name, Dynamic: w.Dynamic}, collect.AccessRead)
		}
	}
}

// gitOtherFiles touches files beside those that git tracks: it prints them, puts
// them into commits, or writes them.
func gitOtherFiles(s *shell.Shell, in shell.Invocation, verb string, words []argv.Field) {
	switch verb {
	case "commit", "tag", "merge", "notes":
		o := argv.ParseOptions(words, "mFCctu", "message file template author date reuse-message reedit-message")
		useAll(s, in, append(o.Values("F", "file"), o.Values("", "template")...), collect.AccessRead)
	case "blame", "annotate":
		useAll(s, in, argv.ParseOptions(words, "LSCM", "contents ignore-revs-file").Values("", "contents"), collect.AccessRead)
	case "hash-object":
		useAll(s, in, argv.ParseOptions(words, "t", "path").Operands, collect.AccessRead)
	case "diff":
		if o := argv.ParseOptions(words, "USGO", "output format pretty"); o.Has("", "no-index") {
			useAll(s, in, o.Operands, collect.AccessRead)
		}
	case "init":
		useAll(s, in, argv.ParseOptions(words, "b", "initial-branch template separate-git-dir object-format").Operands, collect.AccessWrite)
	case "interpret-trailers":
		if o := argv.ParseOptions(words, "", "trailer where if-exists if-missing"); o.Has("", "in-place") {
			useAll(s, in, o.Operands, collect.AccessWrite)
		}
	case "bugreport":
		useAll(s, in, argv.ParseOptions(words, "os", "output-directory suffix").Values("o", "output-directory"), collect.AccessWrite)
	case "shortlog", "stash":
		useAll(s, in, argv.ParseOptions(words, "m", "output message").Values("", "output"), collect.AccessWrite)
	}
}

func useAll(s *shell.Shell, in shell.Invocation, fs []argv.Field, access string) {
	for _, f := range fs {
		use(s, in, f, access)
	}
}

// gitCheckout is what overwrites files of the working tree.
func gitCheckout(s *shell.Shell, in shell.Invocation, verb string, words []argv.Field) {
	o := argv.ParseOptions(words, "bBcCsx", "source orphan")
	if verb != "restore" && o.Has("f", "force") || o.Has("", "discard-changes") {
		s.Found.Facts.Impact.Force = true
		use(s, in, argv.Field{Text: "."}, collect.AccessWrite)
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
		if verb == "checkout" && !o.Has("bBt", "orphan") && !slices.ContainsFunc(words, func(w argv.Field) bool { return w.Text == "--" }) {
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
func gitCheckoutFiles(s *shell.Shell, in shell.Invocation, operands []argv.Field) {
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
func gitSetting(s *shell.Shell, words []argv.Field, c *holdgate.Command) {
	o := argv.ParseOptions(words, "f", "file blob type default")
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
	file := argv.Field{Text: ".git/config"}
	switch f := o.Values("f", "file"); {
	case len(f) > 0:
		file = f[0]
	case o.Has("", "global"):
		file = argv.Field{Text: "~/.gitconfig"}
	case o.Has("", "system"):
		file = argv.Field{Text: "/etc/gitconfig"}
	}
	s.Touch(file, collect.AccessWrite)
	if len(kv) > 1 {
		gitConfig(s, argv.Field{Text: kv[0].Text + "=" + kv[1].Text, Dynamic: kv[1].Dynamic}, c)
	}
}

// gitRuns follows the shell text that rewriting commands take.
func gitRuns(s *shell.Shell, verb string, words []argv.Field, c *holdgate.Command) {
	switch verb {
	case "filter-branch", "filter-repo":
		s.Found.Facts.Impact.Force = true
		for i, w := range words[:max(len(words)-1, 0)] {
			if strings.HasSuffix(w.Text, "-filter") {
				s.CodeText(words[i+1], shell.Invocation{Via: []string{"git " + verb}})
			}
		}
	case "rebase":
		for _, f := range argv.ParseOptions(words, "xsX", "exec onto").Values("x", "exec") {
			s.CodeText(f, shell.Invocation{Via: []string{"git rebase -x"}})
		}
	case "bisect":
		if len(words) > 1 && words[0].Text == "run" {
			s.Run(shell.Invocation{Words: words[1:], Via: []string{"git bisect run"}, Plain: true})
		}
	}
}
