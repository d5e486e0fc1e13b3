package facts

import (
	"path"
	"regexp"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// onlyLook are programs, and commands of shells, of whose words none is written:
// a path outside of the session's folder is read by them at most.
const onlyLook = textPrograms + " " + readers + ` [[ cd pushd popd pwd dirs export declare local readonly typeset unset set shift read wait trap alias unalias hash umask ulimit
	command whereis whatis apropos id groups ps pgrep pidof lsof fuser free uptime vmstat pstree kill jobs fg bg disown find fd fdfind
	eza exa lsd dust duf tokei cloc scc difft delta hexyl sum b2sum sha224sum namei getfacl lsattr getfattr ldd nm objdump readelf size`

// containers are programs most of whose words name what lies in another place.
const containers = "docker podman nerdctl kubectl oc"

// A glued value begins behind an equals sign, or behind the letters of an option.
var (
	gluedPath = regexp.MustCompile(`^-{1,2}[A-Za-z][\w-]*?((?:/|~|\.\./).*)$`)
	// rootNames are first parts of absolute paths of files: an address of a page can
	// look like a path, too.
	rootNames = regexp.MustCompile(`(?i)^/(home|users|root|mnt|media|srv|var|work|workspaces?|volumes|private|export|scratch|net|nfs|backups?)(/|$)`)
)

// strays touches the paths outside of the session's folder that stand among the
// words of a program of whose operands nothing is known: it may write what they
// name. What the system keeps is only read without the rights of another user.
func (s *shell) strays(in invocation) {
	name := in.name()
	if wordlist.Has(onlyLook, name) || s.remote || wordlist.Has(containers, name) && !wordlist.Has("build buildx image bake", textAt(in, 1)) {
		return
	}
	if _, tool := tools[name]; tool && len(s.dirs) > 1 {
		s = s.likeliest()
	}
	if name == "wasm-pack" { // its paths start from the crate that it builds
		s = s.sub()
		s.moveTo(field{text: textAt(in, 2)})
	}
	for i, w := range in.words[1:] {
		if w.text == "/" && wordlist.Has(folderOptions, in.words[i].text) {
			s.touch(w, collect.AccessWrite)
		}
		if strings.ContainsAny(w.text, "/~") && !strings.ContainsAny(w.text, "\n") && !strings.Contains(w.text, "://") || strings.HasPrefix(w.text, "..") {
			s.stray(w, w.text)
		}
	}
}

// folderOptions come before the folder that a program works in.
const folderOptions = "-d --directory --dir --root --cwd -C -t -h --prefix"

// likeliest is a shell that is in the folder where nothing failed before: a build
// that runs elsewhere is no way to hide.
func (s *shell) likeliest() *shell {
	sub := *s
	sub.dirs = s.dirs[:1]
	return &sub
}

// stray is strays for one word: the path that it is, that is glued to it, or those
// that it lists.
func (s *shell) stray(w field, text string) {
	s.x.Tick()
	text = strings.TrimPrefix(strings.TrimPrefix(text, "@"), "file:")
	if m := gluedPath.FindStringSubmatch(text); m != nil {
		text = m[1]
	}
	if _, value, ok := strings.Cut(text, "="); ok {
		s.stray(w, value)
		text, _, _ = strings.Cut(text, "=")
	}
	if i := strings.IndexAny(text, ",:"); i >= 0 {
		s.stray(w, text[i+1:])
		text = text[:i]
	}
	if s.astray(field{text: text, dynamic: w.dynamic}) {
		s.touch(field{text: text, dynamic: w.dynamic}, collect.AccessWrite)
	}
}

// astray reports whether a word is a path outside of the session's folder, and of
// what the system keeps and anybody may read or write.
func (s *shell) astray(f field) bool {
	clean := path.Clean(f.text)
	switch {
	case !leadsOut(f.text) || s.stays(f), strings.HasPrefix(clean, "/tmp/"), clean == "/tmp", strings.HasPrefix(clean, "/var/tmp/"), collect.HarmlessDevice(clean):
		return false
	case strings.HasPrefix(clean, "/"):
		home := s.x.Opts.Home
		return collect.Classify(clean, collect.AccessWrite) != collect.ClassSystem && (rootNames.MatchString(clean) || collect.Classify(clean, collect.AccessWrite) != "" || home != "" && strings.HasPrefix(clean+"/", home+"/"))
	}
	return true
}
