package model

import (
	"github.com/holdgate/holdgate/proxy/wire"
)

// In a conversation that the provider keeps stand the calls that the model made,
// refused ones too, and a provider fails every request in it until each has a
// result. The agent knows of no such call: what it asks next in the conversation
// takes the results with it, once.

// A conversed names a call in a conversation.
type conversed struct{ conversation, response, id string }

func conversedOf(r wire.Refused) conversed { return conversed{r.Conversation, r.Response, r.ID} }

// waitingIn returns the refused calls that wait for their results in a
// conversation.
func waitingIn(conversation string, refused []wire.Refused) []wire.Refused {
	var out []wire.Refused
	for _, r := range refused {
		if conversation != "" && r.Conversation == conversation {
			out = append(out, r)
		}
	}
	return out
}

// taken writes down that the provider has the results that the request had. A
// request that failed has left the calls as they were, so this is known from
// the answer only.
func (a *answer) taken() {
	var records []refusedRecord
	for _, r := range a.answers {
		records = append(records, refusedRecord{Answered: true, Refused: wire.Refused{ID: r.ID, Response: r.Response, Conversation: r.Conversation}})
	}
	a.answers = nil
	a.write(records)
}
