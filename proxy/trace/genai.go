package trace

import (
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"

	"github.com/holdgate/holdgate"
)

// SchemaURL is of the semantic conventions whose names stand in this file.
const SchemaURL = semconv.SchemaURL

// maxName bounds names that others have chosen, in bytes.
const maxName = 200

// An operation is what a call is in the conventions for generative AI.
type operation struct {
	name, object string
	attributes   []attribute.KeyValue
}

// span is the name of the operation's span.
func (o operation) span() string {
	if o.object == "" {
		return o.name
	}
	return o.name + " " + o.object
}

func operationOf(c holdgate.Call) operation {
	switch {
	case c.Tool != nil && c.Kind == holdgate.KindToolCall:
		name := holdgate.Bounded(c.Tool.Name, maxName)
		o := operation{name: semconv.GenAIOperationNameExecuteTool.Value.AsString(), object: name}
		o.attributes = []attribute.KeyValue{semconv.GenAIOperationNameExecuteTool, semconv.GenAIToolName(name)}
		if c.ID != "" {
			o.attributes = append(o.attributes, semconv.GenAIToolCallID(holdgate.Bounded(c.ID, maxName)))
		}
		if c.Tool.Server != "" {
			o.attributes = append(o.attributes, attribute.String("holdgate.tool.server", holdgate.Bounded(c.Tool.Server, maxName)))
		}
		return o
	case c.Model != nil:
		name := holdgate.Bounded(c.Model.Name, maxName)
		return operation{semconv.GenAIOperationNameChat.Value.AsString(), name, []attribute.KeyValue{semconv.GenAIOperationNameChat, semconv.GenAIRequestModel(name)}}
	}
	return operation{}
}

// caller is who asks.
func caller(agent holdgate.Agent, session string) []attribute.KeyValue {
	return []attribute.KeyValue{
		semconv.GenAIAgentID(holdgate.Bounded(agent.ID, maxName)), semconv.GenAIConversationID(holdgate.Bounded(session, maxName)),
		attribute.Bool("holdgate.agent.proven", agent.Proven),
	}
}

// usage is what answers have used, and what they cost where that is known: for which the
// conventions have no word.
func usage(u holdgate.Usage) []attribute.KeyValue {
	list := []attribute.KeyValue{semconv.GenAIUsageInputTokens(int(u.Input)), semconv.GenAIUsageOutputTokens(int(u.Output))}
	if u.Priced > 0 {
		list = append(list, attribute.Float64("holdgate.usage.cost", u.Cost))
	}
	return list
}

// provider is whose format is spoken, as far as the conventions have a word for it.
func provider(format string) []attribute.KeyValue {
	known := map[string]attribute.KeyValue{
		"anthropic": semconv.GenAIProviderNameAnthropic, "openai": semconv.GenAIProviderNameOpenAI, "responses": semconv.GenAIProviderNameOpenAI,
		"gemini": semconv.GenAIProviderNameGCPGemini, "bedrock": semconv.GenAIProviderNameAWSBedrock, "cohere": semconv.GenAIProviderNameCohere,
		"mistral": semconv.GenAIProviderNameMistralAI,
	}
	if p, ok := known[format]; ok {
		return []attribute.KeyValue{p}
	}
	return nil
}
