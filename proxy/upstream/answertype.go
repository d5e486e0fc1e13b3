package upstream

import (
	"fmt"
	"net/http"

	"github.com/holdgate/holdgate/proxy/route"
)

// typeEventStream is the media type of AWS event streams.
const typeEventStream = "application/vnd.amazon.eventstream"

// AnswerType reads the media type of an answer of a gated format, and refuses
// what leads the client away from the gate: a redirect, which clients follow
// with the body and the credentials of the request, and every status that
// neither answers nor fails. A model's error may be called an event stream, as
// Gemini calls it: what is in it is looked at later.
func AnswerType(resp *http.Response, model bool) (string, error) {
	switch resp.StatusCode / 100 {
	case 2, 4, 5:
	default:
		return "", fmt.Errorf("the upstream answered with status %d, which is refused: it is no answer, and a redirect leads around the gate", resp.StatusCode)
	}
	typ, err := route.MediaType(resp.Header)
	if err != nil {
		return "", fmt.Errorf("the upstream answer is refused because two readers could take it differently: %w", err)
	}
	if (typ == route.TypeEvents && !model || typ == typeEventStream) && resp.StatusCode/100 != 2 {
		return "", fmt.Errorf("the upstream answered with status %d and an event stream, which is refused: some clients look for calls in it", resp.StatusCode)
	}
	return typ, nil
}
