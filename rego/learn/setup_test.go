package learn_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/rego/learn"
	"github.com/holdgate/holdgate/store/audit"
)

// A recorder is an audit log in memory, written as the sidecar writes it: by a
// real policy's decisions.
type recorder struct {
	t       testing.TB
	engine  *rego.Engine
	entries []audit.Entry
	at      time.Time
}

func record(t testing.TB, files map[string]string) *recorder {
	t.Helper()
	return &recorder{t: t, engine: policy(t, files), at: time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)}
}

// policy is the shipped pack under these files.
func policy(t testing.TB, files map[string]string) *rego.Engine {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := rego.Options{KeepSeen: true, Timeout: 30 * time.Second}
	if len(files) > 0 {
		o.Path = dir
	}
	e, err := rego.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close(context.WithoutCancel(t.Context())) })
	return e
}

const folder = "/home/ann/project"

func tool(name, arguments string) rego.Input {
	return rego.Input{Dir: folder, Home: "/home/ann", Call: holdgate.Call{
		Kind: holdgate.KindToolCall, Agent: holdgate.Agent{ID: "coder", Proven: true}, Session: holdgate.Session{ID: "s1"},
		Tool: &holdgate.Tool{Name: name, Arguments: json.RawMessage(arguments)},
	}}
}

func writes(path string) rego.Input {
	return tool("Write", fmt.Sprintf(`{"content":"x","file_path":%q}`, path))
}

// decide records a call as policy decides it.
func (r *recorder) decide(in rego.Input) audit.Entry {
	r.at = r.at.Add(time.Minute)
	in.Call.Time = r.at
	return r.put(in.Call, r.engine.Decide(r.t.Context(), in))
}

func (r *recorder) put(c holdgate.Call, d holdgate.Decision) audit.Entry {
	n := audit.Entry{Type: audit.TypeDecision, Seq: uint64(len(r.entries) + 1), Time: r.at, Door: c.Door, Seen: d.Seen,
		Call:     &audit.Call{Agent: c.Agent.ID, Session: c.Session.ID, Kind: c.Kind},
		Decision: &audit.Decision{Action: d.Action, Rule: d.Rule, Reason: d.Reason, Risk: d.Risk, Revision: d.Revision, Would: d.Would}}
	switch {
	case c.Tool != nil:
		n.Call.Tool, n.Input = &audit.Tool{Name: c.Tool.Name, Server: c.Tool.Server}, c.Tool.Arguments
	case c.Model != nil:
		n.Call.Model = c.Model.Name
	case c.MCP != nil:
		n.Call.MCP = c.MCP.Server + " " + c.MCP.Method
	case c.HTTP != nil:
		n.Call.HTTP = c.HTTP.Method + " " + c.HTTP.Host + c.HTTP.Path
	}
	if d.Action == holdgate.Hold {
		n.RequestID = fmt.Sprintf("r%d", n.Seq)
	}
	r.entries = append(r.entries, n)
	return n
}

// ends records the outcome of what was asked.
func (r *recorder) ends(n audit.Entry, a holdgate.Answer, by string) {
	r.at = r.at.Add(time.Second)
	r.entries = append(r.entries, audit.Entry{Type: audit.TypeOutcome, Seq: uint64(len(r.entries) + 1), Time: r.at, RequestID: n.RequestID,
		Outcome: &holdgate.Outcome{Decision: a, By: by, At: r.at}})
}

func (r *recorder) log() learn.Log {
	return func(_ context.Context, fn func(audit.Entry) error) error {
		for _, n := range r.entries {
			if err := fn(n); err != nil {
				return err
			}
		}
		return nil
	}
}
