package secrets

import (
	_ "embed"
	"fmt"
	"iter"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
)

// rulesJSON is a maintained set of rules, as data: see its "source" and
// "license". Left out are the rule that takes any long word beside "key" or
// "token" for a secret, which ordinary code is full of, and those that go by
// the name of a file. A newer set takes its place as it is: the fields are
// those of the source, but for kind, which is what [Secret] calls it.
//
//go:embed rules.json
var rulesJSON []byte

// namedJSON are rules for values that a name calls a secret, as in PGPASSWORD=x, and in
// arguments that a program takes for one. They say what is shown and logged, and nothing to
// policy: such words stand in ordinary code too.
//
//go:embed named.json
var namedJSON []byte

const (
	// Before and behind a keyword this much text is matched against its rules:
	// more than any of them needs.
	bytesBeforeKeyword = 64
	bytesAfterKeyword  = 512
	// maxWindow is how much text one match takes on, so that a deadline is seen.
	maxWindow = 4 << 10
	// bytesPerStep is how much text a rule matches in one step of work.
	bytesPerStep = 64
	// anyWord begins many rules, to show in a report what a secret was called.
	// Without it they find the same secrets in a fraction of the time.
	anyWord = `[\w.-]{0,50}?`
	// shortKeyword and shortToken: what is shorter than the one says too little
	// by itself, and begins a secret of at least the other.
	shortKeyword = 4
	shortToken   = 12
)

// A rule finds one kind of credential near one of its keywords.
type rule struct {
	ID       string   `json:"id"`
	Kind     string   `json:"kind"`
	Keywords []string `json:"keywords"` // in lower case
	Regex    string   `json:"regex"`
	Entropy  float64  `json:"entropy"` // least bits a byte of the secret
	Group    int      `json:"group"`   // of the secret; the first that matched where zero
	Allow    []string `json:"allow"`   // secrets that are none

	pattern func() *regexp.Regexp // compiled once it is needed
	allowed func() []*regexp.Regexp
}

// ruleSet is the rules with what finds their keywords.
type ruleSet struct {
	rules     []rule
	allowed   func() []*regexp.Regexp
	stopWords []string
	keywords  []string
	of        [][]int        // rules, by keyword
	finder    *keywordFinder // of the keywords, and of the hints of secretShapes behind them
}

var (
	table = ruleTable(rulesJSON, shapes[:])
	named = ruleTable(namedJSON, nil)
)

func ruleTable(data []byte, shapes []shape) func() *ruleSet {
	return sync.OnceValue(func() *ruleSet {
		set, err := readRules(data, shapes)
		if err != nil {
			panic(err) // becomes a parse error; a test reads the same bytes
		}
		return set
	})
}

// Prepare reads the rules, which the first text would otherwise wait for.
func Prepare() {
	table()
	named()
}

