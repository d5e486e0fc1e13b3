package proxytest

import (
	"encoding/json"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/agents"
)

// Edit answers a request with other arguments.
func (g *Sidecar) Edit(r approvals.Request, by, arguments, text string) {
	g.T.Helper()
	_, err := g.Queue.Decide(g.T.Context(), r.ID, approvals.Vote{
		Decision: holdgate.AnswerEdit, By: by, Channel: "cli", Digest: r.Call.Digest, Arguments: json.RawMessage(arguments), Reason: text,
	})
	Must(g.T, err)
}

// ApproveAndRemember approves what waits, and has it remembered.
func (g *Sidecar) ApproveAndRemember(m approvals.Remember) {
	g.T.Helper()
	r := g.Pending(1)[0]
	_, err := g.Queue.Decide(g.T.Context(), r.ID, approvals.Vote{
		Decision: holdgate.AnswerApprove, By: "ann", Channel: "cli", Assurance: "local", Digest: r.Call.Digest, Remember: &m,
	})
	Must(g.T, err)
}

// Intervene pauses, stops or resumes an agent in ann's name.
func (g *Sidecar) Intervene(agent string, a agents.Action) {
	g.T.Helper()
	g.T.Logf("%s %q", a, agent)
	_, err := g.Queue.Agents.Intervene(g.T.Context(), agent, agents.Intervention{Action: a, Reason: "too fast", By: "ann"})
	Must(g.T, err)
}
