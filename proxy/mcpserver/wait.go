package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/agentapi"
	holdgatemcp "github.com/holdgate/holdgate/proxy/mcp"
)

// wait waits for the answer to a gate as long as the client does, and tells it.
func (s *Server) wait(ctx context.Context, req *mcp.CallToolRequest, who approvals.Caller, g agentapi.Gate) (*mcp.CallToolResult, any, error) {
	until := time.Now().Add(s.patience(req))
	staying, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(s.left, stop)()
	for n := 1; g.Status == holdgate.StatusPending; n++ {
		now := time.Now()
		left := until.Sub(now)
		if left <= 0 {
			return waiting(g), g, nil
		}
		if err := progress(ctx, req, n, g.ID); err != nil {
			return nil, nil, err
		}
		step := min(s.o.Every, left)
		next, err := s.o.Service.Gate(staying, who, g.ID, step)
		if err != nil && s.left.Err() != nil {
			return waiting(g), g, nil
		}
		if err != nil {
			return nil, nil, told(err)
		}
		g = next
		if rest := step - time.Since(now); g.Status == holdgate.StatusPending && rest > 0 && !s.pause(staying, rest) {
			return waiting(g), g, nil
		}
	}
	return says(g.Text), g, nil
}

// pause lets a time pass in which asking again would tell nothing new: the agent
// is paused. It reports whether the wait goes on.
func (s *Server) pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-s.o.Ending:
	case <-ctx.Done():
	}
	return false
}

// patience is how long the client waits for this call.
func (s *Server) patience(req *mcp.CallToolRequest) time.Duration {
	if info := req.ClientInfo(); info != nil {
		stdio := req.Extra == nil || req.Extra.Header == nil
		if d, known := holdgatemcp.Patience(info.Name, stdio, req.Params.GetProgressToken() != nil); known {
			return d
		}
	}
	return s.o.Patience
}

// progress is the n-th sign of life, for a client that asked for some. Over HTTP
// it brings the headers of the answer, to which some clients count their patience.
func progress(ctx context.Context, req *mcp.CallToolRequest, n int, request string) error {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
		ProgressToken: token, Progress: float64(n), Message: "request " + request + " waits for a person to decide",
	})
	if err != nil {
		return fmt.Errorf("telling of progress: %w", err)
	}
	return nil
}

// waiting is the result where the client would give up before people have
// decided.
func waiting(g agentapi.Gate) *mcp.CallToolResult {
	return says("Not decided yet: request " + g.ID + " waits for a person. Do not go on. Call this tool again with the same arguments to pick up the decision.")
}

func says(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// told is an error as an agent may read it.
func told(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return agentapi.ProblemOf(err)
}
