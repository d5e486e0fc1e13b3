package approvals

import (
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/grants"
	"github.com/holdgate/holdgate/approvals/quota"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/approvals/tracks"
)

// What requests are made of, as people see them: see package record.
type (
	// A Request is a held call as people see it.
	Request = record.Request
	// A Vote is one person's answer to a request.
	Vote = record.Vote
	// Remember asks that an approval also stands for calls to come.
	Remember = record.Remember
	// A Claim says that somebody is looking at a request.
	Claim = record.Claim
	// A Deferral says that somebody does not want to be shown a request now.
	Deferral = record.Deferral
	// CallView is the call of a request.
	CallView = record.CallView
	// ToolView is a tool call as a request shows it.
	ToolView = record.ToolView
	// GateView is a gate as a request shows it.
	GateView = record.GateView
	// ResultView is a result as a request shows it.
	ResultView = record.ResultView
	// Similar is what became of calls of one shape.
	Similar = record.Similar
	// Caller is who makes an exchange, and through which door.
	Caller = record.Caller
	// AgentRef names an agent and says how far the name can be trusted.
	AgentRef = record.AgentRef
	// Ref names something by its id.
	Ref = record.Ref
	// A Grant is a standing approval.
	Grant = grants.Grant
	// An AgentStatus says whether an agent may go on, and who said so.
	AgentStatus = agents.Status
	// A Session is one as people see it.
	Session = tracks.Session
	// Limits bound what one agent may have in the queue.
	Limits = quota.Limits
	// A QuotaError says that an agent has as much in the queue as it may.
	QuotaError = quota.Error
	// EventType says what happened to a request.
	EventType = record.EventType
)
