package programs

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/operands"
	"github.com/holdgate/holdgate/rego/facts/programs/databases"
	"github.com/holdgate/holdgate/rego/facts/shell"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// specialOf finds the reader of a command whose arguments have a grammar of
// their own; nil for all others.
func specialOf(name string) func(*shell.Shell, shell.Invocation, *holdgate.Command) {
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
		return databases.SQL
	case "mongosh", "mongo":
		return mongo
	case "ssh", "sftp", "ftp", "telnet", "nc", "ncat", "netcat", "socat", "ping", "nslookup", "dig", "host":
		return connects
	}
	return nil
}

// ddCommand is dd: its operands are key=value.
func ddCommand(s *shell.Shell, in shell.Invocation, _ *holdgate.Command) {
	for _, w := range in.Words[1:] {
		key, value, _ := strings.Cut(w.Text, "=")
		f := argv.Field{Text: value, Dynamic: w.Dynamic}
		switch key {
		case "of":
			use(s, in, f, collect.AccessWrite)
		case "if":
			use(s, in, f, collect.AccessRead)
		}
	}
}

// tarCommand is tar, in the old style (tar xf) and the new.
func tarCommand(s *shell.Shell, in shell.Invocation, c *holdgate.Command) {
	const valued = "fCTXIbFgHKLNV"
	o := argv.ParseOptions(tarWords(in.Words[1:], valued), valued, "file directory files-from exclude-from use-compress-program to-command checkpoint-action rsh-command exclude transform info-script new-volume-script")
	archive := o.Values("f", "file")
	for _, a := range archive {
		if host, _, remote := strings.Cut(a.Text, ":"); remote && !strings.Contains(host, "/") && !o.Has("", "force-local") {
			s.Run(shell.Invocation{Words: []argv.Field{{Text: "ssh"}, {Text: host, Dynamic: a.Dynamic}}, Via: []string{"tar"}, Plain: true})
		}
	}
	dirs := append(o.Values("C", "directory"), o.Values("", "one-top-level")...)
	from, to := collect.AccessRead, collect.AccessWrite
	extract := o.Has("x", "extract") || o.Has("", "get")
	switch {
	case extract || o.Has("t", "list"):
		for _, a := range archive {
			use(s, in, a, from)
		}
		if !extract {
			break
		}
		if len(dirs) == 0 {
			dirs = []argv.Field{{Text: "."}}
		}
		if o.Has("P", "absolute-names") {
			s.Touch(argv.Field{Text: "/"}, to)
		}
		for _, d := range dirs {
			into(s, in, d, nil)
			use(s, in, d, unpacked(s, d, !o.Has("k", "keep-old-files") && !o.Has("", "skip-old-files")))
		}
	default:
		for _, a := range archive {
			use(s, in, a, to)
		}
		if o.Has("", "remove-files") {
			from = collect.AccessDelete
		}
		s.Reaching(collect.ReachBeneath, func() { useAll(s, in, o.Operands, from) })
	}
	for _, opt := range []string{"to-command", "use-compress-program", "rsh-command", "info-script", "new-volume-script"} {
		for _, f := range o.CutShort(opt) {
			s.CodeText(f, shell.Invocation{Via: []string{"tar --" + opt}})
		}
	}
	for _, f := range append(o.Values("I", ""), o.Values("F", "")...) {
		s.CodeText(f, shell.Invocation{Via: []string{"tar"}})
	}
	for _, f := range o.CutShort("checkpoint-action") {
		if run, ok := strings.CutPrefix(f.Text, "exec="); ok {
			s.CodeText(argv.Field{Text: run, Dynamic: f.Dynamic}, shell.Invocation{Via: []string{"tar --checkpoint-action"}})
		}
	}
}

// tarWords writes the old style in the new: letters in the first word, without
// a dash, take their values in order from the words behind it.
func tarWords(words []argv.Field, valued string) []argv.Field {
	if len(words) == 0 || words[0].Text == "" || words[0].Text[0] == '-' {
		return words
	}
	var out []argv.Field
	rest := words[1:]
	for _, letter := range words[0].Text {
		out = append(out, argv.Field{Text: "-" + string(letter)})
		if strings.ContainsRune(valued, letter) && len(rest) > 0 {
			out, rest = append(out, rest[0]), rest[1:]
		}
	}
	return append(out, rest...)
}

