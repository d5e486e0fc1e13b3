package hook

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"

	"github.com/holdgate/holdgate/proxy/wire"
)

// A Result is what came of a tool, by its agent's word.
type Result struct {
	Ended wire.Ended
	Exit  *int // of a command; nil where the agent does not say
	Size  int  // of the texts in it, in bytes
}

// String is the result as evidence in the log.
func (r Result) String() string {
	how := [...]string{wire.EndedUnknown: "the tool has run", wire.EndedWell: "the tool ended well", wire.EndedBadly: "the tool failed"}[r.Ended]
	if r.Exit != nil {
		how += fmt.Sprintf(", exit code %d", *r.Exit)
	}
	return how + fmt.Sprintf(", %d bytes came back", r.Size)
}

// result is what an event says of a tool that has run.
func (in *event) result(a Agent) Result {
	r := Result{Ended: in.ended}
	var response any
	if json.Unmarshal(in.Response, &response) == nil {
		r.Size, r.Exit = sizeOf(response), exitIn(response)
		if r.Exit == nil && a.Name == "qwen" {
			r.Exit = exitWritten(response)
		}
		if o, ok := response.(map[string]any); ok && o["error"] != nil {
			r.Ended = wire.EndedBadly
		}
	}
	var failure string
	if json.Unmarshal(in.Error, &failure) == nil && failure != "" {
		r.Size += len(failure)
		if m := exitFirst.FindStringSubmatch(failure); m != nil {
			r.Exit = number(m[1])
		}
	}
	if r.Exit != nil {
		r.Ended = wire.EndedIn(*r.Exit != 0)
	}
	return r
}

// sizeOf is how long the texts of a value are together.
func sizeOf(v any) (n int) {
	switch v := v.(type) {
	case string:
		return len(v)
	case []any:
		for _, e := range v {
			n += sizeOf(e)
		}
	case map[string]any:
		for _, e := range v {
			n += sizeOf(e)
		}
	}
	return n
}

// exitIn is the exit code in a member that is there for it, or nil.
func exitIn(v any) *int {
	o, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	for _, name := range []string{"exit_code", "exitCode", "exit"} {
		if n, ok := o[name].(float64); ok && n == float64(int(n)) {
			return new(int(n))
		}
	}
	return exitIn(o["metadata"])
}

var (
	exitFirst = regexp.MustCompile(`^Exit code (\d{1,9})\b`)          // Claude Code's, before what the command has said
	exitLast  = regexp.MustCompile(`(?m)^Exit Code: (-?\d{1,9})\r?$`) // Qwen Code's, behind what the command has said
)

// exitWritten is the exit code that stands behind a command's output in the text for the model.
func exitWritten(v any) *int {
	o, _ := v.(map[string]any)
	text, _ := o["llmContent"].(string)
	all := exitLast.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return nil
	}
	return number(all[len(all)-1][1])
}

func number(s string) *int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return nil
	}
	return &n
}
