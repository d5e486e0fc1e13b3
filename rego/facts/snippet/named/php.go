package named

import (
	"fmt"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
)

var phpRules = wordRules{
	comment:  lazyregexp.New(`^(//|#([^\[]|$))`),
	variable: lazyregexp.New(`^\$[A-Za-z_]\w*`),
	name:     lazyregexp.New(`^\\?[A-Za-z_]\w*(\\[A-Za-z_]\w*)*`),
	refused:  lazyregexp.New("^(`|<<<|#\\[|\\$\\$|\\$\\{|\\?>)"),
	raw:      true,
	blocks:   true,
	holds: func(text string) error {
		if phpCode.MatchString(text) {
			return fmt.Errorf("code in a text")
		}
		return nil
	},
}

// phpCode is what may run when a text in double quotes is put together, or names
// what the environment holds.
var phpCode = lazyregexp.New(`\{\$[^}]*\(|\$\{|\$(_ENV|_SERVER|GLOBALS)`)

// phpRunsMatch is a pattern with the modifier e, by which old versions run what they put
// in place of a match.
var phpRunsMatch = lazyregexp.New(`^['"]?([/#~%!@|]).*([/#~%!@|])[imsxuADSUXJ]*e[imsxuADSUXJe]*['"]?$`)

const (
	phpWords = "try catch finally throw class interface trait enum extends implements public private protected readonly abstract final self parent static insteadof instanceof new clone use fn yield from goto_ callable iterable mixed void never object elseif endif endforeach endfor endwhile namespace_ echo print if else elseif foreach for while do as break continue return function fn true false null TRUE FALSE NULL and or xor switch case default match list array isset empty unset exit die int string float bool static const PHP_EOL PHP_VERSION PHP_INT_MAX PHP_OS " +
		"JSON_PRETTY_PRINT JSON_UNESCAPED_SLASHES JSON_UNESCAPED_UNICODE JSON_THROW_ON_ERROR SORT_NUMERIC SORT_STRING COUNT_RECURSIVE ENT_QUOTES STR_PAD_LEFT STR_PAD_RIGHT PREG_SET_ORDER FILE_IGNORE_NEW_LINES FILE_SKIP_EMPTY_LINES LOCK_EX M_PI"
	phpCalls = "count sizeof strlen str_replace str_ireplace substr strpos stripos strrpos str_contains str_starts_with str_ends_with str_repeat str_pad str_split strtolower strtoupper ucfirst ucwords lcfirst trim ltrim rtrim explode implode join sprintf printf number_format vsprintf nl2br htmlspecialchars strrev strcmp strcasecmp substr_count wordwrap " +
		"json_decode json_encode json_last_error json_last_error_msg var_dump var_export print_r serialize array_keys array_values array_merge array_sum array_product array_unique array_reverse array_slice array_splice array_combine array_flip array_fill array_fill_keys array_column array_chunk array_diff array_diff_key array_intersect array_intersect_key array_key_exists array_key_first array_key_last array_search array_shift array_pop array_push array_unshift array_pad array_rand in_array range sort rsort ksort krsort asort arsort shuffle min max abs round floor ceil intdiv fmod sqrt pow log exp pi rand mt_rand random_int " +
		"is_array is_string is_int is_numeric is_null is_bool is_float intval floatval strval boolval settype gettype get_debug_type date time mktime strtotime microtime hrtime checkdate date_default_timezone_set md5 sha1 hash crc32 base64_encode base64_decode bin2hex hex2bin urlencode urldecode rawurlencode http_build_query parse_url parse_str ord chr dechex hexdec bindec decbin preg_match preg_match_all preg_split preg_quote preg_replace mb_strlen mb_substr mb_strtoupper mb_strtolower iconv basename dirname pathinfo phpversion php_sapi_name memory_get_usage memory_get_peak_usage version_compare array_key_exists array_is_list str_word_count similar_text levenshtein usleep sleep str_getcsv " +
		"mb_str_pad mb_strpos mb_strrpos mb_substr_count mb_convert_case mb_convert_encoding mb_detect_encoding mb_check_encoding mb_internal_encoding mb_strwidth mb_str_split mb_strimwidth ctype_alpha ctype_digit ctype_alnum ctype_upper ctype_lower ctype_space ctype_punct ctype_xdigit strtr substr_replace substr_compare strncmp strncasecmp strnatcmp strnatcasecmp strstr stristr strrchr strpbrk ucwords chunk_split nl2br strip_tags addslashes stripslashes htmlentities html_entity_decode htmlspecialchars_decode vprintf money_format_ number_format sprintf " +
		"array_diff_assoc array_intersect_key array_intersect_assoc array_replace array_replace_recursive array_merge_recursive array_count_values array_change_key_case array_any_ natsort natcasesort array_multisort current key next prev reset end each_ is_iterable is_countable is_callable is_object is_scalar is_resource is_nan is_infinite is_finite boolval fdiv floor hypot sin cos tan asin acos atan atan2 log10 log2 log1p expm1 deg2rad rad2deg base_convert octdec decoct random_bytes mt_srand srand mt_getrandmax lcg_value uniqid " +
		"gmdate idate getdate localtime gmmktime date_create date_diff date_add date_parse date_default_timezone_get timezone_identifiers_list cal_days_in_month hrtime hash_algos hash_hmac md5 sha1 crc32 password_hash password_verify str_rot13 urlencode rawurldecode quoted_printable_encode bin2hex pack unpack ip2long long2ip preg_grep preg_last_error preg_last_error_msg " +
		"ini_get extension_loaded get_loaded_extensions function_exists class_exists method_exists property_exists get_object_vars get_class get_class_methods get_parent_class is_a is_subclass_of spl_object_id php_uname php_ini_loaded_file zend_version sys_get_temp_dir getmypid memory_reset_peak_usage gc_collect_cycles gc_enable set_time_limit error_reporting func_get_args func_num_args iterator_to_array iterator_count token_get_all token_name array_find_ array_walk_ defined define bcadd bcsub bcmul bcdiv bcmod bcpow bccomp bcscale gmp_add gmp_mul gmp_strval gmp_init gmp_pow trigger_error error_log_ ctype_graph levenshtein soundex metaphone iconv_strlen iconv_substr intl_get_error_message locale_get_default grapheme_strlen array_flip array_product"
	// phpCallbacks are functions that call what they are handed, with where that stands.
	phpCallbacks = "array_map=0 array_filter=1 array_walk=1 array_walk_recursive=1 array_reduce=1 usort=1 uasort=1 uksort=1 preg_replace_callback=1 array_find=1 array_any=1 array_all=1"
	// phpClasses compute, as all their methods that phpMethods names do.
	phpClasses = "DateTime DateTimeImmutable DateTimeInterface DateInterval DatePeriod DateTimeZone ArrayObject ArrayIterator SplObjectStorage SplPriorityQueue SplStack SplQueue SplFixedArray SplMinHeap SplMaxHeap NumberFormatter IntlDateFormatter Collator Normalizer MessageFormatter stdClass Countable IteratorAggregate Iterator ArrayAccess Traversable Generator Stringable JsonSerializable JsonException Throwable Exception Error ErrorException TypeError ValueError ArithmeticError DivisionByZeroError ArgumentCountError " +
		"RuntimeException LogicException InvalidArgumentException DomainException LengthException OutOfRangeException OutOfBoundsException RangeException UnexpectedValueException BadMethodCallException BadFunctionCallException BackedEnum UnitEnum self static parent"
	phpMethods = "format modify add sub diff setDate setTime setTimezone setTimestamp setISODate getTimestamp getTimezone getOffset getName getTransitions createFromFormat createFromInterface createFromMutable createFromImmutable listIdentifiers count current key next rewind valid getArrayCopy offsetGet offsetSet offsetExists append attach contains detach insert extract top pop push shift unshift enqueue dequeue isEmpty toArray setExtractFlags " +
		"formatCurrency getPattern setAttribute compare normalize isNormalized formatMessage getMessage getCode getFile getLine getTraceAsString getPrevious __construct __toString getIterator jsonSerialize cases tryFrom from createFromDateString"
)

