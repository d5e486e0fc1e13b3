package proxy

import (
	"bufio"
	"runtime"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
)

// What reads and judges an answer has deep stacks and great buffers. While
// people decide none of it may be there: there may be ten thousand calls.
func TestACallWaitsWithoutWhatReadItsAnswer(t *testing.T) {
	var seen counter
	call := msgTool("0", "toolu_1", "gated thing")
	g := newGate(t, streamer(&seen, msgStart(), call, msgEnd("tool_use")))
	resp := g.post(t.Context(), messages, askStream)
	body := bufio.NewReader(resp.Body)
	until(t, body, "message_start")
	req := g.pending(1)[0]

	stack := waitingStack()
	for stack == "" { // it is asked about before the answer has been read to its end
		runtime.Gosched()
		stack = waitingStack()
	}
	for _, step := range []string{").get(", ").ask(", ").readStream(", ").keep(", ").forward(", ").configured("} {
		if strings.Contains(stack, step) {
			t.Errorf("a call waits on the stack of %q:\n%s", step, stack)
		}
	}
	for _, other := range stacks() {
		if strings.Contains(other, "proxy.(*burst)") {
			t.Errorf("something still reads the upstream's answer:\n%s", other)
		}
	}
	g.decide(req, holdgate.AnswerApprove, "")
	if rest := readAll(t, body); !strings.Contains(rest, call) {
		t.Errorf("the approved call is not what came:\n%s", rest)
	}
}

// waitingStack is the stack of the goroutine that waits for a person.
func waitingStack() string {
	for _, s := range stacks() {
		if strings.Contains(s, "approvals.(*Exchange).Await(") && strings.Contains(s, "[select") {
			return s
		}
	}
	return ""
}

func stacks() []string {
	b := make([]byte, 4<<20)
	return strings.Split(string(b[:runtime.Stack(b, true)]), "\n\n")
}
