package databases

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// Commands of Redis that only read, whatever keys and numbers follow. Those of the second
// list are the first of two words.
const (
	redisReads = "get mget type ttl pttl expiretime pexpiretime exists strlen getrange hget hmget hgetall hkeys hvals hlen hexists hstrlen llen lrange lindex lpos scard smembers sismember smismember srandmember " +
		"sinter sunion sdiff zcard zscore zmscore zcount zrange zrevrange zrangebyscore zrank zrevrank xlen xrange xrevrange pfcount getbit bitcount bitpos geopos geodist geohash keys scan sscan hscan zscan dbsize touch"
	redisReadParts = "memory usage object encoding object freq object idletime object refcount xinfo stream xinfo groups xinfo consumers"
	// redisOptions change where it connects to and how it prints; redisValued take a value.
	redisOptions = "--no-auth-warning --raw --no-raw --csv --json -c -3 -2 --tls"
	redisValued  = "-h -p -n -u --user --db"
)

// ReadsKey reports whether the word at i is a key or a number to a command of Redis that
// only reads. Behind the command no word is an option.
func ReadsKey(words []argv.Field, i int) bool {
	j := 1
	for j < i && words[j].Known() && strings.HasPrefix(words[j].Text, "-") {
		switch {
		case wordlist.Has(redisOptions, words[j].Text):
			j++
		case wordlist.Has(redisValued, words[j].Text):
			j += 2
		default:
			return false
		}
	}
	if j >= i || slices.ContainsFunc(words[:j+1], func(f argv.Field) bool { return !f.Known() || f.Glob }) {
		return false
	}
	verb := strings.ToLower(words[j].Text)
	if wordlist.Has(redisReads, verb) {
		return true
	}
	parts := strings.Fields(redisReadParts)
	for k := 0; j+1 < i && k < len(parts); k += 2 {
		if verb == parts[k] && words[j+1].Known() && strings.EqualFold(words[j+1].Text, parts[k+1]) {
			return true
		}
	}
	return false
}
