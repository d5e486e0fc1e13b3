package sdk

import (
	"fmt"

	"github.com/go-json-experiment/json"
)

// Decode reads a channel's configuration into a struct: strictly, so that a
// member which is unknown, repeated or of the wrong type is an error. No
// configuration is an empty object.
func Decode(config []byte, into any) error {
	if len(config) == 0 {
		config = []byte("{}")
	}
	if err := json.Unmarshal(config, into, json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	return nil
}
