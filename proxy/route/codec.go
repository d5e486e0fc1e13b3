package route

import (
	"iter"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A Codec knows one wire format of model APIs: where it is spoken, which calls
// are in an answer, and how a refusal looks to its clients. It knows nothing of
// policy, people or the network. A Codec is safe for concurrent use.
type Codec interface {
	Name() string

	// Match reports whether a request with this method and path (as the
	// upstream sees it, without query) speaks the format.
	Match(method, path string) bool

	// Request reads a model request by the members of its body, which has
	// passed [wire.Strict]. The path is the one that matched; some formats
	// name the model in it.
	Request(path string, body iter.Seq2[wire.Member, error]) (*holdgate.Model, error)

	// Answer reads a whole answer.
	Answer(body []byte) (wire.Answer, error)

	// Stream starts reading an answer that is streamed as server-sent events.
	Stream() wire.Stream

	// Collect turns a whole streamed answer into the plain one that says the
	// same, and Expand the other way round: a client may ask again in the
	// other form. The arguments' bytes stay as they are.
	Collect(stream []byte) ([]byte, error)
	Expand(plain []byte) ([]byte, error)

	// Error returns a body of type application/json that the format's clients
	// show to their users. The status says which kind of error.
	Error(status int, message string) []byte

	// Example returns an exchange in the format, of which tests and `holdgate bench`
	// make their traffic.
	Example() wire.Example
}

// A Framer is a [Codec] whose answers are also streamed in a framing other than
// server-sent events.
type Framer interface {
	// StreamAs starts reading an answer that was asked for as a stream and came
	// under this media type; nil where that is one document.
	StreamAs(mediaType string) wire.Stream

	// StreamType is the media type of what Expand returns.
	StreamType() string
}

// A PathTeller is a [Codec] of a format in whose requests the path says whether
// the answer is to be a stream. Where only the configuration says that the format
// is spoken, a path may not.
type PathTeller interface {
	PathTells(path string) bool
}

// PathBound is a [Codec] of a format whose requests cannot be read without their paths,
// so that the configuration cannot say where else the format is spoken.
type PathBound interface {
	PathBound()
}

// A HostMatcher is a [Codec] whose format is also spoken at paths that could be
// anything on a host that serves no models.
type HostMatcher interface {
	// MatchHost is [Codec] Match for hosts that serve models.
	MatchHost(method, path string) bool
}

// A Fetcher is a [Codec] of an API that stores answers, to be asked for later.
type Fetcher interface {
	// Fetches reports whether a request that matches is for a stored answer. It
	// asks no model for anything and has no body; the member stream of its query
	// says whether the answer is to be a stream.
	Fetches(method, path string) bool
}

// An Instructor is a [Codec] of a format in whose requests people can say something.
type Instructor interface {
	// Instruct puts a text of a person's behind what the agent says. It reports false
	// where the request has no place for it. The body has passed [wire.Strict].
	Instruct(body []byte, text string) (out []byte, ok bool)
}

// A Converser is a [Codec] of an API that keeps conversations, which requests
// name.
type Converser interface {
	// Conversation is the one that a request names, in its body or its path, or "".
	Conversation(path string, request *wire.Document) string

	// Took reports whether a plain answer shows that the provider has added to
	// the conversation what the request said, or is going to. The stream of such
	// a codec is a [Taker].
	Took(answer []byte) bool
}

// A Taker is the stream of a [Converser].
type Taker interface {
	// Took is [Converser] Took of what came of the stream so far.
	Took() bool
}

// A Historian is a [Codec] of a format whose requests have the results of the
// agent's tools in them.
type Historian interface {
	// History reads what a request says of what was done before it.
	History(request *wire.Document) (wire.History, error)
}

// A Rehydrator is a [Codec] of a format in whose requests a refused call can
// stand as what it was: a call of the model's own, with a result that says why
// it was not run.
type Rehydrator interface {
	// Refused returns what must be remembered of a call in whose place an
	// answer has a notice; false where the call cannot be put back.
	Refused(p wire.Part, notice string) (wire.Refused, bool)

	// Rehydrate puts calls back into a request that has their notices, with
	// their results, and returns how many. All else keeps its bytes. The body
	// has passed [wire.Strict].
	Rehydrate(body []byte, refused []wire.Refused) (out []byte, n int, err error)
}
