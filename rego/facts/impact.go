package facts

import (
	"math"
	"strconv"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// Keys that name a sum of money and its currency, as normal makes them.
const (
	amountKeys   = "amount total price sum value totalamount totalprice amountcents amountinminorunits unitamount grossamount"
	currencyKeys = "currency currencycode"
)

// money notes the largest sum that arguments name beside a currency. A number
// without one is no money.
func money(x *collect.Findings, args map[string]any) {
	x.Tick()
	currency := ""
	for k, v := range args {
		if s, ok := v.(string); ok && isCurrency(s) && wordlist.Has(currencyKeys, normal(k)) {
			currency = strings.ToUpper(s)
		}
	}
	for k, v := range args {
		if nested, ok := v.(map[string]any); ok {
			money(x, nested)
		}
		if list, ok := v.([]any); ok {
			for _, e := range list {
				if nested, ok := e.(map[string]any); ok {
					money(x, nested)
				}
			}
		}
		if currency == "" || !wordlist.Has(amountKeys, normal(k)) {
			continue
		}
		if n, ok := sum(v); ok && n > x.Facts.Impact.Amount {
			x.Facts.Impact.Amount, x.Facts.Impact.Currency = n, currency
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
