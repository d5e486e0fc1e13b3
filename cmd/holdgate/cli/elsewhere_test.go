package cli

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

func TestOnWindowsOnlyClientsAreThere(t *testing.T) {
	e := &env{&command.Env{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Getenv: os.Getenv}}
	list := elsewhere("windows", commands(e))
	for _, name := range unixOnly {
		c := find(list, []string{name})
		if c == nil {
			t.Errorf("there is no command %s", name)
			continue
		}
		err := (&cli.App{Writer: io.Discard, Commands: list, ExitErrHandler: func(*cli.Context, error) {}}).Run([]string{"holdgate", name, "--flag", "x"})
		if err == nil || !strings.Contains(err.Error(), "holdgate "+name+" is not there on Windows") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if c := find(list, []string{"pending"}); c == nil || strings.Contains(c.Usage, "Windows") {
		t.Errorf("pending is no client of a sidecar: %v", c)
	}
}
