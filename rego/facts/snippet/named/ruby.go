package named

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
)

var rubyRules = wordRules{
	comment:  lazyregexp.New(`^#`),
	variable: lazyregexp.New(`^(@@?|\$)[A-Za-z_]\w*`),
	name:     lazyregexp.New(`^[A-Za-z_]\w*[?!]?`),
	refused:  lazyregexp.New("^(`|%[^ =0-9]|<<[~\\-A-Z\"'`]|\\?[A-Za-z\"'#]|\\\\|\\$[^A-Za-z])"),
	raw:      true,
	inserts:  true,
	token:    (*wordReader).rubyToken,
}

const (
	rubyWords = "puts p print pp printf require if elsif else unless end do then while until case when in and or not nil true false return next break yield begin rescue ensure def lambda proc self loop ENDS each each_with_index each_with_object each_slice each_cons each_pair each_line each_char each_key each_value map flat_map collect select filter filter_map reject find detect find_index inject reduce sum min max min_by max_by minmax sort sort_by sort! uniq uniq! group_by partition tally zip count size length first last take drop take_while drop_while " +
		"any? all? none? one? include? member? key? has_key? value? start_with? end_with? empty? nil? zero? positive? negative? even? odd? is_a? kind_of? respond_to? between? match? match keys values to_a to_h to_s to_i to_f to_sym to_r to_c to_json inspect join split strip lstrip rstrip chomp chop upcase downcase capitalize swapcase reverse gsub sub gsub! sub! tr delete squeeze scan index rindex slice center ljust rjust format sprintf lines chars bytes ord chr hex oct succ next pred times upto downto step round floor ceil truncate abs divmod fdiv pow digits gcd lcm rand " +
		"merge merge! update dig fetch values_at compact compact! flatten transpose rotate sample shuffle combination permutation product cycle push pop shift unshift append prepend concat insert delete_at delete_if keep_if reject! select! map! clear fill invert rassoc assoc transform_values transform_keys sum to_set add add? delete? subset? superset? union intersection difference new now today at strftime year month day hour min sec iso8601 parse generate pretty_generate load safe_load dump headers row rows freeze dup clone frozen? then tap itself object_id hash class with_index lazy force encode force_encoding unpack unpack1 pack hexdigest digest sqrt sin cos log exp gets readlines read foreach exist? file? directory? basename extname dirname join glob symbolize_names col_sep headers true " +
		"grep grep_v class module self super initialize private protected public attr_reader attr_accessor attr_writer module_function raise catch throw retry redo ensure rescue exit abort warn sleep srand call new define loop for BEGIN END __method__ __FILE__ __dir__ defined? instance_of? instance_variables methods nil? hash eql? equal? frozen? freeze dup coerce " +
		"each_entry each_char each_byte each_index each_with_object reverse_each zip chunk chunk_while slice_when group_by each_cons flat_map collect_concat filter_map sum minmax minmax_by min_by max_by sort_by sort_by! uniq first last none? one? find_all find_index entries to_set lazy eager with_object next peek rewind size cycle reduce " +
		"bsearch dig fetch values_at sum count delete_if reject flatten! shuffle! sort! reverse! rotate! compact! concat replace sample take_while drop_while repeated_combination each_value key rassoc default default= default_proc compare_by_identity any? filter! keep_if store to_a group merge! transform_values! transform_keys! sum except slice! deconstruct deconstruct_keys " +
		"succ! upto ljust rjust center casecmp casecmp? unicode_normalize scrub b bytesize byteslice codepoints each_grapheme_cluster grapheme_clusters each_line lines chomp! chop! strip! lstrip! rstrip! squeeze! tr! tr_s delete! upcase! downcase! capitalize! swapcase! delete_prefix delete_suffix delete_prefix! delete_suffix! prepend insert partition rpartition start_with? end_with? encoding valid_encoding? ascii_only? crypt_ " +
		"captures named_captures pre_match post_match names begin end offset last_match escape union source options match? =~ ceil floor truncate remainder modulo bit_length pred positive? finite? infinite? nan? numerator denominator rationalize real imaginary integer? nonzero? pow bsearch " +
		"strptime wday yday mon mday cwday cweek usec nsec utc localtime getlocal getutc gmtime zone utc_offset beginning_of_day leap? saturday? sunday? monday? next_day prev_day next_month prev_month step to_date to_time to_datetime jd ajd httpdate rfc2822 xmlschema hour minute second civil valid_date? commercial " +
		"message full_message backtrace backtrace_locations cause exception " +
		"stat mtime ctime atime readable? writable? executable? symlink? zero? expand_path absolute_path fnmatch fnmatch? ftype each_child children entries exist? " +
		"flush sync sync= tty? winsize puts print write fsync each_line readline eof? " +
		"parse! load_file safe_load_file safe_dump permitted_classes aliases permitted_symbols symbolize_keys parse_line generate_line foreach liberal_parsing converters header_converters write_headers force_quotes quote_char row_sep return_headers by_col delete fields field header? to_csv to_table each_row field_size_limit encoding mode chomp " +
		"bm bmbm measure realtime report real utime stime total label format clock_gettime sexp lex tokenize sexp_raw " +
		"getch check scan_until skip skip_until eos? rest pos peek matched unscan string reset terminate getc ungetc rewind string read each " +
		"hexdigest base64digest digest hex urandom uuid random_number alphanumeric urlsafe_base64 bytes encode64 decode64 strict_encode64 strict_decode64 urlsafe_encode64 urlsafe_decode64 " +
		"to_d to_r prime? prime_division each_prime determinant inverse row column scheme host port path query fragment userinfo to_proc_ decode_www_form encode_www_form decode_www_form_component encode_www_form_component shellescape shellsplit shelljoin escape " +
		"members each_pair to_h values superclass ancestors_ _1 _2 it cbrt hypot atan atan2 tan acos asin log2 log10 erf gamma numerator bit_length polar rect abs2 arg conj curry_ lambda? arity parameters source_location itself tap then yield_self display_ object_id respond_to? is_a? instance_variable_defined? each_slice with_index upcase"
	rubyClasses = "Benchmark Ripper StringScanner StringIO OpenStruct Prime Matrix Vector Shellwords SecureRandom Enumerable Enumerator Lazy Symbol Regexp MatchData Range Numeric NilClass TrueClass FalseClass Exception StandardError ArgumentError RuntimeError TypeError NameError NoMethodError KeyError IndexError RangeError FloatDomainError ZeroDivisionError NotImplementedError StopIteration FrozenError EncodingError IOError EOFError ScriptError SyntaxError LocalJumpError " +
		"Infinity NAN EPSILON INFINITY MAX MIN PI E IGNORECASE MULTILINE EXTENDED ParserError MalformedCSVError Row Table CLOCK_MONOTONIC CLOCK_REALTIME CLOCK_PROCESS_CPUTIME_ID STDOUT STDERR UTF_8 ASCII_8BIT Encoding ROUND_HALF_UP ROUND_HALF_EVEN SHA512 SHA384 RUBY_ENGINE RUBY_PATCHLEVEL RUBY_RELEASE_DATE Basic InvalidURIError JSON YAML CSV Set Time Date DateTime Integer Float String Array Hash Math Rational Complex Struct Comparable RUBY_VERSION RUBY_PLATFORM STDIN Digest SHA256 SHA1 MD5 Base64 BigDecimal Random File Dir"
	rubyLibs = "json yaml csv set time date digest base64 bigdecimal securerandom pp bigdecimal/util digest/sha2 benchmark ripper strscan stringio ostruct prime matrix tsort forwardable singleton shellwords uri"
	rubyGems = "childprocess posix terrapin sshkit open4 popen4 systemu mixlib cocaine net io open open3 aws aws-sdk faraday http httparty rest-client excon typhoeus socket active_record active_support active_job action_mailer action_controller rails railties google azure mail pony redis pg mysql2 sqlite3 sequel mongo bunny kafka sidekiq resque selenium capybara mechanize nokogiri fiddle ffi win32 rubygems bundler irb pry drb webrick rinda fileutils pathname tempfile tmpdir find pty etc logger pstore dbm zlib openssl syslog readline reline coverage objspace mkmf resolv timeout weakref monitor psych yaml json stripe twilio slack octokit docker kubeclient git rugged dotenv concurrent async celluloid eventmachine puma unicorn thin rack sinatra hanami grape test minitest rspec zeitwerk bootsnap spring thor rake tty optparse cgi rexml rss"
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
	r.rubyConstants(own)
	if err := r.rubyListed(); err != nil {
		return outcome.Effects{}, err
	}
	return r.effects, r.rubyRead(own, 0)
}

