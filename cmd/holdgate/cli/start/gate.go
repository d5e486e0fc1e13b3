package start

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/cmd/holdgate/launch"
	"github.com/holdgate/holdgate/proxy/agentapi"
	"github.com/holdgate/holdgate/proxy/trace/environ"
)

// envSession is the variable under which an agent's scripts find the name of their
// session. That of the agents' door is [launch.EnvAgents].
const envSession = "HOLDGATE_SESSION"

// gateCommand asks to pass a gate, from an agent's script.
func gateCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "gate",
		UsageText: "holdgate gate before_deploy --message \"Version 2.1 to production\"",
		Usage:     "ask people to pass a gate, from a script, and wait for the answer",
		ArgsUsage: "TYPE",
		Description: "TYPE is a gate such as before_commit, or a name of your own. It asks at the agents'\n" +
			"door and needs no token. The exit code is 0 where the answer is yes, 3 where it is\n" +
			"no or nobody answered in time, 5 where people want something else, which is printed.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "message", Aliases: []string{"m"}, Usage: "the `TEXT` that people are asked"},
			&cli.StringSliceFlag{Name: "context", Usage: "what people should see, as `NAME=TEXT`, or NAME=@FILE (@- is stdin): plan, diff, tests, review; repeatable"},
			&cli.StringSliceFlag{Name: "option", Usage: "an answer to choose, as `ID` or ID=LABEL; repeatable"},
			&cli.StringSliceFlag{Name: "artifact", Usage: "a file or other thing that it is about; repeatable"},
			&cli.DurationFlag{Name: "timeout", Usage: "how long people may take, where the configuration does not say"},
			&cli.BoolFlag{Name: "wait", Value: true, Usage: "wait for the answer; --wait=false prints the gate, and its exit code is 4"},
			&cli.StringFlag{Name: "agents", Usage: "the agents' door, as `HOST:PORT` (environment: " + launch.EnvAgents + "; else of the configuration)"},
			&cli.StringFlag{Name: "session", Usage: "the session's `NAME` (environment: " + envSession + ")"},
			command.JSONFlag(),
		},
		Action: e.gate,
	}
}

func (e *env) gate(c *cli.Context) error {
	if c.NArg() != 1 {
		return command.Usage("gate takes one type of gate, such as before_commit")
	}
	door, err := e.findAgentsAPI(c)
	if err != nil {
		return err
	}
	ask, err := e.askedGate(c)
	if err != nil {
		return err
	}
	var g agentapi.Gate
	if err := door.send(c.Context, http.MethodPost, "/v1/gates", ask, &g); err != nil {
		return refusedByDoor(err)
	}
	if g.Status == holdgate.StatusPending && c.Bool("wait") && !c.Bool("json") {
		fmt.Fprintf(e.Stderr, "waiting for a person to answer %s (%s)\n", g.ID, holdgate.Visible(g.Type))
	}
	for g.Status == holdgate.StatusPending && c.Bool("wait") {
		if err := door.send(c.Context, http.MethodGet, "/v1/gates/"+url.PathEscape(g.ID)+"?wait=60s", nil, &g); err != nil {
			return refusedByDoor(err)
		}
	}
	if c.Bool("json") {
		err = command.PrintJSON(e.Stdout, g)
	} else if g.Status == holdgate.StatusPending {
		_, err = fmt.Fprintln(e.Stdout, g.ID)
	} else {
		for line := range strings.SplitSeq(strings.TrimSuffix(g.Text, "\n"), "\n") {
			if _, err = fmt.Fprintln(e.Stdout, holdgate.Visible(line)); err != nil {
				break
			}
		}
	}
	if code := gateCode(g.Status); err == nil && code != command.ExitDone {
		err = &command.Exit{Code: code}
	}
	return err
}

// gateCode is the exit code for a gate. What is not approved never passes.
func gateCode(s holdgate.Status) int {
	switch s {
	case holdgate.StatusApproved:
		return command.ExitDone
	case holdgate.StatusPending:
		return command.ExitNothing
	case holdgate.StatusSteered:
		return command.ExitSteered
	}
	return command.ExitDenied
}

