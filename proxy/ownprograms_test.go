package proxy_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
)

// The programs that the page shows ask a person, and heed the answer.
func TestProgramsOfTheDocsAskAPerson(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/own-programs.md")
	proxytest.Must(t, err)
	const main = "package main\n\nimport (\n\"bytes\"\n\"encoding/json\"\n\"fmt\"\n\"net/http\"\n\"os\"\n)\n\n" +
		"func main() {\napproved, text, err := ask(os.Getenv(\"HTTP_PROXY\"), \"Deploy 1.4.2 to production?\")\nfmt.Println(text, err)\nif !approved || err != nil {\nos.Exit(3)\n}\n}\n\n"
	for _, tt := range []struct{ language, file, before string }{
		{"python", "ask.py", ""}, {"typescript", "ask.mjs", ""}, {"go", "ask.go", main},
	} {
		t.Run(tt.language, func(t *testing.T) {
			t.Parallel()
			_, code, found := strings.Cut(string(page), "```"+tt.language+"\n")
			code, _, ends := strings.Cut(code, "```")
			if !found || !ends {
				t.Fatal("the page shows no program")
			}
			if n := strings.Count(code, "\n"); n > 15 {
				t.Errorf("the program has %d lines", n)
			}
			program := filepath.Join(t.TempDir(), tt.file)
			proxytest.Must(t, os.WriteFile(program, []byte(tt.before+code), 0o600))
			run := runner(t, tt.language, program)
			g := proxytest.New(t, nil, proxytest.WithShippedPolicy())
			for answer, want := range map[holdgate.Answer]int{holdgate.AnswerApprove: 0, holdgate.AnswerDeny: 3} {
				ctx, cancel := context.WithTimeout(t.Context(), proxytest.Patience)
				cmd := exec.CommandContext(ctx, run[0], run[1:]...)
				cmd.Env = append(os.Environ(), "HTTP_PROXY="+g.URL, "http_proxy="+g.URL)
				var out bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &out
				proxytest.Must(t, cmd.Start())
				r := g.Pending(1)[0]
				if r.Gate != "before_deploy" || !strings.Contains(strings.Join(r.Briefing.Details, "\n"), "Deploy 1.4.2 to production?") {
					t.Errorf("people see %+v", r)
				}
				g.Decide(r, answer, "says ann")
				err := cmd.Wait()
				cancel()
				var exit *exec.ExitError
				if err != nil && !errors.As(err, &exit) || cmd.ProcessState.ExitCode() != want || !strings.Contains(out.String(), "says ann") {
					t.Errorf("%s: status %d, want %d: %v\n%s", answer, cmd.ProcessState.ExitCode(), want, err, &out)
				}
			}
		})
	}
}

// runner is the command that runs a program. A language that is not here is skipped.
func runner(t *testing.T, language, program string) []string {
	t.Helper()
	switch language {
	case "go":
		built := program + ".bin"
		if out, err := exec.Command("go", "build", "-o", built, program).CombinedOutput(); err != nil {
			t.Fatalf("building: %v\n%s", err, out)
		}
		return []string{built}
	case "python":
		language = "python3"
	case "typescript": // this one has no types that would have to be taken out
		language = "node"
	}
	if _, err := exec.LookPath(language); err != nil {
		t.Skip("SKIPPED: no " + language)
	}
	return []string{language, program}
}
