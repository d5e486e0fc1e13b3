package openai

import (
	"bytes"

	"github.com/holdgate/holdgate/proxy/wire"
)

// isText reports whether a chunk, which must have passed [wire.StrictEvent],
// surely adds text to choice 0 and has no call in any spelling. Most chunks
// are such, and need no closer look. It may say no to one that is.
//
// A quote inside of a JSON string is escaped, so the patterns with quotes
// cannot be found in a text; what stands for a call has "call" in its key,
// unless something in the key is escaped.
func isText(data []byte) bool {
	if len(data) == 0 || data[0] != '{' {
		return false
	}
	const content, index = `"content":"`, `"index":0`
	i := bytes.Index(data, []byte(content))
	if i < 0 || data[i+len(content)] == '"' {
		return false
	}
	i = bytes.Index(data, []byte(index))
	if i < 0 || bytes.Contains(data[i+len(index):], []byte(`"index":`)) {
		return false // there is another choice, or none that is sure to be the first
	}
	if bytes.Contains(data, []byte(`\u`)) {
		return false
	}
	return !wire.MentionsCall(data)
}

// usageIn returns the usage of a chunk of text, where it has one that is no null.
func usageIn(data []byte) []byte {
	const usage = `"usage":`
	i := bytes.Index(data, []byte(usage))
	if i < 0 || bytes.HasPrefix(data[i+len(usage):], []byte("null")) {
		return nil
	}
	return wire.Find(data, "usage")
}
