package named

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
)

var cRules = wordRules{
	comment: regexp.MustCompile(`^(//|/\*)`), // none is left, see cComments
	name:    regexp.MustCompile(`^[A-Za-z_]\w*`),
	refused: regexp.MustCompile(`^(#|\\|\?\?|%:|<:|##|[uU8LR]*R")`),
	letter:  regexp.MustCompile(`^'(\\.|\\[0-7]{1,3}|\\x[0-9a-fA-F]{1,2}|[^\\'])'`),
}

const (
	// cHeaders are those of C and C++ whose functions compute, but for those of cReach.
	cHeaders = "assert.h ctype.h errno.h float.h inttypes.h iso646.h limits.h math.h stdalign.h stdarg.h stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h time.h wchar.h wctype.h complex.h fenv.h tgmath.h uchar.h stdatomic.h stdnoreturn.h " +
		"algorithm any array atomic bit bitset cassert cctype cerrno cfloat charconv chrono climits cmath compare complex concepts cstdarg cstddef cstdint cstdio cstdlib cstring ctime deque exception format forward_list functional initializer_list iomanip ios iosfwd iostream iterator limits list map memory mutex numbers numeric optional ostream print queue random ranges ratio set span sstream stack stdexcept string string_view system_error thread tuple type_traits typeinfo unordered_map unordered_set utility variant vector"

	// cReach are the names by which C reaches the system. What is called and stands in
	// neither list must be the program's own.
	cReach = "system popen pclose remove rename fopen freopen fdopen tmpfile tmpnam mkstemp mkdtemp open openat creat unlink unlinkat rmdir mkdir chmod fchmod chown link symlink truncate ftruncate write pwrite dup dup2 pipe fork vfork clone execl execle execlp execv execve execvp execvpe fexecve posix_spawn posix_spawnp kill raise_ ptrace syscall " +
		"dlopen dlsym dlclose mmap mprotect socket connect bind listen accept send sendto sendmsg getaddrinfo gethostbyname chroot chdir setuid setgid seteuid mount umount reboot ioctl fcntl getenv secure_getenv setenv putenv unsetenv clearenv environ environ_ at_quick_exit filesystem fstream ofstream ifstream filebuf basic_ofstream basic_ifstream basic_fstream wofstream wifstream " +
		"asm __asm __asm__ _asm extern __attribute__ __declspec _Pragma pragma dlfcn constructor import module export opendir readdir nftw ftw glob wordexp scandir readlink realpath getpwnam getpwuid crypt"

	cCalls = "if for while switch return sizeof defined alignof _Alignof typeof decltype noexcept catch static_assert _Static_assert alignas main operator void int char bool unsigned signed long short float double auto size_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t uintptr_t intptr_t ptrdiff_t " +
		"printf fprintf sprintf snprintf vprintf vsnprintf puts putchar fputs fputc putc fflush perror scanf sscanf fgets getchar fgetc getc ungetc exit abort assert malloc calloc realloc free abs labs llabs div rand srand qsort bsearch atoi atol atof strtol strtoul strtoll strtoull strtod strtof atexit_ " +
		"memcpy memmove memset memcmp memchr strlen strcmp strncmp strcpy strncpy strcat strncat strchr strrchr strstr strtok strdup strndup strspn strcspn strpbrk strerror strnlen isalpha isdigit isalnum isspace isupper islower isxdigit ispunct isprint iscntrl toupper tolower " +
		"sqrt cbrt pow exp exp2 log log2 log10 sin cos tan asin acos atan atan2 sinh cosh tanh fabs floor ceil round lround trunc fmod hypot fmin fmax fma isnan isinf isfinite signbit nan time clock difftime mktime gmtime localtime strftime ctime asctime clock_gettime timespec_get va_start va_end va_arg va_copy offsetof " +
		"move forward swap min max clamp sort stable_sort find find_if count count_if accumulate reverse unique lower_bound upper_bound binary_search make_unique make_shared make_pair make_tuple get tie to_string stoi stol stod string string_view vector map set pair tuple optional function thread lock_guard unique_lock mutex cout static_cast dynamic_cast reinterpret_cast const_cast tolower INT64_C UINT64_C"
)

// cDirectives are lines for the preprocessor that take nothing in.
const cDirectives = "if ifdef ifndef else elif endif undef error line_"

