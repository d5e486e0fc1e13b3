package facts

import "strings"

// Python that reads and prints, and does nothing else, is told by the words in
// it: all that it imports, calls and takes out of modules must stand in the
// lists below. What it binds itself can then hold nothing else either. The
// modules are taken to be Python's own.
const (
	pythonModules = "json sys math re datetime collections itertools functools string textwrap statistics decimal fractions pprint base64 hashlib struct time calendar csv random uuid html difflib platform unicodedata"
	// pythonMembers are what it may take out of modules and values.
	pythonMembers = "load loads dumps stdin stdout stderr argv version version_info maxsize platform executable byteorder path getsizeof exit " +
		"read readline readlines write flush strip lstrip rstrip split rsplit splitlines join replace lower upper title capitalize startswith endswith find index count format encode decode " +
		"isdigit isalpha isspace zfill ljust rjust center keys values items get pop append extend insert sort reverse update add union intersection difference setdefault copy " +
		"sqrt floor ceil pi e pow log log2 log10 sin cos tan gcd factorial isnan inf nan now utcnow today isoformat strftime strptime date time datetime timedelta fromtimestamp timestamp days seconds total_seconds " +
		"match search findall finditer sub compile group groups fullmatch escape Counter defaultdict OrderedDict namedtuple deque most_common chain product permutations combinations accumulate groupby reduce partial " +
		"mean median stdev mode Decimal Fraction pprint pformat b64encode b64decode hexdigest digest sha256 sha1 md5 pack unpack hex reader DictReader uuid4 choice randint random seed dedent fill wrap unescape unified_diff system machine python_version"
	// pythonRefused are the functions that every program has and that reach
	// further than its own values. A file is opened in one way only: see
	// reads.
	pythonRefused = "exec eval compile input getattr setattr delattr globals locals vars dir help breakpoint memoryview type object super classmethod staticmethod property open"
)

// printsOnly reports whether Python code does nothing but read and print, and
// which files it reads. In doubt it says no.
func printsOnly(code string) (reads []string, ok bool) {
	if strings.ContainsFunc(code, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r > 0x7e }) {
		return nil, false // other letters may be read as these
	}
	t, ok := pythonTokens(code)
	if !ok {
		return nil, false
	}
	for i := 0; i < len(t); i++ {
		at := func(n int) string {
			if i+n < 0 || i+n >= len(t) {
				return ""
			}
			return t[i+n]
		}
		switch word := t[i]; {
		case word[0] == '"' || !isName(word[0]) || word[0] <= '9':
		case strings.HasPrefix(word, "_"):
			return nil, false
		case at(-1) == ".":
			if !contains(pythonMembers, word) {
				return nil, false
			}
		case word == "import" || word == "from":
			n, ok := pythonImport(t[i:])
			if !ok {
				return nil, false
			}
			i += n
		case word == "open" && at(1) == "(" && strings.HasPrefix(at(2), `"`) && at(3) == ")":
			reads = append(reads, at(2)[1:])
		case contains(pythonRefused, word):
			return nil, false
		}
	}
	return reads, true
}

// pythonImport reads "import a, b as c" or "from a import b, c", and returns
// how many tokens after the first belong to it.
func pythonImport(t []string) (n int, ok bool) {
	list := pythonModules
	if t[0] == "from" {
		if len(t) < 4 || !contains(pythonModules, t[1]) || t[2] != "import" {
			return 0, false
		}
		list, n = pythonMembers, 2
	}
	for n+1 < len(t) {
		if n++; !contains(list, t[n]) {
			return 0, false
		}
		if n+2 < len(t) && t[n+1] == "as" && !strings.HasPrefix(t[n+2], "_") {
			n += 2
		}
		if n+1 >= len(t) || t[n+1] != "," {
			return n, n+1 >= len(t) || t[n+1] == "\n" || t[n+1] == ";"
		}
		n++
	}
	return 0, false
}

func isName(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// pythonTokens splits code into names, strings (with a double quote before
// their text), ends of lines and single characters. What stands in the braces
// of an f-string is code as well.
func pythonTokens(code string) (t []string, ok bool) {
	for i := 0; i < len(code); {
		switch c := code[i]; {
		case c == ' ' || c == '\t':
			i++
		case c == '#':
			end := strings.IndexByte(code[i:]+"\n", '\n')
			if strings.Contains(code[i:i+end], "coding") {
				return nil, false // the rest may be written in another way
			}
			i += end
		case c == '"' || c == '\'':
			text, n, ok := pythonString(code[i:])
			if !ok {
				return nil, false
			}
			t = append(t, `"`+text)
			i += n
		case isName(c):
			j := i
			for j < len(code) && isName(code[j]) {
				j++
			}
			if j < len(code) && (code[j] == '"' || code[j] == '\'') {
				text, n, ok := pythonString(code[j:])
				inner, fine := []string(nil), !strings.ContainsAny(code[i:j], "fFtT") || !strings.Contains(text, "{")
				if !fine {
					inner, fine = pythonTokens(strings.NewReplacer("{", " ", "}", " ").Replace(text))
				}
				if !ok || !fine {
					return nil, false
				}
				// What an f-string holds is no literal that open may take.
				t = append(append(t, inner...), `"`, ";")
				i = j + n
				continue
			}
			t = append(t, code[i:j])
			i = j
		case c == '\\':
			return nil, false
		default:
			t = append(t, string(c))
			i++
		}
	}
	return t, true
}

// pythonString reads a string literal, and returns its text and its length. A
// text with escapes is returned as it is written.
func pythonString(code string) (text string, n int, ok bool) {
	quote := code[:1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(code, triple) {
		quote = triple
	}
	for i := len(quote); i < len(code); i++ {
		switch {
		case code[i] == '\\':
			i++
		case strings.HasPrefix(code[i:], quote):
			return code[len(quote):i], i + len(quote), true
		case code[i] == '\n' && len(quote) == 1:
			return "", 0, false
		}
	}
	return "", 0, false
}
