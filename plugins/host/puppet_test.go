package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// script is what a puppet does: its configuration.
type script struct {
	Report    string        `json:"report"` // the socket on which it reports
	Name      string        `json:"name"`
	Assurance sdk.Assurance `json:"assurance"`
	Forgets   bool          `json:"forgets"`
	// Answers are given to each notice, in order, and their verdicts reported.
	Answers []string `json:"answers"`
	// Notify is what happens when it is told of a request whose summary
	// contains On (which is empty: of any).
	Notify string `json:"notify"`
	On     string `json:"on"`
	// Start is what happens when it is configured.
	Start string `json:"start"`
}

// A puppet is a channel in a process of its own that follows a script.
type puppet struct {
	log    *slog.Logger
	script script

	mu      sync.Mutex
	conn    net.Conn
	asked   chan sdk.Notice
	failing int
}

var _ sdk.Newscaster = (*puppet)(nil)

func (p *puppet) Info() sdk.Info {
	i := sdk.Info{Name: "puppet", Assurance: sdk.Local, Forgets: true}
	// What is in the script is not known yet: so the arguments say it.
	for _, a := range os.Args[2:] {
		switch a {
		case "text":
			i.Assurance = sdk.Text
		case "unknown-assurance":
			i.Assurance = 9
		case "remembers":
			i.Forgets = false
		case "able":
			i.Edits, i.Claims, i.Sees = true, true, true
		}
	}
	return i
}

func (p *puppet) Configure(_ context.Context, config []byte) error {
	if err := sdk.Decode(config, &p.script); err != nil {
		return err
	}
	conn, err := net.Dial("unix", p.script.Report)
	if err != nil {
		return err
	}
	p.conn, p.asked = conn, make(chan sdk.Notice, 100)
	p.report(report{What: "configured", Env: os.Environ()})
	switch p.script.Start {
	case "refuse":
		return errors.New("this\x1b[2J cannot work")
	case "child":
		if err := exec.Command("sleep", "300").Start(); err != nil {
			return err
		}
		os.Exit(4)
	case "garbage":
		fmt.Fprintln(os.NewFile(2, "stderr"), `{"@message": 1, "@level": [], "@timestamp": {}}`)
		fmt.Fprintln(os.NewFile(2, "stderr"), "\x1b]0;owned\x07 \u202e")
		fmt.Fprintln(os.NewFile(2, "stderr"), strings.Repeat("x", 1<<20))
	}
	return nil
}

func (p *puppet) Notify(ctx context.Context, n sdk.Notice) error {
	p.report(report{What: "notify", Notice: n})
	if strings.Contains(n.Summary, p.script.On) {
		switch p.script.Notify {
		case "panic":
			panic("on purpose")
		case "exit":
			os.Exit(3)
		case "hang":
			select {} // whatever the context says
		case "fail twice":
			if p.failing++; p.failing <= 2 {
				return errors.New("the line is\nbusy")
			}
		case "never":
			return sdk.Permanent(errors.New("no such room"))
		}
	}
	p.asked <- n
	return nil
}

func (p *puppet) Update(_ context.Context, n sdk.Notice) error {
	p.report(report{What: "update", Notice: n})
	return nil
}

// Tell makes every puppet a newscaster.
func (p *puppet) Tell(_ context.Context, n sdk.News) error {
	p.report(report{What: "news", News: n})
	return nil
}

func (p *puppet) Health(context.Context) error { return nil }

func (p *puppet) Answers(ctx context.Context, answer sdk.Answerer) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case n := <-p.asked:
			for _, lie := range p.script.Answers {
				p.give(ctx, n, lie, answer)
			}
		}
	}
}

// give answers in one way.
func (p *puppet) give(ctx context.Context, n sdk.Notice, lie string, answer sdk.Answerer) {
	a := n.Answer(sdk.Approve, "ada")
	times := 1
	switch lie {
	case "approve":
	case "approve by text":
		a.Assurance = sdk.Text
	case "approve by more":
		a.Assurance = sdk.Local
	case "approve by what is not known":
		a.Assurance = -7
	case "deny by text":
		a.Decision, a.Assurance = sdk.Deny, sdk.Text
	case "deny":
		a.Decision, a.Reason = sdk.Deny, "not today"
	case "steer":
		a.Decision, a.Instructions = sdk.Steer, "use the trash"
	case "steer without words":
		a.Decision = sdk.Steer
	case "unknown request":
		a.ID = "aaaa-bbbb-cccc-dddd"
	case "no nonce":
		a.Nonce = ""
	case "another nonce":
		a.Nonce = strings.Repeat("A", len(n.Nonce))
	case "another digest":
		a.Digest = strings.Repeat("0", 64)
	case "nobody":
		a.By = " "
	case "hidden name":
		a.By = "ada\u202e"
	case "edit":
		a.Decision = "edit"
	case "edit to a folder":
		a.Decision, a.Arguments = sdk.Edit, `{"command": "rm -r build/tmp"}`
	case "edit to what it is":
		a.Decision, a.Arguments = sdk.Edit, n.Editable
	case "edit to a list":
		a.Decision, a.Arguments = sdk.Edit, `["rm"]`
	case "claim", "unclaim", "seen":
		a.Decision = lie
	case "claim as bob":
		a.Decision, a.By = sdk.Claim, "bob"
	case "policy":
		a.By = "policy"
	case "huge":
		a.Instructions = string(bytes.Repeat([]byte("x"), 10<<20))
	case "flood":
		a.Nonce, times = "flood", answers+answerRate
	}
	for range times {
		status, err := answer(ctx, a)
		r := report{What: "verdict", Lie: lie, Status: status, Notice: n}
		if err != nil {
			r.Err = err.Error()
			var refused *sdk.Refused
			if !errors.As(err, &refused) {
				r.Err = "not refused: " + r.Err
			}
		}
		p.report(r)
	}
}

func (p *puppet) report(r report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r.Name, r.Pid = p.script.Name, os.Getpid()
	line, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	_, _ = p.conn.Write(append(line, '\n'))
}
