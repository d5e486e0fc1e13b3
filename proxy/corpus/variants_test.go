package corpus_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store/audit"
)

// variants calls yield with everything that one change makes of a seed's answer.
func (s seed) variants(yield func(name string, body []byte)) {
	with := func(i int, e ...event) []byte {
		return s.frame(append(append(slices.Clone(s.events[:i]), e...), s.events[i+1:]...))
	}
	for i, e := range s.events {
		for p := range placesOf(e.doc) {
			for _, c := range changes() {
				tree := parseTree(e.doc)
				at := tree.places()[p]
				name := fmt.Sprintf("document %d, %s: %s", i, at.key(), c.name)
				if c.make(at) {
					yield(name, with(i, event{e.name, tree.String()}))
				}
			}
		}
		if e.doc == "[DONE]" {
			continue
		}
		for name, doc := range spellings(e.doc) {
			yield(fmt.Sprintf("document %d: %s", i, name), with(i, event{e.name, doc}))
		}
	}
	s.grafts(with, yield)
	s.pairs(yield)
	if s.stream {
		s.otherOrders(with, yield)
	}
	switch s.typ {
	case "text/event-stream":
		s.otherEvents(with, yield)
	case eventStreamType:
		s.otherMessages(yield)
	default:
		s.otherLines(yield)
	}
}

// grafts put what holds a call into every other object and list as well.
func (s seed) grafts(with func(int, ...event) []byte, yield func(string, []byte)) {
	var scions []member
	for _, e := range s.events {
		for _, p := range placesOf(e.doc) {
			if whole := p.val().String(); p.val().kind != 'v' && (strings.Contains(whole, `"Bash"`) || strings.Contains(whole, `rm -rf`)) {
				scions = append(scions, member{p.key(), p.val()})
			}
		}
	}
	for i, e := range s.events {
		for n, p := range placesOf(e.doc) {
			for _, m := range scions {
				name := fmt.Sprintf("document %d, place %d (%s), %s grafted", i, n, p.key(), m.key)
				tree := parseTree(e.doc)
				at := tree.places()[n]
				if !at.in.has(m.key) {
					at.insert(at.i, m)
					yield(name, with(i, event{e.name, tree.String()}))
				}
				tree = parseTree(e.doc)
				at = tree.places()[n]
				if at.val().kind == '[' {
					at.val().elems = append(at.val().elems, m.val)
					yield(name+" into its list", with(i, event{e.name, tree.String()}))
				}
				tree = parseTree(e.doc)
				tree.places()[n].set(m.val)
				yield(name+" in its place", with(i, event{e.name, tree.String()}))
			}
		}
	}
}

// pairs are two changes at once, at random but always the same.
func (s seed) pairs(yield func(string, []byte)) {
	random := rand.New(rand.NewPCG(1, 2))
	all := changes()
	for n := range 2000 {
		events, what := slices.Clone(s.events), ""
		for range 2 {
			i := random.IntN(len(events))
			tree := parseTree(events[i].doc)
			places := tree.places()
			if len(places) == 0 {
				continue
			}
			at, c := places[random.IntN(len(places))], all[random.IntN(len(all))]
			what += fmt.Sprintf(" document %d, %s: %s;", i, at.key(), c.name)
			c.make(at)
			events[i].doc = tree.String()
			if random.IntN(4) == 0 {
				j := random.IntN(len(events))
				what += fmt.Sprintf(" %d and %d swapped;", i, j)
				events[i], events[j] = events[j], events[i]
			}
		}
		yield(fmt.Sprintf("pair %d:%s", n, what), s.frame(events))
	}
}

func (s seed) otherOrders(with func(int, ...event) []byte, yield func(string, []byte)) {
	for i, e := range s.events {
		yield(fmt.Sprintf("document %d left out", i), with(i))
		yield(fmt.Sprintf("document %d twice", i), with(i, e, e))
		rest := append(slices.Clone(s.events[:i]), s.events[i+1:]...)
		for at := range s.events {
			if at != i {
				yield(fmt.Sprintf("document %d at %d", i, at), s.frame(slices.Insert(slices.Clone(rest), at, e)))
			}
		}
		yield(fmt.Sprintf("cut before document %d", i), s.frame(s.events[:i]))
		yield(fmt.Sprintf("again from document %d", i), s.frame(append(slices.Clone(s.events), s.events[i:]...)))
	}
}

