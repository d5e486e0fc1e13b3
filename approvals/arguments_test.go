package approvals

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestStrictObject(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return `{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}` }
	for name, c := range map[string]struct {
		args string
		ok   bool
	}{
		"an object":                           {`{"a":1,"b":[{"a":2},{"a":3}]}`, true},
		"blanks around it":                    {" \t\r\n{}\n", true},
		"the same key in another object":      {`{"a":{"a":{"A":1}}}`, true},
		"as deep as may be":                   {deep(127), true},
		"as long as may be":                   {`{"a":"` + strings.Repeat("x", maxEdit-8) + `"}`, true},
		"text that is like a key":             {`{"a":"A","b":"a"}`, true},
		"nothing":                             {``, false},
		"blanks":                              {` `, false},
		"a list":                              {`[]`, false},
		"a text":                              {`"{}"`, false},
		"two objects":                         {`{}{}`, false},
		"a cut object":                        {`{"a":1`, false},
		"a comment":                           {`{} // x`, false},
		"a byte order mark":                   {"\ufeff{}", false},
		"a key twice":                         {`{"a":1,"a":2}`, false},
		"a key twice, escaped":                {`{"a":1,"\u0061":2}`, false},
		"keys that differ in case":            {`{"command":1,"Command":2}`, false},
		"keys that differ in case, below":     {`{"x":[{"command":1,"b":{},"COMMAND":2}]}`, false},
		"keys that differ in case, as Kelvin": {`{"k":1,"` + "\u212a" + `":2}`, false},
		"half a surrogate pair":               {`{"a":"\ud800"}`, false},
		"what is no UTF-8":                    {"{\"a\":\"\xff\"}", false},
		"too deep":                            {deep(128), false},
		"too long":                            {`{"a":"` + strings.Repeat("x", maxEdit-7) + `"}`, false},
	} {
		err := strictObject(json.RawMessage(c.args))
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && !errors.Is(err, ErrAnswer) {
			t.Errorf("%s: %v is no ErrAnswer", name, err)
		}
	}
}

func FuzzStrictObject(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":[1,{"b":null}],"A":2}`, `{"k":1,"K":2}`, `{"a":"\ud800"}`, ` {"a":1}{`, `{"":{"":{}}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if strictObject(raw) != nil {
			return
		}
		if v := jsontext.Value(bytes.TrimSpace(raw)); !v.IsValid() || v.Kind() != '{' {
			t.Fatalf("%q is taken", raw)
		}
	})
}
