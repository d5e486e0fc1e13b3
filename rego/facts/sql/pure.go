package sql

import (
	"slices"
	"strings"
	"sync"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

const (
	// pure are functions that only compute, or tell of the database: of
	// PostgreSQL, MySQL, SQLite, DuckDB, SQL Server and their like. A function that
	// is none of them may change what it likes.
	pure = "count sum avg min max total group_concat string_agg array_agg json_agg jsonb_agg listagg median mode stddev stddev_pop stddev_samp variance var_pop var_samp corr covar_pop covar_samp " +
		"regr_slope regr_intercept regr_r2 every bool_and bool_or any_value arg_min arg_max argmin argmax min_by max_by first last first_value last_value nth_value row_number rank dense_rank percent_rank " +
		"cume_dist ntile lag lead grouping grouping_id approx_count_distinct quantile quantile_cont histogram uniq uniqexact countif sumif avgif " +
		"coalesce nullif ifnull nvl nvl2 iif if greatest least isnull decode choose cast convert try_cast safe_cast typeof pg_typeof num_nulls num_nonnulls " +
		"abs ceil ceiling floor round trunc truncate mod power pow sqrt cbrt exp ln log log2 log10 sign sin cos tan asin acos atan atan2 sinh cosh tanh cot pi degrees radians random rand randomblob width_bucket div gcd lcm factorial scale setseed " +
		"length len char_length character_length octet_length bit_length lower upper lcase ucase initcap trim ltrim rtrim btrim lpad rpad left right mid substr substring substring_index split_part replace translate reverse repeat space " +
		"concat concat_ws overlay position strpos instr locate charindex patindex ascii chr char unichr unicode format quote quote_ident quote_literal quote_nullable hex unhex to_hex bin oct conv encode md5 sha sha1 sha2 sha224 sha256 sha384 sha512 crc32 digest hmac crypt gen_salt " +
		"soundex metaphone levenshtein similarity word_similarity starts_with startswith ends_with endswith contains printf printfn like glob elt field find_in_set string_to_array string_to_table array_to_string unaccent stuff collate ifelse " +
		"now current_date current_time current_timestamp localtime localtimestamp clock_timestamp statement_timestamp transaction_timestamp timeofday sysdate getdate getutcdate sysdatetime today yesterday curdate curtime utc_timestamp utc_date unix_timestamp from_unixtime unixepoch julianday strftime " +
		"date time datetime timestamp timestamptz year quarter month week day hour minute second dayofweek dayofmonth dayofyear weekday weekofyear dayname monthname last_day extract epoch age isfinite justify_days justify_hours justify_interval make_date make_time make_timestamp make_timestamptz make_interval " +
		"to_char to_date to_number to_timestamp str_to_date datename datepart datediff dateadd eomonth timediff timestampdiff timestampadd adddate subdate addtime subtime period_diff tostartofmonth tostartofday tostartofhour toyyyymm todate todatetime tostring toint32 toint64 touint32 touint64 tofloat64 formatdatetime " +
		"generate_series generate_subscripts range unnest explode flatten cardinality element_at list_value struct_pack row array map isjson openjson json json5 jsonb xml xpath xmlelement xmlagg uuid newid gen_random_uuid uuid_generate_v4 uuid_generate_v1 uuidv7 uuid_to_bin bin_to_uuid inet_aton inet_ntoa host network masklen broadcast netmask family " +
		"pg_sleep version database schema user current_user session_user system_user current_schema current_schemas current_database current_catalog current_setting current_query connection_id found_rows row_count last_insert_id last_insert_rowid changes total_changes lastval currval sqlite_version sqlite_source_id sqlite_compileoption_used object_id object_name db_name db_id schema_name type_name col_name serverproperty databasepropertyex " +
		"obj_description col_description shobj_description format_type pg_size_pretty pg_size_bytes pg_relation_size pg_total_relation_size pg_table_size pg_indexes_size pg_database_size pg_tablespace_size pg_column_size pg_relation_filepath pg_is_in_recovery pg_postmaster_start_time pg_conf_load_time pg_backend_pid pg_blocking_pids pg_current_wal_lsn pg_last_wal_replay_lsn pg_last_wal_receive_lsn pg_last_xact_replay_timestamp pg_wal_lsn_diff txid_current txid_current_if_assigned pg_lock_status pg_index_column_has_property pg_encoding_to_char pg_describe_object pg_identify_object pg_timezone_names pg_table_is_visible pg_type_is_visible pg_function_is_visible to_regclass to_regproc to_regtype to_regrole inet_server_addr inet_server_port inet_client_addr " +
		"setweight to_tsvector to_tsquery plainto_tsquery phraseto_tsquery websearch_to_tsquery tsvector_to_array numnode querytree match against bm25 highlight snippet point line box circle polygon lower_inf upper_inf isempty lower_inc upper_inc int4range int8range numrange tsrange tstzrange daterange crosstab dbstat text int integer bigint smallint float double real boolean blob"
	// purePrefixes begin the names of families of such functions.
	purePrefixes = "json_ jsonb_ array_ list_ map_ struct_ regexp_ regexp date_ time_ bit_ pg_get_ pg_stat_get_ has_ percentile_ approx_ st_ ts_ str_ string_ pragma_ iso_ quantile h3_ grouping_ xmlconcat xmlforest"
	// typeNames and grammar stand before parentheses and call nothing.
	typeNames = "varchar nvarchar char nchar character varying numeric decimal dec bit varbit timestamp time datetime2 datetimeoffset interval float binary varbinary vector"
	grammar   = "in values and or not exists over filter any all some as using on from join by group within ordinality with select where having when then else case between like ilike similar to is distinct union intersect except limit offset fetch interval returning lateral set partition order within rollup cube sets grouping tablesample bernoulli window recursive materialized key into escape array row table only default check primary foreign references index unique end except columns"
)

// calls adds a statement for each function that a question calls and that is
// not known to leave everything as it is.
func (r *reader) calls() {
	if !wordlist.Has("select with values table explain show", r.st.Verb) {
		return
	}
	for i, t := range r.tokens {
		if i%16 == 0 {
			r.x.Tick()
		}
		if t.kind != word && t.kind != quoted || !r.at(i+1).punct("(") {
			continue
		}
		if i == 1 && r.tokens[0].is("pragma") {
			continue // PRAGMA table_info(orders), whose verb says whether it only shows
		}
		name := strings.ToLower(t.text)
		if t.kind == word && wordlist.Has(grammar, name) || r.hidden[name] || r.named(i) {
			continue
		}
		if r.pure(i, name) || wordlist.Has(readers, name) || r.reaches(i) {
			continue
		}
		r.x.found.Statements = append(r.x.found.Statements, holdgate.Statement{Verb: "call", Object: "function", Tables: []string{name}})
	}
}

// named reports whether the word at i names a table or its alias, with its
// columns behind it.
func (r *reader) named(i int) bool {
	before := r.at(i - 1)
	return i > 0 && (before.punct(")") || before.is("as ordinality into tablesample"))
}

// pure reports whether the function at i only computes. One of a schema of its
// own is not known, whatever its name.
func (r *reader) pure(i int, name string) bool {
	if r.at(i-1).punct(".") && i > 1 && !r.at(i-2).is("pg_catalog information_schema") {
		return false
	}
	if pureSet()[name] {
		return true
	}
	return slices.ContainsFunc(strings.Fields(purePrefixes), func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

var pureSet = sync.OnceValue(func() map[string]bool {
	set := make(map[string]bool)
	for name := range strings.FieldsSeq(pure + " " + typeNames) {
		set[name] = true
	}
	return set
})
