// Package hook is `holdgate hook run`: what coding agents start before each tool call.
// It passes what the agent tells it on to the sidecar's door for agents, waits for the
// answer, and ends as the agent's hooks end: with exit code 0 where the call goes on,
// and with 2 and the reason on standard error where it does not. At other events it decides
// nothing by itself: where the sidecar cannot be asked, it says nothing and ends with 0.
//
// An agent waits for it at every call, so it starts first of all: this package imports
// little, and does its work while the program is initialised, before the packages that
// take long. The sidecar does everything else, the reading too.
package hook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/holdgate/holdgate/proxy/hookproof"
	"github.com/holdgate/holdgate/proxy/trace/environ"
)

// EnvAgents names the agents' door, as HOST:PORT. `holdgate run` sets it.
const EnvAgents = "HOLDGATE_AGENTS"

// DefaultDoor is where the agents' door is if nothing says otherwise.
const DefaultDoor = "127.0.0.1:7300"

// Exit codes, as agents read them.
const (
	exitGoesOn  = 0
	exitRefused = 2
)

const (
	maxTold    = 8 << 20         // bytes that an agent may tell, as the door has it
	maxAnswer  = 16 << 20        // bytes of the sidecar's answer
	maxWait    = 5 * time.Minute // that the door waits in one request
	dialing    = 5 * time.Second
	slack      = 30 * time.Second // in which the door answers besides the wait
	retryEvery = 200 * time.Millisecond
	// patience is how long a sidecar is waited for that is being replaced, less than an
	// agent waits for a hook besides the people ([install]); it is
	// firstPatience where it has not been there at all.
	patience      = 20 * time.Second
	firstPatience = time.Second
	// reporting is how long what only tells of something waits for the sidecar.
	reporting = 5 * time.Second
)

