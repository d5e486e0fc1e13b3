package model_test

import (
	"bufio"
	"runtime"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
)

// What reads and judges an answer has deep stacks and great buffers. While
// people decide none of it may be there: there may be ten thousand calls.
func TestACallWaitsWithoutWhatReadItsAnswer(t *testing.T) {
	var seen proxytest.Counter
	call := proxytest.MessageTool("0", "toolu_1", "gated thing")
	g := proxytest.New(t, proxytest.Stream(&seen, proxytest.MessageStart(), call, proxytest.MessageEnd("tool_use")))
	resp := g.Post(t.Context(), proxytest.Messages, proxytest.AskStream)
	body := bufio.NewReader(resp.Body)
	proxytest.Until(t, body, "message_start")
	req := g.Pending(1)[0]

	parked(g, 1)
	for _, stack := range stacks() {
		for _, step := range []string{"proxy.(*Server).serveOuter", "model.(*answer)", "model.(*exchange)", "proxy.(*request)", "steps.(*Exchange)", "approvals.(*Exchange)", "keepalive.(*Burst)"} {
			if strings.Contains(stack, step) {
				t.Errorf("a call waits on a stack of %s:\n%s", step, stack)
			}
		}
	}
	g.Decide(req, holdgate.AnswerApprove, "")
	if rest := proxytest.ReadAll(t, body); !strings.Contains(rest, call) {
		t.Errorf("the approved call is not what came:\n%s", rest)
	}
}

func stacks() []string {
	b := make([]byte, 4<<20)
	return strings.Split(string(b[:runtime.Stack(b, true)]), "\n\n")
}
