package wire

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/holdgate/holdgate"
)

// A UsageForm says where a format has what an answer used. Each field is a member of
// the usage, "a.b" a member of a member. Of several with a | between them the first that
// is there counts; those with a + between them are added up.
type UsageForm struct {
	Input, Output         string
	CacheRead, CacheWrite string
	// CacheApart says that what the cache took or gave is not in Input.
	CacheApart bool
}

// A Meter keeps what a stream says of its usage until it is asked for, so that what
// comes with every event costs a copy. What comes later counts instead of what came
// before, member by member: what providers say in a stream is what was used so far. The
// zero value is ready.
type Meter struct {
	All bool // no more comes: see [Stream.UsedAll]

	first, last []byte
}

// maxUsage is how long what an answer says of its usage may be, in bytes. What is longer
// says nothing.
const maxUsage = 64 << 10

// Take takes note of a usage, an object or anything else. It keeps a copy.
func (m *Meter) Take(usage []byte) {
	switch {
	case len(usage) == 0 || usage[0] != '{' || len(usage) > maxUsage:
	case m.first == nil:
		m.first = slices.Clone(usage)
	default:
		m.last = append(m.last[:0], usage...)
	}
}

// Usage is that of an answer as a form has it. The objects must be strict JSON.
func (m *Meter) Usage(f *UsageForm) holdgate.Usage { return f.Read(m.first, m.last) }

// Read is the usage of one answer that says these objects, of which a later one counts
// instead of an earlier one. What is no number, or below zero, says nothing.
func (f *UsageForm) Read(said ...[]byte) holdgate.Usage {
	u := holdgate.Usage{Answers: 1}
	find := func(way string, most float64) (n float64, ok bool) {
		for _, object := range slices.Backward(said) {
			if n, ok := readNumber(object, way, most); ok {
				return n, true
			}
		}
		return 0, false
	}
	tokens := func(way string) (n int64, ok bool) {
		x, ok := find(way, holdgate.MaxTokens)
		return int64(x), ok
	}
	var in, out, cached bool
	u.Input, in = tokens(f.Input)
	u.Output, out = tokens(f.Output)
	u.CacheRead, cached = tokens(f.CacheRead)
	u.CacheWrite, _ = tokens(f.CacheWrite)
	if f.CacheApart {
		u.Input += u.CacheRead + u.CacheWrite
	} else { // a part is no more than the whole
		u.CacheRead = min(u.CacheRead, u.Input)
		u.CacheWrite = min(u.CacheWrite, u.Input-u.CacheRead)
	}
	if in || out || cached {
		u.Metered = 1
	}
	if cost, ok := find("cost", holdgate.MaxCost); ok && !ownKey(said) {
		u.Priced, u.Cost, u.Currency = 1, cost, holdgate.ProviderCurrency
	}
	return u
}

// ownKey reports whether the provider was asked with a key of another one: the cost is
// then its own part alone.
func ownKey(said [][]byte) bool {
	return slices.ContainsFunc(said, func(object []byte) bool { return string(Find(object, "is_byok")) == "true" })
}

// readNumber reads a number of an object, which is bounded, by the way to it.
func readNumber(object []byte, way string, most float64) (sum float64, ok bool) {
	if way == "" {
		return 0, false
	}
	for one := range strings.SplitSeq(way, "|") {
		for each := range strings.SplitSeq(one, "+") {
			value := object
			for name := range strings.SplitSeq(each, ".") {
				value = Find(value, name)
			}
			if n, err := strconv.ParseFloat(string(value), 64); n >= 0 && (err == nil || math.IsInf(n, 1)) {
				sum, ok = sum+n, true
			}
		}
		if ok {
			return min(sum, most), true
		}
	}
	return 0, false
}
