package route

import (
	"github.com/holdgate/holdgate/proxy/anthropic"
	"github.com/holdgate/holdgate/proxy/bedrock"
	"github.com/holdgate/holdgate/proxy/cohere"
	"github.com/holdgate/holdgate/proxy/coherev1"
	"github.com/holdgate/holdgate/proxy/gemini"
	"github.com/holdgate/holdgate/proxy/interactions"
	"github.com/holdgate/holdgate/proxy/mistral"
	"github.com/holdgate/holdgate/proxy/ollama"
	"github.com/holdgate/holdgate/proxy/openai"
	"github.com/holdgate/holdgate/proxy/responses"
)

// Codecs is the table of model formats: every one that Holdgate reads, in the order
// in which they are asked whether a request is theirs. A call of an answer has at most
// so many bytes. docs/formats.md says how to add one.
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
		&cohere.Codec{CallLimit: callLimit},
		&coherev1.Codec{CallLimit: callLimit},
		&mistral.Codec{CallLimit: callLimit},
		&interactions.Codec{CallLimit: callLimit},
	}
}

// FormatNames are the formats that the configuration can name.
func FormatNames() (names []string) {
	for _, c := range Codecs(0) {
		if _, bound := c.(PathBound); !bound {
			names = append(names, c.Name())
		}
	}
	return names
}
