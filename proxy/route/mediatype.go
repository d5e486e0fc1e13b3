package route

import (
	"fmt"
	"mime"
	"net/http"
	"strings"
)

// MediaType returns the media type of a message whose text will be judged, in
// lower case; "" where it names none. The text is read as UTF-8, so an error
// says that the headers let another reader take it for something else: several
// types, a charset of another kind, or what is no media type at all.
func MediaType(h http.Header) (string, error) {
	values := h.Values("Content-Type")
	if len(values) == 0 || (len(values) == 1 && strings.TrimSpace(values[0]) == "") {
		return "", nil
	}
	if len(values) > 1 {
		return "", fmt.Errorf("there is more than one Content-Type: %.200q", values)
	}
	if strings.Contains(values[0], "*") {
		return "", fmt.Errorf("a parameter of the Content-Type is in extended notation (RFC 8187): %.200q", values[0])
	}
	typ, params, err := mime.ParseMediaType(values[0])
	if err != nil {
		return "", fmt.Errorf("reading the Content-Type %.200q: %w", values[0], err)
	}
	switch strings.ToLower(params["charset"]) {
	case "", "utf-8", "utf8", "us-ascii":
		return typ, nil
	}
	return "", fmt.Errorf("the charset is not UTF-8: %.200q", values[0])
}

// TypeEvents is the media type of server-sent events.
const TypeEvents = "text/event-stream"