// otherEvents are the same events as other lines.
func (s seed) otherEvents(with func(int, ...event) []byte, yield func(string, []byte)) {
	names := map[string]bool{"": true, "message": true, "error": true, "ping": true, "done": true, "x y": true}
	for _, e := range s.events {
		names[e.name] = true
	}
	for i, e := range s.events {
		for name := range names {
			yield(fmt.Sprintf("document %d as event %q", i, name), with(i, event{name, e.doc}))
		}
		for what, line := range map[string]string{
			"empty event": "x\ndata:\n\nevent: " + e.name, "comment": "\n: c\n: data: {}\n\nevent: " + e.name, "id": e.name + "\nid: 1\nretry: 5",
			"event twice": e.name + "\nevent: ping", "carriage return": e.name + "\r\nevent: ping\r", "a mark": e.name + "\n\n\ufeff", "nothing": e.name + "\ndata",
			"end of file": e.name + "\x1a", "a line of Unicode": e.name + "\u2028data: {}\u2028",
		} {
			yield(fmt.Sprintf("document %d after %s", i, what), with(i, event{line, e.doc}))
		}
		for what, doc := range map[string]string{
			"in two lines": cutIn(e.doc, "\ndata: "), "in two lines, carriage return": cutIn(e.doc, "\rdata: "), "with a line between": cutIn(e.doc, "\nid: 1\ndata: "),
			"with a comment between": cutIn(e.doc, "\n: c\ndata: "), "data without colon behind": e.doc + "\ndata", "ended twice": e.doc + "\n\n\n",
		} {
			yield(fmt.Sprintf("document %d %s", i, what), with(i, event{e.name, doc}))
		}
	}
	all := string(s.frame(s.events))
	for what, body := range map[string]string{
		"CRLF": strings.ReplaceAll(all, "\n", "\r\n"), "CR": strings.ReplaceAll(all, "\n", "\r"), "a mark before": "\ufeff" + all, "two marks before": "\ufeff\ufeff" + all,
		"no blank": strings.ReplaceAll(all, "data: ", "data:"), "a tab": strings.ReplaceAll(all, "data: ", "data:\t"), "blank before": strings.ReplaceAll(all, "data:", " data:"),
		"capitals": strings.ReplaceAll(all, "data:", "Data:"), "not ended": strings.TrimRight(all, "\n"), "ended once": strings.TrimRight(all, "\n") + "\n", "one blank line less": strings.Replace(all, "\n\n", "\n", 1),
		"UTF-16": utf16(all), "blank before colon": strings.ReplaceAll(all, "data:", "data :"),
	} {
		yield("all with "+what, []byte(body))
	}
}

// cutIn puts between at the first comma of a document, where a reader may end a line.
func cutIn(doc, between string) string {
	before, after, ok := strings.Cut(doc, ",")
	if !ok {
		return doc + between
	}
	return before + "," + between + after
}

func utf16(s string) string {
	b := []byte{0xff, 0xfe}
	for i := range len(s) {
		b = append(b, s[i], 0)
	}
	return string(b)
}

// otherTypes are answers that are called something else than they are.
var otherTypes = []string{
	"", "application/json", "text/plain", "text/event-stream", "TEXT/EVENT-STREAM; charset=utf-16", "application/x-ndjson", "application/octet-stream", eventStreamType,
	"text/html", "image/png", "application/json, text/event-stream", "x",
}

// A variant is one change of a seed's answer.
type variant struct {
	of  seed
	typ string // the content type that the answer is given
}

// A sampler takes one variant in so many of each kind, the first of each always,
// so that none of the some 370 kinds of changes is missed.
type sampler struct {
	every int
	seen  map[string]int // by kind
}

// Of 140,000 variants, one in 40 and the first of each kind are 4,000: each seed
// keeps about a hundred, which suffice to tell that its SDK reads them. Of each
// recording with calls two cuts are some hundreds.
const (
	oneIn, oneInShort = 40, 200
	cuts, cutsShort   = 2, 1
	cutsOfAll         = 8
)

