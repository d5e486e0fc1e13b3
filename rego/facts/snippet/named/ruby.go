package named

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
)

var rubyRules = wordRules{
	comment:  regexp.MustCompile(`^#`),
	variable: regexp.MustCompile(`^(@@?|\$)[A-Za-z_]\w*`),
	name:     regexp.MustCompile(`^[A-Za-z_]\w*[?!]?`),
	refused:  regexp.MustCompile("^(`|%[^ =0-9]|<<[~\\-A-Z\"'`]|\\?[A-Za-z\"'#]|\\\\|\\$[^A-Za-z])"),
	raw:      true,
	inserts:  true,
}

const (
	rubyWords = "puts p print pp printf require if elsif else unless end do then while until case when in and or not nil true false return next break yield begin rescue ensure def lambda proc self loop ENDS each each_with_index each_with_object each_slice each_cons each_pair each_line each_char each_key each_value map flat_map collect select filter filter_map reject find detect find_index inject reduce sum min max min_by max_by minmax sort sort_by sort! uniq uniq! group_by partition tally zip count size length first last take drop take_while drop_while " +
		"any? all? none? one? include? member? key? has_key? value? start_with? end_with? empty? nil? zero? positive? negative? even? odd? is_a? kind_of? respond_to? between? match? match keys values to_a to_h to_s to_i to_f to_sym to_r to_c to_json inspect join split strip lstrip rstrip chomp chop upcase downcase capitalize swapcase reverse gsub sub gsub! sub! tr delete squeeze scan index rindex slice center ljust rjust format sprintf lines chars bytes ord chr hex oct succ next pred times upto downto step round floor ceil truncate abs divmod fdiv pow digits gcd lcm rand " +
		"merge merge! update dig fetch values_at compact compact! flatten transpose rotate sample shuffle combination permutation product cycle push pop shift unshift append prepend concat insert delete_at delete_if keep_if reject! select! map! clear fill invert rassoc assoc transform_values transform_keys sum to_set add subset? superset? union intersection difference new now today at strftime year month day hour min sec iso8601 parse generate pretty_generate load safe_load dump headers row rows freeze dup clone frozen? then tap itself object_id hash class with_index lazy force encode force_encoding unpack unpack1 pack hexdigest digest sqrt sin cos log exp gets readlines read foreach exist? file? directory? basename extname dirname join glob symbolize_names col_sep headers true"
	rubyClasses = "JSON YAML CSV Set Time Date DateTime Integer Float String Array Hash Math Rational Complex Struct Comparable RUBY_VERSION RUBY_PLATFORM STDIN Digest SHA256 SHA1 MD5 Base64 BigDecimal Random File Dir"
	rubyLibs    = "json yaml csv set time date digest base64 bigdecimal securerandom pp"
)

// rubyReach are methods and constants that every program of Ruby has and that reach out
// of it. A variable of such a name hides none of them from a call, and none elsewhere.
const rubyReach = "system exec spawn fork syscall open load require require_relative autoload eval instance_eval instance_exec class_eval class_exec module_eval module_exec binding send __send__ public_send method public_method singleton_method instance_method define_method define_singleton_method " +
	"const_get const_set remove_const const_missing method_missing instance_variable_get instance_variable_set extend include prepend refine using alias alias_method undef undef_method remove_method trap abort exit! at_exit test select callcc set_trace_func trace_var untrace_var putc display gets readline " +
	"IO Kernel Process Marshal ObjectSpace Signal GC Thread Fiber Ractor Binding Method UnboundMethod Proc Module Class Object BasicObject Open3 PTY Socket BasicSocket TCPSocket UDPSocket UNIXSocket TCPServer UNIXServer Net URI OpenURI FileUtils Pathname Tempfile Etc Syslog Fiddle DL Win32API Win32 Gem Bundler RubyVM " +
	"reopen sysopen syswrite binwrite copy_stream popen unsafe_load unsafe_load_file constantize safe_constantize try instance_values TracePoint Zlib OpenSSL PStore DBM SDBM GDBM FileTest ARGF ARGV ENV Logger ERB Readline Reline IRB DRb WEBrick Timeout Rake Rails ActiveRecord Psych Coverage Monitor Find Shell Expect Data Refinement Warning Errno"