// rsyncCommand is rsync, which deletes at its target with --delete.
func rsyncCommand(s *shell.Shell, in shell.Invocation, _ *holdgate.Command) {
	o := apply(s, operands.Table()["rsync"], in)
	i := &s.Found.Facts.Impact
	i.Recursive = i.Recursive || o.Has("ra", "recursive") || o.Has("", "archive")
	deletes := false
	for name := range o.Long {
		deletes = deletes || strings.HasPrefix(name, "del")
	}
	if n := len(o.Operands); deletes && n > 1 {
		use(s, in, o.Operands[n-1], collect.AccessDelete)
	}
	if o.Has("", "remove-source-files") && len(o.Operands) > 1 {
		for _, f := range o.Operands[:len(o.Operands)-1] {
			use(s, in, f, collect.AccessDelete)
		}
	}
	for _, f := range o.Values("e", "rsh") {
		s.CodeText(f, shell.Invocation{Via: []string{"rsync -e"}})
	}
	for _, f := range o.Operands {
		if host, _, ok := strings.Cut(f.Text, "::"); ok {
			s.Found.Host("rsync", host)
		}
	}
}

// curlCommand is curl: addresses, what it sends, and where it writes.
func curlCommand(s *shell.Shell, in shell.Invocation, c *holdgate.Command) {
	const valued = "AbcCdDeEFhHKmoPQrtTuUwxXyYz"
	o := argv.ParseOptions(in.Words[1:], valued, "data data-binary data-raw data-urlencode data-ascii json form form-string header output upload-file url user user-agent request config cookie cookie-jar cert key cacert proxy referer max-time connect-timeout retry write-out dump-header resolve connect-to output-dir interface netrc-file range limit-rate unix-socket oauth2-bearer retry-delay retry-max-time aws-sigv4 url-query variable")
	for _, f := range append(o.Operands, o.Values("", "url")...) {
		s.Found.URL(f.Text)
	}
	for _, f := range slices.Concat(o.Values("o", "output"), o.Values("cD", "cookie-jar"), o.Values("", "dump-header")) {
		use(s, in, f, collect.AccessWrite)
	}
	if o.Has("OJ", "remote-name") {
		for _, f := range o.Operands {
			use(s, in, argv.Field{Text: lastSegment(f.Text), Dynamic: f.Dynamic}, collect.AccessWrite)
		}
	}
	for _, f := range append(o.Values("T", "upload-file"), append(o.Values("EK", "config"), append(o.Values("", "key"), o.Values("", "netrc-file")...)...)...) {
		use(s, in, f, collect.AccessRead)
	}
	for _, f := range o.Values("b", "cookie") { // without an equals sign it names a file
		if f.Text != "" && !strings.Contains(f.Text, "=") {
			use(s, in, f, collect.AccessRead)
		}
	}
	for _, f := range o.Values("K", "config") {
		c.Unbound = append(c.Unbound, f.Text)
	}
	data := o.Values("dFb", "data")
	for _, long := range []string{"data-binary", "data-urlencode", "data-ascii", "json", "form", "cookie", "header", "url-query"} {
		data = append(data, o.Values("", long)...)
	}
	for _, f := range append(data, o.Values("H", "")...) {
		_, file, ok := strings.Cut(f.Text, "@")
		if ok && !strings.Contains(file, "@") && !strings.Contains(file, " ") {
			file, _, _ = strings.Cut(file, ";")
			if before, _, _ := strings.Cut(f.Text, "@"); before == "" || strings.HasSuffix(before, "=") || !strings.Contains(before, "=") && !strings.Contains(before, " ") {
				use(s, in, argv.Field{Text: file, Dynamic: f.Dynamic}, collect.AccessRead)
			}
		}
	}
}

