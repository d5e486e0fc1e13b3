// Package perl reads programs of Perl word by word, and tells which files they read and
// write. A program is an error where it holds more than computes.
package perl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
)

// A program in Perl is read word by word: each name in it that is no variable, no
// key and no text must be one of those below. What could be read as two things is
// an error, so that nothing hides in what looks like text.
const (
	knownWords = "my our if elsif else unless while until for foreach next last redo return sub and or not xor x eq ne lt gt le ge cmp print printf say length substr index rindex uc lc ucfirst lcfirst sprintf join split reverse sort " +
		"map grep push pop shift unshift splice keys values each exists delete defined undef scalar wantarray chomp chop chr ord hex oct abs int sqrt sin cos atan2 exp log rand srand time localtime gmtime pos quotemeta lc pack unpack " +
		"eof close die warn exit BEGIN END STDIN STDOUT STDERR ARGV local do open use no binmode sleep ref"
	// endWords are names behind which a slash divides, or may.
	endWords = "shift pop time wantarray rand eof STDIN STDOUT STDERR pos next last redo"
)

// knownModules are modules whose functions compute; those listed may be taken.
var knownModules = map[string]string{
	"strict": "", "warnings": "", "utf8": "", "feature": "", "integer": "", "bigint": "", "List::Util": "sum sum0 min max minstr maxstr first reduce uniq uniqnum shuffle any all none product pairs",
	"Data::Dumper": "Dumper", "JSON::PP": "decode_json encode_json", "JSON": "decode_json encode_json to_json from_json", "POSIX": "floor ceil fmod strftime pow round", "File::Basename": "basename dirname fileparse",
	"Scalar::Util": "blessed reftype looks_like_number", "Encode": "decode encode decode_utf8 encode_utf8", "MIME::Base64": "encode_base64 decode_base64", "Digest::MD5": "md5_hex", "Digest::SHA": "sha1_hex sha256_hex",
	"Time::Local": "timelocal timegm", "Time::HiRes": "time", "Text::Wrap": "wrap", "List::MoreUtils": "uniq any all none natatime",
}

// builtins are the functions of Perl itself that the words above do not have.
const builtins = "accept alarm bind bless caller chdir chmod chown chroot connect crypt dbmclose dbmopen dump each endgrent endhostent endnetent endprotoent endpwent endservent eval evalbytes exec exit fc fcntl fileno flock fork format formline getc getgrent getgrgid getgrnam gethostbyaddr gethostbyname gethostent getlogin getnetbyaddr getnetbyname getnetent getpeername getpgrp getppid getpriority getprotobyname getprotobynumber getprotoent getpwent getpwnam getpwuid getservbyname getservbyport getservent getsockname getsockopt glob " +
	"goto import ioctl kill link listen lock lstat mkdir msgctl msgget msgrcv msgsnd opendir package pipe prototype read readdir readline readlink readpipe recv rename require reset rewinddir rmdir seek seekdir select semctl semget semop send setgrent sethostent setnetent setpgrp setpriority setprotoent setpwent setservent setsockopt shmctl shmget shmread shmwrite shutdown socket socketpair stat study symlink syscall sysopen sysread sysseek system syswrite tell telldir tie tied times truncate umask unlink untie utime vec wait waitpid write"

// knownMethods are what the objects of these modules do.
const knownMethods = "new decode encode pretty canonical utf8 allow_nonref VERSION Sortkeys Indent Terse Dump"

// A reader goes through a program.
type reader struct {
	code    string
	at      int
	effects outcome.Effects
	known   map[string]bool
	subs    map[string]bool // of these, what the program or a module defines
	last    string          // the token before: "" at the beginning, "var", "text", a name, or a character
	braces  []bool          // of each open brace, whether it is of a subscript
	depth   int
	reads   bool // the files that @ARGV names
}

// Read tells what a program of Perl does. Modules are those that -M names. Where loops is
// true it is run for each line of the files that its arguments name, as by -n.
func Read(code string, modules []string, loops bool) (outcome.Effects, error) {
	if len(code) > outcome.MaxBytes {
		return outcome.Effects{}, fmt.Errorf("a program of more than %d bytes", outcome.MaxBytes)
	}
	r := &reader{code: code, known: make(map[string]bool), subs: make(map[string]bool)}
	r.reads = loops || strings.Contains(code, "<>") || strings.Contains(code, "eof")
	for w := range strings.FieldsSeq(knownWords) {
		r.known[w] = true
	}
	for _, m := range modules {
		if err := r.module(strings.NewReplacer("=", " ", ",", " ").Replace(m)); err != nil {
			return outcome.Effects{}, err
		}
	}
	for _, m := range subForm.FindAllStringSubmatch(code, -1) {
		if slices.Contains(strings.Fields(builtins), m[1]) { // which is called all the same
			return outcome.Effects{}, fmt.Errorf("a function of the name %s", m[1])
		}
		r.known[m[1]], r.subs[m[1]] = true, true
	}
	if err := r.read(); err != nil {
		return outcome.Effects{}, err
	}
	return r.effects, nil
}

