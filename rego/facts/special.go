package facts

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// specialOf finds the reader of a command whose arguments have a grammar of
// their own; nil for all others.
func specialOf(name string) func(*shell, invocation, *Command) {
	switch name {
	case "git":
		return gitCommand
	case "go":
		return goCommand
	case "docker", "podman", "nerdctl", "docker-compose":
		return containerCommand
	case "gcc", "g++", "cc", "c++", "clang", "clang++", "tcc":
		return compilerCommand
	case "zip":
		return zipCommand
	case "make", "gmake":
		return makeCommand
	case "cargo":
		return cargoCommand
	case "cmake":
		return cmakeCommand
	case "rustc":
		return rustcCommand
	case "protoc":
		return protocCommand
	case "lldb", "gdb":
		return debuggerCommand
	case "dd":
		return ddCommand
	case "sed", "gsed":
		return sedCommand
	case "tar", "gtar", "bsdtar":
		return tarCommand
	case "rsync":
		return rsyncCommand
	case "curl":
		return curlCommand
	case "wget":
		return wgetCommand
	case "apply_patch", "applypatch":
		return patchCommand
	case "install":
		return installCommand
	case "man":
		return manCommand
	case "unzip":
		return unzipCommand
	case "psql", "mysql", "mariadb", "sqlite3", "sqlite", "duckdb", "clickhouse-client", "clickhouse", "sqlcmd", "cockroach", "snowsql":
		return sqlShell
	case "ssh", "sftp", "ftp", "telnet", "nc", "ncat", "netcat", "socat", "ping", "nslookup", "dig", "host":
		return connects
	}
	return nil
}

// ddCommand is dd: its operands are key=value.
func ddCommand(s *shell, in invocation, _ *Command) {
	for _, w := range in.words[1:] {
		key, value, _ := strings.Cut(w.text, "=")
		f := field{text: value, dynamic: w.dynamic}
		switch key {
		case "of":
			s.use(in, f, collect.AccessWrite)
		case "if":
			s.use(in, f, collect.AccessRead)
		}
	}
}

// tarCommand is tar, in the old style (tar xf) and the new.
func tarCommand(s *shell, in invocation, c *Command) {
	const valued = "fCTXIbFgHKLNV"
	o := parseOptions(tarWords(in.words[1:], valued), valued, "file directory files-from exclude-from use-compress-program to-command checkpoint-action rsh-command exclude transform info-script new-volume-script")
	archive := o.values("f", "file")
	for _, a := range archive {
		if host, _, remote := strings.Cut(a.text, ":"); remote && !strings.Contains(host, "/") && !o.has("", "force-local") {
			s.run(invocation{words: []field{{text: "ssh"}, {text: host, dynamic: a.dynamic}}, via: []string{"tar"}, plain: true})
		}
	}
	dirs := append(o.values("C", "directory"), o.values("", "one-top-level")...)
	from, to := collect.AccessRead, collect.AccessWrite
	extract := o.has("x", "extract") || o.has("", "get")
	switch {
	case extract || o.has("t", "list"):
		for _, a := range archive {
			s.use(in, a, from)
		}
		if !extract {
			break
		}
		if len(dirs) == 0 {
			dirs = []field{{text: "."}}
		}
		if o.has("P", "absolute-names") {
			s.touch(field{text: "/"}, to)
		}
		for _, d := range dirs {
			s.into(in, d, nil)
			s.use(in, d, s.unpacked(d, !o.has("k", "keep-old-files") && !o.has("", "skip-old-files")))
		}
	default:
		for _, a := range archive {
			s.use(in, a, to)
		}
		if o.has("", "remove-files") {
			from = collect.AccessDelete
		}
		s.reaching(collect.ReachBeneath, func() { s.useAll(in, o.operands, from) })
	}
	for _, opt := range []string{"to-command", "use-compress-program", "rsh-command", "info-script", "new-volume-script"} {
		for _, f := range o.cutShort(opt) {
			s.codeText(f, invocation{via: []string{"tar --" + opt}})
		}
	}
	for _, f := range append(o.values("I", ""), o.values("F", "")...) {
		s.codeText(f, invocation{via: []string{"tar"}})
	}
	for _, f := range o.cutShort("checkpoint-action") {
		if run, ok := strings.CutPrefix(f.text, "exec="); ok {
			s.codeText(field{text: run, dynamic: f.dynamic}, invocation{via: []string{"tar --checkpoint-action"}})
		}
	}
}

