package route

import (
	"github.com/holdgate/holdgate/proxy/anthropic"
	"github.com/holdgate/holdgate/proxy/bedrock"
	"github.com/holdgate/holdgate/proxy/gemini"
	"github.com/holdgate/holdgate/proxy/ollama"
	"github.com/holdgate/holdgate/proxy/openai"
	"github.com/holdgate/holdgate/proxy/responses"
)

// Codecs is every model format that Holdgate reads, in the order in which they
// are asked whether a request is theirs. A call of an answer has at most so many
// bytes.
func Codecs(callLimit int) []Codec {
	messages := &anthropic.Codec{CallLimit: callLimit}
	return []Codec{
		messages,
		&openai.Codec{},
		&gemini.Codec{},
		&responses.Codec{CallLimit: callLimit},
		&ollama.Codec{},
		&bedrock.Converse{CallLimit: callLimit},
		&bedrock.Invoke{Anthropic: messages},
	}
}
