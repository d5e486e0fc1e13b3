package suspect

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// acting are the names that say what a program does, by the kind of act, the worst first.
// A pattern's match is what people are told that the act is done by.
var acting = []struct {
	kind string
	is   *lazyregexp.Regexp
}{
	{holdgate.ActDelete, names(`\w*(rmtree|rmdirs?|removedirs|unlink|rimraf|shred|wipe|erase|purge|destroy|flushall|flushdb)\w*|rm(_rf?|_f|Sync)?|` +
		`(delete|remove|drop)(_?(all|many|one|dir|file|tree|table|database|bucket|object|user|key|collection|index|stack|instance|volume|branch|repo|namespace)s?)\w*|\w+_delete`)},
	{holdgate.ActDelete, lazyregexp.New(`\b(os|Deno|File|Files|Dir|path|fs|fsp|filesystem|FileUtils|FileManager)(\.\w+)?(\.|::)(rm|remove|delete)\w*`)},
	{holdgate.ActDelete, lazyregexp.New(`(?i)\b(drop\s+(table|database|schema|index|view|user|role)\s+(if\s+exists\s+)?|truncate\s+(table\s+)?|delete\s+from\s+)["\x60]?[\w.]+`)},
	{holdgate.ActMayDelete, names(`(delete|remove|drop|truncate|trash|prune)\w*`)},
	{holdgate.ActEnd, names(`\w*(killpg|killall|kill|terminate|shutdown|reboot)`)},
	{holdgate.ActPublish, names(`\w*(publish|deploy|refund|charge|payout|transfer|withdraw|rollback)\w*`)},
	{holdgate.ActChange, lazyregexp.New(`(?i)\b(update\s+[\w."]+\s+set|insert\s+into\s+[\w."]+|alter\s+(table|database|role|user)\s+[\w."]+|grant\s+\w+\s+(on|to)\s+[\w."]+)\b`)},
	{holdgate.ActWrite, lazyregexp.New(`\b(open|fopen|File\.open)\s*\([^()\n]*,\s*(mode\s*=\s*)?["'][rb]*[wax+]|\w*\.?(writeFile\w*|file_put_contents|File\.write|write_text|write_bytes|createWriteStream|WriteFile)\b`)},
	{holdgate.ActRun, names(`subprocess(\.\w+)?|\w*(popen|system|system2|execv\w*|execl\w*|execFile\w*|execSync|spawn\w*|passthru|shell_exec|proc_open|pexpect|ProcessBuilder|shelljs|execa)`)},
	{holdgate.ActSend, names(`(requests|axios|httpx|aiohttp|urllib\d?|boto3?|paramiko|smtplib|ftplib|telnetlib|websockets?|fetch|urlopen|sendmail|sendall|sendto|upload\w*|webhook\w*|socket|curl\w*)(\.\w+)?`)},
}

// names matches a whole name, which others may qualify, where it is called, used or handed on.
func names(pattern string) *lazyregexp.Regexp {
	return lazyregexp.New(`(?i)(\b\w+(\.|::|->))?\b(` + pattern + `)\b`)
}

// Acts lists what names in a program say that it does, the worst first, each kind once.
// It takes any language: what is said here is told to people, and spares nothing.
func Acts(language, code string) []holdgate.Act {
	code = imports.ReplaceAllString(uncomment(language, code), " ")
	plain := texts.ReplaceAllString(code, " ")
	var out []holdgate.Act
	for _, a := range acting {
		if slices.ContainsFunc(out, func(o holdgate.Act) bool {
			return o.Kind == a.kind || o.Kind == holdgate.ActDelete && a.kind == holdgate.ActMayDelete
		}) {
			continue
		}
		text := plain
		if a.kind == holdgate.ActChange || a.kind == holdgate.ActWrite || strings.Contains(a.is.String(), "from") {
			text = code // statements and modes stand in texts
		}
		found := slices.DeleteFunc(a.is.FindAllString(text, maxActs), harmless)
		if len(found) > 0 {
			out = append(out, holdgate.Act{Kind: a.kind, By: called(found[0]), Times: len(found)})
		}
	}
	return out
}

// called is a name without what it is given, or a statement on one line.
func called(found string) string {
	name, _, _ := strings.Cut(found, "(")
	return strings.Join(strings.Fields(name), " ")
}

// maxActs bounds how many names of a kind are looked at.
const maxActs = 1000

// imports name what a program uses further on, by the same name.
var imports = lazyregexp.New(`(?m)^[ \t]*(from\s+[\w.]+\s+)?import\s+[\w., ]+?(;|$)|\b(const|let|var)\s*[\w{}, ]+=\s*require\([^)\n]*\)|\bimport\s+[\w{}, *]+\s+from\s*["'][^"'\n]*["']`)

// harmless reports whether a name has a part that acts and does not act itself.
func harmless(name string) bool {
	last := name[strings.LastIndexAny(name, ".:>")+1:]
	return wordlist.Has(harmlessNames, strings.ToLower(last)) || inert.MatchString(last)
}

// inert are the names of constants and of exceptions.
var inert = lazyregexp.New(`^[A-Z][A-Z0-9_]+$|^[A-Z]\w*(Error|Exception|Expired)$|^exceptions$`)