// tarWords writes the old style in the new: letters in the first word, without
// a dash, take their values in order from the words behind it.
func tarWords(words []field, valued string) []field {
	if len(words) == 0 || words[0].text == "" || words[0].text[0] == '-' {
		return words
	}
	var out []field
	rest := words[1:]
	for _, letter := range words[0].text {
		out = append(out, field{text: "-" + string(letter)})
		if strings.ContainsRune(valued, letter) && len(rest) > 0 {
			out, rest = append(out, rest[0]), rest[1:]
		}
	}
	return append(out, rest...)
}

// rsyncCommand is rsync, which deletes at its target with --delete.
func rsyncCommand(s *shell, in invocation, _ *Command) {
	o := s.apply(programs()["rsync"], in)
	i := &s.x.Facts.Impact
	i.Recursive = i.Recursive || o.has("ra", "recursive") || o.has("", "archive")
	deletes := false
	for name := range o.long {
		deletes = deletes || strings.HasPrefix(name, "del")
	}
	if n := len(o.operands); deletes && n > 1 {
		s.use(in, o.operands[n-1], collect.AccessDelete)
	}
	if o.has("", "remove-source-files") && len(o.operands) > 1 {
		for _, f := range o.operands[:len(o.operands)-1] {
			s.use(in, f, collect.AccessDelete)
		}
	}
	for _, f := range o.values("e", "rsh") {
		s.codeText(f, invocation{via: []string{"rsync -e"}})
	}
	for _, f := range o.operands {
		if host, _, ok := strings.Cut(f.text, "::"); ok {
			s.x.Host("rsync", host)
		}
	}
}

// curlCommand is curl: addresses, what it sends, and where it writes.
func curlCommand(s *shell, in invocation, c *Command) {
	const valued = "AbcCdDeEFhHKmoPQrtTuUwxXyYz"
	o := parseOptions(in.words[1:], valued, "data data-binary data-raw data-urlencode data-ascii json form form-string header output upload-file url user user-agent request config cookie cookie-jar cert key cacert proxy referer max-time connect-timeout retry write-out dump-header resolve connect-to output-dir interface netrc-file range limit-rate unix-socket oauth2-bearer retry-delay retry-max-time aws-sigv4")
	for _, f := range append(o.operands, o.values("", "url")...) {
		s.x.URL(f.text)
	}
	for _, f := range slices.Concat(o.values("o", "output"), o.values("cD", "cookie-jar"), o.values("", "dump-header")) {
		s.use(in, f, collect.AccessWrite)
	}
	if o.has("OJ", "remote-name") {
		for _, f := range o.operands {
			s.use(in, field{text: lastSegment(f.text), dynamic: f.dynamic}, collect.AccessWrite)
		}
	}
	for _, f := range append(o.values("T", "upload-file"), append(o.values("EK", "config"), append(o.values("", "key"), o.values("", "netrc-file")...)...)...) {
		s.use(in, f, collect.AccessRead)
	}
	for _, f := range o.values("K", "config") {
		c.Unbound = append(c.Unbound, f.text)
	}
	data := o.values("dFb", "data")
	for _, long := range []string{"data-binary", "data-urlencode", "data-ascii", "json", "form", "cookie", "header"} {
		data = append(data, o.values("", long)...)
	}
	for _, f := range append(data, o.values("H", "")...) {
		_, file, ok := strings.Cut(f.text, "@")
		if ok && !strings.Contains(file, "@") && !strings.Contains(file, " ") {
			file, _, _ = strings.Cut(file, ";")
			if before, _, _ := strings.Cut(f.text, "@"); before == "" || strings.HasSuffix(before, "=") || !strings.Contains(before, "=") && !strings.Contains(before, " ") {
				s.use(in, field{text: file, dynamic: f.dynamic}, collect.AccessRead)
			}
		}
	}
}

// wgetCommand is wget.
func wgetCommand(s *shell, in invocation, c *Command) {
	o := parseOptions(in.words[1:], "OoaiPUtTeBQlADRX", "output-document output-file append-output input-file directory-prefix user-agent header post-data post-file body-file body-data method use-askpass execute user password timeout tries")
	for _, f := range o.operands {
		s.x.URL(f.text)
	}
	writes := append(o.values("OoaP", "output-document"), o.values("", "directory-prefix")...)
	for _, f := range writes {
		s.use(in, f, collect.AccessWrite)
	}
	if len(writes) == 0 {
		for _, f := range o.operands {
			s.use(in, field{text: lastSegment(f.text), dynamic: f.dynamic}, collect.AccessWrite)
		}
	}
	for _, long := range []string{"post-file", "body-file", "input-file"} {
		for _, f := range o.values("", long) {
			s.use(in, f, collect.AccessRead)
		}
	}
	for _, f := range o.values("i", "") {
		s.use(in, f, collect.AccessRead)
	}
	for _, f := range o.values("", "use-askpass") {
		c.Unbound = append(c.Unbound, f.text)
	}
}

