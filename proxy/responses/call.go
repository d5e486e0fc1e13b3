package responses

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// call returns the call that an item is, as policy sees it.
func (it *item) call() (*holdgate.Call, error) {
	tool := &holdgate.Tool{Name: it.toolName(), Server: it.server}
	args, err := it.arguments()
	if err == nil && it.form != formFree {
		tool.Arguments, err = objectOf(args)
	}
	switch {
	case err != nil && it.kind != kindObserved:
		return nil, fmt.Errorf("reading the arguments of %s: %w", tool.Name, err)
	case tool.Arguments == nil:
		tool.ArgumentsRaw = args
	}
	return &holdgate.Call{ID: it.key(), Kind: holdgate.KindToolCall, Tool: tool}, nil
}

// toolName returns the tool's name with its namespace, which clients may write
// with the underscores at its end. A tool that a search found comes with its own
// name for a namespace.
func (it *item) toolName() string {
	switch {
	case it.tool != "":
		return it.tool
	case it.name == "":
		return it.typ
	case it.namespace == "", it.namespace == it.name:
		return it.name
	}
	return strings.TrimSuffix(it.namespace, "__") + "__" + it.name
}

// arguments returns the text of a call's arguments.
func (it *item) arguments() (string, error) {
	switch {
	case it.form == formText && (wire.IsNull(it.value) || string(it.value) == `""`):
		return "{}", nil // so clients read it
	case it.form == formFree && wire.IsNull(it.value):
		return "", nil
	case wire.IsNull(it.value):
		return string(it.raw), nil // all that it says
	case it.form == formFree && it.value[0] != '"':
		return "", fmt.Errorf("a text was expected, not %s", wire.KindOf(it.value))
	case it.value[0] == '"':
		return wire.Text(it.value)
	}
	return string(it.value), nil
}

// objectOf returns the arguments where they are a JSON object, and nil where
// they are anything else. JSON that some parsers refuse and others read in one
// way or another is an error.
func objectOf(args string) (json.RawMessage, error) {
	raw := []byte(args)
	err := wire.Strict(raw)
	if err == nil {
		if strings.HasPrefix(strings.TrimLeft(args, " \t\r\n"), "{") {
			return raw, nil
		}
		return nil, nil
	}
	lenient := jsontext.Value(strings.TrimPrefix(args, "\ufeff"))
	if lenient.IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		return nil, err
	}
	return nil, nil
}

// becomes reports an error unless a later copy of an item may be the same item
// as this one, which may lack what was not known yet.
func (it *item) becomes(later *item) error {
	for _, same := range [...]struct{ what, before, after string }{
		{"type", it.typ, later.typ},
		{"call_id", it.callID, later.callID},
		{"name", it.name, later.name},
		{"namespace", it.namespace, later.namespace},
		{"server_label", it.server, later.server},
	} {
		if same.before != same.after && same.before != "" {
			return fmt.Errorf("the %s of an item is first %.80q and then %.80q", same.what, same.before, same.after)
		}
	}
	if it.kind == kindObserved && later.kind == kindCall {
		return fmt.Errorf("a %s is first run by the provider and then by the client", it.typ)
	}
	return nil
}

// errDiffers says that two copies of one call are not the same call.
var errDiffers = errors.New("copies of a call differ")

// same reports an error unless two whole copies of a call say the same.
func (it *item) same(other *item) error {
	if it.typ != other.typ || it.name != other.name || it.namespace != other.namespace || it.server != other.server || it.key() != other.key() {
		return fmt.Errorf("%w: %s %.80q of %.80q and %s %.80q of %.80q", errDiffers, it.typ, it.key(), it.name, other.typ, other.key(), other.name)
	}
	if it.kind == kindObserved {
		return nil // what it gave back may have come meanwhile
	}
	a, err := it.content()
	if err != nil {
		return err
	}
	b, err := other.content()
	if err != nil {
		return err
	}
	if a != b {
		return fmt.Errorf("%w: the arguments of %.80q", errDiffers, it.toolName())
	}
	return nil
}

// content returns what a call is to do, in a form that is equal for equal
// arguments: the text where they come as text, else canonical JSON.
func (it *item) content() (string, error) {
	args, err := it.arguments()
	if err != nil || it.form == formText || it.form == formFree || wire.IsNull(it.value) {
		return args, err
	}
	canon, err := holdgate.Canonical(it.value)
	return string(canon), err
}