// Ruby tells what a program of Ruby does. Libraries are those that -r names.
func Ruby(code string) (outcome.Effects, error) {
	if strings.Contains(code, "__END__") || strings.Contains(code, "=begin") {
		return outcome.Effects{}, fmt.Errorf("what is not read")
	}
	r := &wordReader{code: code}
	if err := r.lex(rubyRules); err != nil {
		return outcome.Effects{}, err
	}
	own := r.rubyOwn()
	if err := r.rubyListed(); err != nil {
		return outcome.Effects{}, err
	}
	return r.effects, r.rubyRead(own, 0)
}

// rubyRead judges the names of a program, and of the code in its texts.
func (r *wordReader) rubyRead(own map[string]bool, depth int) error {
	if r.rubyMany() {
		return fmt.Errorf("several names that are given values at once")
	}
	for _, text := range r.texts {
		if err := r.rubyText(text, own, depth); err != nil {
			return err
		}
	}
	return r.rubyNames(own)
}

// rubyFile is a file of the project, as require takes it.
var rubyFile = regexp.MustCompile(`^\.?\.?/?[\w][\w./-]*$`)

// rubyLoads notes a file of the project that is required by the name behind i, and reports
// whether it, or a library that computes, is.
func (r *wordReader) rubyLoads(i int) bool {
	name := r.tok(i + 1)
	if name.kind == '(' {
		name = r.tok(i + 2)
	}
	if name.kind != 's' {
		return false
	}
	relative := strings.HasPrefix(name.text, "./") || r.tok(i).text == "require_relative"
	if !relative || !rubyFile.MatchString(name.text) || slices.Contains(strings.Split(name.text, "/"), "..") {
		return r.tok(i).text == "require" && among(rubyLibs, name.text)
	}
	r.effects.Project = append(r.effects.Project, strings.TrimPrefix(name.text, "./"))
	return true
}

// rubyText reads the code in a text.
func (r *wordReader) rubyText(text string, own map[string]bool, depth int) error {
	for i := strings.Index(text, "#{"); i >= 0; i = strings.Index(text, "#{") {
		n, err := inserted(text[i:])
		if err != nil || depth > 3 {
			return fmt.Errorf("code in a text")
		}
		in := &wordReader{code: text[i+2 : i+n-1], listed: r.listed}
		if err := in.lex(rubyRules); err != nil {
			return err
		}
		all := in.rubyOwn()
		for name := range all {
			if r.listed[name] != nil {
				return fmt.Errorf("a file that is not known")
			}
		}
		for j, t := range in.tokens {
			if r.listed[t.text] != nil && in.rubyGiven(j) {
				return fmt.Errorf("a file that is not known")
			}
		}
		maps.Copy(all, own)
		if err := in.rubyRead(all, depth+1); err != nil || len(in.effects.Writes)+len(in.effects.Project) > 0 {
			return fmt.Errorf("code in a text")
		}
		r.effects.Reads = append(r.effects.Reads, in.effects.Reads...)
		text = text[i+n:]
	}
	return nil
}

// rubyOwn are the names that a program gives: its variables, and the parameters of
// its blocks.
func (r *wordReader) rubyOwn() map[string]bool {
	own := make(map[string]bool)
	bars := false
	for i, t := range r.tokens {
		next, before := r.tok(i+1), r.tok(i-1)
		switch {
		case t.kind == '|':
			bars = !bars && (before.kind == '{' || before.text == "do")
		case t.kind != 'n' || before.kind == '.' || before.kind == ':':
		case bars, next.kind == '=' && r.tok(i+2).kind != '=' && r.tok(i+2).kind != '~':
			own[t.text] = true
		case (next.kind == '+' || next.kind == '-' || next.kind == '|') && r.tok(i+2).kind == '=':
			own[t.text] = true
		}
	}
	return own
}

