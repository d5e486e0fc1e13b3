package databases

import (
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/shell"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// mongoReads are the methods of a MongoDB shell that only read, and those of JavaScript
// that go over what was read.
const mongoReads = "find findOne count countDocuments estimatedDocumentCount distinct aggregate getIndexes stats dataSize storageSize totalSize totalIndexSize explain " +
	"limit skip sort hint projection batchSize maxTimeMS pretty toArray hasNext next size itcount collation comment " +
	"getCollection getCollectionNames getCollectionInfos getSiblingDB getName version serverStatus hostInfo hello isMaster status conf getMongo getDBNames " +
	"forEach map filter reduce some every slice join concat includes indexOf push keys values entries stringify toString toFixed toISOString getTime padEnd padStart split trim toLowerCase toUpperCase substring log table print"

// mongoCalls are functions that stand by themselves.
const mongoCalls = "print printjson ObjectId ISODate Date NumberInt NumberLong NumberDecimal UUID function if for while return of in String Number EJSON"

// mongoValues are members that are no methods, or names of what methods are in.
const mongoValues = "length name size count status ok n acknowledged nIndexesWas version host uptime connections current available total " +
	"createdAt updatedAt created_at updated_at type email key unique ns _id id"

var (
	mongoFile   = lazyregexp.New(`(?i)\.([cm]?js|ts|mongodb)$`) // an operand that runs
	mongoString = lazyregexp.New(`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'`)
	mongoMethod = lazyregexp.New(`(\.?)\s*\b([A-Za-z_]\w*)\s*\(`)
	mongoMember = lazyregexp.New(`\.\s*([A-Za-z_$][\w$]*)`)
	// mongoObject is the database and one of its collections, whose name acts on nothing.
	mongoObject = lazyregexp.New(`\bdb\.[A-Za-z_]\w*\.`)
	// mongoActs are names that change something, wherever they stand.
	mongoActs = lazyregexp.New(`\b(drop|remove|delete|update|insert|replace|bulk|rename|save|eval|load|shutdown|create|grant|revoke|set|kill|run|admin|process|require|constructor|prototype|globalThis|import|convert|clone|copy|fs|os|child|fsync|compact|call|apply|bind)([A-Z]\w*)?\b|__proto__`)
	// mongoFields are names of fields that begin like such.
	mongoFields = lazyregexp.New(`(At|_at|On|_on|Date|_date|By|_by)$`)
	// mongoHidden is what reaches names that are not read here, or writes what was read.
	mongoHidden = lazyregexp.New("[`\\\\]|\\$(where|function|accumulator|out|merge)|\\]\\s*\\(|\\)\\s*\\(|[\\w)]\\s*\\[\\s*[^\\]0-9]|//|/\\*|\\bnew\\s+Function")
	// mongoUnread is what outside strings is not read here: regular expressions and
	// divisions, optional members, keys that are reckoned, other alphabets, comments, and
	// names that lead to more.
	mongoUnread = lazyregexp.New(`[/#@'\x00-\x08]|[^\x00-\x7f]|\?\s*\.|[{,]\s*\[|<!--|-->|\.\.\.|` +
		`\b(with|class|this|await|async|yield|fetch|Function|Reflect|Proxy|Symbol|WebAssembly|WebSocket|XMLHttpRequest|Mongo|arguments|global|window|self|exit|quit|connect|edit|sh|rs|sp|catch)\b`)

	// What is taken out before a "=", a "=>", "function" or an index is refused: those that
	// give a name to a plain value, and to parameters.
	mongoCompared = lazyregexp.New(`[=!]==?|[<>]=|\b(?:const|let|var)\s+\w+\s*=`)
	mongoArrow    = lazyregexp.New(`(?:\(\s*[\w\s,]*\)|\b\w+)\s*=>`)
	mongoFunction = lazyregexp.New(`\bfunction\s*\w*\s*\([\w\s,]*\)\s*\{`)
	mongoLoop     = lazyregexp.New(`\bfor\s*\(\s*(?:const|let|var)\s+\w+\b`)
	mongoNumbered = lazyregexp.New(`\[\s*\d*\s*\]`)
	mongoBinds    = lazyregexp.New(`=|\bfunction\b|\bfor\b|\b(?:const|let|var)\s*[^\w\s]|[\w)\]}"$]\s*\[`)
)

// Mongo walks the shell of MongoDB, whose --eval is a program in JavaScript.
func Mongo(s *shell.Shell, in shell.Invocation, c *holdgate.Command) {
	o := argv.ParseOptions(in.Words[1:], "ufp", "eval host port username password db authenticationDatabase file")
	code := o.Values("", "eval")
	for _, f := range o.Values("f", "file") {
		c.Unbound = append(c.Unbound, f.Text)
	}
	for _, f := range o.Operands {
		if mongoFile.MatchString(f.Text) {
			c.Unbound = append(c.Unbound, f.Text)
			code = nil
		}
	}
	if len(code) == 0 || len(o.Operands) > 1 || s.Stdin.Kind != "" && s.Stdin.Kind != "pipe" {
		return
	}
	for _, f := range code {
		if !f.Sure() || !onlyReadsMongo(f.Text) {
			return
		}
	}
	s.Found.SQL("show meta")
}

// onlyReadsMongo reports whether a program of a MongoDB shell only reads.
func onlyReadsMongo(code string) bool {
	if mongoHidden.MatchString(code) {
		return false
	}
	code = mongoString.ReplaceAllString(code, `""`)
	if strings.Contains(strings.ReplaceAll(code, `""`, ""), `"`) || mongoUnread.MatchString(code) {
		return false
	}
	binds := code
	for _, known := range []*lazyregexp.Regexp{mongoArrow, mongoFunction, mongoLoop, mongoCompared, mongoNumbered} {
		binds = known.ReplaceAllString(binds, " ")
	}
	if mongoBinds.MatchString(binds) {
		return false
	}
	members := mongoObject.ReplaceAllString(code, "db.")
	for _, m := range mongoMember.FindAllStringSubmatch(members, -1) {
		if !wordlist.Has(mongoReads, m[1]) && !wordlist.Has(mongoValues, m[1]) {
			return false
		}
	}
	for _, name := range mongoActs.FindAllString(code, -1) {
		if !mongoFields.MatchString(name) {
			return false
		}
	}
	for _, m := range mongoMethod.FindAllStringSubmatch(code, -1) {
		if m[1] == "." && !wordlist.Has(mongoReads, m[2]) || m[1] == "" && !wordlist.Has(mongoCalls, m[2]) {
			return false
		}
	}
	return true
}