// PHP tells what a program of PHP does.
func PHP(code string) (outcome.Effects, error) {
	code = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(code), "<?php"), "?>")
	if strings.Contains(code, "?>") || strings.Contains(code, "<?") { // it ends a comment, too
		return outcome.Effects{}, fmt.Errorf("text between programs")
	}
	r := &wordReader{code: code}
	if err := r.lex(phpRules); err != nil {
		return outcome.Effects{}, err
	}
	own, err := r.phpOwn()
	if err != nil {
		return outcome.Effects{}, err
	}
	for i, t := range r.tokens {
		next := r.tok(i + 1)
		var err error
		switch {
		case t.kind == 'v':
			err = r.phpVariable(i, own)
		case next.kind == '(' && (t.kind == ')' || t.kind == ']' || t.kind == 's' || t.kind == '}'):
			err = fmt.Errorf("a call of what a value holds")
		case t.kind == '|' && next.kind == '>':
			err = fmt.Errorf("a call of what a value holds")
		case t.kind == '-' && next.kind == '>', t.kind == ':' && next.kind == ':':
			err = r.phpMember(i, own)
		case t.kind == 's' && strings.Contains(strings.ToLower(code), "preg_") && phpRunsMatch.MatchString(t.text):
			err = fmt.Errorf("a pattern that runs what it has matched")
		case t.kind == 'n' && !(r.tok(i-1).kind == '>' && r.tok(i-2).kind == '-') && !(r.tok(i-1).kind == ':' && r.tok(i-2).kind == ':'):
			err = r.phpName(i, own)
		}
		if err != nil {
			return outcome.Effects{}, err
		}
	}
	return r.effects, nil
}