func (r *wordReader) rubyNames(own map[string]bool) error {
	folds := false
	for i, t := range r.tokens {
		next, before := r.tok(i+1), r.tok(i-1)
		switch {
		case t.kind == 'v' && !among("$stdin $stdout $stderr", t.text) && t.text[0] == '$':
			return fmt.Errorf("the variable %s", t.text)
		case t.kind == '/' && !rubyDivides(before):
			return fmt.Errorf("a pattern, which is not read")
		case t.kind == '&' && next.kind == ':' && !among(rubyWords, r.tok(i+2).text):
			return fmt.Errorf("a method by its name")
		case t.kind == '&' && (next.kind == 'n' || next.kind == 'v') && !next.gap && (before.kind == '(' || before.kind == ','):
			return fmt.Errorf("a block by its name")
		case t.kind == ':' && folds && (next.kind == 's' || next.kind == 'n' && before.kind != ':' && !among(rubyWords, next.text)) && (before.kind == '(' || before.kind == ','):
			return fmt.Errorf("a method by its name")
		case t.kind == '.' && next.kind == '(', t.kind == '<' && next.kind == '<' && !r.tok(i+2).gap && r.tok(i+2).kind == 'n':
			return fmt.Errorf("a call of what a value holds")
		case t.kind != 'n':
		case among("inject reduce", t.text):
			folds = true
		case r.rubyKey(i), r.rubySymbol(i):
			if before.kind == ':' && (r.tok(i-2).kind == '(' && among("inject reduce send method public_send", r.tok(i-3).text) || r.tok(i-2).kind == '?') {
				return fmt.Errorf("a method by its name")
			}
		case r.listed[t.text] != nil && !r.rubyLooks(i):
			return fmt.Errorf("a file that is not known")
		case t.text == "require" || t.text == "require_relative":
			if !r.rubyLoads(i) {
				return fmt.Errorf("a library that is not known")
			}
		case among("read readlines foreach load_file", t.text) && before.kind == '.' && among("File CSV YAML JSON", r.tok(i-2).text):
			if err := r.rubyOpens(i + 1); err != nil {
				return err
			}
		case t.text == "load" && !(before.kind == '.' && among("YAML JSON", r.tok(i-2).text)), among("read readlines foreach glob new", t.text) && before.kind == '.' && among("File Dir", r.tok(i-2).text) && t.text != "glob":
			return fmt.Errorf("the name %s", t.text)
		case among("File Dir", t.text) && !(next.kind == '.' && among("read readlines foreach exist? file? directory? basename extname dirname join glob", r.tok(i+2).text)) && !(t.text == "Dir" && next.kind == '[' && r.tok(i+2).kind == 's'):
			return fmt.Errorf("the name %s", t.text)
		case own[t.text] && among(rubyReach, t.text) && !among(rubyWords, t.text):
			return fmt.Errorf("the name %s", t.text)
		case len(r.effects.Project) > 0 && !own[t.text] && !among(rubyReach, t.text) && !outcome.Acts(strings.TrimRight(t.text, "?!")) && !strings.HasSuffix(t.text, "!"):
			// of the project's own code
		case !own[t.text] && !among(rubyWords, t.text) && !among(rubyClasses, t.text):
			return fmt.Errorf("the name %s", t.text)
		case own[t.text] && before.kind == '.' && !among(rubyWords, t.text):
			return fmt.Errorf("the method %s", t.text)
		}
	}
	return nil
}

// rubyKey reports whether the name at i is a key, as in {a: 1}, and no branch of a ? b : c.
func (r *wordReader) rubyKey(i int) bool {
	return r.tok(i+1).kind == ':' && !r.tok(i+1).gap && r.tok(i+2).kind != ':' && strings.IndexByte("({,|n\x00", r.tok(i-1).kind) >= 0
}

// rubySymbol reports whether the name at i is a symbol, as in f(:a), and no branch of
// a ? b : c.
func (r *wordReader) rubySymbol(i int) bool {
	if r.tok(i-1).kind != ':' || r.tok(i).gap || r.tok(i-2).kind == ':' {
		return false
	}
	before := r.tok(i - 2).kind
	return strings.IndexByte("([{,=&|!<>+-~\x00", before) >= 0 || before == 'n' && !strings.Contains(r.code, "?")
}

// rubyDivides reports whether a slash behind a token divides.
func rubyDivides(before wordToken) bool {
	return before.kind == '0' || before.kind == ')' || before.kind == ']' || before.kind == 'v'
}
