package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// ordinary are calls of ten kinds as agents make them: what is fetched and run,
// machines of a cloud, files that go, databases, git, programs, edits, requests,
// tools of servers, and the machine itself.
var ordinary = []struct{ tool, arguments string }{
	{"Bash", curl},
	{"Bash", `{"command":"npm install left-pad@1.3.0"}`},
	{"Bash", `{"command":"pip install --index-url http://pkgs.example.org/simple requests"}`},
	{"Bash", `{"command":"cd infra/prod && terraform apply -auto-approve"}`},
	{"Bash", `{"command":"kubectl --context prod -n web delete deployment api"}`},
	{"Bash", `{"command":"aws s3 rm s3://acme-backups --recursive"}`},
	{"Bash", `{"command":"rm -rf ./src/gen"}`},
	{"Bash", `{"command":"git clean -fdx"}`},
	{"Bash", `{"command":"find . -name '*.log' -mtime +3 -delete"}`},
	{"Bash", `{"command":"psql $DATABASE_URL -c \"UPDATE users SET plan = 'free'\""}`},
	{"mcp__db__query", `{"sql":"DELETE FROM orders WHERE created_at < '2020-01-01'; DROP TABLE tmp_orders"}`},
	{"mcp__db__query", sql},
	{"Bash", `{"command":"git push --force origin main"}`},
	{"Bash", `{"command":"git reset --hard origin/main"}`},
	{"Bash", `{"command":"gh pr merge 42 --admin --squash"}`},
	{"Bash", `{"command":"python3 - <<'EOF'\nimport shutil\nshutil.rmtree('build')\nprint('done')\nEOF"}`},
	{"Bash", `{"command":"node -e \"require('fs').rmSync('node_modules',{recursive:true})\""}`},
	{"Bash", `{"command":"ruby -e 'system(\"make deploy\")'"}`},
	{"Edit", edit},
	{"Edit", `{"file_path":"/home/ada/shop/.github/workflows/ci.yml","old_string":"  contents: read","new_string":"  contents: write\n  id-token: write"}`},
	{"Write", `{"file_path":"/home/ada/.bashrc","content":"export PATH=/tmp/x:$PATH\n"}`},
	{"WebFetch", `{"url":"https://docs.acme.dev/api?page=2","prompt":"how do refunds work"}`},
	{"Bash", `{"command":"scp -r ./dist deploy@web1.acme.dev:/srv/www"}`},
	{"Bash", `{"command":"curl -X POST https://api.stripe.com/v1/refunds -d charge=ch_123 -d amount=50000"}`},
	{"mcp__github__create_issue", `{"owner":"acme","repo":"shop","title":"Release","body":"see attached"}`},
	{"mcp__slack__post_message", `{"channel":"#general","text":"deploying now"}`},
	{"mcp__github__merge_pull_request", `{"owner":"acme","repo":"shop","pull_number":42}`},
	{"Bash", `{"command":"sudo systemctl stop nginx && sudo rm /etc/nginx/sites-enabled/shop"}`},
	{"Bash", `{"command":"docker compose down -v"}`},
	{"Bash", `{"command":"echo 'aGVsbG8=' | base64 -d | bash"}`},
}

// TestAnOrdinaryCallTakesOneScreen holds that the first screen of 80x24 answers what
// happens, to what, whether it can be undone and who wants it, and that nobody has to
// read on to approve.
func TestAnOrdinaryCallTakesOneScreen(t *testing.T) {
	s := newSidecar(t)
	for _, c := range ordinary {
		r := s.hold(c.tool, c.arguments)
		m := newModel(t.Context(), nil, time.Now, false)
		m.ask = &ask{r: r}
		m.layOut()
		screen := m.screen()
		if why := m.ask.closed(); why != "" {
			t.Errorf("%s: %s\n%s", c.arguments, why, page.Text(m.ask.lines, 0, false))
		}
		for _, want := range []string{"what       ", "risk       ", "undone", "agent      claude (proven)", "time left  "} {
			if want == "undone" && r.Briefing.Undo == "changes nothing" {
				want = r.Briefing.Undo
			}
			if !strings.Contains(screen, want) {
				t.Errorf("%s: the first screen does not say %q:\n%s", c.arguments, want, screen)
			}
		}
	}
}

// What would fill screens is folded, and opened before it is approved.
func TestALongPartIsFoldedAndOpenedBeforeItIsApproved(t *testing.T) {
	s := newSidecar(t)
	r := s.hold("Bash", `{"command":"`+strings.Repeat(`echo a\n`, 100)+`rm -rf src"}`)
	now := time.Now()
	m := newModel(t.Context(), nil, func() time.Time { return now }, false)
	m.ask = &ask{r: r}
	m.layOut()
	read := func() {
		for range m.ask.lines {
			m.ask.scrollKey("space", now)
		}
		now = now.Add(time.Second)
	}
	read()
	if why := m.ask.closed(); !strings.Contains(why, "f shows all") || !strings.Contains(m.askKeys(), "f whole call") || strings.Contains(m.askKeys(), "y approve") {
		t.Errorf("what is folded is closed by %q, with the keys %s", why, m.askKeys())
	}
	m.askKey("f")
	if m.ask.closed() == "" {
		t.Error("what was opened counts as shown before it was")
	}
	read()
	if why := m.ask.closed(); why != "" || !strings.Contains(page.Text(m.ask.lines, 0, false), "  | rm -rf src") {
		t.Errorf("after all was shown: %q", why)
	}
}