// sampled is one of three sizes: of the whole, of a run with -short, and of any other.
func sampled(whole, short, other int) int {
	switch {
	case os.Getenv("HOLDGATE_WHOLE") != "":
		return whole
	case testing.Short():
		return short
	}
	return other
}

func newSampler() *sampler {
	return &sampler{every: sampled(1, oneInShort, oneIn), seen: map[string]int{}}
}

var numbers = regexp.MustCompile(`[0-9]+`)

// kindOf is a variant's name without the place that is changed.
func kindOf(name string) string {
	if strings.HasPrefix(name, "pair ") {
		return "pair"
	}
	if i := max(strings.Index(name, `": `), strings.LastIndex(name, `), "`)); i >= 0 {
		name = name[i:]
	}
	return numbers.ReplaceAllString(name, "")
}

func (s *sampler) takes(name string) bool {
	kind := kindOf(name)
	s.seen[kind]++
	return (s.seen[kind]-1)%s.every == 0
}

// made is what the seeds make, as recordings.
func made(t *testing.T) ([]recording, []variant) {
	var all []recording
	var of []variant
	sampler, made := newSampler(), 0
	for _, s := range seeds() {
		u, err := url.Parse("http://provider" + s.path)
		must(t, err)
		add := func(name, typ string, body []byte) {
			made++
			if sampler.takes(name) {
				all = append(all, recording{name: s.name + ", " + name, url: u, server: s.server, asked: s.asked, ask: []byte(s.ask), status: http.StatusOK, header: http.Header{"Content-Type": {typ}}, answer: body})
				of = append(of, variant{s, typ})
			}
		}
		for _, typ := range otherTypes {
			add("of type "+typ, typ, s.frame(s.events))
		}
		s.variants(func(name string, body []byte) { add(name, s.typ, body) })
	}
	t.Logf("%d of %d variants, at least one of each of %d kinds", len(all), made, len(sampler.seen))
	random := rand.New(rand.NewPCG(3, 4))
	for _, r := range recordings(t) {
		f, typ := speaks(r), r.header.Get("Content-Type")
		docs, _ := r.documents(r.answer)
		if !r.streamed() || len(f.calls(docs)) == 0 {
			continue
		}
		for range sampled(cutsOfAll, cutsShort, cuts) {
			cut := r
			cut.answer = r.answer[:random.IntN(len(r.answer))]
			all, of = append(all, cut), append(of, variant{seed{name: f.name + ", recorded and cut", clients: f.clients, typ: typ, stream: true}, typ})
		}
	}
	return all, of
}

// A judged call is one as policy was told of it.
type judged struct {
	Name      string
	Arguments any
	Raw       *string `json:"arguments_raw"` // where they are no JSON object, which policy knows
}

// seen are the calls of each recording as they were judged.
func (s *sidecar) seen(t *testing.T) map[string][]judged {
	t.Helper()
	entries, err := s.log.Query(t.Context(), audit.Query{Type: audit.TypeDecision})
	must(t, err)
	found := map[string][]judged{}
	for _, e := range entries {
		if e.Call.Kind != holdgate.KindToolCall && e.Decision.Rule != "test.asks" {
			continue
		}
		var j judged
		d := json.NewDecoder(strings.NewReader(e.Decision.Reason))
		d.UseNumber()
		must(t, d.Decode(&j))
		j.Arguments = asJavaScript(j.Arguments)
		found[e.Call.Session] = append(found[e.Call.Session], j)
	}
	return found
}

