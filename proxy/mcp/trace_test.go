package mcp_test

import (
	"testing"

	"github.com/holdgate/holdgate/proxy/mcp"
)

func TestAMessageGetsAnotherTrace(t *testing.T) {
	t.Parallel()
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, tt := range []struct{ name, message, state, want string }{
		{"none before", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"f"}}`, "", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"f","_meta":{"traceparent":"` + parent + `"}}}`},
		{"no parameters but the place for them", `{"jsonrpc":"2.0","id":1,"method":"m","params":{}}`, "", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"traceparent":"` + parent + `"}}}`},
		{"beside other things", `{"jsonrpc":"2.0","id":1, "method":"m","params":{"_meta":{ "progressToken":9 },"name":"f"}}`, "a=1", `{"jsonrpc":"2.0","id":1, "method":"m","params":{"_meta":{ "progressToken":9 ,"traceparent":"` + parent + `","tracestate":"a=1"},"name":"f"}}`},
		{"in the place of another", ` {"jsonrpc":"2.0","params":{"_meta":{"tracestate":"b=2","traceparent":"00-1","baggage":"c"}},"id":1,"method":"m"}`, "", ` {"jsonrpc":"2.0","params":{"_meta":{"traceparent":"` + parent + `","baggage":"c"}},"id":1,"method":"m"}`},
		{"the same", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"traceparent":"\u00300` + parent[2:] + `"}}}`, "", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"traceparent":"\u00300` + parent[2:] + `"}}}`},
		{"no place", `{"jsonrpc":"2.0","id":1,"method":"m"}`, "", `{"jsonrpc":"2.0","id":1,"method":"m"}`},
		{"_meta is something else", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":[]}}`, "", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":[]}}`},
		{"a notification", `{"jsonrpc":"2.0","method":"m","params":{}}`, "", `{"jsonrpc":"2.0","method":"m","params":{}}`},
		{"an answer", `{"jsonrpc":"2.0","id":1,"result":{}}`, "", `{"jsonrpc":"2.0","id":1,"result":{}}`},
	} {
		msgs, _, err := mcp.Parse([]byte(tt.message))
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if got := msgs[0].WithTrace([]byte(tt.message), parent, tt.state); string(got) != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}
