package host

import (
	"strconv"
	"time"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/plugins/sdk"
)

// newsLast is for how long news are tried to be told.
const newsLast = time.Hour

// titles are the first lines of the news that channels bring, by the events
// that they are of.
var titles = map[approvals.EventType]string{
	approvals.EventPolicy:  "The policy has changed",
	approvals.EventPaused:  "Agents are paused",
	approvals.EventResumed: "Agents go on",
	approvals.EventStopped: "Agents are stopped",
	approvals.EventSession: "The rules of a session have changed",
	approvals.EventFinding: "Something to look at",
}

// news is an event without a request as a channel is told of it.
func news(e approvals.Event) sdk.News {
	n := sdk.News{ID: "event-" + strconv.FormatUint(e.Seq, 10), Kind: string(e.Type), At: e.Time, Title: titles[e.Type], Agent: text(e.Agent)}
	if e.Agent != "" {
		n.Title += ": " + n.Agent
	}
	if e.Note != "" {
		n.Lines = []string{text(e.Note)}
	}
	return n
}
