package slack

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// Arguments that are too long for one field of a dialog are edited in several.
func TestLongArgumentsAreEditedInSeveralFields(t *testing.T) {
	t.Parallel()
	r := newRig(t, false)
	n := asking("long")
	var lines []string
	for i := range 100 {
		lines = append(lines, fmt.Sprintf("  \"line %d\": \"as long as such lines are in real calls of tools\"", i))
	}
	n.Editable = "{\n" + strings.Join(lines, ",\n") + "\n}"
	r.notify(n)
	r.press(ann, r.message("long"), "edit")
	fields := map[string]string{}
	var names []string
	for _, b := range r.view(0).Blocks[1:] {
		if len(b.Element.InitialValue) > maxInput-500 {
			t.Errorf("%s begins with %d bytes and takes %d", b.Element.ActionID, len(b.Element.InitialValue), maxInput)
		}
		fields[b.Element.ActionID], names = b.Element.InitialValue, append(names, b.Element.ActionID)
	}
	if want := "arguments arguments-2 arguments-3 reason"; strings.Join(names, " ") != want {
		t.Fatalf("the fields are %v, want %s", names, want)
	}
	fields["arguments-3"] = "oops" + fields["arguments-3"]
	if errs := r.submit(ann, 0, fields); !strings.Contains(errs["arguments-3"], "no valid JSON, in line ") || len(errs) != 1 {
		t.Errorf("the dialog says %v", errs)
	}
	fields["arguments-3"] = "\n " + strings.Replace(strings.TrimPrefix(fields["arguments-3"], "oops"), "real calls", "quiet calls", 1) + " \n"
	if errs := r.submit(ann, 0, fields); errs != nil {
		t.Fatalf("the dialog says %v", errs)
	}
	got := r.given(1)[0]
	if strings.Count(got.Arguments, "quiet calls") != 1 {
		t.Errorf("it is not what was written: %s", got.Arguments)
	}
	got.Arguments = strings.Join(strings.Fields(strings.Replace(got.Arguments, "quiet calls", "real calls", 1)), " ")
	want := bound(n, sdk.Edit, ann)
	want.Arguments = strings.Join(strings.Fields(n.Editable), " ")
	if got != want {
		t.Errorf("the answer is\n%+v, want\n%+v", got, want)
	}
}

// What fields are parted into comes back as it was, though Slack drops the
// blanks at the ends of each.
func TestPartedArgumentsComeBackWhole(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"short":         `{"a": 1}`,
		"one long line": `{"a": "` + strings.Repeat("a line with blanks, ", 1000) + `"}`,
		"wide letters":  `{"a": "` + strings.Repeat("日本語 ", 3000) + `"}`,
		"lines":         "{\n" + strings.Repeat("  \"a\": 1,\n", 2000) + "  \"b\": 2\n}",
		"just too long": `{"a": "` + strings.Repeat("x", maxPart-7) + `"}`,
	} {
		values, joins := parts(text)
		back := map[string]string{}
		for i, v := range values {
			if len(v) > maxPart || !strings.Contains(text, v) {
				t.Errorf("%s: field %d is %q", name, i, v)
			}
			if joins += ""; i > 0 && joins[i-1] == sameLine && strings.TrimSpace(v) != v && i < len(values)-1 && joins[i] == sameLine {
				t.Errorf("%s: field %d begins or ends with a blank: %q", name, i, v)
			}
			back[partField(fieldArguments, i)] = strings.TrimSpace(v)
		}
		got, _, _ := dialog{Joins: joins}.arguments(func(field string) string { return back[field] })
		if strip := strings.NewReplacer("\n", "", "  \"", "\""); strip.Replace(got) != strip.Replace(text) {
			t.Errorf("%s: %d bytes come back as %d", name, len(text), len(got))
		}
	}
}
