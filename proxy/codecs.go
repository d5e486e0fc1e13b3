package proxy

import (
	"github.com/holdgate/holdgate/proxy/anthropic"
	"github.com/holdgate/holdgate/proxy/bedrock"
	"github.com/holdgate/holdgate/proxy/gemini"
	"github.com/holdgate/holdgate/proxy/ollama"
	"github.com/holdgate/holdgate/proxy/openai"
	"github.com/holdgate/holdgate/proxy/responses"
)

// codecs is every model format that Holdgate reads, in the order in which they
// are asked whether a request is theirs.
func codecs(l Limits) []Codec {
	messages := &anthropic.Codec{CallLimit: int(l.Call)}
	return []Codec{
		messages,
		&openai.Codec{},
		&gemini.Codec{},
		&responses.Codec{CallLimit: int(l.Call)},
		&ollama.Codec{},
		&bedrock.Converse{CallLimit: int(l.Call)},
		&bedrock.Invoke{Anthropic: messages},
	}
}
