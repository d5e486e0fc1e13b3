package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/proxy/agentapi"
)

// Gates that agents open by asking.
const (
	gateApproval = "approval"
	gateQuestion = "question"
)

type (
	approvalIn struct {
		Summary   string            `json:"summary" jsonschema:"what you want to do, in a sentence or two for a person"`
		Context   map[string]string `json:"context,omitempty" jsonschema:"what the person should see, by title, such as plan, diff, tests or risks"`
		Artifacts []string          `json:"artifacts,omitempty" jsonschema:"files and other things that it is about"`
	}
	questionIn struct {
		Question string            `json:"question" jsonschema:"the question, for a person who does not see your work"`
		Options  []string          `json:"options,omitempty" jsonschema:"answers to choose from; without any the answer is yes or no"`
		Context  map[string]string `json:"context,omitempty" jsonschema:"what the person should see, by title"`
	}
	gateIn struct {
		Type      string            `json:"type" jsonschema:"the gate's name, such as before_commit"`
		Message   string            `json:"message,omitempty" jsonschema:"what the person is asked"`
		Context   map[string]string `json:"context,omitempty" jsonschema:"what the person should see, by title: plan, diff, tests, review"`
		Artifacts []string          `json:"artifacts,omitempty" jsonschema:"files and other things that it is about"`
	}
	confidenceIn struct {
		Score        float64                `json:"score" jsonschema:"how sure you are that the work is right: from 0 to 1, or from 0 to 100"`
		Task         string                 `json:"task_id,omitempty" jsonschema:"the task that it is about"`
		Reasons      []string               `json:"reasons,omitempty" jsonschema:"why"`
		Verification *sessions.Verification `json:"verification,omitempty" jsonschema:"what you checked"`
		Retries      *sessions.Retries      `json:"retries,omitempty" jsonschema:"how often you tried"`
	}
	contextIn struct {
		Tool      string         `json:"tool,omitempty" jsonschema:"a tool that you think of calling: the answer says what policy would decide"`
		Server    string         `json:"server,omitempty" jsonschema:"the MCP server that has the tool, if one does"`
		Arguments map[string]any `json:"arguments,omitempty" jsonschema:"the arguments of that call"`
	}
	messagesIn struct {
		After uint64 `json:"after,omitempty" jsonschema:"the seq of the last message that you have seen"`
	}
	nothingIn struct{}
)

func (s *Server) addTools() {
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	add(s, "request_approval", "Ask a person to approve what you are about to do, and wait for the answer.", nil, s.requestApproval)
	add(s, "ask_human", "Ask a person a question, as yes or no or with options to choose from, and wait for the answer.", nil, s.askHuman)
	add(s, "pass_gate", "Ask to pass a checkpoint of the work, such as before_commit, and wait for the answer.", nil, s.passGate)
	add(s, "report_confidence", "Report how sure you are of your work. Where that is too little people are asked, and the answer is waited for.", nil, s.reportConfidence)
	add(s, "get_context", "Where your session stands: its mode, the gates that it needs and has passed, what waits for people, and what policy would decide of a call.", reads, s.getContext)
	add(s, "check_messages", "Messages from people to your session. Those that are new count as read.", nil, s.checkMessages)
	add(s, "pending", "What of your session waits for people.", reads, s.pending)
}

// add adds a tool whose function gets who calls.
func add[In any](s *Server, name, description string, hints *mcp.ToolAnnotations, fn func(context.Context, *mcp.CallToolRequest, approvals.Caller, In) (*mcp.CallToolResult, any, error)) {
	mcp.AddTool(s.sdk, &mcp.Tool{Name: name, Description: description, Annotations: hints}, func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		if s.o.Follow != nil && req.Extra != nil {
			followed, end := s.o.Follow(ctx, req.Extra.Header)
			defer end()
			ctx = followed
		}
		return fn(ctx, req, s.caller(req), in)
	})
}

func (s *Server) caller(req *mcp.CallToolRequest) (who approvals.Caller) {
	if s.o.Caller != nil && req.Extra != nil {
		who = s.o.Caller(req.Extra.Header)
	}
	return who
}

