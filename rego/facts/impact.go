package facts

import (
	"math"
	"strconv"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// Keys that name a sum of money and its currency, as normal makes them.
const (
	amountKeys   = "amount total price sum value totalamount totalprice amountcents amountinminorunits unitamount grossamount"
	currencyKeys = "currency currencycode"
)

// touched is how many paths and rows the call changes.
func (x *extraction) touched() {
	paths := make(map[string]bool)
	for _, p := range x.facts.Paths {
		if p.Access != accessRead {
			paths[p.Clean] = true
			x.facts.Impact.More = x.facts.Impact.More || strings.ContainsAny(p.Clean, "*?[$")
		}
	}
	x.facts.Impact.Paths = len(paths)
	rows := 0
	for _, st := range x.facts.SQL {
		switch {
		case wordlist.Has("select explain show describe desc use begin start commit rollback savepoint release values table", st.Verb):
		case st.Rows == 0:
			return
		default:
			rows += st.Rows
		}
	}
	x.facts.Impact.Rows = rows
}

// money notes the largest sum that arguments name beside a currency. A number
// without one is no money.
func (x *extraction) money(args map[string]any) {
	x.Tick()
	currency := ""
	for k, v := range args {
		if s, ok := v.(string); ok && isCurrency(s) && wordlist.Has(currencyKeys, normal(k)) {
			currency = strings.ToUpper(s)
		}
	}
	for k, v := range args {
		if nested, ok := v.(map[string]any); ok {
			x.money(nested)
		}
		if list, ok := v.([]any); ok {
			for _, e := range list {
				if nested, ok := e.(map[string]any); ok {
					x.money(nested)
				}
			}
		}
		if currency == "" || !wordlist.Has(amountKeys, normal(k)) {
			continue
		}
		if n, ok := sum(v); ok && n > x.facts.Impact.Amount {
			x.facts.Impact.Amount, x.facts.Impact.Currency = n, currency
		}
	}
}

// isCurrency reports whether the text has the form of an ISO 4217 code.
func isCurrency(s string) bool {
	return len(s) == 3 && strings.Trim(strings.ToUpper(s), "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

func sum(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case string:
		n, err := strconv.ParseFloat(v, 64)
		return n, err == nil && !math.IsInf(n, 0)
	}
	return 0, false
}