var (
	subForm      = lazyregexp.New(`\bsub\s+([a-z_]\w*)\s*\{`)
	nameForm     = lazyregexp.New(`^[A-Za-z_]\w*(::\w+)*`)
	variableForm = lazyregexp.New(`^([$@%]|\$#)(\$*[A-Za-z_]\w*|\$*\{\$*[A-Za-z_]\w*\}|[0-9]+|[&_/\\,;.!0"|])`)
	useForm      = lazyregexp.New(`^(use|no)\s+([A-Za-z_:0-9.]+)([^;]*);?`)
	openForm     = lazyregexp.New(`^open\s*\(?\s*(?:my\s+)?\$\w+\s*,\s*(?:'([^'\\]*)'|"([^"\\$@]*)")\s*,\s*(?:'([^'\\]*)'|"([^"\\$@]*)")\s*(\)|or\b|;|\|\|)`)
	globForm     = lazyregexp.New(`^glob\s*\(?\s*(?:'([^'\\]*)'|"([^"\\$@]*)")\s*\)?`)
	derefForm    = lazyregexp.New(`^[@%$]\{\s*[$\[]`)
	podForm      = lazyregexp.New(`(?m)^=[A-Za-z]`)
	plainForm    = lazyregexp.New(`^(-?\$?\w+|'\w*'|"\w*"|\$#\w+|\$\w+\s*[-+]\s*\d+)$`)
	modeForm     = lazyregexp.New(`^\s*(<|>|>>)\s*(:(utf8|raw|encoding\([\w-]+\)))?\s*$`)
)

func (r *reader) rest() string { return r.code[r.at:] }

// operand reports whether a term may begin here, and not an operator.
func (r *reader) operand() bool {
	return r.last != "var" && r.last != "text" && r.last != ")" && r.last != "]" && r.last != "}" && !r.ends()
}

// ends reports whether a name stands before that takes no word, or may take none.
func (r *reader) ends() bool {
	return r.subs[r.last] || slices.Contains(strings.Fields(endWords), r.last)
}

func (r *reader) read() error {
	if podForm.MatchString(r.code) {
		return fmt.Errorf("a page of documentation in the program")
	}
	for r.at < len(r.code) {
		c := r.code[r.at]
		switch {
		case c == ' ' || c == '\t' || c == '\n':
			r.at++
		case c < ' ' || c > '~':
			return fmt.Errorf("a character that is not read")
		case c == '#':
			end := strings.IndexByte(r.rest(), '\n')
			if end < 0 {
				return nil
			}
			r.at += end
		default:
			if err := r.token(c); err != nil {
				return err
			}
		}
	}
	if len(r.braces) > 0 {
		return fmt.Errorf("a brace that is not closed")
	}
	return nil
}

func (r *reader) token(c byte) error {
	rest := r.rest()
	if m := variableForm.FindString(rest); m != "" && (c != '%' || r.operand()) {
		return r.variable(m)
	}
	switch {
	case nameForm.MatchString(rest):
		return r.name(nameForm.FindString(rest))
	case c >= '0' && c <= '9':
		r.at += len(numberForm.FindString(rest))
		r.last = "text"
	case c == '"' || c == '\'':
		return r.quoted(c, c == '"')
	case c == '`', c == '?' && r.operand():
		return fmt.Errorf("a command in backquotes, or a pattern of old")
	case doubles[rest[:min(2, len(rest))]] && !r.operand():
		r.op(rest[:2])
	case c == '/':
		if !r.operand() {
			if r.last == "}" || r.ends() {
				return fmt.Errorf("a slash that may begin a pattern")
			}
			r.op("/")
			return nil
		}
		return r.pattern('/', 1, true)
	case c == '<':
		return r.angle()
	case c == '&', c == '*' && r.operand():
		return fmt.Errorf("a call or a name by a sigil")
	case c == '@' || c == '$' || c == '%' && r.operand():
		if derefForm.MatchString(rest) {
			r.op(rest[:1])
			return nil
		}
		return fmt.Errorf("a variable that is not read")
	case c == '{' || c == '}' || c == '(' || c == ')' || c == '[' || c == ']':
		return r.bracket(c)
	case strings.HasPrefix(rest, "->"):
		return r.arrow()
	case c == '-' && len(rest) > 2 && r.operand() && testForm.MatchString(rest): // -e $file
		r.at += 2
		r.last = "-"
	case c == '.' && len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9' && r.operand():
		r.at += len(numberForm.FindString(rest))
		r.last = "text"
	default:
		r.op(string(c))
	}
	return nil
}