// rubyRead judges the names of a program, and of the code in its texts.
func (r *wordReader) rubyRead(own map[string]bool, depth int) error {
	if r.rubyMany(own) {
		return fmt.Errorf("several names that are given values at once")
	}
	for name := range r.listed {
		if own["\x00"+name] {
			return fmt.Errorf("a file that is not known")
		}
	}
	for i, t := range r.tokens {
		if before := r.tok(i - 1); (t.kind == 'r' || t.kind == 'w') && before.kind == 'n' && !t.line && own[before.text] && r.tok(i-2).kind != '.' {
			return fmt.Errorf("a pattern that could be a quotient")
		}
		for name := range r.listed {
			if t.kind == 'r' && strings.Contains(t.text, "(?<"+name+">") { // it is given what matches
				return fmt.Errorf("a file that is not known")
			}
		}
	}
	for _, text := range r.texts {
		if err := r.rubyText(text, own, depth); err != nil {
			return err
		}
	}
	return r.rubyNames(own)
}

// rubyFile is a file of the project, as require takes it.
var rubyFile = lazyregexp.New(`^\.?\.?/?[\w][\w./-]*$`)

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
	if first, _, deep := strings.Cut(name.text, "/"); !relative && deep && r.tok(i).text == "require" && rubyFile.MatchString(name.text) && first != "" && first[0] != '.' && !among(rubyGems, first) && !strings.HasPrefix(first, "aws") && !strings.HasPrefix(first, "google") && !strings.Contains(name.text, "..") && !among(rubyLibs, name.text) {
		r.effects.Project = append(r.effects.Project, name.text, "lib/"+name.text)
		return true
	}
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
	methods, params := r.rubyDefined()
	maps.Copy(own, params)
	for name := range methods {
		own[name], own["."+name] = true, true
	}
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
		case t.kind == 'v' && t.text[0] == '$' && !among("$stdin $stdout $stderr", t.text) && nameByte(t.text[1]) && t.text[1] > '9' && t.text != "$_":
			return fmt.Errorf("the variable %s", t.text)
		case t.kind == '&' && next.kind == ':' && !among(rubyWords, r.tok(i+2).text) && !(own["."+r.tok(i+2).text] && r.tok(i+2).kind == 'n'):
			return fmt.Errorf("a method by its name")
		case t.kind == '&' && (next.kind == 'n' || next.kind == 'v') && !next.gap && (before.kind == '(' || before.kind == ',') && !r.rubyBlock(next):
			return fmt.Errorf("a block by its name")
		case t.kind == ':' && folds && (next.kind == 's' || next.kind == 'n' && before.kind != ':' && !among("merge gcd lcm min max concat union intersection c", next.text)) && (before.kind == '(' || before.kind == ','):
			return fmt.Errorf("a method by its name")
		case t.kind == '<' && next.kind == '<' && !r.tok(i+2).gap && r.tok(i+2).kind == 'n':
			return fmt.Errorf("a call of what a value holds")
		case t.kind != 'n':
		case among("inject reduce", t.text):
			folds = true
		case r.listed[t.text] != nil && r.rubyKey(i): // a pattern may give it a value
			return fmt.Errorf("a file that is not known")
		case r.rubyKey(i), r.rubySymbol(i):
			if before.kind == ':' && (r.tok(i-2).kind == '(' && among("inject reduce send method public_send", r.tok(i-3).text) || r.tok(i-2).kind == '?') {
				return fmt.Errorf("a method by its name")
			}
		case r.listed[t.text] != nil && !r.rubyLooks(i):
			return fmt.Errorf("a file that is not known")
		case t.text == "include" && among("Enumerable Comparable Singleton Forwardable", next.text), t.text == "extend" && among("self Forwardable Enumerable", next.text):
		case t.text == "Process" && (next.kind == '.' && r.tok(i+2).text == "clock_gettime" || next.kind == ':' && r.tok(i+2).kind == ':' && strings.HasPrefix(r.tok(i+3).text, "CLOCK_")):
		case t.text == "Data" && next.kind == '.' && r.tok(i+2).text == "define":
		case t.text == "select" && before.kind == '.':
		case t.text == "URI" && (next.kind == '(' || next.kind == '.' && among("parse join decode_www_form encode_www_form decode_www_form_component encode_www_form_component", r.tok(i+2).text)):
		case t.text == "require" || t.text == "require_relative":
			if !r.rubyLoads(i) {
				return fmt.Errorf("a library that is not known")
			}
		case among("read readlines foreach load_file safe_load_file", t.text) && before.kind == '.' && among("File CSV YAML JSON", r.tok(i-2).text):
			if err := r.rubyOpens(i + 1); err != nil {
				return err
			}
		case t.text == "write" && before.kind == '.' && r.tok(i-2).text == "File" && r.tok(i-3).kind != ':':
			if err := r.rubyWrites(i + 1); err != nil {
				return err
			}
		case t.text == "write" && before.kind == '.' && !among("$stdout $stderr STDOUT STDERR", r.tok(i-2).text):
			return fmt.Errorf("the name write")
		case t.text == "load" && !(before.kind == '.' && among("YAML JSON", r.tok(i-2).text)), among("read readlines foreach glob new", t.text) && before.kind == '.' && among("File Dir", r.tok(i-2).text) && t.text != "glob", among("exit! stat", t.text) && before.kind != '.':
			return fmt.Errorf("the name %s", t.text)
		case among("File Dir", t.text) && !(next.kind == '.' && among("read readlines foreach exist? file? directory? basename extname dirname join glob", r.tok(i+2).text)) && !(t.text == "File" && next.kind == '.' && among("write size size? mtime ctime atime stat zero? readable? writable? executable? symlink? expand_path absolute_path fnmatch fnmatch? ftype", r.tok(i+2).text)) && !(t.text == "Dir" && next.kind == '[' && r.tok(i+2).kind == 's'):
			return fmt.Errorf("the name %s", t.text)
		case own[t.text] && among(rubyReach, t.text) && (!among(rubyWords, t.text) || own["."+t.text]):
			return fmt.Errorf("the name %s", t.text)
		case len(r.effects.Project) > 0 && !own[t.text] && !among(rubyReach, t.text) && !outcome.Acts(strings.TrimRight(t.text, "?!")) && !strings.HasSuffix(t.text, "!"):
			// of the project's own code
		case !own[t.text] && !among(rubyWords, t.text) && !among(rubyClasses, t.text):
			return fmt.Errorf("the name %s", t.text)
		case own[t.text] && before.kind == '.' && !own["."+t.text] && !among(rubyWords, t.text):
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

// rubyBlock reports whether a name is that of a parameter which takes the block of a
// method, and nothing else.
func (r *wordReader) rubyBlock(name wordToken) bool {
	taken := false
	for i, t := range r.tokens {
		if t.kind != 'n' || t.text != name.text {
			continue
		}
		if r.rubyGiven(i) || r.inBars(i) {
			return false
		}
		if r.tok(i-1).kind == '&' && r.tok(i+1).kind == ')' {
			for j := i - 1; j > 0 && !r.tok(j).line; j-- {
				taken = taken || r.tok(j-1).text == "def"
			}
		}
	}
	return taken
}
