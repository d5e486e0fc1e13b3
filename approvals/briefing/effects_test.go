package briefing_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/briefing"
	"github.com/holdgate/holdgate/rego"
)

var update = flag.Bool("update", false, "write the summaries that the code makes")

// all holds every call.
const all = `package holdgate.custom.all

decisions contains {"action": "hold", "rule": "all", "reason": "All is asked about."}
`

// TestTheSummarySaysWhatHappens holds the sentence that a person reads first of each call of a
// table, and whether it says that the call can be taken back. To change the
// table: write the call, run with -update, and read the sentence.
func TestTheSummarySaysWhatHappens(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "all.rego"), []byte(all), 0o600); err != nil {
		t.Fatal(err)
	}
	policy, err := rego.Open(t.Context(), rego.Options{Path: dir})
	if err != nil {
		t.Fatal(err)
	}
	const file = "testdata/summaries.txt"
	body, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	calls := 0
	for block := range strings.SplitSeq(strings.TrimSpace(string(body)), "\n\n") {
		asked, _, _ := strings.Cut(block, "\n=> ")
		if strings.HasPrefix(asked, "#") {
			out.WriteString(block + "\n\n")
			continue
		}
		calls++
		d := policy.Decide(t.Context(), rego.Input{Call: readCall(t, asked), Dir: "/home/dev/shop", Home: "/home/dev"})
		if d.Action != holdgate.Hold && d.Action != holdgate.Deny {
			t.Errorf("%v: %s", d.Action, asked)
		}
		b := briefing.Make(readCall(t, asked), 0, d)
		fmt.Fprintf(&out, "%s\n=> %s\n   %s\n\n", asked, b.Summary, b.Undo)
	}
	got := strings.TrimSpace(out.String()) + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got != string(body) {
		t.Errorf("the summaries are others than in %s; look at the difference after -update", file)
	}
	if calls < 150 {
		t.Errorf("%d calls, want 150 at least", calls)
	}
}

// readCall reads "$ COMMAND", "sql> STATEMENT", "GET|POST|... URL", or
// "TOOL|SERVER/TOOL {ARGUMENTS}".
func readCall(t *testing.T, s string) holdgate.Call {
	t.Helper()
	tool := func(server, name string, a args) holdgate.Call {
		raw, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		return holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: name, Server: server, Arguments: raw}}
	}
	if command, ok := strings.CutPrefix(s, "$ "); ok {
		return tool("", "Bash", args{"command": command})
	}
	if statement, ok := strings.CutPrefix(s, "sql> "); ok {
		return tool("db", "query", args{"sql": statement})
	}
	word, rest, _ := strings.Cut(s, " ")
	if u, err := url.Parse(rest); err == nil && u.Host != "" && word == strings.ToUpper(word) {
		return holdgate.Call{Kind: holdgate.KindHTTPRequest, HTTP: &holdgate.HTTP{Method: word, Scheme: u.Scheme, Host: u.Host, Path: u.Path, Query: u.RawQuery}}
	}
	var a args
	if err := json.Unmarshal([]byte(rest), &a); err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	server, name, ok := strings.Cut(word, "/")
	if !ok {
		server, name = "", word
	}
	return tool(server, name, a)
}