// phpOwn are what a program defines: "f()" for a function, "->f" for a method, "C" for a
// class. It fails where a class could be one of the language's own.
func (r *wordReader) phpOwn() (map[string]bool, error) {
	own := make(map[string]bool)
	depth, class := 0, -1 // how deep the braces are, and where those of a class began
	for i, t := range r.tokens {
		next := r.tok(i + 1)
		switch {
		case t.kind == '{':
			depth++
		case t.kind == '}':
			if depth--; depth <= class {
				class = -1
			}
		case t.kind != 'n' || r.tok(i-1).kind == '>' || r.tok(i-1).kind == ':':
		case strings.EqualFold(t.text, "function"):
			if next.kind == '&' {
				next = r.tok(i + 2)
			}
			name := strings.ToLower(next.text)
			if next.kind == 'n' && class < 0 {
				// Below a condition it may have the name of PHP's own, which then stays.
				if depth == 0 && !phpAlternative.MatchString(r.code) {
					own[name+"()"] = true
				}
			} else if next.kind == 'n' {
				own["->"+name] = true
			}
		case among("class interface trait enum", strings.ToLower(t.text)):
			if next.kind == 'n' && !among("extends implements", strings.ToLower(next.text)) {
				if phpReaching.MatchString(next.text) {
					return nil, fmt.Errorf("the class %s", next.text)
				}
				own[next.text] = true
			}
			if class < 0 {
				class = depth
			}
		}
	}
	return own, nil
}

// phpAlternative ends a block without braces.
var phpAlternative = lazyregexp.New(`(?i)\b(endif|endfor|endforeach|endwhile|endswitch)\b`)

// phpVariable judges a variable at i.
func (r *wordReader) phpVariable(i int, own map[string]bool) error {
	t, next := r.tok(i), r.tok(i+1)
	switch {
	case among("$_ENV $_SERVER $GLOBALS $_GET $_POST $_REQUEST $_COOKIE $_FILES $_SESSION", t.text):
		return fmt.Errorf("the variable %s", t.text)
	case next.kind == '(' && !r.phpClosure(t.text):
		return fmt.Errorf("a call of %s", t.text)
	case next.kind == ':' && r.tok(i+2).kind == ':' && !(r.tok(i+3).text == "class" && r.tok(i+4).kind != '('):
		return fmt.Errorf("a class by its name")
	}
	return nil
}