func lastSegment(u string) string {
	u, _, _ = strings.Cut(u, "?")
	if name := u[strings.LastIndex(u, "/")+1:]; name != "" {
		return name
	}
	return "index.html"
}

// connects is for programs that talk to a machine that an operand names.
func connects(s *shell, in invocation, c *Command) {
	o := parseOptions(in.words[1:], "bBcDEeFIiJLlmOopPQRSWwXxsTqgGMVnN", "exec sh-exec proxy")
	for _, f := range o.operands {
		t := strings.TrimPrefix(f.text, "@")
		switch {
		case strings.Trim(t, "0123456789") == "":
		case c.Program == "socat":
			s.socat(f)
			continue
		default:
			host, _, _ := strings.Cut(t, ":")
			s.x.Host(c.Program, host)
		}
	}
	if strings.Contains(c.Program, "nc") || c.Program == "netcat" {
		for _, f := range append(o.values("ec", "exec"), o.values("", "sh-exec")...) {
			if f.text != "" {
				s.codeText(f, invocation{via: []string{c.Program + " -e"}})
			}
		}
	}
}

// socat reads one address of socat: EXEC:, SYSTEM:, TCP:host:port, a file.
func (s *shell) socat(f field) {
	kind, rest, _ := strings.Cut(f.text, ":")
	switch k := strings.ToLower(kind); {
	case k == "exec" || k == "system" || k == "shell":
		run, _, _ := strings.Cut(rest, ",")
		s.codeText(field{text: run, dynamic: f.dynamic}, invocation{via: []string{"socat"}})
	case strings.HasPrefix(k, "tcp") || strings.HasPrefix(k, "udp") || strings.HasPrefix(k, "openssl") || strings.HasPrefix(k, "ssl"):
		host, _, _ := strings.Cut(rest, ":")
		if !strings.Contains(k, "listen") {
			s.x.Host("tcp", host)
		}
	case k == "open" || k == "create" || k == "file" || k == "gopen":
		name, _, _ := strings.Cut(rest, ",")
		s.touch(field{text: name, dynamic: f.dynamic}, collect.AccessWrite)
	}
}

// manCommand is man, whose -P names a program.
func manCommand(s *shell, in invocation, _ *Command) {
	for _, f := range parseOptions(in.words[1:], "PHCMSs", "pager html").values("P", "pager") {
		s.codeText(f, invocation{via: []string{"man -P"}})
	}
}

// zipCommand is zip, whose -TT names what tests the archive, and which deletes
// what it has packed with -m.
func zipCommand(s *shell, in invocation, _ *Command) {
	words := in.words[:1:1]
	for _, w := range in.words[1:] {
		switch run, ok := strings.CutPrefix(w.text, "-TT"); {
		case ok && run != "":
			w.text = "--unzip-command=" + run
		case ok:
			w.text = "--unzip-command"
		}
		words = append(words, w)
	}
	in.words = words
	o := s.apply(programs()["zip"], in)
	if o.has("m", "move") && len(o.operands) > 1 {
		for _, f := range o.operands[1:] {
			s.use(in, f, collect.AccessDelete)
		}
	}
}

// unzipCommand is unzip, which replaces files without a question with -o.
func unzipCommand(s *shell, in invocation, _ *Command) {
	o := s.apply(programs()["unzip"], in)
	if dirs := o.values("d", ""); o.has("o", "") && !o.has("lptvZ", "") {
		if len(dirs) == 0 {
			dirs = []field{{text: "."}}
		}
		for _, d := range dirs {
			s.use(in, d, s.unpacked(d, true))
			s.into(in, d, nil)
		}
	}
}

// unpacked is how a folder is touched into which an archive is unpacked: where
// people keep their work, what lies there is lost to what replaces it.
func (s *shell) unpacked(dir field, replaces bool) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(dir.text, "./"), "/")
	if replaces && wordlist.Has("src lib app apps internal pkg packages cmd web server client api docs scripts config data migrations db charts infra k8s test tests", first) {
		return collect.AccessDelete
	}
	return collect.AccessWrite
}

// installCommand is install, which makes folders with -d.
func installCommand(s *shell, in invocation, _ *Command) {
	p := programs()["install"]
	if parseOptions(in.words[1:], p.valued, p.long).has("d", "directory") {
		p.use = useWrite
	}
	s.apply(p, in)
}

// patchCommand is the apply_patch that some agents put on the PATH.
func patchCommand(s *shell, in invocation, c *Command) {
	switch {
	case len(in.words) > 1:
		s.x.Patch(in.words[1].text, s.dirs)
	case s.stdin.known:
		s.x.Patch(s.stdin.text, s.dirs)
	default:
		c.Unresolved = append(c.Unresolved, "stdin")
	}
}