func init() {
	if a := os.Args; len(a) > 2 && a[1] == "hook" && a[2] == "run" && !slices.ContainsFunc(a, func(s string) bool { return s == "-h" || s == "--help" }) {
		os.Exit(Run(a[3:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
	}
}

// Options are what the command line says.
type Options struct {
	Agent    string        // the agent's program
	Door     string        // HOST:PORT
	Else     string        // the door where nobody listens at Door: of the environment; empty: none
	Wait     time.Duration // how long people are waited for
	FailOpen bool          // a call goes on where the sidecar cannot be reached
	// KeyFile has the key by which the sidecar proves itself; empty: any answer counts.
	KeyFile string

	at     moment
	slack  time.Duration // in which the door answers besides the wait
	env    string        // the door that the environment names
	getenv func(string) string
	key    []byte
}

// shorter is how long people are waited for at most where the agent runs the call after a time
// that no setting changes, as package proxy/hook has it. A hook that was installed before that
// was known says more.
var shorter = map[string]time.Duration{"qwen": 35 * time.Second, "cline": time.Minute}

// shortSlack is in the place of slack there.
const shortSlack = 10 * time.Second

// parse reads the command line: AGENT, and flags as --name VALUE or --name=VALUE.
func parse(args []string, getenv func(string) string) (o Options, err error) {
	o = Options{Wait: 10 * time.Minute, getenv: getenv}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		name, value, whole := strings.Cut(arg, "=")
		if !strings.HasPrefix(arg, "--") {
			if o.Agent != "" {
				return o, fmt.Errorf("one agent is enough, got %q too", arg)
			}
			o.Agent = arg
			continue
		}
		if !whole {
			if len(args) == 0 {
				return o, fmt.Errorf("%s needs a value", name)
			}
			value, args = args[0], args[1:]
		}
		switch name {
		case "--agents":
			o.Door = value
		case "--key":
			o.KeyFile = value
		case "--wait":
			if o.Wait, err = time.ParseDuration(value); err != nil || o.Wait < 0 {
				return o, fmt.Errorf("--wait %q is no time such as 10m", value)
			}
		case "--fail":
			if value != "open" && value != "closed" {
				return o, fmt.Errorf("--fail is open or closed, not %q", value)
			}
			o.FailOpen = value == "open"
		default:
			return o, fmt.Errorf("unknown flag %s", name)
		}
	}
	if o.Agent == "" || strings.ContainsFunc(o.Agent, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return o, errors.New("name the agent: holdgate hook run claude")
	}
	// The settings of the agent's user come first. In a sandbox their door is not there, and
	// the environment names the one that is.
	o.env = strings.TrimPrefix(getenv(EnvAgents), "http://")
	o.slack = slack
	if most, is := shorter[o.Agent]; is {
		o.Wait, o.slack = min(o.Wait, most), shortSlack
	}
	o.Door, o.Else = strings.TrimPrefix(o.Door, "http://"), o.env
	if o.Door == "" {
		o.Door, o.Else = cmp.Or(o.Else, DefaultDoor), ""
	}
	return o, o.readKey()
}

// Run runs the hook with what stands behind `hook run`, and returns its exit code.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	told, readErr := io.ReadAll(io.LimitReader(stdin, maxTold+1))
	o, err := parse(args, getenv)
	o.at = momentOf(told)
	refuse := func(why string) int { return o.refuse(why, stdout, stderr) }
	if err != nil {
		return refuse("[holdgate] This call was not run: the hook is not set up well: " + err.Error())
	}
	if readErr != nil || len(told) > maxTold {
		return refuse("[holdgate] This call was not run: what the agent told its hook cannot be read, or is too large.")
	}
	v, err := o.ask(told)
	switch {
	case o.at == deciding && unreached(err) && o.FailOpen && noteLapse() == nil:
		v.Output = spoken[o.Agent].allow
	case err != nil:
		return refuse("[holdgate] This call was not run: Holdgate, which decides about it, cannot be asked (" + err.Error() +
			"). Tell the user to look whether it runs (holdgate serve, holdgate doctor), and call again then.")
	case v.Status != "approved" && (o.at == deciding || v.Output == ""):
		return refuse(v.Text)
	}
	if _, err := io.WriteString(stdout, v.Output); err != nil {
		return refuse("[holdgate] This call was not run: the agent does not read what its hook says.")
	}
	return exitGoesOn
}

// spoken is what agents read on standard output, where they go by that and not by exit
// codes.
var spoken = map[string]struct {
	allow  string
	goOn   string // at other events than before a call
	refuse func(why string) any
}{
	"cursor": {`{"permission":"allow"}`, `{"continue":true}`, func(why string) any {
		return map[string]string{"permission": "deny", "user_message": why, "agent_message": why}
	}},
	"cline": {`{"cancel":false}`, `{"cancel":false}`, func(why string) any { return map[string]any{"cancel": true, "errorMessage": why} }},
}

// refuse tells the agent that the call does not run, and returns the exit code. At any other
// event it leaves the agent to itself.
func (o Options) refuse(why string, stdout, stderr io.Writer) int {
	if o.at != deciding {
		fmt.Fprintln(stderr, strings.Replace(why, "This call was not run", "Holdgate was not told of this", 1))
		_, _ = io.WriteString(stdout, spoken[o.Agent].goOn) // an agent that does not read it goes on
		return exitGoesOn
	}
	if said, is := spoken[o.Agent]; is {
		text, err := json.Marshal(said.refuse(why))
		if err == nil {
			_, err = fmt.Fprintf(stdout, "%s\n", text)
		}
		if err == nil {
			return exitGoesOn // the agent reads what it says, and not the code
		}
	}
	fmt.Fprintln(stderr, why)
	return exitRefused
}

// A verdict is the answer of the agents' API.
type verdict struct {
	Status, Text, Output string
}

// An unreachedError says that no sidecar answered.
type unreachedError struct {
	err error
	was bool // it took the connection, and went
}

func (e *unreachedError) Error() string { return e.err.Error() }

func unreached(err error) bool {
	_, ok := errors.AsType[*unreachedError](err)
	return ok
}

// wasThere reports whether a sidecar that has not answered had taken the connection.
func wasThere(err error) bool {
	e, ok := errors.AsType[*unreachedError](err)
	return ok && e.was
}

// ask asks the sidecar until the call is decided or the time is over. One that has gone
// may start anew meanwhile: the same call again picks up what waits.
func (o Options) ask(told []byte) (v verdict, err error) {
	if o.at == telling {
		return o.post(told, 0, 0)
	}
	until := time.Now().Add(o.Wait)
	lost, bearing := time.Now(), firstPatience
	for {
		lapses := takeLapses()
		began := time.Now()
		v, err = o.post(told, min(max(time.Until(until), 0), maxWait), lapses)
		if err != nil {
			putBack(lapses)
		}
		switch {
		case unreached(err):
			if time.Since(began) > retryEvery || wasThere(err) && bearing < patience { // it went while people were asked
				lost, bearing = time.Now(), patience
			}
			if time.Since(lost) > bearing || time.Since(until) > o.slack {
				return v, err
			}
			time.Sleep(retryEvery)
		case err != nil || v.Status != "pending" || time.Until(until) <= 0:
			return v, err
		default:
			lost, bearing = time.Now(), patience
			if time.Since(began) < retryEvery { // the sidecar is about to end, or the agent is paused
				time.Sleep(retryEvery)
			}
		}
	}
}

// post asks once. It speaks HTTP by hand: the package for it takes as long to be
// initialised as all the rest of a hook.
func (o Options) post(told []byte, wait time.Duration, lapses int64) (v verdict, err error) {
	door := o.Door
	conn, err := net.DialTimeout("tcp", door, dialing)
	if errors.Is(err, syscall.ECONNREFUSED) && o.Else != "" {
		door = o.Else
		conn, err = net.DialTimeout("tcp", door, dialing)
	}
	if err != nil {
		return v, away(err)
	}
	defer conn.Close()
	deadline := time.Now().Add(wait + o.slack)
	if o.at == telling {
		deadline = time.Now().Add(reporting)
	}
	if err := conn.SetDeadline(deadline); err != nil {
		return v, away(err)
	}
	query := "?wait=" + wait.String()
	if lapses > 0 {
		query += "&lapsed=" + strconv.FormatInt(lapses, 10)
	}
	nonce := hookproof.NewNonce()
	trace := ""
	environ.Tell(o.getenv, func(name, value string) { trace += name + ": " + value + "\r\n" })
	head := "POST /v1/hooks/" + o.Agent + query + " HTTP/1.1\r\nHost: " + door + "\r\n" + hookproof.HeaderNonce + ": " + nonce +
		"\r\n" + trace + "Content-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(told)) + "\r\nConnection: close\r\n\r\n"
	if _, err := conn.Write(append([]byte(head), told...)); err != nil {
		return v, gone(err)
	}
	answer, err := io.ReadAll(io.LimitReader(conn, maxAnswer))
	if err != nil || len(answer) == 0 {
		return v, gone(errors.Join(err, errors.New("the sidecar has gone")))
	}
	if v, err = read(answer); err == nil {
		err = o.proven(door, nonce, told, answer, v)
	}
	return v, err
}

// away is that nobody answered. A sidecar that is there and hangs is not away: whoever
// could stop it would else let calls go on.
func away(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("it does not answer in time: %w", err)
	}
	return &unreachedError{err: err}
}

// gone is that a sidecar took the connection and did not answer.
func gone(err error) error {
	err = away(err)
	if e, ok := errors.AsType[*unreachedError](err); ok {
		e.was = true
	}
	return err
}

// read reads an answer of the door: a verdict, or a problem document.
func read(answer []byte) (v verdict, err error) {
	head, body, whole := bytes.Cut(answer, []byte("\r\n\r\n"))
	line, _, _ := bytes.Cut(head, []byte("\r\n"))
	fields := strings.Fields(string(line))
	if !whole || len(fields) < 2 || !strings.HasPrefix(fields[0], "HTTP/1.") {
		return v, errors.New("what answers there speaks no HTTP")
	}
	if fields[1] == "200" {
		if err := json.Unmarshal(body, &v); err != nil || v.Status == "" {
			return v, errors.New("its answer cannot be read")
		}
		return v, nil
	}
	var problem struct{ Detail string }
	if json.Unmarshal(body, &problem) == nil && problem.Detail != "" {
		return v, errors.New(problem.Detail)
	}
	return v, errors.New("it answered with status " + fields[1])
}
