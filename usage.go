package holdgate

import (
	"cmp"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// Bounds of what one answer can have used. What a provider says beyond them is a fault
// of its own, and counts as the bound.
const (
	MaxTokens = 1 << 40
	MaxCost   = 1e9
)

// Usage is what answers of models have used, as their providers say it. Its zero value
// is that of no answer.
//
// A cost is known where the provider says it, or where there is a price. Of an answer that
// broke off, the counts and the cost are added up as far as they came, but it is neither
// Metered nor Priced: nobody knows what it used.
type Usage struct {
	Answers int `json:"answers,omitempty"` // how many there were
	Metered int `json:"metered,omitempty"` // of these, how many said all that they used
	Priced  int `json:"priced,omitempty"`  // of these, how many have a known cost

	Input      int64   `json:"input_tokens,omitempty"` // with those of the cache
	Output     int64   `json:"output_tokens,omitempty"`
	CacheRead  int64   `json:"cache_read_tokens,omitempty"`  // of Input
	CacheWrite int64   `json:"cache_write_tokens,omitempty"` // of Input
	Cost       float64 `json:"cost,omitempty"`
	Currency   string  `json:"currency,omitempty"` // of Cost
}

// Tokens are all that went in and out.
func (u Usage) Tokens() int64 { return u.Input + u.Output }

// Plus adds usage up. Costs in two currencies do not add up: then the later one counts,
// and the answers of the other have none.
func (u Usage) Plus(o Usage) Usage {
	switch {
	case o.Currency == "":
		o.Currency = u.Currency
	case u.Currency != o.Currency:
		u.Priced, u.Cost = 0, 0
	}
	return Usage{
		Answers: u.Answers + o.Answers, Metered: u.Metered + o.Metered, Priced: u.Priced + o.Priced,
		Input: bounded(u.Input, o.Input), Output: bounded(u.Output, o.Output),
		CacheRead: bounded(u.CacheRead, o.CacheRead), CacheWrite: bounded(u.CacheWrite, o.CacheWrite),
		Cost: u.Cost + o.Cost, Currency: o.Currency,
	}
}

// bounded adds counts up, and stays where two of them still do not overflow.
func bounded(a, b int64) int64 { return min(a+b, 1<<61) }

// BrokenOff is the usage of one answer that came in part only.
func (u Usage) BrokenOff() Usage {
	u.Metered, u.Priced = 0, 0
	return u
}

// String is for people, as "12.4 k tokens in, 3.1 k out, 0.42 USD". It is empty where
// there was no answer.
func (u Usage) String() string {
	silent := u.Answers - u.Metered
	if u.Answers == 0 {
		return ""
	}
	var parts []string
	if u.Metered > 0 || u.Tokens() > 0 {
		parts = append(parts, short(u.Input)+" tokens in", short(u.Output)+" out")
	}
	if u.Currency != "" {
		cost := fmt.Sprintf("%.2f %s", u.Cost, u.Currency)
		if u.Cost > 0 && u.Cost < 0.005 {
			cost = "under 0.01 " + u.Currency
		}
		if u.Priced < u.Answers {
			cost = "at least " + cost
		}
		parts = append(parts, cost)
	}
	if silent == 1 {
		parts = append(parts, "1 answer does not say what it used")
	} else if silent > 1 {
		parts = append(parts, fmt.Sprintf("%d answers do not say what they used", silent))
	}
	return strings.Join(parts, ", ")
}

// short is a count in three or four digits.
func short(n int64) string {
	for _, unit := range []struct {
		of   float64
		word string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if x := float64(n) / unit.of; x >= 0.99995 {
			return fmt.Sprintf("%.1f %s", x, unit.word)
		}
	}
	return strconv.FormatInt(n, 10)
}

// ProviderCurrency is the currency in which providers say costs.
const ProviderCurrency = "USD"

// Prices are what tokens of models cost, by the one who runs Holdgate. The zero value
// knows no price. There are no built-in ones: they change, and a wrong one is worse than
// none.
type Prices struct {
	Currency string // a word that is shown; empty: [ProviderCurrency]
	// Models are the prices by patterns of [path.Match] for the name of a model, or for
	// PROVIDER/NAME.
	Models map[string]Price
}

// A Price is that of a million tokens.
type Price struct {
	Input, Output         float64
	CacheRead, CacheWrite *float64 // nil: as Input
}

// Of is the usage of one answer of a model with its cost, where that is known: by what
// the provider has said itself, else by the price of the model.
func (p Prices) Of(provider, model string, u Usage) Usage {
	currency := cmp.Or(p.Currency, ProviderCurrency)
	if u.Priced > 0 && u.Currency == currency {
		return u
	}
	u.Priced, u.Cost, u.Currency = 0, 0, ""
	price, ok := p.find(provider, model)
	if !ok || u.Metered == 0 && u.Tokens() == 0 {
		return u
	}
	part := func(tokens int64, each float64) float64 { return float64(tokens) * each / 1e6 }
	of := func(own *float64) float64 {
		if own == nil {
			return price.Input
		}
		return *own
	}
	plain := max(u.Input-u.CacheRead-u.CacheWrite, 0)
	cost := part(plain, price.Input) + part(u.Output, price.Output) + part(u.CacheRead, of(price.CacheRead)) + part(u.CacheWrite, of(price.CacheWrite))
	u.Priced, u.Cost, u.Currency = u.Metered, min(cost, MaxCost), currency
	return u
}

// find returns the price of a model. Where several patterns fit, the longest counts.
func (p Prices) find(provider, model string) (price Price, ok bool) {
	fits := func(pattern, name string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	}
	best := ""
	for pattern, of := range p.Models {
		if (fits(pattern, model) || fits(pattern, provider+"/"+model)) && (!ok || len(pattern) > len(best) || len(pattern) == len(best) && pattern < best) {
			price, best, ok = of, pattern, true
		}
	}
	return price, ok
}