// wgetCommand is wget.
func wgetCommand(s *shell.Shell, in shell.Invocation, c *holdgate.Command) {
	o := argv.ParseOptions(in.Words[1:], "OoaiPUtTeBQlADRX", "output-document output-file append-output input-file directory-prefix user-agent header post-data post-file body-file body-data method use-askpass execute user password timeout tries")
	for _, f := range o.Operands {
		s.Found.URL(f.Text)
	}
	writes := append(o.Values("OoaP", "output-document"), o.Values("", "directory-prefix")...)
	for _, f := range writes {
		use(s, in, f, collect.AccessWrite)
	}
	if len(writes) == 0 {
		for _, f := range o.Operands {
			use(s, in, argv.Field{Text: lastSegment(f.Text), Dynamic: f.Dynamic}, collect.AccessWrite)
		}
	}
	for _, long := range []string{"post-file", "body-file", "input-file"} {
		for _, f := range o.Values("", long) {
			use(s, in, f, collect.AccessRead)
		}
	}
	for _, f := range o.Values("i", "") {
		use(s, in, f, collect.AccessRead)
	}
	for _, f := range o.Values("", "use-askpass") {
		c.Unbound = append(c.Unbound, f.Text)
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
func connects(s *shell.Shell, in shell.Invocation, c *holdgate.Command) {
	o := argv.ParseOptions(in.Words[1:], "bBcDEeFIiJLlmOopPQRSWwXxsTqgGMVnN", "exec sh-exec proxy")
	for _, f := range o.Operands {
		t := strings.TrimPrefix(f.Text, "@")
		switch {
		case strings.Trim(t, "0123456789") == "":
		case c.Program == "socat":
			socat(s, f)
			continue
		default:
			host, _, _ := strings.Cut(t, ":")
			s.Found.Host(c.Program, host)
		}
	}
	if strings.Contains(c.Program, "nc") || c.Program == "netcat" {
		for _, f := range append(o.Values("ec", "exec"), o.Values("", "sh-exec")...) {
			if f.Text != "" {
				s.CodeText(f, shell.Invocation{Via: []string{c.Program + " -e"}})
			}
		}
	}
}

// socat reads one address of socat: EXEC:, SYSTEM:, TCP:host:port, a file.
func socat(s *shell.Shell, f argv.Field) {
	kind, rest, _ := strings.Cut(f.Text, ":")
	switch k := strings.ToLower(kind); {
	case k == "exec" || k == "system" || k == "shell":
		run, _, _ := strings.Cut(rest, ",")
		s.CodeText(argv.Field{Text: run, Dynamic: f.Dynamic}, shell.Invocation{Via: []string{"socat"}})
	case strings.HasPrefix(k, "tcp") || strings.HasPrefix(k, "udp") || strings.HasPrefix(k, "openssl") || strings.HasPrefix(k, "ssl"):
		host, _, _ := strings.Cut(rest, ":")
		if !strings.Contains(k, "listen") {
			s.Found.Host("tcp", host)
		}
	case k == "open" || k == "create" || k == "file" || k == "gopen":
		name, _, _ := strings.Cut(rest, ",")
		s.Touch(argv.Field{Text: name, Dynamic: f.Dynamic}, collect.AccessWrite)
	}
}

// manCommand is man, whose -P names a program.
func manCommand(s *shell.Shell, in shell.Invocation, _ *holdgate.Command) {
	for _, f := range argv.ParseOptions(in.Words[1:], "PHCMSs", "pager html").Values("P", "pager") {
		s.CodeText(f, shell.Invocation{Via: []string{"man -P"}})
	}
}

// zipCommand is zip, whose -TT names what tests the archive, and which deletes
// what it has packed with -m.
func zipCommand(s *shell.Shell, in shell.Invocation, _ *holdgate.Command) {
	words := in.Words[:1:1]
	for _, w := range in.Words[1:] {
		switch run, ok := strings.CutPrefix(w.Text, "-TT"); {
		case ok && run != "":
			w.Text = "--unzip-command=" + run
		case ok:
			w.Text = "--unzip-command"
		}
		words = append(words, w)
	}
	in.Words = words
	o := apply(s, operands.Table()["zip"], in)
	if o.Has("m", "move") && len(o.Operands) > 1 {
		for _, f := range o.Operands[1:] {
			use(s, in, f, collect.AccessDelete)
		}
	}
}

// unzipCommand is unzip, which replaces files without a question with -o.
func unzipCommand(s *shell.Shell, in shell.Invocation, _ *holdgate.Command) {
	o := apply(s, operands.Table()["unzip"], in)
	if dirs := o.Values("d", ""); o.Has("o", "") && !o.Has("lptvZ", "") {
		if len(dirs) == 0 {
			dirs = []argv.Field{{Text: "."}}
		}
		for _, d := range dirs {
			use(s, in, d, unpacked(s, d, true))
			into(s, in, d, nil)
		}
	}
}

// workFolders are where people keep their work.
const workFolders = "src lib app apps internal pkg packages cmd web server client api docs scripts config data migrations db charts infra k8s test tests"

// unpacked is how a folder is touched into which an archive is unpacked: where
// people keep their work, what lies there is lost to what replaces it.
func unpacked(s *shell.Shell, dir argv.Field, replaces bool) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(dir.Text, "./"), "/")
	if replaces && wordlist.Has(workFolders, first) {
		return collect.AccessDelete
	}
	return collect.AccessWrite
}

// installCommand is install, which makes folders with -d.
func installCommand(s *shell.Shell, in shell.Invocation, _ *holdgate.Command) {
	p := operands.Table()["install"]
	if argv.ParseOptions(in.Words[1:], p.Valued, p.Long).Has("d", "directory") {
		p.Use = operands.UseWrite
	}
	apply(s, p, in)
}

// patchCommand is the apply_patch that some agents put on the PATH.
func patchCommand(s *shell.Shell, in shell.Invocation, c *holdgate.Command) {
	switch {
	case len(in.Words) > 1:
		s.Found.Patch(in.Words[1].Text, s.Dirs)
	case s.Stdin.Known:
		s.Found.Patch(s.Stdin.Text, s.Dirs)
	default:
		c.Unresolved = append(c.Unresolved, "stdin")
	}
}