// C tells what a program of C or C++ does that is one file. Headers of the
// project's own are modules of it: what it has under a header's name is called freely.
func C(code string) (outcome.Effects, error) {
	if strings.Contains(code, "\\\n") || strings.Contains(code, "#include_next") {
		return outcome.Effects{}, fmt.Errorf("a line that goes on")
	}
	var lines, stems []string
	var e outcome.Effects
	macros := make(map[string]bool)
	code = cComments.ReplaceAllStringFunc(code, func(text string) string {
		if text[0] == '/' {
			return " "
		}
		return text
	})
	for line := range strings.Lines(code) {
		m := cDirective.FindStringSubmatch(line)
		switch {
		case m == nil && strings.HasPrefix(strings.TrimSpace(line), "#"):
			return e, fmt.Errorf("a directive that is not read")
		case m == nil:
			lines = append(lines, line)
			continue
		case m[1] == "include":
			file := m[2]
			if own := cOwnHeader.FindStringSubmatch(file); own != nil {
				e.Project = append(e.Project, own[1])
				stems = append(stems, own[2])
			} else if !among(cHeaders, strings.Trim(file, "<> ")) || file[0] != '<' {
				return e, fmt.Errorf("#include %s", file)
			}
		case m[1] == "define":
			name := cDefined.FindString(m[2])
			macros[name] = true
			lines = append(lines, strings.TrimPrefix(m[2], name)+"\n")
		case m[1] == "pragma" && m[2] == "once":
		case !among(cDirectives, m[1]):
			return e, fmt.Errorf("#%s", m[1])
		}
		lines = append(lines, "\n")
	}
	r := &wordReader{code: strings.Join(lines, ""), effects: e}
	if err := r.lex(cRules); err != nil {
		return outcome.Effects{}, err
	}
	return r.effects, r.cNames(macros, stems)
}

var (
	cComments  = regexp.MustCompile(`(?s)"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|//[^\n]*|/\*.*?\*/`)
	cDirective = regexp.MustCompile(`^[ \t]*#[ \t]*([a-z]+)[ \t]*(.*?)[ \t]*\n?$`)
	cOwnHeader = regexp.MustCompile(`^"((?:\w[\w.-]*/)*(\w+)\.(?:h|hpp|hh))"$`)
	cDefined   = regexp.MustCompile(`^[A-Za-z_]\w*`)
)

func (r *wordReader) cNames(macros map[string]bool, stems []string) error {
	for i, t := range r.tokens {
		next, before := r.tok(i+1), r.tok(i-1)
		member := before.kind == '.' || before.kind == '>' && r.tok(i-2).kind == '-'
		switch {
		case t.kind != 'n':
		case among(cReach, t.text) && !member, strings.HasPrefix(t.text, "__") && !among("__func__ __FILE__ __LINE__", t.text):
			return fmt.Errorf("the name %s", t.text)
		case next.kind != '(' || member || among(cCalls, t.text) || macros[t.text]:
		case before.kind == ':' && r.tok(i-2).kind == ':': // of a namespace: see cReach
		case !r.cBody(t.text) && !stemmed(t.text, stems):
			return fmt.Errorf("the function %s", t.text)
		}
	}
	return nil
}

// cBody reports whether a function, a class or a variable of that name is written in
// the program.
func (r *wordReader) cBody(name string) bool {
	for i, t := range r.tokens {
		if t.kind != 'n' || t.text != name {
			continue
		}
		if among("struct class auto", r.tok(i-1).text) {
			return true
		}
		if r.tok(i+1).kind != '(' {
			continue
		}
		depth := 0
		for at := i + 1; at < len(r.tokens); at++ {
			switch r.tok(at).kind {
			case '(':
				depth++
			case ')':
				depth--
			}
			if depth > 0 {
				continue
			}
			for at++; among("const noexcept override", r.tok(at).text); at++ {
			}
			if r.tok(at).kind == '{' && r.tok(i-1).kind != ')' && (r.tok(i-1).kind == 'n' || r.tok(i-1).kind == '*' || r.tok(i-1).kind == '&' || r.tok(i-1).kind == '>') {
				return true
			}
			break
		}
	}
	return false
}

// stemmed reports whether a name begins as one of the project's headers is called.
func stemmed(name string, stems []string) bool {
	for _, s := range stems {
		if len(s) > 2 && strings.HasPrefix(strings.ToLower(name), strings.ToLower(s)+"_") {
			return true
		}
	}
	return false
}
