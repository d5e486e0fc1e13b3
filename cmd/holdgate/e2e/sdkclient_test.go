package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// An sdkProcess has an SDK in it, and takes one turn after another.
type sdkProcess struct {
	p       *process
	prompts io.Writer
	printed printedLines
}

// newSDKProcess starts a script of testdata/clients. It ends with the test.
func newSDKProcess(t *testing.T, script string, env []string) *sdkProcess {
	t.Helper()
	if script == "bedrock-invoke.mjs" { // which only asks the other one for it
		script = "bedrock.mjs"
	}
	stdin, prompts, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := &sdkProcess{prompts: prompts, printed: printedLines{complete: make(chan string, 64)}}
	c.p = start(t, func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "node", filepath.Join(clientsDir(t), "turns.mjs"), script)
		cmd.Env = append(environment(), env...)
		cmd.Stdin, cmd.Stdout = stdin, &c.printed
		return cmd
	})
	stdin.Close()
	t.Cleanup(func() { prompts.Close() })
	return c
}

// An sdkClient goes one way to the provider, and asks in one mode.
type sdkClient struct {
	*sdkProcess

	args []string
}

// newSDKClient is a client of such a process.
func newSDKClient(p *sdkProcess, script, base, mode string) *sdkClient {
	args := []string{base, mode}
	if script == "bedrock-invoke.mjs" {
		args = append(args, "invoke")
	}
	return &sdkClient{p, args}
}

// An sdkAnswer is what comes of one turn.
type sdkAnswer struct {
	c    *sdkClient
	t    *testing.T
	line string // what was printed, once it was read
}

// ask starts a turn in which the model asks for command.
func (c *sdkClient) ask(t *testing.T, command string) *sdkAnswer {
	t.Helper()
	prompt, err := json.Marshal(map[string]any{"prompt": "run: " + command, "args": c.args})
	if err == nil {
		_, err = fmt.Fprintf(c.prompts, "%s\n", prompt)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &sdkAnswer{c: c, t: t}
}

// output waits for the turn's end and returns what it printed.
func (a *sdkAnswer) output() string {
	a.t.Helper()
	if a.line != "" {
		return a.line
	}
	select {
	case a.line = <-a.c.printed.complete:
	case <-a.c.p.ended:
		a.t.Fatalf("the client has ended: %v", a.c.p.end())
	}
	return a.line
}

// running reports whether the client still waits for the provider.
func (a *sdkAnswer) running() bool {
	select {
	case a.line = <-a.c.printed.complete:
		return false
	default:
		return a.c.p.running()
	}
}

// printedLines hands on what is written, line by line.
type printedLines struct {
	complete chan string
	rest     strings.Builder
}

func (l *printedLines) Write(b []byte) (int, error) {
	l.rest.Write(b)
	for {
		line, rest, ok := strings.Cut(l.rest.String(), "\n")
		if !ok {
			return len(b), nil
		}
		l.rest.Reset()
		l.rest.WriteString(rest)
		l.complete <- line
	}
}
