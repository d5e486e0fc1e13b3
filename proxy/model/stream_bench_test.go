package model_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A benchStream is an answer in a format, as it is streamed: what comes first,
// what is repeated with a word in it, and what ends it.
type benchStream struct{ name, path, first, word, last string }

var benchStreams = []benchStream{
	{
		"anthropic", "/v1/messages",
		"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\n\n" +
			"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"fox jumps over it. \"}}\n\n",
		"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":200}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
	},
	{
		"openai", "/v1/chat/completions",
		"data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1760000000,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n",
		"data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1760000000,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"fox jumps over it. \"},\"finish_reason\":null}]}\n\n",
		"data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1760000000,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
	},
	{
		"responses", "/v1/responses",
		"event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"resp_1\",\"object\":\"response\",\"status\":\"in_progress\",\"model\":\"m\",\"output\":[]}}\n\n" +
			"event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"sequence_number\":1,\"output_index\":0,\"item\":{\"id\":\"msg_1\",\"type\":\"message\",\"status\":\"in_progress\",\"role\":\"assistant\",\"content\":[]}}\n\n" +
			"event: response.content_part.added\ndata: {\"type\":\"response.content_part.added\",\"sequence_number\":2,\"item_id\":\"msg_1\",\"output_index\":0,\"content_index\":0,\"part\":{\"type\":\"output_text\",\"text\":\"\",\"annotations\":[]}}\n\n",
		"event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":3,\"item_id\":\"msg_1\",\"output_index\":0,\"content_index\":0,\"delta\":\"fox jumps over it. \"}\n\n",
		"",
	},
	{
		"gemini", "/v1beta/models/m:streamGenerateContent",
		"",
		"data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"fox jumps over it. \"}]},\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":900,\"totalTokenCount\":1100},\"modelVersion\":\"m\"}\n\n",
		"data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\".\"}]},\"finishReason\":\"STOP\",\"index\":0}],\"modelVersion\":\"m\"}\n\n",
	},
	{
		"ollama", "/api/chat",
		"",
		"{\"model\":\"m\",\"created_at\":\"2026-01-01T00:00:00Z\",\"message\":{\"role\":\"assistant\",\"content\":\"fox jumps over it. \"},\"done\":false}\n",
		"{\"model\":\"m\",\"created_at\":\"2026-01-01T00:00:00Z\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}\n",
	},
}

func (f benchStream) begin(c route.Codec) wire.Stream {
	if f.name == "ollama" {
		return c.(route.Framer).StreamAs("application/x-ndjson")
	}
	return c.Stream()
}

// BenchmarkStreams is what a codec takes for 200 words of a stream that come a
// few at a time, as they do through [keepalive.Burst], and go on as they came.
func BenchmarkStreams(b *testing.B) {
	all := route.Codecs(8 << 20)
	for _, f := range benchStreams {
		var codec route.Codec
		for _, c := range all {
			if c.Name() == f.name {
				codec = c
			}
		}
		for _, words := range []int{1, 8} {
			piece := []byte(strings.Repeat(f.word, words))
			b.Run(fmt.Sprintf("%s/%d", f.name, words), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					st := f.begin(codec)
					pass := func(piece []byte) {
						parts, err := st.Push(piece)
						if err != nil {
							b.Fatal(err)
						}
						for _, p := range parts {
							_ = st.Render(p, holdgate.Verdict{Release: true})
						}
					}
					pass([]byte(f.first))
					for range 200 / words {
						pass(piece)
					}
					if f.last != "" {
						pass([]byte(f.last))
						if _, err := st.End(); err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}
