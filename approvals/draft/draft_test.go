package draft_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/draft"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// request is one whose arguments may be edited.
func request(arguments string, edit ...func(*approvals.Request)) approvals.Request {
	r := approvals.Request{
		ID: "r1", Kind: holdgate.RequestApproval, Status: holdgate.StatusPending, Allow: []string{"deny", "edit"},
		Call: approvals.CallView{Kind: holdgate.KindToolCall, Tool: &approvals.ToolView{Name: "Bash", Arguments: json.RawMessage(arguments)}},
	}
	for _, e := range edit {
		e(&r)
	}
	return r
}

func TestEditable(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*approvals.Request)
		why  string
	}{
		"what policy lets be edited":      {func(*approvals.Request) {}, ""},
		"what it does not":                {func(r *approvals.Request) { r.Allow = []string{"deny"} }, "policy does not let"},
		"a choice":                        {func(r *approvals.Request) { r.Kind = holdgate.RequestChoice }, "policy does not let"},
		"a model request":                 {func(r *approvals.Request) { r.Call.Tool = nil }, "no JSON object"},
		"what is no object":               {func(r *approvals.Request) { r.Call.Tool.Arguments = nil }, "no JSON object"},
		"what has values that are hidden": {func(r *approvals.Request) { r.Briefing.Counts.Redacted = 1 }, "not all of them are shown"},
	} {
		if got := draft.Editable(request(`{"a":1}`, c.edit)); (got == "") != (c.why == "") || !strings.Contains(got, c.why) {
			t.Errorf("%s: %q, want %q", name, got, c.why)
		}
	}
}

func TestAFileIsThePersonsAlone(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	f, err := draft.Open(request("{\"command\":\"rm \u202e x\",\"n\":1.50}"), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	if want := "{\n  \"command\": \"rm \\u202e x\",\n  \"n\": 1.50\n}\n"; string(text) != want {
		t.Errorf("the editor gets %q, want %q", text, want)
	}
	for path, want := range map[string]os.FileMode{f.Path: 0o600, filepath.Dir(f.Path): 0o700 | os.ModeDir} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s has mode %v (%v)", path, info.Mode(), err)
		}
	}
	if _, err := f.Read(); !errors.Is(err, draft.ErrSame) {
		t.Errorf("as it was: %v", err)
	}
	if err := f.Command(t.Context(), `sed -i s/x/y/`).Run(); err != nil {
		t.Fatal(err)
	}
	c, err := f.Read()
	if err != nil || string(c.Arguments) != `{"command":"rm \u202e y","n":1.50}` {
		t.Errorf("edited: %s, %v", c.Arguments, err)
	}
	if err := f.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(f.Path)); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
	if _, err := f.Read(); err == nil || errors.Is(err, draft.ErrSame) {
		t.Errorf("without a file: %v", err)
	}
}

func TestWhatWasChangedIsShown(t *testing.T) {
	r := request(`{"command":"rm -rf build","timeout":60}`)
	c, err := draft.Of(r, []byte("{ \"command\": \"rm -rf build/\u202etmp\",\n\"timeout\": 60 }"))
	if err != nil {
		t.Fatal(err)
	}
	want := "  what you change\n  | @@ -1,4 +1,4 @@\n  |  {\n  | -  \"command\": \"rm -rf build\",\n  | +  \"command\": \"rm -rf build/\\u202etmp\",\n  |    \"timeout\": 60\n  |  }\n"
	if diff := cmp.Diff(want, page.Text(c.Lines, 0, false)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatIsNoArguments(t *testing.T) {
	r := request(`{"a":1}`)
	for _, text := range []string{"", "null", "[1]", `{"a":2}{"b":3}`, `{"a":1,"a":2}`, "{\"a\":\"\xff\"}", `{"a":`} {
		_, err := draft.Of(r, []byte(text))
		if _, ok := errors.AsType[*draft.UnusableError](err); !ok {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{`{"a":1}`, "{\n\"a\" : 1 }\n"} {
		if _, err := draft.Of(r, []byte(text)); !errors.Is(err, draft.ErrSame) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzOf throws texts at what a screen shows of an edit: no line of it is of the text.
func FuzzOf(f *testing.F) {
	for _, s := range []string{`{"a":2}`, "{\"a\":\"\x1b[2J\u202e\\n\\u000ay\"}", `{"` + "\u2028" + `":[1,{}]}`} {
		f.Add(s)
	}
	r := request(`{"a":1}`)
	f.Fuzz(func(t *testing.T, s string) {
		c, err := draft.Of(r, []byte(s))
		if err != nil {
			return
		}
		for _, l := range c.Lines {
			if l.Label != "  | " && l.Label != "  " || l.Text != holdgate.Visible(l.Text) {
				t.Errorf("a line %q", l.Label+l.Text)
			}
		}
	})
}
