package facts

import (
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"
)

// FuzzDecodeObject holds that what the decoder reads by itself is what the
// library reads, and that it takes nothing that the library does not.
func FuzzDecodeObject(f *testing.F) {
	for _, s := range []string{
		``, `{}`, ` { } `, `{"a":1}`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"a\n":1,"a\n":2}`, `{"a":{"a":[1,-0,0.5,1e3,1E-3,-1.25e+2]}}`,
		`{"a":[true,false,null,"",[],{}]}`, `{"a":01}`, `{"a":1.}`, `{"a":.5}`, `{"a":1e400}`, `{"a":-}`, `{"a":+1}`, `{"a":1e}`, `{"a":12345678901234567890}`,
		`{"a":"\"\\\/\b\f\n\r\t"}`, `{"a":"\x"}`, `{"a":"\u00e9\ud83d\ude00"}`, `{"a":"\ud83d"}`, "{\"a\":\"\n\"}", "{\"a\":\"\xff\"}", "{\"a\":\"\u2028é\"}",
		`{"a":1,}`, `{,"a":1}`, `{"a" : [ 1 , 2 ] }`, `{"a":[1,]}`, `{"a":[,1]}`, `{"a":1}x`, `{"a":1}{}`, `[]`, `null`, `{"a":nul}`, `{"a":truefalse}`, `{"a":"`, `{"a":"\`,
		`{"a":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, ok := decodeObject(raw)
		var want map[string]any
		err := json.Unmarshal(raw, &want)
		if ok != (err == nil) {
			t.Fatalf("%q is read: %v, and by the library: %v", raw, ok, err)
		}
		if !ok {
			return
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q is read as %v, and by the library as %v", raw, got, want)
		}
	})
}
