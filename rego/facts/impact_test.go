package facts

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestImpact(t *testing.T) {
	for _, tt := range []struct {
		name, tool, arguments string
		want                  Impact
	}{
		{"paths that are written or deleted are counted", "Bash", `{"command":"rm a b; touch c; cat d"}`, Impact{Paths: 3}},
		{"a pattern stands for more than one", "Bash", `{"command":"rm *.o"}`, Impact{Paths: 1, More: true}},
		{"find that deletes goes down", "Bash", `{"command":"find . -name x -delete"}`, Impact{Paths: 1, More: true, Recursive: true}},
		{"rows are counted where all statements say how many", "sql", `{"sql":"delete from t limit 5; select 1; insert into t values (1), (2)"}`, Impact{Rows: 7}},
		{"and not where one does not", "sql", `{"sql":"delete from t limit 5; delete from s"}`, Impact{}},
		{"a sum beside its currency is money", "create_refund", `{"charge":"ch_1","amount":4200,"currency":"usd"}`, Impact{Amount: 4200, Currency: "USD"}},
		{"so it is as text, and inside of objects", "pay", `{"lines":[{"price":{"value":"12.50","currency_code":"EUR"}},{"price":{"value":"9","currency_code":"EUR"}}]}`, Impact{Amount: 12.5, Currency: "EUR"}},
		{"a sum without a currency is none", "set_total", `{"total":4200}`, Impact{}},
		{"a word that is no currency is none", "set_total", `{"total":4200,"currency":"gold"}`, Impact{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := Extract(context.Background(), toolCall(tt.tool, tt.arguments), patient)
			if diff := cmp.Diff(tt.want, f.Impact); diff != "" {
				t.Errorf("impact (-want +got):\n%s", diff)
			}
		})
	}
}