// phpMember judges what is asked of an object or a class: -> or :: stands at i.
func (r *wordReader) phpMember(i int, own map[string]bool) error {
	name, call := r.tok(i+2), r.tok(i+3).kind == '('
	static := r.tok(i).kind == ':'
	switch {
	case name.kind == 'v' && static && !call:
	case name.kind != 'n' || strings.Contains(name.text, "\\"):
		return fmt.Errorf("a member by its name")
	case !call:
	case own["->"+strings.ToLower(name.text)], among(phpMethods, name.text):
	case len(r.effects.Project) > 0 && !outcome.Acts(name.text) && !among(phpReach, strings.ToLower(name.text)):
	default:
		return fmt.Errorf("the method %s", name.text)
	}
	if class := r.tok(i - 1); static && class.kind != 'v' && !r.phpClass(class, own) {
		return fmt.Errorf("the class %s", class.text)
	}
	return nil
}

// phpReach are methods by which classes of the language's own lead further.
const phpReach = "invoke invokeargs newinstance newinstanceargs getclosure bind bindto call fromcallable getmethod getfunction query exec prepare statement unprepared insert upsert update create firstorcreate updateorcreate forcecreate save destroy dispatch handle terminate boot run artisan request persist attach_ sync detach_ load loadhtmlfile loadxml schemavalidate include require"

// phpReaching are classes of the language's own that reach out, or run what they are named.
var phpReaching = lazyregexp.New(`(?i)^\\?(Reflection|Spl(File|Temp)|PDO|mysqli|SQLite|Soap|Simple|DOM|XML|Xsl|Zip|Phar|FFI|Closure|Curl|Memcache|Redis|Mongo|Imagick|finfo|Directory|Filesystem|Glob|Recursive|Callback|php_user_filter|Fiber|COM|dotnet|V8Js|parallel|Swoole|Event|Ev|AMQP|Rdkafka|Generic|Session|Http|Solr|Gmagick|Iterator(Iterator)?$|AppendIterator|CachingIterator|FilterIterator|SNMP|tidy|UI|Weak|Intl(Iterator|Calendar)|Resource|Spoof|Transliterator|UConverter|Sys|Shmop|Sync|Thread|Pool|Worker|Volatile|Pht|Yaf|Yaconf|Zoo|Gearman|Svn|Stomp|Varnish|Oauth|Cairo|Haru|Ktaglib|Lua|Mqseries|Judy|Chdb|Quick|Ds|Componere|Commonmark|Opcache|Xhprof|Xdebug|Dba|Ftp|Ldap|Odbc|Oci|Pg|Pspell|Random|OpenSSL|Sodium|Shm)`)

// phpVendors are packages that reach out.
var phpVendors = lazyregexp.New(`(?i)guzzle|http|client|process|filesystem|flysystem|mail|aws\\|google|azure|stripe|twilio|redis|doctrine|illuminate|laravel|phpseclib|buzz|react|amp\\|swoole|slack|sentry|curl|ssh|ftp|queue|kernel|console|runner|command|shell|artisan|eloquent|propel|database|pdo|mongo|elastic|twig|smarty|expressionlanguage|phar|composer`)

// phpClass reports whether a class is one that computes, of the program, or of the project.
func (r *wordReader) phpClass(t wordToken, own map[string]bool) bool {
	name := strings.TrimPrefix(t.text, "\\")
	return t.kind == 'n' && (own[name] || among(phpClasses, name) || len(r.effects.Project) > 0 && !phpReaching.MatchString(name) && !phpVendors.MatchString(name) && !strings.HasPrefix(strings.ToLower(name), "namespace\\"))
}

