package audit

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdgate/holdgate"
)

// reference is an entry's canonical form as encoding/json and
// [holdgate.Canonical] make it.
func reference(t *rapid.T, e Entry) string {
	raw, err := json.Marshal(struct {
		Entry
		Hash *string `json:"hash,omitempty"` // hides the Entry's
	}{Entry: e})
	if err != nil {
		t.Fatal(err)
	}
	canon, err := holdgate.Canonical(raw)
	if err != nil {
		t.Fatal(err)
	}
	return string(canon)
}

// draw fills a value, field by field, so that a field that is new is drawn too.
func draw(t *rapid.T, v reflect.Value, label string) {
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		*x = time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, label), rapid.Int64Range(0, 999_999_999).Draw(t, label)).UTC()
		return
	case *json.RawMessage:
		*x = json.RawMessage(rapid.SampledFrom([]string{"", `{"a":"<é>","b":[1.50,null]}`, `"x"`}).Draw(t, label))
		return
	case *[]byte:
		*x = rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, label)
		return
	case *holdgate.Action:
		*x = rapid.SampledFrom([]holdgate.Action{holdgate.Deny, holdgate.Hold, holdgate.Allow}).Draw(t, label)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if rapid.Bool().Draw(t, label) {
			v.Set(reflect.New(v.Type().Elem()))
			draw(t, v.Elem(), label)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			draw(t, v.Field(i), label+"."+v.Type().Field(i).Name)
		}
	case reflect.String:
		plain := rapid.StringMatching(`[a-z0-9 ./<&>'~]{0,12}`)
		odd := rapid.SampledFrom([]string{"\"", "\\", "\x00\x1f\x7f", "é", "\u2028", "\xff\xfe", "\xe2\x80", "😀"})
		v.SetString(strings.Join(rapid.SliceOfN(rapid.OneOf(plain, odd), 0, 2).Draw(t, label), ""))
	case reflect.Uint64:
		v.SetUint(rapid.Uint64().Draw(t, label))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, label))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), rapid.IntRange(0, 2).Draw(t, label), 2))
		for i := range v.Len() {
			draw(t, v.Index(i), label)
		}
	default:
		t.Fatalf("%s: nothing is known of %v", label, v.Type())
	}
}

func TestAnEntryIsWrittenInCanonicalForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var e Entry
		draw(t, reflect.ValueOf(&e).Elem(), "entry")
		got, err := appendEntry(nil, &e)
		if err != nil {
			t.Fatal(err)
		}
		if want := reference(t, e); string(got) != want {
			t.Errorf("got\n%s, want\n%s", got, want)
		}
	})
}

func TestAnActionThatHasNoNameIsNotWritten(t *testing.T) {
	would := holdgate.Allow + 1
	for name, d := range map[string]Decision{"action": {Action: would}, "would": {Would: &would}} {
		t.Run(name, func(t *testing.T) {
			if got, err := appendEntry(nil, &Entry{Decision: &d}); err == nil {
				t.Errorf("got %s, want an error", got)
			}
		})
	}
}
