package bedrock

import (
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// An Inner is the codec of a model's own API, whose bodies InvokeModel carries.
type Inner interface {
	Request(path string, body iter.Seq2[wire.Member, error]) (*holdgate.Model, error)
	Answer(body []byte) (wire.Answer, error)
	Stream() wire.Stream
	Collect(stream []byte) ([]byte, error)
	Expand(plain []byte) ([]byte, error)
	Refused(p wire.Part, notice string) (wire.Refused, bool)
	Rehydrate(body []byte, refused []wire.Refused) ([]byte, int, error)
	Continue(body, answer []byte, refused []wire.Refused) ([]byte, bool)
	Join(first, next []byte) ([]byte, error)
	Joiner() wire.Joiner
	Example() wire.Example
}

// Invoke is the codec of InvokeModel and InvokeModelWithResponseStream for
// models of Anthropic. It is safe for concurrent use as long as Anthropic is,
// and nobody changes its field.
//
// Each event of a stream comes as the bytes of a chunk, in base64. They are
// read as the server-sent event that they would be in the model's own API. What
// goes out as it came goes out in the message that it came in.
type Invoke struct {
	// Anthropic is the codec of the Messages API. It must be set.
	Anthropic Inner
}

// Name returns "bedrock_invoke".
func (*Invoke) Name() string { return "bedrock_invoke" }

// PathBound says that the path of a request names the model, and whether the answer is
// to be a stream.
func (*Invoke) PathBound() {}

// Match reports whether a request invokes a model that could ask for calls, in
// any spelling that [wire.Posts] knows.
func (*Invoke) Match(method, path string) bool {
	suffixes := []string{"/model/*/invoke", "/model/*/*/invoke", "/model/*/invoke-with-response-stream", "/model/*/*/invoke-with-response-stream"}
	return slices.ContainsFunc(suffixes, func(suffix string) bool { return wire.Posts(method, path, suffix) }) &&
		!(method == http.MethodPost && harmless(path))
}

// harmless reports whether a path, written plainly, invokes a model that
// answers with numbers or images.
func harmless(path string) bool {
	model, operation := target(path)
	id := model[strings.LastIndexByte(model, '/')+1:]
	if profile, of, ok := strings.Cut(id, "."); ok && slices.Contains(profiles, profile) {
		id = of
	}
	if strings.ContainsFunc(model, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.ContainsRune("-_.:/", c))
	}) {
		return false
	}
	return operation == "invoke" && slices.ContainsFunc(harmlessModels, func(prefix string) bool { return strings.HasPrefix(id, prefix) })
}

// profiles are what stands before a model's id in that of an inference profile.
var profiles = []string{"us", "us-gov", "ca", "sa", "eu", "apac", "au", "jp", "global"}

// harmlessModels are the beginnings of ids of models that call no tools.
var harmlessModels = []string{
	"amazon.titan-embed-", "amazon.titan-image-", "amazon.nova-canvas-", "amazon.nova-2-multimodal-embeddings-", "amazon.rerank-",
	"cohere.embed-", "cohere.rerank-", "stability.", "twelvelabs.marengo-",
}

// Request reads a model request. One whose body is not in the form of
// Anthropic's API is an error that wraps [wire.ErrUnsupported].
func (c *Invoke) Request(path string, body iter.Seq2[wire.Member, error]) (*holdgate.Model, error) {
	model, operation := target(path)
	if err := checkBody(body); err != nil {
		return nil, fmt.Errorf("invoking %q: %w", model, err)
	}
	m, err := c.Anthropic.Request(path, func(yield func(wire.Member, error) bool) {
		if yield(wire.Member{Name: []byte("model"), Value: wire.AppendText(nil, model)}, nil) {
			body(yield)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("invoking a model: %w", err)
	}
	m.Provider, m.Stream = "bedrock", streams(operation)
	return m, nil
}

// checkBody refuses a body that is not in the form of Anthropic's API, or that
// says what the path does.
func checkBody(body iter.Seq2[wire.Member, error]) error {
	anthropic, twice := false, ""
	for m, err := range body {
		if err == nil {
			err = wire.KnownName(m, "anthropic_version", "model", "stream")
		}
		if err != nil {
			return err
		}
		switch string(m.Name) {
		case "anthropic_version":
			anthropic = true
		case "model", "stream":
			twice = string(m.Name)
		}
	}
	if !anthropic {
		return fmt.Errorf("only bodies of Anthropic's API are understood here, and those of Converse for every model: %w", wire.ErrUnsupported)
	}
	if twice != "" {
		return fmt.Errorf("the body has a member %q, which the path says", twice)
	}
	return nil
}

// Answer reads a whole answer.
func (c *Invoke) Answer(body []byte) (wire.Answer, error) { return c.Anthropic.Answer(body) }

// StreamType returns the media type of what Expand returns.
func (*Invoke) StreamType() string { return StreamType }

// Stream starts reading a streamed answer.
func (c *Invoke) Stream() wire.Stream { return newChunks(c.Anthropic.Stream()) }

// StreamAs starts reading an answer that was asked for as a stream. What has
// another type than [StreamType] is one document.
func (c *Invoke) StreamAs(mediaType string) wire.Stream {
	if mediaType != StreamType {
		return nil
	}
	return c.Stream()
}

// Collect turns a whole stream into the plain answer that says the same.
func (c *Invoke) Collect(stream []byte) ([]byte, error) {
	messages := wire.MessageScanner{Limit: len(stream) + 1}
	messages.Push(stream)
	messages.End()
	var events []byte
	for {
		m, ok, err := messages.Next()
		if err == nil && ok && m.Kind != "event" {
			err = fmt.Errorf("collecting a stream: it ends in %q", m.Type)
		}
		if err != nil {
			return nil, err
		}
		if !ok {
			return c.Anthropic.Collect(events)
		}
		data, err := chunk(m)
		if err != nil {
			return nil, err
		}
		if data != nil {
			events = wire.AppendEvent(events, "", data)
		}
	}
}

// Expand turns a plain answer into a stream that says the same.
func (c *Invoke) Expand(plain []byte) ([]byte, error) {
	events, err := c.Anthropic.Expand(plain)
	if err != nil {
		return nil, err
	}
	return newChunks(nil).written(events), nil
}

// Refused returns what is to be remembered of a call that a notice stands for.
func (c *Invoke) Refused(p wire.Part, notice string) (wire.Refused, bool) {
	if own, ok := p.Tag.(wire.Part); ok {
		p = own
	}
	return c.Anthropic.Refused(p, notice)
}

// Rehydrate puts refused calls back into a request.
func (c *Invoke) Rehydrate(body []byte, refused []wire.Refused) ([]byte, int, error) {
	return c.Anthropic.Rehydrate(body, refused)
}

// Error returns an error body as the API writes it.
func (*Invoke) Error(status int, message string) []byte { return errorBody(status, message) }