// phpName judges a name at i that is no member.
func (r *wordReader) phpName(i int, own map[string]bool) error {
	t, next, before := r.tok(i), r.tok(i+1), r.tok(i-1)
	name := strings.ToLower(strings.TrimPrefix(t.text, "\\"))
	defined := before.kind == 'n' && among("function class interface trait enum const", strings.ToLower(before.text)) || before.kind == '&' && strings.EqualFold(r.tok(i-2).text, "function")
	switch {
	case name == "new" && next.kind != 'n':
		return fmt.Errorf("a class by its name")
	case next.kind == ':' && !next.gap && r.tok(i+2).kind != ':' && next.kind != 0 && strings.IndexByte("(,", before.kind) >= 0: // a named argument
	case defined && !among(phpCalls+" "+phpCallbacks, name) && !among("file_get_contents file file_put_contents glob", name), next.kind == ':' && r.tok(i+2).kind == ':':
	case name == "use" && next.kind != '(':
		return r.phpUse(i)
	case among("require require_once include include_once", name):
		return r.phpLoads(i)
	case before.kind == 'n' && among("new instanceof extends implements", strings.ToLower(before.text)), before.kind == ',' && r.phpListed(i):
		if !r.phpClass(t, own) && !strings.EqualFold(t.text, "class") {
			return fmt.Errorf("the class %s", t.text)
		}
	case among("file_get_contents file parse_ini_file is_file file_exists is_dir filesize filemtime scandir glob is_readable simplexml_load_file_", name) && next.kind == '(':
		return r.phpFile(i+2, false)
	case name == "file_put_contents" && next.kind == '(':
		return r.phpFile(i+2, true)
	case name == "fopen" && next.kind == '(':
		return r.phpOpen(i + 2)
	case among("fwrite fputs fprintf fputcsv fgets fgetc fgetcsv fread feof fclose rewind stream_get_contents", name) && next.kind == '(': // of what was opened here
	case next.kind == '(' && phpCallback(name) >= 0:
		return r.phpCalled(i+1, phpCallback(name), own)
	case next.kind == '(' && (among(phpCalls, name) || own[name+"()"]):
	case next.kind == '(' && !among("if elseif foreach for while switch match function fn array list isset empty unset exit die echo print return and or catch use declare class", name):
		return fmt.Errorf("the function %s", t.text)
	case name == "declare" && next.kind == '(' && r.tok(i+2).text != "strict_types":
		return fmt.Errorf("a declaration")
	case among("strict_types declare dir_", name), t.text == "__DIR__", t.text == "__FILE__", t.text == "__LINE__", phpConstant.MatchString(t.text), own[t.text]:
	case !among(phpWords, t.text) && !among(strings.ToLower(phpWords), name) && !r.phpClass(t, own):
		return fmt.Errorf("the name %s", t.text)
	}
	return nil
}

// phpOpen notes the file whose name stands at i, as fopen opens it.
func (r *wordReader) phpOpen(i int) error {
	mode := r.tok(i + 2)
	switch {
	case r.tok(i+1).kind != ',' || mode.kind != 's' || r.tok(i+3).kind != ')' || !among("r rb w wb a ab x xb", mode.text):
		return fmt.Errorf("a file that is not known")
	case among("php://stdin php://stdout php://stderr php://memory", r.tok(i).text) && r.tok(i).kind == 's':
		return nil
	}
	return r.phpFile(i, mode.text[0] != 'r')
}

var phpConstant = lazyregexp.New(`^\\?[A-Z][A-Z0-9_]+$`)

// phpListed reports whether the name at i is one of the interfaces that a class has.
func (r *wordReader) phpListed(i int) bool {
	for j := i - 1; r.tok(j).kind == 'n' || r.tok(j).kind == ','; j-- {
		if strings.EqualFold(r.tok(j).text, "implements") {
			return true
		}
	}
	return false
}

// phpUse judges a class that gets a short name.
func (r *wordReader) phpUse(i int) error {
	name, after := r.tok(i+1), r.tok(i+2)
	if name.kind != 'n' || among("function const", strings.ToLower(name.text)) || after.kind != ';' && !strings.EqualFold(after.text, "as") || phpReaching.MatchString(name.text) || phpVendors.MatchString(name.text) ||
		!strings.Contains(strings.TrimPrefix(name.text, "\\"), "\\") && !among(phpClasses, strings.TrimPrefix(name.text, "\\")) {
		return fmt.Errorf("use of %s", name.text)
	}
	return nil
}

// phpLoads notes a file of the project that is loaded.
func (r *wordReader) phpLoads(i int) error {
	i++
	if r.tok(i).kind == '(' {
		i++
	}
	here := r.tok(i).text == "__DIR__" && r.tok(i+1).kind == '.'
	if here {
		i += 2
	}
	file, end := r.tok(i), r.tok(i+1).kind
	name := strings.TrimPrefix(file.text, "./")
	if here {
		name = strings.TrimPrefix(name, "/")
	}
	if file.kind != 's' || end != ';' && end != ')' || !phpLoaded.MatchString(name) || strings.Contains(name, "..") {
		return fmt.Errorf("a file that is loaded")
	}
	r.effects.Project = append(r.effects.Project, name)
	return nil
}