// askedGate is what the command line asks for.
func (e *env) askedGate(c *cli.Context) (agentapi.GateRequest, error) {
	ask := agentapi.GateRequest{Type: c.Args().First(), Message: c.String("message"), Artifacts: c.StringSlice("artifact")}
	if t := c.Duration("timeout"); t > 0 {
		d := agentapi.Duration(t)
		ask.Timeout = &d
	}
	for _, o := range c.StringSlice("option") {
		id, label, _ := strings.Cut(o, "=")
		ask.Options = append(ask.Options, agentapi.Option{ID: id, Label: label})
	}
	shown := map[string]string{}
	for _, v := range c.StringSlice("context") {
		name, text, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			return ask, command.Usage("--context %q: want NAME=TEXT or NAME=@FILE", v)
		}
		if file, isFile := strings.CutPrefix(text, "@"); isFile {
			b, err := e.ReadInput(file)
			if err != nil {
				return ask, err
			}
			text = string(b)
		}
		shown[name] = strings.ToValidUTF8(text, "\uFFFD")
	}
	if len(shown) > 0 {
		b, err := json.Marshal(shown)
		if err != nil {
			return ask, fmt.Errorf("writing the context: %w", err)
		}
		ask.Context = b
	}
	return ask, nil
}

// An agentsAPI is the agents' API as a script knocks at it.
type agentsAPI struct {
	base, session string
	trace         http.Header
	http          *http.Client
}

// traceHeader is the trace in which this process was started, if it was in one.
func (e *env) traceHeader() http.Header {
	h := http.Header{}
	environ.Tell(e.Getenv, h.Set)
	return h
}

// findAgentsAPI finds the agents' door. Nothing but loopback is asked directly: no
// proxy of the environment leads there.
func (e *env) findAgentsAPI(c *cli.Context) (*agentsAPI, error) {
	addr := c.String("agents")
	if addr == "" {
		addr = e.Getenv(launch.EnvAgents)
	}
	if addr == "" {
		addr = e.agentsProxy(c.Context)
	}
	if addr == "" {
		s, err := e.Settings(c)
		if err != nil {
			return nil, err
		}
		addr = s.Listen.Agents
	}
	session := c.String("session")
	if session == "" {
		session = e.Getenv(envSession)
	}
	return &agentsAPI{base: "http://" + strings.TrimPrefix(addr, "http://"), session: session, trace: e.traceHeader(),
		http: &http.Client{Transport: &http.Transport{}, Timeout: 2 * time.Minute}}, nil
}

// agentsProxy is the agents' door as holdgate run names it to what it runs: the
// HTTP proxy of the environment, where that is one.
func (e *env) agentsProxy(ctx context.Context) string {
	u, err := url.Parse(e.Getenv("HTTP_PROXY"))
	if err != nil || u.Host == "" || u.Scheme != "http" {
		return ""
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err != nil || !ip.IsLoopback() {
		return ""
	}
	d := &agentsAPI{base: "http://" + u.Host, http: &http.Client{Transport: &http.Transport{}, Timeout: 5 * time.Second}}
	var document struct {
		Info struct{ Title string } `json:"info"`
	}
	if d.send(ctx, http.MethodGet, "/v1/openapi.json", nil, &document) != nil || document.Info.Title != agentapi.Title {
		return ""
	}
	return u.Host
}

// send asks the door. An error may be an [*agentapi.Problem].
func (d *agentsAPI) send(ctx context.Context, method, path string, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return fmt.Errorf("writing what is asked: %w", err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, d.base+path, bytes.NewReader(body))
	if err != nil {
		return command.Usage("the agents' door %q is no address: %v", d.base, err)
	}
	maps.Copy(req.Header, d.trace)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if d.session != "" {
		req.Header.Set("X-Session-Id", d.session)
	}
	resp, err := d.http.Do(req)
	if err != nil {
		return &command.Exit{Code: command.ExitFailed, Text: "the agents' door does not answer: " + err.Error(), Hint: "is holdgate serve running? name its door with --agents or " + launch.EnvAgents}
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 4<<20))
	if err != nil {
		return fmt.Errorf("reading the answer of the agents' door: %w", err)
	}
	if resp.StatusCode/100 == 2 {
		if err := json.Unmarshal(answer, out); err != nil {
			return fmt.Errorf("reading the answer of the agents' door: %w", err)
		}
		return nil
	}
	var p agentapi.Problem
	if json.Unmarshal(answer, &p) != nil || p.Detail == "" {
		return fmt.Errorf("the agents' door answered %s", resp.Status)
	}
	return &p
}

// refusedByDoor is what a command makes of the door's refusal.
func refusedByDoor(err error) error {
	p, ok := errors.AsType[*agentapi.Problem](err)
	switch {
	case !ok:
		return err
	case p.Status == http.StatusBadRequest:
		return command.Usage("%s", p.Detail)
	}
	return &command.Exit{Code: command.ExitFailed, Text: p.Detail}
}