// doubles are operators of two characters, of which each could begin a term.
var doubles = map[string]bool{"//": true, "**": true, "&&": true}

var (
	numberForm = lazyregexp.New(`^(0[xXbB][0-9a-fA-F_]+|[0-9_]*\.?[0-9_]*([eE][-+]?[0-9]+)?)`)
	testForm   = lazyregexp.New(`^-[erwxfdszlM]\s*[$"']`)
)

func (r *reader) op(c string) {
	r.at += len(c)
	r.last = c
}

// variable takes a variable. The environment, signals, what modules were loaded
// and the list of files may make the program do something else.
func (r *reader) variable(m string) error {
	name := strings.Trim(m, "$@%#{}")
	if slices.Contains([]string{"ENV", "SIG", "INC"}, name) || name == "ARGV" && m[0] != '$' {
		return fmt.Errorf("the variable %s", m)
	}
	if name == "ARGV" && r.reads && strings.HasPrefix(strings.TrimLeft(r.rest()[len(m):], " \t\n"), "[") {
		return fmt.Errorf("an element of @ARGV, by whose names files are opened and programs are run")
	}
	r.at += len(m)
	r.last = "var"
	return nil
}

// name takes a name: a key, a quoting operator, a module, or a word that must be known.
func (r *reader) name(name string) error {
	rest := r.rest()
	after := strings.TrimLeft(rest[len(name):], " \t")
	inSubscript := r.last == "{" && len(r.braces) > 0 && r.braces[len(r.braces)-1] && strings.HasPrefix(after, "}")
	switch {
	case inSubscript, strings.HasPrefix(after, "=>"):
		r.at += len(name)
		r.last = "text"
		return nil
	case slices.Contains([]string{"q", "qq", "qw", "qr", "m", "s", "tr", "y", "qx"}, name):
		return r.operator(name)
	case name == "use" || name == "no":
		m := useForm.FindStringSubmatch(rest)
		if m == nil {
			return fmt.Errorf("a module that is not read")
		}
		r.at += len(m[0])
		r.last = ";"
		return r.module(m[2] + " " + strings.NewReplacer("qw", " ", "(", " ", ")", " ", "'", " ", "\"", " ", ",", " ", "/", " ").Replace(m[3]))
	case name == "binmode":
		if !layerForm.MatchString(rest) {
			return fmt.Errorf("a layer that is not known")
		}
		r.at += len(name)
		r.last = name
		return nil
	case name == "open":
		return r.open(rest)
	case name == "glob":
		m := globForm.FindStringSubmatch(rest)
		if m == nil {
			return fmt.Errorf("files by a pattern that is not known")
		}
		r.at += len(m[0])
		r.last = "text"
		return nil
	case name == "do" && !strings.HasPrefix(after, "{"):
		return fmt.Errorf("a file that is run")
	case strings.HasPrefix(after, "->") && knownModules[name] != "":
		r.at += len(name)
		r.last = "class"
		return nil
	case !r.known[name]:
		return fmt.Errorf("the name %s", name)
	}
	r.at += len(name)
	r.last = name
	return nil
}

// module takes a module with what is taken from it.
func (r *reader) module(text string) error {
	words := strings.Fields(text)
	if len(words) == 0 {
		return fmt.Errorf("a module without a name")
	}
	name := words[0]
	if versionForm.MatchString(name) {
		return nil
	}
	list, ok := knownModules[name]
	if !ok {
		return fmt.Errorf("the module %s", name)
	}
	for _, w := range words[1:] {
		if strings.HasPrefix(w, ":") || list == "" {
			continue
		}
		if !slices.Contains(strings.Fields(list), w) {
			return fmt.Errorf("%s of the module %s", w, name)
		}
	}
	if name == "POSIX" && len(words) == 1 {
		return fmt.Errorf("all of the module POSIX")
	}
	for f := range strings.FieldsSeq(list) {
		r.known[f], r.subs[f] = true, true
	}
	return nil
}