var phpLoaded = lazyregexp.New(`^/?[\w][\w./-]*\.php$`)

// phpFile notes a file by its name, or by a variable that holds one name alone.
func (r *wordReader) phpFile(i int, write bool) error {
	t := r.tok(i)
	if t.kind != 'v' {
		return r.file(i, write)
	}
	if globs := r.phpGlobbed(t.text); len(globs) > 0 {
		for _, g := range globs {
			if write {
				r.effects.Writes = append(r.effects.Writes, outcome.Place{Path: g})
			} else {
				r.effects.Reads = append(r.effects.Reads, outcome.Place{Path: g})
			}
		}
		return nil
	}
	name := ""
	for j, u := range r.tokens {
		if u.kind != 'v' || u.text != t.text {
			continue
		}
		assigned := r.tok(j+1).kind == '=' && r.tok(j+2).kind != '='
		switch {
		case r.tok(j-1).kind == '+' && r.tok(j-2).kind == '+', r.tok(j+1).kind == '+' && r.tok(j+2).kind == '+', r.tok(j-1).kind == '&', r.tok(j-1).kind == '[', r.tok(j+1).kind == '[', r.tok(j+1).kind == '?', among("as list unset global static", r.tok(j-1).text), r.tok(j-1).kind == '(' && among("unset list", r.tok(j-2).text), r.tok(j-1).kind == '>' && r.tok(j-2).kind == '=', among("foreach", r.tok(j-2).text):
			return fmt.Errorf("a file that is not known")
		case r.tok(j+1).kind != '=' && r.tok(j+2).kind == '=': // .=, +=
			return fmt.Errorf("a file that is not known")
		case !assigned:
		case name != "" || r.tok(j+2).kind != 's' || r.tok(j+3).kind != ';':
			return fmt.Errorf("a file that is not known")
		default:
			name = r.tok(j + 2).text
		}
	}
	if name == "" || strings.ContainsAny(name, "\\{}$|") || strings.Contains(name, "://") || r.inFunction(i) {
		return fmt.Errorf("a file that is not known")
	}
	place := outcome.Place{Path: name}
	if write {
		r.effects.Writes = append(r.effects.Writes, place)
	} else {
		r.effects.Reads = append(r.effects.Reads, place)
	}
	return nil
}

// inFunction reports whether functions are defined before a token: a variable may be
// another one there.
func (r *wordReader) inFunction(i int) bool {
	for _, t := range r.tokens[:i] {
		if t.kind == 'n' && among("function fn", strings.ToLower(t.text)) {
			return true
		}
	}
	return false
}

// phpGlobbed are the patterns of the listings whose names a variable holds, and nothing
// else: foreach (glob("a/*.json") as $f).
func (r *wordReader) phpGlobbed(name string) (globs []string) {
	for j, t := range r.tokens {
		if t.kind != 'v' || t.text != name {
			continue
		}
		before, next, after := r.tok(j-1), r.tok(j+1), r.tok(j+2)
		g := r.tok(j - 3)
		switch {
		case before.text == "as" && next.kind == ')' && r.tok(j-2).kind == ')' && g.kind == 's' && r.tok(j-4).kind == '(' && r.tok(j-5).text == "glob" && r.tok(j-6).kind == '(':
			each, ok := alternatives(g.text, 1)
			if !ok || strings.ContainsAny(g.text, "\\$") || strings.Contains(g.text, "://") {
				return nil
			}
			globs = append(globs, each...)
		case before.text == "as", before.kind == '&', r.phpTaken(j), before.kind == '>' && r.tok(j-2).kind == '=' && next.kind == ')', among("list unset global static", before.text), r.inParameters(j) && before.text != "as" && !among("glob", before.text),
			next.kind == '=' && after.kind != '=', next.kind == '[', strings.IndexByte(".+-*/?|&^%", next.kind) >= 0 && after.kind == '=' && next.kind != 0, next.kind == '?' && after.kind == '?':
			return nil
		}
	}
	return globs
}
