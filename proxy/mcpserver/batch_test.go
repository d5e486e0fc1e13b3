package mcpserver

import (
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func TestBatchesAreOfTheRevisionThatWasAgreedOn(t *testing.T) {
	t.Parallel()
	const batch = `[{"jsonrpc":"2.0","id":2,"method":"ping"}]`
	for agreed, taken := range map[string]bool{"": false, "2024-11-05": true, "2025-03-26": true, "2025-06-18": false, "2025-11-25": false} {
		v := new(revision)
		if agreed != "" {
			id, err := jsonrpc.MakeID("i")
			if err != nil {
				t.Fatal(err)
			}
			v.asked(&jsonrpc.Request{ID: id, Method: "initialize"})
			v.answered(&jsonrpc.Response{ID: id, Result: []byte(`{"protocolVersion":"` + agreed + `"}`)})
		}
		var told strings.Builder
		read, err := io.ReadAll(newUnbatched(io.NopCloser(strings.NewReader(batch+"\n{\n}\n")), &told, v))
		want := "{\n}\n"
		if taken {
			want = batch + "\n" + want
		}
		if err != nil || string(read) != want || (told.Len() == 0) != taken {
			t.Errorf("agreed on %q: read %q, told %q (%v), want %q", agreed, read, told.String(), err, want)
		}
	}
}
