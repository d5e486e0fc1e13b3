package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/wire"
)

// last is a conversation that ends in this element. The others are alike.
func last(element string) string {
	turns := ""
	for i := range 20 {
		turns += fmt.Sprintf(`{"role":"user","n":1,"content":[{"type":"text","text":"turn %d of them, which are alike"}]},`, i)
	}
	return `{"messages":[` + turns + element + `],"stream":true}`
}

// alikes are elements that look like those before them as far as they go.
var alikes = map[string]string{
	"the same":                     `{"role":"user","n":1,"content":[{"type":"text","text":"last"}]}`,
	"another type":                 `{"role":"user","n":1,"content":[{"type":"tool_result","text":"last"}]}`,
	"another role":                 `{"role":"tool","n":1,"content":[{"type":"text","text":"last"}]}`,
	"an escaped type":              `{"role":"user","n":1,"content":[{"type":"t\u006fol_result","text":"last"}]}`,
	"a role with an escape":        `{"role":"us\"er","n":1,"content":[{"type":"text","text":"last"}]}`,
	"an escaped key":               `{"role":"user","n":1,"content":[{"t\u0079pe":"text","text":"last"}]}`,
	"a key in another case":        `{"role":"user","n":1,"content":[{"Type":"text","text":"last"}]}`,
	"a key twice":                  `{"role":"user","n":1,"content":[{"type":"text","text":"last","type":"x"}]}`,
	"a key twice, in two cases":    `{"role":"user","n":1,"content":[{"type":"text","text":"last"}],"Role":"x"}`,
	"a key that is twice early":    `{"role":"user","role":1,"content":[{"type":"text","text":"last"}]}`,
	"a number for a string":        `{"role":1,"n":1,"content":[{"type":"text","text":"last"}]}`,
	"a string for a number":        `{"role":"user","n":"1","content":[{"type":"text","text":"last"}]}`,
	"a longer number":              `{"role":"user","n":12,"content":[{"type":"text","text":"last"}]}`,
	"a number with a zero":         `{"role":"user","n":01,"content":[{"type":"text","text":"last"}]}`,
	"invalid UTF-8":                "{\"role\":\"user\",\"n\":1,\"content\":[{\"type\":\"text\",\"text\":\"\xff\"}]}",
	"text beyond ASCII":            `{"role":"é","n":1,"content":[{"type":"text","text":"日本語"}]}`,
	"a control character":          "{\"role\":\"user\",\"n\":1,\"content\":[{\"type\":\"text\",\"text\":\"a\nb\"}]}",
	"half a surrogate pair":        `{"role":"user","n":1,"content":[{"type":"text","text":"\ud83d"}]}`,
	"an escape that is none":       `{"role":"user","n":1,"content":[{"type":"text","text":"\x"}]}`,
	"a string that is not closed":  `{"role":"user","n":1,"content":[{"type":"text","text":"last}]}`,
	"an end in a string":           `{"role":"user","n":1,"content":[{"type":"text","text":"`,
	"an end before a string":       `{"role":"user","n":1,"content":[{"type":"text","text":`,
	"an end behind a string":       `{"role":"user","n":1,"content":[{"type":"text","text":"last"`,
	"a wrong bracket":              `{"role":"user","n":1,"content":[{"type":"text","text":"last"]}}`,
	"something behind it":          `{"role":"user","n":1,"content":[{"type":"text","text":"last"}]}}`,
	"no comma behind it":           `{"role":"user","n":1,"content":[{"type":"text","text":"last"}]}{}`,
	"blanks":                       `{"role":"user", "n":1,"content":[{"type":"text","text":"last"}]}`,
	"one more element":             `{"role":"user","n":1,"content":[{"type":"text","text":"last"},{"type":"image"}]}`,
	"one more member":              `{"role":"user","n":1,"content":[{"type":"text","text":"last","tool_call_id":"tool"}]}`,
	"what is alike, in a string":   `"{\"role\":\"user\",\"n\":1,\"content\":[{\"type\":\"text\",\"text\":\"last\"}]}"`,
	"what is alike, deeper":        `[{"role":"user","n":1,"content":[{"type":"text","text":"last"}]}]`,
	"what is alike, too deep":      strings.Repeat("[", wire.MaxDepth-4) + `{"role":"user","n":1,"content":[{"type":"text","text":"last"}]}` + strings.Repeat("]", wire.MaxDepth-4),
	"what is alike, nearly so":     strings.Repeat("[", wire.MaxDepth-5) + `{"role":"user","n":1,"content":[{"type":"text","text":"last"}]}` + strings.Repeat("]", wire.MaxDepth-5),
	"many strings":                 `{"role":"user","content":[` + strings.Repeat(`"a",`, 200) + `"b"]},{"role":"user","content":[` + strings.Repeat(`"a",`, 200) + `"tool"]}`,
	"a string of 24 characters":    `{"role":"` + strings.Repeat("x", 24) + `","n":1,"content":[{"type":"text","text":"last"}]}`,
	"a string of 25 characters":    `{"role":"` + strings.Repeat("x", 25) + `","n":1,"content":[{"type":"text","text":"last"}]}`,
	"many that are not":            many(func(i int) string { return fmt.Sprintf(`{"role":%d}`, i) }),
	"many that are, of nine kinds": many(func(i int) string { return fmt.Sprintf(`{"role%d":"user"}`, i%9) }) + `,{"role3":"tool","Role3":1}`,
}

func many(element func(i int) string) string {
	var all []string
	for i := range 900 {
		all = append(all, element(i))
	}
	return strings.Join(all, ",")
}

func TestReadAlikeIsRead(t *testing.T) {
	for name, element := range alikes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && len(element) > 10_000 {
				t.Skip("a long document, in a short run")
			}
			sameDocument(t, []byte(last(element)))
			sameDocument(t, []byte(last(element+`,`+element)))
		})
	}
}

// FuzzAlike holds documents whose elements are alike but for two changes against
// the same read without an eye for that.
func FuzzAlike(f *testing.F) {
	for _, element := range alikes {
		f.Add([]byte(element), uint(0), byte('"'), uint(9), byte('1'))
	}
	f.Fuzz(func(t *testing.T, element []byte, at uint, b byte, second uint, c byte) {
		if len(element) == 0 {
			return
		}
		changed := []byte(string(element))
		changed[at%uint(len(element))] = b
		other := []byte(string(changed))
		other[second%uint(len(element))] = c
		sameDocument(t, fmt.Appendf(nil, `{"m":[%s,%s,%s,%s,%s]}`, element, element, changed, other, element))
	})
}
