package facts

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// gitCommand is git. It changes files, history and what runs later, by
// subcommand and by option.
func gitCommand(s *shell, in invocation, c *Command) {
	words := in.words[1:]
	g := s.sub()
	i := 0
	for i < len(words) && strings.HasPrefix(words[i].text, "-") {
		t := words[i].text
		next := field{}
		if i+1 < len(words) {
			next = words[i+1]
		}
		switch {
		case t == "-C":
			g.moveTo(next)
			i++
		case t == "-c" || t == "--config-env":
			s.gitOption(next, c)
			i++
		case strings.HasPrefix(t, "-c"):
			s.gitOption(field{text: t[2:], dynamic: words[i].dynamic}, c)
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
	g.gitVerb(in, words[i].text, words[i+1:], c)
}

// gitVerb reads a subcommand. The shell is the one that git runs in, after -C.
func (s *shell) gitVerb(in invocation, verb string, words []field, c *Command) {
	here := field{text: "."}
	impact := &s.x.Facts.Impact
	s.gitBrings(verb, words)
	if wordlist.Has("merge pull rebase cherry-pick revert", verb) {
		s.gitStrategy(verb, words, c)
	}
	s.gitOtherFiles(in, verb, words)
	switch verb {
	case "rm":
		o := parseOptions(words, "", "pathspec-from-file")
		impact.Recursive = impact.Recursive || o.has("r", "")
		impact.Force = impact.Force || o.has("f", "force")
		if !o.has("", "cached") {
			s.useAll(in, o.operands, collect.AccessDelete)
		}
	case "clean":
		o := parseOptions(words, "e", "exclude")
		if o.has("n", "dry-run") || !o.has("f", "force") {
			return
		}
		impact.Force = true
		impact.Recursive = impact.Recursive || o.has("d", "")
		if len(o.operands) == 0 {
			o.operands = []field{here}
		}
		s.useAll(in, o.operands, collect.AccessDelete)
	case "checkout", "restore", "switch":
		s.gitCheckout(in, verb, words)
	case "reset":
		if o := parseOptions(words, "", ""); o.has("", "hard") || o.has("", "merge") {
			impact.Force = true
			s.use(in, here, collect.AccessWrite)
		}
	case "stash":
		if len(words) > 0 && (words[0].text == "drop" || words[0].text == "clear") {
			impact.Force = true
		}
	case "push":
		o := parseOptions(words, "o", "push-option repo receive-pack exec")
		forced := o.has("f", "force") || o.has("d", "delete") || o.has("", "mirror") || o.has("", "force-with-lease") || o.has("", "prune")
		for _, f := range o.operands {
			forced = forced || strings.HasPrefix(f.text, "+") || strings.HasPrefix(f.text, ":")
			s.gitRemote(f)
		}
		impact.Force = impact.Force || forced
		s.gitPrograms(o)
	case "branch", "tag":
		o := parseOptions(words, "um", "")
		impact.Force = impact.Force || o.has("D", "") || o.has("d", "delete") || o.has("f", "force")
	case "mv":
		s.apply(programs()["mv"], invocation{words: append([]field{{text: "mv"}}, words...), roots: in.roots})
	case "config":
		s.gitSetting(words, c)
	case "clone", "fetch", "pull", "remote", "ls-remote", "submodule":
		s.gitTransfer(in, verb, words, c)
	case "filter-branch", "filter-repo", "bisect", "rebase", "submodule-foreach":
		s.gitRuns(verb, words, c)
	case "apply", "am":
		if o := parseOptions(words, "pC", "directory exclude include"); verb == "apply" && !o.has("", "apply") && (o.has("", "check") || o.has("", "stat") || o.has("", "numstat") || o.has("", "summary")) {
			s.useAll(in, o.operands, collect.AccessRead)
			break
		}
		c.Unbound = append(c.Unbound, texts(parseOptions(words, "pC", "directory exclude include").operands)...)
		s.use(in, here, collect.AccessWrite)
	case "worktree":
		if !slices.ContainsFunc(words, func(w field) bool { return sibling.MatchString(w.text) }) {
			s.strays(in)
		}
		if o := parseOptions(words, "", ""); len(words) > 1 && words[0].text == "remove" && o.has("f", "force") {
			for _, f := range o.operands[1:] { // without force what git does not keep stays
				if !s.madeTree(f) {
					s.use(in, f, collect.AccessDelete)
				}
			}
		}
	case "update-ref", "gc", "reflog", "prune":
		impact.Force = impact.Force || verb != "gc"
	case "checkout-index", "fast-export", "pack-objects", "index-pack", "sparse-checkout":
		s.strays(in)
	case "init":
		for _, f := range parseOptions(words, "b", "template separate-git-dir object-format initial-branch").values("", "template") {
			if f.text != "" {
				s.touch(field{text: ".git/hooks"}, collect.AccessWrite)
			}
		}
	case "blame", "annotate", "cat-file":
		s.gitShows(words)
	case "log", "diff", "show", "format-patch", "archive", "bundle":
		if o := parseOptions(words, "nSGL", ""); verb != "log" || o.has("pu", "patch") {
			s.gitShows(words)
		}
		o := parseOptions(words, "on", "output output-directory")
		for _, f := range append(o.values("", "output"), o.values("", "output-directory")...) {
			s.use(in, f, collect.AccessWrite)
		}
		if verb == "bundle" && len(o.operands) > 1 && o.operands[0].text == "create" {
			s.use(in, o.operands[1], collect.AccessWrite)
		}
		if verb == "archive" || verb == "format-patch" {
			s.useAll(in, o.values("o", ""), collect.AccessWrite)
		}
	case "grep":
		s.gitShows(words)
		for _, f := range parseOptions(words, "efABCmO", "open-files-in-pager").values("O", "open-files-in-pager") {
			s.codeText(f, invocation{via: []string{"git grep -O"}})
		}
	}
}

// sibling is a folder beside the one at hand, where people keep further trees of a
// repository.
var sibling = regexp.MustCompile(`^\.\./[A-Za-z][\w.-]*$`)

// gitShows notes the secrets whose content, now or once, git shows: by path, or
// by revision and path.
func (s *shell) gitShows(words []field) {
	for _, w := range words {
		name := w.text
		if _, file, ok := strings.Cut(name, ":"); ok {
			name = file
		}
		if !strings.HasPrefix(name, "-") && collect.Classify(name, collect.AccessRead) == collect.ClassSecret {
			s.touch(field{text: name, dynamic: w.dynamic}, collect.AccessRead)
		}
	}
}

// gitOtherFiles touches files beside those that git tracks: it prints them, puts
// them into commits, or writes them.
func (s *shell) gitOtherFiles(in invocation, verb string, words []field) {
	switch verb {
	case "commit", "tag", "merge", "notes":
		o := parseOptions(words, "mFCctu", "message file template author date reuse-message reedit-message")
		s.useAll(in, append(o.values("F", "file"), o.values("", "template")...), collect.AccessRead)
	case "blame", "annotate":
		s.useAll(in, parseOptions(words, "LSCM", "contents ignore-revs-file").values("", "contents"), collect.AccessRead)
	case "hash-object":
		s.useAll(in, parseOptions(words, "t", "path").operands, collect.AccessRead)
	case "diff":
		if o := parseOptions(words, "USGO", "output format pretty"); o.has("", "no-index") {
			s.useAll(in, o.operands, collect.AccessRead)
		}
	case "init":
		s.useAll(in, parseOptions(words, "b", "initial-branch template separate-git-dir object-format").operands, collect.AccessWrite)
	case "interpret-trailers":
		if o := parseOptions(words, "", "trailer where if-exists if-missing"); o.has("", "in-place") {
			s.useAll(in, o.operands, collect.AccessWrite)
		}
	case "bugreport":
		s.useAll(in, parseOptions(words, "os", "output-directory suffix").values("o", "output-directory"), collect.AccessWrite)
	case "shortlog", "stash":
		s.useAll(in, parseOptions(words, "m", "output message").values("", "output"), collect.AccessWrite)
	}
}

func (s *shell) useAll(in invocation, fs []field, access string) {
	for _, f := range fs {
		s.use(in, f, access)
	}
}

func texts(fs []field) []string {
	var out []string
	for _, f := range fs {
		out = append(out, f.text)
	}
	return out
}

// gitCheckout is what overwrites files of the working tree.
func (s *shell) gitCheckout(in invocation, verb string, words []field) {
	o := parseOptions(words, "bBcCsx", "source orphan")
	if verb != "restore" && o.has("f", "force") || o.has("", "discard-changes") {
		s.x.Facts.Impact.Force = true
		s.use(in, field{text: "."}, collect.AccessWrite)
	}
	files := o.operands
	if verb != "restore" {
		files = nil
		for i, w := range words {
			if w.text == "--" {
				files = words[i+1:]
				break
			}
			if w.text == "." || strings.HasPrefix(w.text, "./") || strings.HasPrefix(w.text, ":/") {
				files = append(files, w)
			}
		}
		if verb == "checkout" && !o.has("bBt", "orphan") && !slices.ContainsFunc(words, func(w field) bool { return w.text == "--" }) {
			s.gitCheckoutFiles(in, o.operands)
		}
	}
	if verb == "restore" && o.has("S", "staged") && !o.has("W", "worktree") {
		return
	}
	s.useAll(in, files, collect.AccessWrite)
}

// gitCheckoutFiles are the files that a checkout without "--" puts back: all words behind
// the first, and the first where it can be no branch.
func (s *shell) gitCheckoutFiles(in invocation, operands []field) {
	for i, f := range operands {
		if i > 0 || strings.Contains(f.text, "/") && wordlist.Has(sourceEnds+" .json .yaml .yml .md .txt .lock .xml", path.Ext(f.text)) {
			s.use(in, f, collect.AccessDelete)
		}
	}
}

// gitSetting is git config where it writes: some settings run later.
func (s *shell) gitSetting(words []field, c *Command) {
	o := parseOptions(words, "f", "file blob type default")
	if o.has("l", "list") || o.has("", "get") || o.has("", "get-all") || o.has("", "get-regexp") || o.has("e", "edit") || len(o.operands) < 2 {
		return
	}
	if wordlist.Has("get list", o.operands[0].text) {
		return
	}
	kv := o.operands
	if kv[0].text == "set" {
		kv = kv[1:]
	}
	if !o.has("", "global") && !o.has("", "system") && len(o.values("f", "file")) == 0 && kv[0].known() && harmlessGitKey(kv[0].text) {
		return
	}
	file := field{text: ".git/config"}
	switch f := o.values("f", "file"); {
	case len(f) > 0:
		file = f[0]
	case o.has("", "global"):
		file = field{text: "~/.gitconfig"}
	case o.has("", "system"):
		file = field{text: "/etc/gitconfig"}
	}
	s.touch(file, collect.AccessWrite)
	if len(kv) > 1 {
		s.gitConfig(field{text: kv[0].text + "=" + kv[1].text, dynamic: kv[1].dynamic}, c)
	}
}

// gitTransfer is what talks to another repository.
func (s *shell) gitTransfer(in invocation, verb string, words []field, c *Command) {
	o := parseOptions(words, "bcuoj", "branch config upload-pack origin depth reference template jobs")
	for _, f := range append(o.values("c", "config"), o.values("", "template")...) {
		s.gitConfig(f, c)
	}
	s.gitPrograms(o)
	for i, f := range o.operands {
		s.gitRemote(f)
		if i == 0 && wordlist.Has("clone fetch pull ls-remote", verb) && s.leadsAway(f) {
			c.Unbound = append(c.Unbound, f.text)
		}
		if verb == "clone" && i == 1 {
			s.use(in, f, collect.AccessWrite)
		}
	}
	if verb == "submodule" && len(o.operands) > 1 && o.operands[0].text == "foreach" {
		s.codeText(field{text: join(o.operands[1:], " "), dynamic: dynamics(o.operands)}, invocation{via: []string{"git submodule foreach"}})
	}
}

// gitBrings notes what brings code that nobody was shown, and what puts it into
// the files of the project, where builds and scripts run it.
func (s *shell) gitBrings(verb string, words []field) {
	brings, from := collect.FetchNone, parseOptions(words, "jo", "depth jobs server-option").operands
	switch {
	case verb == "pull", verb == "fetch", verb == "remote" && textOf(from, 0) == "update":
		if brings = collect.FetchOwn; slices.ContainsFunc(from, foreignRef) || verb != "remote" && len(from) > 0 && from[0].text != "origin" {
			brings = collect.FetchForeign
		}
	case wordlist.Has("clone lfs svn p4 subtree", verb), verb == "submodule" && wordlist.Has("update add", textOf(from, 0)), verb == "remote" && textOf(from, 0) == "add":
		brings = collect.FetchForeign
	case slices.ContainsFunc(words, func(w field) bool { return strings.Contains(w.text, "FETCH_HEAD") }):
		brings = collect.FetchForeign
	}
	s.x.Fetches = max(s.x.Fetches, brings)
	s.x.Places = s.x.Places || brings == collect.FetchForeign && verb != "fetch" && verb != "remote" ||
		wordlist.Has("pull checkout switch merge rebase reset restore cherry-pick revert read-tree checkout-index worktree am apply", verb)
}

// foreignRef reports whether a ref can be anybody's: a pull request, or one that
// is fetched under another name.
func foreignRef(f field) bool {
	return !f.known() || strings.ContainsAny(f.text, ":+*@{") || strings.HasPrefix(f.text, "refs/") || strings.HasPrefix(f.text, "pull/") || strings.HasPrefix(f.text, "merge-requests/")
}

// gitStrategy notes a way to merge that is not one of git's own: a program of that
// name.
func (s *shell) gitStrategy(verb string, words []field, c *Command) {
	o := parseOptions(words, "sXmx", "strategy strategy-option onto exec message")
	list := o.cutShort("strategy")
	if !wordlist.Has("cherry-pick revert", verb) {
		list = append(list, o.values("s", "")...)
	}
	for _, f := range list {
		if !wordlist.Has("ort recursive resolve octopus ours subtree", f.text) {
			c.Unresolved = append(c.Unresolved, "git merge-"+f.text)
		}
	}
}

// leadsAway reports whether a word is the path of a repository outside of the
// session's folder.
func (s *shell) leadsAway(f field) bool {
	f.text = strings.TrimPrefix(f.text, "file://")
	return leadsOut(f.text) && !s.stays(f)
}

// gitPrograms follows the programs that a transfer starts.
func (s *shell) gitPrograms(o options) {
	for _, long := range []string{"upload-pack", "receive-pack", "exec"} {
		for _, f := range o.values("", long) {
			s.codeText(f, invocation{via: []string{"git --" + long}})
		}
	}
	for _, f := range o.values("u", "") {
		if f.text != "" && strings.ContainsAny(f.text, " ;|&$`/") {
			s.codeText(f, invocation{via: []string{"git -u"}})
		}
	}
}

// gitRemote notes where a repository lies, and follows the transport that
// runs a command.
func (s *shell) gitRemote(f field) {
	if code, ok := strings.CutPrefix(f.text, "ext::"); ok {
		s.codeText(field{text: code, dynamic: f.dynamic}, invocation{via: []string{"git ext::"}})
		return
	}
	if strings.Contains(f.text, "://") {
		s.x.URL(f.text)
		return
	}
	if host, rest, ok := strings.Cut(f.text, ":"); ok && remoteHost(host) && rest != "" {
		s.x.Host("ssh", host)
	}
}

// gitRuns follows the shell text that rewriting commands take.
func (s *shell) gitRuns(verb string, words []field, c *Command) {
	switch verb {
	case "filter-branch", "filter-repo":
		s.x.Facts.Impact.Force = true
		for i, w := range words[:max(len(words)-1, 0)] {
			if strings.HasSuffix(w.text, "-filter") {
				s.codeText(words[i+1], invocation{via: []string{"git " + verb}})
			}
		}
	case "rebase":
		for _, f := range parseOptions(words, "xsX", "exec onto").values("x", "exec") {
			s.codeText(f, invocation{via: []string{"git rebase -x"}})
		}
	case "bisect":
		if len(words) > 1 && words[0].text == "run" {
			s.run(invocation{words: words[1:], via: []string{"git bisect run"}, plain: true})
		}
	}
}