func (s *Server) requestApproval(ctx context.Context, req *mcp.CallToolRequest, who approvals.Caller, in approvalIn) (*mcp.CallToolResult, any, error) {
	if strings.TrimSpace(in.Summary) == "" {
		return nil, nil, &sessions.FieldError{Field: "summary", What: "is empty: say what you want to do"}
	}
	return s.openGate(ctx, req, who, agentapi.GateRequest{Type: gateApproval, Message: in.Summary, Artifacts: in.Artifacts}, in.Context)
}

func (s *Server) askHuman(ctx context.Context, req *mcp.CallToolRequest, who approvals.Caller, in questionIn) (*mcp.CallToolResult, any, error) {
	if strings.TrimSpace(in.Question) == "" {
		return nil, nil, &sessions.FieldError{Field: "question", What: "is empty"}
	}
	a := agentapi.GateRequest{Type: gateQuestion, Message: in.Question}
	for _, o := range in.Options {
		a.Options = append(a.Options, agentapi.Option{ID: o, Label: o})
	}
	return s.openGate(ctx, req, who, a, in.Context)
}

func (s *Server) passGate(ctx context.Context, req *mcp.CallToolRequest, who approvals.Caller, in gateIn) (*mcp.CallToolResult, any, error) {
	return s.openGate(ctx, req, who, agentapi.GateRequest{Type: in.Type, Message: in.Message, Artifacts: in.Artifacts}, in.Context)
}

func (s *Server) openGate(ctx context.Context, req *mcp.CallToolRequest, who approvals.Caller, a agentapi.GateRequest, shown map[string]string) (*mcp.CallToolResult, any, error) {
	if len(shown) > 0 {
		b, err := json.Marshal(shown)
		if err != nil {
			return nil, nil, fmt.Errorf("writing the context: %w", err)
		}
		a.Context = b
	}
	g, err := s.o.Service.PassGate(ctx, who, a)
	if err != nil {
		return nil, nil, told(err)
	}
	return s.wait(ctx, req, who, g)
}

func (s *Server) reportConfidence(ctx context.Context, req *mcp.CallToolRequest, who approvals.Caller, in confidenceIn) (*mcp.CallToolResult, any, error) {
	r, err := s.o.Service.Report(ctx, who, agentapi.Report{Score: &in.Score, Task: in.Task, Reasons: in.Reasons, Verification: in.Verification, Retries: in.Retries})
	if err != nil {
		return nil, nil, told(err)
	}
	if !r.Escalated {
		return says("The report is noted; go on."), r, nil
	}
	g, err := s.o.Service.Gate(ctx, who, r.Gate, 0)
	if err != nil {
		return nil, nil, told(err)
	}
	return s.wait(ctx, req, who, g)
}

// contextOut is the result of get_context.
type contextOut struct {
	agentapi.Session

	Would *agentapi.Would `json:"would,omitempty"`
}

func (s *Server) getContext(ctx context.Context, _ *mcp.CallToolRequest, who approvals.Caller, in contextIn) (*mcp.CallToolResult, any, error) {
	session, err := s.o.Service.Session(ctx, who)
	if err != nil {
		return nil, nil, told(err)
	}
	out := contextOut{Session: session}
	if in.Tool == "" {
		return nil, out, nil
	}
	p := agentapi.Planned{Tool: in.Tool, Server: in.Server}
	if in.Arguments != nil {
		if p.Arguments, err = json.Marshal(in.Arguments); err != nil {
			return nil, nil, fmt.Errorf("writing the arguments: %w", err)
		}
	}
	would, err := s.o.Service.Would(ctx, who, p)
	if err != nil {
		return nil, nil, told(err)
	}
	out.Would = &would
	return nil, out, nil
}

func (s *Server) checkMessages(ctx context.Context, _ *mcp.CallToolRequest, who approvals.Caller, in messagesIn) (*mcp.CallToolResult, any, error) {
	list, err := s.o.Service.Messages(ctx, who, in.After, 0)
	if err != nil {
		return nil, nil, told(err)
	}
	if len(list) == 0 {
		return says("There are no messages."), map[string]any{"messages": []any{}}, nil
	}
	return nil, map[string]any{"messages": list}, nil
}

func (s *Server) pending(ctx context.Context, _ *mcp.CallToolRequest, who approvals.Caller, _ nothingIn) (*mcp.CallToolResult, any, error) {
	list, err := s.o.Service.Pending(ctx, who)
	if err != nil {
		return nil, nil, told(err)
	}
	return nil, map[string]any{"pending": append([]agentapi.Pending{}, list...)}, nil
}
