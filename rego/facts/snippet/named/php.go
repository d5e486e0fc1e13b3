package named

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
)

var phpRules = wordRules{
	comment:  regexp.MustCompile(`^(//|#)`),
	variable: regexp.MustCompile(`^\$[A-Za-z_]\w*`),
	name:     regexp.MustCompile(`^[A-Za-z_]\w*`),
	refused:  regexp.MustCompile("^(`|<<<|/\\*|\\$\\$|\\$\\{|\\\\|\\?>|&\\$|@)"),
	raw:      true,
	holds: func(text string) error {
		if phpCode.MatchString(text) {
			return fmt.Errorf("code in a text")
		}
		return nil
	},
}

// phpCode is what may run when a text in double quotes is put together, or names
// what the environment holds.
var phpCode = regexp.MustCompile(`\{\$[^}]*\(|\$\{|\$(_ENV|_SERVER|GLOBALS)|\{\$[^}]*->`)

// phpRunsMatch is a pattern with the modifier e, by which old versions run what they put
// in place of a match.
var phpRunsMatch = regexp.MustCompile(`^['"]?([/#~%!@|]).*([/#~%!@|])[imsxuADSUXJ]*e[imsxuADSUXJe]*['"]?$`)

const (
	phpWords = "echo print if else elseif foreach for while do as break continue return function fn true false null TRUE FALSE NULL and or xor switch case default match list array isset empty unset exit die int string float bool static const PHP_EOL PHP_VERSION PHP_INT_MAX PHP_OS " +
		"JSON_PRETTY_PRINT JSON_UNESCAPED_SLASHES JSON_UNESCAPED_UNICODE JSON_THROW_ON_ERROR SORT_NUMERIC SORT_STRING COUNT_RECURSIVE ENT_QUOTES STR_PAD_LEFT STR_PAD_RIGHT PREG_SET_ORDER FILE_IGNORE_NEW_LINES FILE_SKIP_EMPTY_LINES LOCK_EX M_PI"
	phpCalls = "count sizeof strlen str_replace str_ireplace substr strpos stripos strrpos str_contains str_starts_with str_ends_with str_repeat str_pad str_split strtolower strtoupper ucfirst ucwords lcfirst trim ltrim rtrim explode implode join sprintf printf number_format vsprintf nl2br htmlspecialchars strrev strcmp strcasecmp substr_count wordwrap " +
		"json_decode json_encode json_last_error json_last_error_msg var_dump var_export print_r serialize array_keys array_values array_merge array_sum array_product array_unique array_reverse array_slice array_splice array_combine array_flip array_fill array_fill_keys array_column array_chunk array_diff array_diff_key array_intersect array_intersect_key array_key_exists array_key_first array_key_last array_search array_shift array_pop array_push array_unshift array_pad array_rand in_array range sort rsort ksort krsort asort arsort shuffle min max abs round floor ceil intdiv fmod sqrt pow log exp pi rand mt_rand random_int " +
		"is_array is_string is_int is_numeric is_null is_bool is_float intval floatval strval boolval settype gettype get_debug_type date time mktime strtotime microtime hrtime checkdate date_default_timezone_set md5 sha1 hash crc32 base64_encode base64_decode bin2hex hex2bin urlencode urldecode rawurlencode http_build_query parse_url parse_str ord chr dechex hexdec bindec decbin preg_match preg_match_all preg_split preg_quote preg_replace mb_strlen mb_substr mb_strtoupper mb_strtolower iconv basename dirname pathinfo phpversion php_sapi_name memory_get_usage memory_get_peak_usage version_compare array_key_exists array_is_list str_word_count similar_text levenshtein usleep sleep str_getcsv"
)

// PHP tells what a program of PHP does.
func PHP(code string) (outcome.Effects, error) {
	r := &wordReader{code: strings.TrimPrefix(strings.TrimSpace(code), "<?php")}
	if err := r.lex(phpRules); err != nil {
		return outcome.Effects{}, err
	}
	for i, t := range r.tokens {
		next := r.tok(i + 1)
		switch {
		case t.kind == 'v' && (among("$_ENV $_SERVER $GLOBALS $this", t.text) || next.kind == '('):
			return outcome.Effects{}, fmt.Errorf("the variable %s", t.text)
		case next.kind == '(' && (t.kind == ')' || t.kind == ']' || t.kind == 's' || t.kind == '}'):
			return outcome.Effects{}, fmt.Errorf("a call of what a value holds")
		case t.kind == ':' && next.kind == ':', t.kind == '-' && next.kind == '>' && r.tok(i+2).kind != 'n', t.kind == '-' && next.kind == '>' && r.tok(i+3).kind == '(':
			return outcome.Effects{}, fmt.Errorf("a method")
		case t.kind == 's' && strings.Contains(strings.ToLower(code), "preg_") && phpRunsMatch.MatchString(t.text):
			return outcome.Effects{}, fmt.Errorf("a pattern that runs what it has matched")
		case t.kind != 'n', r.tok(i-1).kind == '>' && r.tok(i-2).kind == '-':
		case among("file_get_contents file parse_ini_file is_file file_exists is_dir filesize filemtime", strings.ToLower(t.text)) && next.kind == '(':
			if err := r.phpFile(i+2, false); err != nil {
				return outcome.Effects{}, err
			}
		case strings.EqualFold(t.text, "file_put_contents") && next.kind == '(':
			if err := r.phpFile(i+2, true); err != nil {
				return outcome.Effects{}, err
			}
		case next.kind == '(' && among(phpCalls, strings.ToLower(t.text)):
		case next.kind == '(' && !among("if elseif foreach for while switch match function fn array list isset empty unset exit die echo print return and or", strings.ToLower(t.text)):
			return outcome.Effects{}, fmt.Errorf("the function %s", t.text)
		case !among(phpWords, t.text) && !among(strings.ToLower(phpWords), strings.ToLower(t.text)):
			return outcome.Effects{}, fmt.Errorf("the name %s", t.text)
		}
	}
	return r.effects, nil
}

// phpFile notes a file by its name, or by a variable that holds one name alone.
func (r *wordReader) phpFile(i int, write bool) error {
	t := r.tok(i)
	if t.kind != 'v' {
		return r.file(i, write)
	}
	name := ""
	for j, u := range r.tokens {
		if u.kind != 'v' || u.text != t.text {
			continue
		}
		assigned := r.tok(j+1).kind == '=' && r.tok(j+2).kind != '='
		switch {
		case r.tok(j-1).kind == '&', r.tok(j-1).kind == '[', r.tok(j+1).kind == '[', r.tok(j+1).kind == '?', among("as list unset global static", r.tok(j-1).text), r.tok(j-1).kind == '(' && among("unset list", r.tok(j-2).text), r.tok(j-1).kind == '>' && r.tok(j-2).kind == '=', among("foreach", r.tok(j-2).text):
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
