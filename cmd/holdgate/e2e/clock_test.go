package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// turnedSource is the clock of a program that [turnedProgram] built. As on a
// machine whose clock is set, the monotonic reading and timers stay as they are.
const turnedSource = `// Package turned is a clock that a test can turn.
package turned

import (
	"os"
	"strconv"
	"strings"
	"time"
	"unsafe"
)

func seconds() int64 {
	path, turned := os.LookupEnv("HOLDGATE_TEST_CLOCK")
	if !turned {
		return 0
	}
	b, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// Now is time.Now on a clock that was set. A time with a monotonic reading keeps
// its seconds above 30 bits of nanoseconds in its first word.
func Now() time.Time {
	t, by := time.Now(), seconds()
	want := t.Round(0).Add(time.Duration(by) * time.Second)
	*(*uint64)(unsafe.Pointer(&t)) += uint64(by) << 30
	if !t.Round(0).Equal(want) {
		panic("package time keeps its times in another way now")
	}
	return t
}

// Since is time.Since on that clock.
func Since(t time.Time) time.Duration { return Now().Sub(t) }

// Until is time.Until on that clock.
func Until(t time.Time) time.Duration { return t.Sub(Now()) }
`

// looksEach is how the queue's source says how often it looks at the clock.
const looksEach = "maxSleep = time.Minute"

var (
	askedTime = regexp.MustCompile(`\btime\.(Now|Since|Until)\b`)
	itsName   = regexp.MustCompile(`(?m)^package \w+$`)
)

// turnedProgram builds the program from its own source, in which each question
// for the time of day is put to a clock that the test can turn. Nothing else
// differs but that the queue looks at the clock each second, not each minute, and the
// source itself knows nothing of it. Libraries keep the real clock.
func turnedProgram(t *testing.T) string {
	t.Helper()
	const module, main = "github.com/holdgate/holdgate", "github.com/holdgate/holdgate/cmd/holdgate"
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f",
		`{{if .Module}}{{if .Module.Main}}{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{end}}{{end}}`, main)
	files, err := list.Output()
	if err != nil {
		t.Fatalf("listing the program's source: %v", err)
	}
	root, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Fatalf("finding the module: %v", err)
	}
	dir, replaced := t.TempDir(), map[string]string{}
	put := func(path string, text []byte) {
		replaced[path] = filepath.Join(dir, fmt.Sprintf("%d.go", len(replaced)))
		if err := os.WriteFile(replaced[path], text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	often := 0
	for path := range strings.FieldsSeq(string(files)) {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !askedTime.Match(source) {
			continue
		}
		often += bytes.Count(source, []byte(looksEach))
		source = bytes.ReplaceAll(source, []byte(looksEach), []byte("maxSleep = time.Second"))
		source = askedTime.ReplaceAll(source, []byte("turned.$1"))
		name := itsName.FindIndex(source)
		if name == nil {
			t.Fatalf("%s has no package clause", path)
		}
		put(path, fmt.Appendf(bytes.Clone(source[:name[1]]), "; import %q%s\n\nvar _ time.Time\n", module+"/turned", source[name[1]:]))
	}
	if often != 1 {
		t.Fatalf("the source says %q %d times, want once", looksEach, often)
	}
	put(filepath.Join(strings.TrimSpace(string(root)), "turned", "turned.go"), []byte(turnedSource))
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	as, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "holdgate")
	if err := os.WriteFile(as, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-overlay", as, "-o", program, main).CombinedOutput(); err != nil {
		t.Fatalf("building with a clock that can be turned: %v\n%s", err, out)
	}
	return program
}

// A clockFile is what turns a program's clock.
type clockFile struct {
	t    *testing.T
	path string
}

// turn sets the program's clock this far from the real one.
func (c clockFile) turn(by time.Duration) {
	c.t.Helper()
	text := fmt.Sprint(int64(by / time.Second))
	if err := os.WriteFile(c.path+".new", []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
	if err := os.Rename(c.path+".new", c.path); err != nil {
		c.t.Fatal(err)
	}
}

// clockPolicy holds every command, for ten minutes.
const clockPolicy = `package holdgate

import rego.v1

default decision := {"action": "allow", "rule": "clock.rest"}

decision := {"action": "hold", "rule": "clock.held", "risk": "low", "hold": {"timeout": "10m"}} if {
	input.tool.name == "Bash"
}
`

// A clock that is set forward ends what waits and what was granted, and one that
// is set back brings nothing to life: no call goes on that nobody approved.
func TestAClockThatJumpsLetsNothingThrough(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program once more")
	}
	t.Parallel()
	program := turnedProgram(t)
	clock := clockFile{t, filepath.Join(t.TempDir(), "clock")}
	clock.turn(0)
	p := newProvider(t)
	s := serveProgram(t, program, t.TempDir(), stateDir(t), []string{"HOLDGATE_TEST_CLOCK=" + clock.path},
		"--policy", write(t, "clock.rego", clockPolicy), "--upstream", "anthropic="+p.URL)
	const granted = "echo granted"
	ask := func(command string) <-chan string {
		answer := make(chan string, 1)
		go func() { answer <- askTurn(s, command) }()
		return answer
	}
	// refused reports that an answer came, and that its call did not.
	refused := func(answer <-chan string, command string) {
		t.Helper()
		select {
		case got := <-answer:
			if strings.Contains(got, `"tool_use"`) || !strings.Contains(got, "[holdgate]") {
				t.Errorf("%s should be refused:\n%s", command, got)
			}
		case <-time.After(patience):
			t.Errorf("%s has no answer", command)
		}
	}
	passed := func(answer <-chan string, command string) {
		t.Helper()
		select {
		case got := <-answer:
			if !strings.Contains(got, `"tool_use"`) {
				t.Errorf("%s should go on:\n%s", command, got)
			}
		case <-time.After(patience):
			t.Errorf("%s has no answer", command)
		}
	}

	first := ask(granted)
	s.answer(s.held(granted).ID, "approve", "--remember", "exact", "--for", "30m")
	passed(first, granted)
	passed(ask(granted), granted+", which was granted")
	forward := ask("echo forward")
	waiting := s.held("echo forward")

	clock.turn(2 * time.Hour)
	again := ask(granted)
	asked := s.held(granted) // the grant is over
	until(t, "the call that waits to expire", func() bool {
		return parse[request](t, s.must("show", waiting.ID, "--json")).Status == "expired"
	})
	refused(forward, "a call whose time a clock ended")

	clock.turn(-48 * time.Hour)
	// The grant is of a time to come, and so is the question: neither counts more than before.
	yesterday := ask("echo yesterday")
	held := s.held("echo yesterday")
	if got := parse[request](t, s.must("show", waiting.ID, "--json")).Status; got != "expired" {
		t.Errorf("the expired call is %s once the clock was set back", got)
	}
	if got := parse[request](t, s.must("show", asked.ID, "--json")).Status; got != "pending" {
		t.Errorf("the call whose grant is over is %s", got)
	}
	s.answer(held.ID, "approve")
	passed(yesterday, "a call that a person approved on a clock that was set back")
	s.must("deny", asked.ID, "--reason", "no")
	refused(again, granted+" after the grant")
	last := ask(granted)
	s.must("deny", s.held(granted).ID, "--reason", "no")
	refused(last, granted+" before the grant")
	s.must("audit", "verify")
}

// askTurn is a streamed turn in which the model wants a command, read to its end.
func askTurn(s *sidecar, command string) string {
	resp, err := http.Post(s.base("anthropic")+"/v1/messages", "application/json", bytes.NewReader(turn("run: "+command, agentKind{stream: true})))
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
