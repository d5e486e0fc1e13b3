package programs

import (
	"path"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/operands"
	"github.com/holdgate/holdgate/rego/facts/shell"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// onlyLook are programs, and commands of shells, of whose words none is written:
// a path outside of the session's folder is read by them at most.
const onlyLook = operands.TextPrograms + " " + operands.Readers + ` [[ cd pushd popd pwd dirs export declare local readonly typeset unset set shift read wait trap alias unalias hash umask ulimit
	command whereis whatis apropos id groups ps pgrep pidof lsof fuser free uptime vmstat pstree kill jobs fg bg disown find fd fdfind
	eza exa lsd dust duf tokei cloc scc difft delta hexyl sum b2sum sha224sum namei getfacl lsattr getfattr ldd nm objdump readelf size`

// containers are programs most of whose words name what lies in another place.
const containers = "docker podman nerdctl kubectl oc"

// A glued value begins behind an equals sign, or behind the letters of an option.
var (
	gluedPath = lazyregexp.New(`^-{1,2}[A-Za-z][\w-]*?((?:/|~|\.\./).*)$`)
	// rootNames are first parts of absolute paths of files: an address of a page can
	// look like a path, too.
	rootNames = lazyregexp.New(`(?i)^/(home|users|root|mnt|media|srv|var|work|workspaces?|volumes|private|export|scratch|net|nfs|backups?)(/|$)`)
)

// strays touches the paths outside of the session's folder that stand among the
// words of a program of whose operands nothing is known: it may write what they
// name. What the system keeps is only read without the rights of another user.
func strays(s *shell.Shell, in shell.Invocation) {
	name := in.Name()
	if wordlist.Has(onlyLook, name) || s.Remote || wordlist.Has(containers, name) && !wordlist.Has("build buildx image bake", textAt(in, 1)) {
		return
	}
	if _, tool := tools[name]; (tool || builtProgram.MatchString(in.Words[0].Text)) && len(s.Dirs) > 1 {
		s = likeliest(s)
	}
	if name == "wasm-pack" { // its paths start from the crate that it builds
		s = s.Sub()
		s.MoveTo(argv.Field{Text: textAt(in, 2)})
	}
	inputs := writesElsewhere(s, in)
	for i, w := range in.Words[1:] {
		if inputs && !wordlist.Has(outputs, in.Words[i].Text) && dataFile.MatchString(w.Text) && w.Known() {
			s.Touch(w, collect.AccessRead)
			continue
		}
		if w.Text == "/" && wordlist.Has(folderOptions, in.Words[i].Text) {
			s.Touch(w, collect.AccessWrite)
		}
		if strings.ContainsAny(w.Text, "/~") && !strings.ContainsAny(w.Text, "\n") && !strings.Contains(w.Text, "://") || strings.HasPrefix(w.Text, "..") {
			stray(s, w, w.Text)
		}
	}
}

// builtProgram is what a build of the project has made, by where it lies.
var builtProgram = lazyregexp.New(`^(\./)?((target|build|out|bin|dist|cmake-build-[a-z]+)/)(release/|debug/|bin/)?[\w-]+$`)

// dataFile are files of data, or pictures, by their names, and whatever they are called
// before the end.
var dataFile = lazyregexp.New(`^(\.\./)+([\w-][\w.-]*/)*[\w*?-][\w.*?-]*\.(png|jpe?g|gif|webp|svg|bmp|tiff?|csv|tsv|json|jsonl|ndjson|parquet|txt|md|xml|ya?ml|wav|mp3|mp4|pdf|bin|dat)$`)

// writesElsewhere reports whether a program that the project's build has made is told by
// an option where to write, so that the files of data that it is given besides are what
// it reads.
func writesElsewhere(s *shell.Shell, in shell.Invocation) bool {
	if !builtProgram.MatchString(in.Words[0].Text) || !ownProgram(s, in.Words[:1]) {
		return false
	}
	told := s.Consumed // it prints what it makes
	for i, w := range in.Words[1:] {
		told = told || wordlist.Has("-o --out --output", in.Words[i].Text) && i > 0 && !strings.HasPrefix(w.Text, "-") || strings.HasPrefix(w.Text, "--output=") || strings.HasPrefix(w.Text, "--out=")
		if changesInPlace.MatchString(w.Text) {
			return false
		}
	}
	return told
}

// changesInPlace are options and subcommands with which programs change what they are given.
var changesInPlace = lazyregexp.New(`^(-[a-zA-Z]*[iIwdfD][a-zA-Z]*|--?(in-?place|write|fix|delete|remove|rm|move|mv|overwrite|replace|force|strip|clean|purge|backup|update|sync|prune)\b.*|rm|remove|delete|mv|move|fix|write|clean|purge|strip|sync|prune|update|install|cp|copy|tee|shred|truncate)$`)

// folderOptions come before the folder that a program works in.
const folderOptions = "-d --directory --dir --root --cwd -C -t -h --prefix"

// likeliest is a shell that is in the folder where nothing failed before: a build
// that runs elsewhere is no way to hide.
func likeliest(s *shell.Shell) *shell.Shell {
	sub := *s
	sub.Dirs = s.Dirs[:1]
	return &sub
}

// stray is strays for one word: the path that it is, that is glued to it, or those
// that it lists.
func stray(s *shell.Shell, w argv.Field, text string) {
	s.Found.Tick()
	text = strings.TrimPrefix(strings.TrimPrefix(text, "@"), "file:")
	if m := gluedPath.FindStringSubmatch(text); m != nil {
		text = m[1]
	}
	if _, value, ok := strings.Cut(text, "="); ok {
		stray(s, w, value)
		text, _, _ = strings.Cut(text, "=")
	}
	if i := strings.IndexAny(text, ",:"); i >= 0 {
		stray(s, w, text[i+1:])
		text = text[:i]
	}
	if astray(s, argv.Field{Text: text, Dynamic: w.Dynamic}) {
		s.Touch(argv.Field{Text: text, Dynamic: w.Dynamic}, collect.AccessWrite)
	}
}

// astray reports whether a word is a path outside of the session's folder, and of
// what the system keeps and anybody may read or write.
func astray(s *shell.Shell, f argv.Field) bool {
	clean := path.Clean(f.Text)
	switch {
	case !collect.LeadsOut(f.Text) || s.Stays(f), strings.HasPrefix(clean, "/tmp/"), clean == "/tmp", strings.HasPrefix(clean, "/var/tmp/"), collect.HarmlessDevice(clean):
		return false
	case strings.HasPrefix(clean, "/"):
		home := s.Found.Opts.Home
		return collect.Classify(clean, collect.AccessWrite) != collect.ClassSystem && (rootNames.MatchString(clean) || collect.Classify(clean, collect.AccessWrite) != "" || home != "" && strings.HasPrefix(clean+"/", home+"/"))
	}
	return true
}