// layerForm sets how a file is encoded. Another layer is a module.
var layerForm = lazyregexp.New(`^binmode\s*\(?\s*(STDIN|STDOUT|STDERR|\$\w+)\s*(,\s*["']:(utf8|raw|bytes|crlf|encoding\([\w-]+\))["']\s*)?(\)|;|$)`)

var versionForm = lazyregexp.New(`^v?[0-9.]+$`)

// open takes the three words of open, with a mode and a file that are written out.
func (r *reader) open(rest string) error {
	m := openForm.FindStringSubmatch(rest)
	if m == nil {
		return fmt.Errorf("a file that is not known")
	}
	mode, file := m[1]+m[2], m[3]+m[4]
	how := modeForm.FindStringSubmatch(mode)
	if how == nil || file == "" || file == "-" {
		return fmt.Errorf("a file in a mode that is not known")
	}
	if how[1] == "<" {
		r.effects.Reads = append(r.effects.Reads, outcome.Place{Path: file})
	} else {
		r.effects.Writes = append(r.effects.Writes, outcome.Place{Path: file})
	}
	r.at += len(m[0]) - len(m[5])
	if strings.Contains(m[0], "(") {
		if m[5] != ")" {
			return fmt.Errorf("open in a form that is not read")
		}
		r.at++
	}
	r.last = "text"
	return nil
}

// angle takes <STDIN>, <$file> and <>; any other in the place of a term is a
// pattern of files, or a text that follows.
func (r *reader) angle() error {
	if !r.operand() && r.last != "}" {
		if strings.HasPrefix(r.rest(), "<<") {
			return fmt.Errorf("a text that follows")
		}
		r.op("<")
		return nil
	}
	m := angleForm.FindString(r.rest())
	if m == "" {
		return fmt.Errorf("a text that follows, or files by a pattern")
	}
	r.at += len(m)
	r.last = "text"
	return nil
}

var angleForm = lazyregexp.New(`^<(STDIN|\$\w+)?>`)

// bracket keeps what each open brace is of.
func (r *reader) bracket(c byte) error {
	switch c {
	case '{':
		r.braces = append(r.braces, r.last == "var" || r.last == "->" || r.last == "]" || r.last == "subscript")
	case '}':
		if len(r.braces) == 0 {
			return fmt.Errorf("a brace that was not opened")
		}
		subscript := r.braces[len(r.braces)-1]
		r.braces = r.braces[:len(r.braces)-1]
		r.op("}")
		if subscript {
			r.last = "subscript"
			if next := strings.TrimLeft(r.rest(), " \t\n"); strings.HasPrefix(next, "(") {
				return fmt.Errorf("a call of what a variable holds")
			}
		}
		return r.afterSubscript()
	case '(':
		if r.last == "var" && !r.loops() || r.last == ")" || r.last == "]" {
			return fmt.Errorf("a call of what a variable holds")
		}
	}
	r.op(string(c))
	return nil
}

// afterSubscript makes what is behind a subscript a term that has ended.
func (r *reader) afterSubscript() error {
	if r.last == "subscript" {
		next := strings.TrimLeft(r.rest(), " \t\n")
		if next == "" || next[0] != '{' {
			r.last = "var"
		}
	}
	return nil
}

// loops reports whether the variable at hand is that of a loop: for my $x (...).
func (r *reader) loops() bool {
	return loopForm.MatchString(r.code[:r.at])
}

var loopForm = lazyregexp.New(`\b(for|foreach)\s+(my\s+|our\s+)?\$\w+\s*$`)

// arrow takes -> before a subscript, or before a method of a known module.
func (r *reader) arrow() error {
	rest := strings.TrimLeft(r.rest()[2:], " \t\n")
	if rest == "" || rest[0] == '(' || rest[0] == '$' || rest[0] == '&' {
		return fmt.Errorf("a call of what a variable holds")
	}
	if rest[0] == '@' || rest[0] == '%' { // ->@*
		return fmt.Errorf("a variable that is not read")
	}
	if m := nameForm.FindString(rest); m != "" {
		if !slices.Contains(strings.Fields(knownMethods), m) || m == "new" && r.last != "class" {
			return fmt.Errorf("the method %s", m)
		}
		r.at = len(r.code) - len(rest) + len(m)
		r.last = "method"
		return nil
	}
	r.op("->")
	return nil
}
