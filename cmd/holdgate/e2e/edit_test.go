package e2e_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// edit puts other arguments into a held call, as a script with curl does.
func (s *sidecar) edit(r request, arguments string) {
	s.t.Helper()
	if code, got := s.edits(r, arguments); code != http.StatusOK {
		s.t.Fatalf("editing request %s: status %d: %s", r.ID, code, got)
	}
}

// edits answers a request with other arguments, and returns the status and the body.
func (s *sidecar) edits(r request, arguments string) (status int, answer string) {
	s.t.Helper()
	resp, err := s.api(http.MethodPost, "/v1/approvals/"+r.ID+"/decision", `{"decision":"edit","digest":`+quoted(r.Call.Digest)+`,"arguments":`+arguments+`}`)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, body(s.t, resp)
}

// editedWords are part of what the agent is told of an edit.
const editedWords = "approved the call to Bash with other arguments"

// edited: the client gets the very call, with the arguments that a person put
// there, plain and streamed alike.
func (c sdkCase) edited(t *testing.T) {
	command := "rm -rf edited-" + c.name
	want := c.turn(t, c.direct.ask(t, command).output())
	p := c.through.ask(t, command)
	c.s.edit(c.s.held(command), `{"command":"ls \"é\"","n":1.5}`)
	got := c.turn(t, p.output())
	if !strings.HasPrefix(got.text, promise) || !strings.Contains(got.text, editedWords) {
		t.Errorf("the model's words and what became of the call should be there: %q", got.text)
	}
	want.text, got.text = "", ""
	want.calls[0].Arguments = map[string]any{"command": `ls "é"`, "n": 1.5}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(sdkTurn{})); diff != "" {
		t.Errorf("more than the arguments is another's (-want +got):\n%s", diff)
	}
}

func TestClaudeCodeRunsWhatAPersonMadeOfItsCall(t *testing.T) {
	clientsDir(t)
	t.Parallel()
	s := serve(t, nil, "--upstream", "anthropic="+newProvider(t).URL)
	p, data := claude(t, "edited", []string{"ANTHROPIC_BASE_URL=" + s.base("anthropic")})
	s.edit(s.held("rm -rf data-edited"), `{"command":"touch data-edited/kept","description":"Keep it"}`)
	if out := p.output(); !strings.Contains(out, done) {
		t.Errorf("it should end its run in order: %s", out)
	}
	if _, err := os.Stat(filepath.Join(data, "kept")); err != nil {
		t.Errorf("the edited command did not run: %v", err)
	}
}

func TestAnMCPServerGetsWhatAPersonMadeOfACall(t *testing.T) {
	clientsDir(t)
	t.Parallel()
	folder := t.TempDir()
	s := serve(t, nil, "--mcp", "files="+filesystemServer(t, folder), "--policy", write(t, "settings.yaml", writesAreAsked))
	asked, other := filepath.Join(folder, "asked.txt"), filepath.Join(folder, "other.txt")
	p := node(t, nil, "mcp.mjs", "http://"+s.agents+"/mcp/files", "write_file", `{"path":`+quoted(asked)+`,"content":"written by an agent\n"}`)
	s.edit(s.held("asked.txt"), `{"path":`+quoted(other)+`,"content":"written by an agent\n"}`)
	_, res := toolResult(t, p.output())
	if note := res.Meta["io.github.holdgate/approval"].Message; res.IsError || !strings.Contains(note, "with other arguments") {
		t.Errorf("the client got %+v", res)
	}
	if _, err := os.Stat(asked); err == nil {
		t.Error("the file that the agent asked for was written")
	}
	if b, err := os.ReadFile(other); err != nil || string(b) != "written by an agent\n" {
		t.Errorf("the other file holds %q (%v)", b, err)
	}
}
