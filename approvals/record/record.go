package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/holdgate/holdgate/store"
)

// Keys: see the package comment.
const (
	PrefixExchange = "exchange/"
	prefixBody     = "exchange-body/"
	PrefixRequest  = "request/"
	PrefixPending  = "pending/"
	PrefixAsked    = "asked/"
	prefixUsed     = "used/"
	PrefixOpen     = "open/"
	PrefixDue      = "due/"
	PrefixOutbox   = "outbox/"
	PrefixConsumer = "consumer/"
	PrefixDelivery = "delivery/"
	PrefixEdited   = "edited/"
	PrefixDone     = "done/"
	PrefixPutOff   = "putoff/"
)

// recordVersion is that of all records here. A record of another version is
// refused rather than guessed at.
const recordVersion = 1

// ErrNoAgent says that nothing is known of an agent.
var ErrNoAgent = errors.New("no such agent")

// ErrNotFound says that there is no such request.
var ErrNotFound = errors.New("no such approval request")

// A header begins every record.
type Header struct {
	V int `json:"v"`
}

func (h Header) version() int { return h.V }

// A record can be read back by whoever knows its version.
type rec interface{ version() int }

// now is the time as it is stored: without the monotonic reading, which does
// not outlive the process.
func Now() time.Time { return time.Now().UTC().Round(0) }

// current is the header of a record that is written now.
func Current() Header { return Header{recordVersion} }

// read decodes the record at key. It returns store.ErrNotFound where there is
// none.
func Read(tx store.Tx, key string, into rec) error {
	raw, err := tx.Get(key)
	if err != nil {
		return fmt.Errorf("reading %s: %w", key, err)
	}
	return Decode(key, raw, into)
}

func Decode(key string, raw []byte, into rec) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("reading %s: %w", key, err)
	}
	if v := into.version(); v != recordVersion {
		return fmt.Errorf("reading %s: version %d of the record is not known here", key, v)
	}
	return nil
}

func Write(tx store.Tx, key string, r rec) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", key, err)
	}
	if err := tx.Set(key, raw); err != nil {
		return fmt.Errorf("writing %s: %w", key, err)
	}
	return nil
}

func UsedKey(request, door string) string { return prefixUsed + request + "/" + door }

func ChunkKey(exchange string, n int) string {
	return prefixBody + exchange + "/" + store.Seq(uint64(n))
}