func readRules(data []byte, shapes []shape) (*ruleSet, error) {
	var doc struct {
		Allow     []string `json:"allow"`
		StopWords []string `json:"stopwords"`
		Rules     []rule   `json:"rules"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("reading rules for secrets: %w", err)
	}
	set := &ruleSet{rules: doc.Rules, stopWords: doc.StopWords, allowed: compiled(doc.Allow)}
	index := make(map[string]int)
	for i := range set.rules {
		r := &set.rules[i]
		r.pattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(strings.Replace(r.Regex, anyWord, "", 1)) })
		r.allowed = compiled(r.Allow)
		for _, k := range r.Keywords {
			if _, ok := index[k]; !ok {
				index[k] = len(set.keywords)
				set.keywords = append(set.keywords, k)
				set.of = append(set.of, nil)
			}
			set.of[index[k]] = append(set.of[index[k]], i)
		}
	}
	all := slices.Clone(set.keywords)
	for _, shape := range shapes {
		all = append(all, strings.ToLower(shape.hint))
	}
	set.finder = newKeywordFinder(all)
	return set, nil
}

// hints looks once over a text, as nearly every one holds nothing: for the hints
// of shapes, and whether any rule has to look at some of it.
func (set *ruleSet) hints(s string) (shapes hints, ruled bool) {
	set.finder.each(s, func(keyword, end int) {
		if n := keyword - len(set.keywords); n >= 0 {
			shapes |= 1 << n
		} else {
			ruled = ruled || set.counts(keyword, s[end:])
		}
	})
	return shapes, ruled
}

// counts reports whether a keyword says something where rest comes behind it.
func (set *ruleSet) counts(keyword int, rest string) bool {
	return len(set.keywords[keyword]) >= shortKeyword || tokenFollows(rest)
}

func compiled(patterns []string) func() []*regexp.Regexp {
	return sync.OnceValue(func() []*regexp.Regexp {
		out := make([]*regexp.Regexp, len(patterns))
		for i, p := range patterns {
			out[i] = regexp.MustCompile(p)
		}
		return out
	})
}

// A window is a part of the text that a rule has yet to look at.
type window struct {
	lo, hi int // hi is 0 where there is none
}

// find calls found for each rule that finds its secret in the text, once, and
// work with the steps that it takes.
func (set *ruleSet) find(s string, work func(int), found func(*rule)) {
	done := make(map[int]bool)
	set.windows(s, func(i, lo, hi int) {
		if done[i] {
			return
		}
		work(1 + (hi-lo)/bytesPerStep)
		if set.matches(&set.rules[i], s[lo:hi]) {
			done[i] = true
			found(&set.rules[i])
		}
	})
}

// each calls found for each secret in the text, some of them more than once,
// and work with the steps that it takes.
func (set *ruleSet) each(s string, work func(int), found func(r *rule, start, end int)) {
	set.windows(s, func(i, lo, hi int) {
		work(1 + (hi-lo)/bytesPerStep)
		for start, end := range set.secretsIn(&set.rules[i], s[lo:hi]) {
			found(&set.rules[i], lo+start, lo+end)
		}
	})
}

// windows calls look for each part of the text that a rule has to look at.
func (set *ruleSet) windows(s string, look func(rule, lo, hi int)) {
	windows := make(map[int]*window)
	set.finder.each(s, func(keyword, end int) {
		if keyword >= len(set.keywords) || !set.counts(keyword, s[end:]) {
			return
		}
		k := set.keywords[keyword]
		lo, hi := max(0, end-len(k)-bytesBeforeKeyword), min(len(s), end+bytesAfterKeyword)
		for _, i := range set.of[keyword] {
			w := windows[i]
			if w == nil {
				w = &window{lo: lo}
				windows[i] = w
			}
			if lo > w.hi || hi-w.lo > maxWindow {
				if w.hi > 0 {
					look(i, w.lo, w.hi)
				}
				w.lo = lo
			}
			w.hi = hi
		}
	})
	for _, i := range slices.Sorted(maps.Keys(windows)) {
		if w := windows[i]; w.hi > 0 {
			look(i, w.lo, w.hi)
		}
	}
}

// matches reports whether the text holds the rule's secret, and one that is
// no placeholder.
func (set *ruleSet) matches(r *rule, text string) bool {
	for range set.secretsIn(r, text) {
		return true
	}
	return false
}

// secretsIn are the places of the rule's secrets in the text, without
// placeholders.
func (set *ruleSet) secretsIn(r *rule, text string) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for _, m := range r.pattern().FindAllStringSubmatchIndex(text, -1) {
			start, end := m[0], m[1]
			for g := 1; g < len(m)/2; g++ {
				if r.Group == g || r.Group == 0 && m[2*g+1] > m[2*g] {
					start, end = m[2*g], m[2*g+1]
					break
				}
			}
			if start < 0 { // a group of the rule's that took no part
				start, end = m[0], m[1]
			}
			if secret := text[start:end]; entropy(secret) > r.Entropy && !set.placeholder(r, secret) && !yield(start, end) {
				return
			}
		}
	}
}

func (set *ruleSet) placeholder(r *rule, secret string) bool {
	for _, list := range [][]*regexp.Regexp{set.allowed(), r.allowed()} {
		for _, p := range list {
			if p.MatchString(secret) {
				return true
			}
		}
	}
	lower := strings.ToLower(secret)
	for _, w := range set.stopWords {
		if strings.Contains(lower, w) {
			return true
		}
	}
	return false
}

// tokenFollows reports whether the text begins as the rest of a token does.
func tokenFollows(s string) bool {
	if len(s) < shortToken {
		return false
	}
	for i := range shortToken {
		if c := s[i]; !wordByte(c) && !strings.ContainsRune("_-.~/+=", rune(c)) {
			return false
		}
	}
	return true
}

// entropy is Shannon's, in bits a byte.
func entropy(s string) float64 {
	var counts [256]int
	for i := range len(s) {
		counts[s[i]]++
	}
	bits := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}