// asJavaScript gives numbers the values that JavaScript writes for them.
func asJavaScript(v any) any {
	switch v := v.(type) {
	case json.Number:
		if f, err := v.Float64(); err == nil {
			return f
		}
		return nil
	case []any:
		for i := range v {
			v[i] = asJavaScript(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = asJavaScript(v[k])
		}
	}
	return v
}

// covers reports whether a call that an SDK reads is the one that was judged: it
// is so too where an agent cannot run what it reads, for want of a name or of
// arguments that are JSON.
func (j judged) covers(c sdkCall) bool {
	if strings.Contains(c.Name, "/") {
		return c.Name == j.Name // what a server asks; its parameters are the SDK's reading of them
	}
	args := c.Args
	s, text := args.(string)
	if s == "[object Object]" {
		s = "" // what JavaScript makes of arguments that are no text
	}
	if text && j.Raw != nil {
		var read, raw any
		_, _ = json.Unmarshal([]byte(s), &read), json.Unmarshal([]byte(*j.Raw), &raw)
		return c.Name == j.Name && (s == *j.Raw || s == "" || quoted(s) == *j.Raw || raw != nil && reflect.DeepEqual(read, raw))
	}
	if text && json.Unmarshal([]byte(s), &args) != nil {
		args = nil
	}
	hidden, _ := json.Marshal(j.Arguments) // policy is told that such members are not to be trusted
	return c.Name == j.Name && (j.Raw != nil || args == nil || bytes.Contains(hidden, []byte(`"__proto__"`)) || reflect.DeepEqual(args, j.Arguments))
}

// Whatever an SDK takes for a call was judged under the name and with the
// arguments that the SDK reads, and where all calls are denied it reads none.
func TestVariants(t *testing.T) {
	t.Parallel()
	cl := newClients(t)
	if cl == nil {
		t.Skip("no SDK is installed")
	}
	all, of := made(t)
	counts, read := map[string]int{}, map[string]int{}
	for begin := 0; begin < len(all); begin += perSidecar {
		end := min(begin+perSidecar, len(all))
		t.Run(fmt.Sprintf("from %d", begin), func(t *testing.T) { playVariants(t, cl, all[begin:end], of[begin:end], counts, read) })
	}
	for _, s := range seeds() {
		for _, name := range s.clients {
			if counts[s.name] >= 100 && read[s.name+", "+name] < counts[s.name]/10 { // fewer do not tell
				t.Errorf("of %d variants of %s, %s reads no more than %d calls: it does not read what it should", counts[s.name], s.name, name, read[s.name+", "+name])
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%s: %d", k, counts[k])
	}
}

// perSidecar is how many variants one sidecar is asked for. Each has a session of
// its own, and an agent that has a thousand is searched for one to forget at each.
const perSidecar = 900

// playVariants counts the variants by seed, and the calls that each SDK read.
func playVariants(t *testing.T, cl *clients, all []recording, of []variant, counts, read map[string]int) {
	c := &corpus{recorded: all, clients: cl}
	_, upstream := newProvider(t, all)
	servers := map[string]string{"recorded": upstream}
	allowing, denying := newSidecar(t, upstream, servers, holdgate.Allow, `.*`), newSidecar(t, upstream, servers, holdgate.Deny, `^([^r]|r[^e]|$)`) // not remove, so that its answer comes
	allowed, denied := c.play(t, allowing, ""), c.play(t, denying, "")
	decided := allowing.seen(t)
	for n, r := range all {
		v, seen := of[n], decided[fmt.Sprint(n)]
		counts[v.of.name]++
		if allowed[n].status != http.StatusOK {
			counts[v.of.name+", refused at once"]++
		}
		for _, name := range v.of.clients {
			for _, call := range v.calls(t, cl, name, allowed[n]) {
				read[v.of.name+", "+name]++
				if !slices.ContainsFunc(seen, func(j judged) bool { return j.covers(call) }) {
					t.Errorf("%s: %s reads %v, judged was %v\n%s\n%s", r.name, name, call, seen, r.answer, allowed[n].body)
				}
			}
			if left := v.calls(t, cl, name, denied[n]); len(left) > 0 {
				t.Errorf("%s: denied, %s reads %v\n%s\n%s", r.name, name, left, r.answer, denied[n].body)
			}
		}
	}
}

// calls are what an SDK makes of an answer that it takes for one.
func (v variant) calls(t *testing.T, c *clients, name string, got outcome) []sdkCall {
	if got.status != http.StatusOK {
		return nil
	}
	if name == "list" { // no SDK asks for one
		var docs []any
		var found []sdkCall
		_ = json.Unmarshal(got.body, &docs) // of what is no list nothing is read
		for _, one := range geminiCalls(docs) {
			found = append(found, sdkCall{Name: one.name})
		}
		return found
	}
	typ := v.of.typ // model SDKs read what they have asked for, whatever it is called
	if v.of.server != "" {
		typ = got.header.Get("Content-Type")
	}
	read := c.read(t, name, v.of.stream, typ, got.body)
	return slices.DeleteFunc(append(read.Calls, read.Come...), func(c sdkCall) bool { return c.Name == "" }) // nothing runs without one
}
