package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdgate/holdgate/approvals/socket/sockettest"
	"github.com/holdgate/holdgate/cmd/holdgate/confine"
)

// The test binary is holdgate itself.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"holdgate": func() { os.Exit(Main()) }})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			dir, err := sockettest.Make()
			if err != nil {
				return err
			}
			e.Defer(func() { os.RemoveAll(dir) })
			e.Setenv("STATE", dir)
			e.Setenv("HOLDGATE_STATE_DIR", dir)
			e.Setenv("USER", "ada")
			e.Values[sidecarKey{}] = &sidecar{dir: dir}
			return nil
		},
		Condition: confinable,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"expect": expectCmd, "capture": captureCmd, "sidecar": sidecarCmd, "hold": holdCmd,
		},
	})
}

// confinable is the conditions strong and weak: whether this machine confines so.
func confinable(kind string) (bool, error) {
	if kind != confine.Strong && kind != confine.Weak {
		return false, fmt.Errorf("there is no condition %q", kind)
	}
	holdgate, err := exec.LookPath("holdgate")
	if err != nil {
		return false, err
	}
	err = confine.Check(kind, []string{holdgate, confine.Command})
	if err != nil {
		fmt.Fprintf(os.Stderr, "SKIPPED, NOT TESTED: %s confinement: %v\n", kind, err)
	}
	return err == nil, nil
}

// expectCmd runs holdgate and checks its exit code:
//
//	expect CODE ARGS...
func expectCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: expect CODE ARGS...")
	}
	err := ts.Exec("holdgate", args[1:]...)
	got := 0
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		got = e.ExitCode()
	} else if err != nil {
		ts.Fatalf("running holdgate: %v", err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// captureCmd sets a variable to what the last command printed in the brackets of
// a regular expression:
//
//	capture NAME REGEXP
func captureCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture NAME REGEXP")
	}
	m := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(m) < 2 {
		ts.Fatalf("nothing that was printed matches %s", args[1])
	}
	ts.Setenv(args[0], m[1])
}
