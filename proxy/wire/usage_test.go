package wire_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

var inclusive = wire.UsageForm{Input: "in+tool", Output: "billed.out|out", CacheRead: "details.cached", CacheWrite: "details.written"}

func TestUsageIsReadAsFarAsItIsOne(t *testing.T) {
	t.Parallel()
	apart := wire.UsageForm{Input: "in", Output: "out", CacheRead: "cached", CacheWrite: "written", CacheApart: true}
	for _, tt := range []struct {
		name string
		form wire.UsageForm
		said []string
		want holdgate.Usage
	}{
		{"nothing", inclusive, nil, holdgate.Usage{}},
		{"no object", inclusive, []string{`[1]`, `"in"`, `null`, `7`}, holdgate.Usage{}},
		{"an empty one", inclusive, []string{`{}`}, holdgate.Usage{}},
		{"all of it", inclusive, []string{`{"in":10,"tool":2,"out":9,"billed":{"out":3},"details":{"cached":4,"written":5}}`}, holdgate.Usage{Metered: 1, Input: 12, Output: 3, CacheRead: 4, CacheWrite: 5}},
		{"the cache apart", apart, []string{`{"in":10,"out":9,"cached":4,"written":5}`}, holdgate.Usage{Metered: 1, Input: 19, Output: 9, CacheRead: 4, CacheWrite: 5}},
		{"the later counts, member by member", apart, []string{`{"in":10,"out":1}`, `{"out":5}`, `{"out":9,"in":null}`}, holdgate.Usage{Metered: 1, Input: 10, Output: 9}},
		{"a part of more than the whole", inclusive, []string{`{"in":10,"details":{"cached":40,"written":5}}`}, holdgate.Usage{Metered: 1, Input: 10, CacheRead: 10}},
		{"no numbers", inclusive, []string{`{"in":"10","out":true,"details":{"cached":[4]}}`}, holdgate.Usage{}},
		{"below zero", inclusive, []string{`{"in":-10,"out":-0.5,"cost":-1}`}, holdgate.Usage{}},
		{"fractions and exponents", inclusive, []string{`{"in":1e2,"out":9.7}`}, holdgate.Usage{Metered: 1, Input: 100, Output: 9}},
		{"far too much", inclusive, []string{`{"in":1e999,"out":99999999999999999999999,"cost":1e300}`}, holdgate.Usage{Metered: 1, Priced: 1, Input: holdgate.MaxTokens, Output: holdgate.MaxTokens, Cost: holdgate.MaxCost, Currency: "USD"}},
		{"a cost", inclusive, []string{`{"in":1,"cost":0.25}`}, holdgate.Usage{Metered: 1, Priced: 1, Input: 1, Cost: 0.25, Currency: "USD"}},
		{"a cost that is an object", inclusive, []string{`{"in":1,"cost":{"total":1}}`}, holdgate.Usage{Metered: 1, Input: 1}},
		{"the provider's own part of a cost", inclusive, []string{`{"in":1,"cost":0.01,"is_byok":true}`}, holdgate.Usage{Metered: 1, Input: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var m wire.Meter
			for _, s := range tt.said {
				m.Take([]byte(s))
			}
			tt.want.Answers = 1
			if diff := cmp.Diff(tt.want, m.Usage(&tt.form)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What an answer says of its usage is never taken for less than nothing, for more than is
// possible, or for more of a part than of the whole.
func FuzzUsage(f *testing.F) {
	for _, s := range []string{`{"in":10,"out":9,"details":{"cached":4}}`, `{"in":-1}`, `{"in":1e999,"cost":1e-400}`, `{"details":{"cached":{"cached":1}}}`} {
		f.Add([]byte(s), []byte(`{"out":3}`))
	}
	f.Fuzz(func(t *testing.T, first, last []byte) {
		if wire.Strict(first) != nil || wire.Strict(last) != nil {
			return
		}
		var m wire.Meter
		m.Take(first)
		m.Take(last)
		for _, apart := range []bool{false, true} {
			form := inclusive
			form.CacheApart = apart
			u := m.Usage(&form)
			whole := int64(holdgate.MaxTokens)
			if apart {
				whole *= 3
			}
			for _, n := range []int64{u.Input, u.Output, u.CacheRead, u.CacheWrite} {
				if n < 0 || n > whole {
					t.Errorf("%+v", u)
				}
			}
			if u.CacheRead+u.CacheWrite > u.Input || !(u.Cost >= 0 && u.Cost <= holdgate.MaxCost) || u.Answers != 1 {
				t.Errorf("%+v", u)
			}
		}
	})
}
