package model_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"
)

// BenchmarkModel is a request and its answer with an allowed tool call in it,
// through the base-URL door, by the shipped policy. The client and the
// upstream are in the same process, so the figures compare with each other
// only; `holdgate bench` measures processes apart.
func BenchmarkModel(b *testing.B) {
	const plain = `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hello"},{"type":"tool_use","id":"t","name":"Read","input":{"file_path":"src/main.go"}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`
	stream := proxytest.MessageStart() + strings.Repeat(strings.Split(proxytest.MessageText("0", "hello over there"), "\n\n")[1]+"\n\n", 0) + proxytest.MessageText("0", "hello") + proxytest.MessageTool("1", "t", "ls") + proxytest.MessageEnd("tool_use")
	up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.RawQuery == "stream" {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, stream)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, plain)
	})
	turn := `{"role":"user","content":[{"type":"text","text":"Please look at the file and say what it does; quote \"names\" as they are."}]},`
	body := func(size int) []byte {
		return []byte(`{"model":"m","max_tokens":9,"stream":false,"tools":[{"name":"Read","input_schema":{"type":"object"}}],"messages":[` + strings.TrimSuffix(strings.Repeat(turn, size/len(turn)), ",") + `]}`)
	}
	for _, bm := range []struct {
		name, query string
		body        []byte
	}{{"plain/4KB", "", body(4 << 10)}, {"plain/64KB", "", body(64 << 10)}, {"stream/4KB", "?stream", body(4 << 10)}} {
		b.Run(bm.name, func(b *testing.B) {
			g := proxytest.New(b, up, proxytest.WithShippedPolicy())
			g.Client.Transport.(*http.Transport).MaxIdleConnsPerHost = 64
			b.ReportAllocs()
			b.SetBytes(int64(len(bm.body)))
			b.SetParallelism(8)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					resp, err := g.Client.Post(g.URL+proxytest.Messages+bm.query, "application/json", bytes.NewReader(bm.body))
					if err != nil {
						b.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			})
		})
	}
}
