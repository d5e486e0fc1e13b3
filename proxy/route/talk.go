package route

import (
	"net/http"

	"github.com/holdgate/holdgate/proxy/wire"
)

// A Talker is a [Codec] of a format that is also spoken over WebSockets: the client's
// messages are requests, one after the other, and the provider's messages are the events
// of their answers.
type Talker interface {
	// Talks reports whether it is spoken so at a path. models says that the host serves
	// models.
	Talks(path string, models bool) bool

	// Identity names what a request over HTTP asks, with all that was said before it: as
	// [wire.TalkMessage] does, for a client may ask again in the other way.
	Identity(body []byte) ([]byte, error)

	// Talk begins to follow what is said on one connection.
	Talk() wire.Talk
}

// talkerAt is the codec that is spoken over a WebSocket where a request asks for one, nil
// where there is none, or where the request could be read in two ways.
func (table *Table) talkerAt(r *http.Request, paths []string, override string, unresolved []string, models bool) Codec {
	if !Upgrades(r) || Method(r) != http.MethodGet || override != "" || len(unresolved) > 0 || len(paths) != 1 {
		return nil
	}
	for _, c := range table.codecs {
		if t, ok := c.(Talker); ok && t.Talks(paths[0], models) {
			return c
		}
	}
	return nil
}
