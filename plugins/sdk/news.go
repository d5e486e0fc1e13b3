package sdk

import (
	"time"

	"github.com/holdgate/holdgate/plugins/sdk/channelv1"
)

// The kinds of news. There will be more: a channel shows one that it does not
// know like any other.
const (
	NewsConfig     = "config.changed"   // people, agents and the like were replaced, or their file was not taken
	NewsPolicy     = "policy.changed"   // another policy is in force, or one was refused
	NewsPaused     = "agent.paused"     //
	NewsResumed    = "agent.resumed"    //
	NewsStopped    = "agent.stopped"    //
	NewsSession    = "session.changed"  // somebody has changed the rules of a session
	NewsFinding    = "finding"          // something in the log that somebody should look at
	NewsCheckpoint = "audit.checkpoint" // the signed head of the audit log: keep it, to notice if the log is cut
	NewsDown       = "channel.down"     // another channel does not reach people
	NewsUp         = "channel.up"       // it does again
	NewsTest       = "test"             // somebody tries the channel
)

// News is something that people should know and need not answer. Every text in
// it is safe to show.
type News struct {
	ID    string // the same where the news come again
	Kind  string // [NewsPolicy], ...
	At    time.Time
	Title string // one line
	Lines []string
	Agent string   // whom it is about, where it is about one
	To    []string // see [Notice.To]
}

func newsToProto(n News) *channelv1.News {
	return &channelv1.News{Id: n.ID, Kind: n.Kind, At: timeToProto(n.At), Title: n.Title, Lines: n.Lines, Agent: n.Agent, To: n.To}
}

func newsFromProto(p *channelv1.News) News {
	return News{ID: p.GetId(), Kind: p.GetKind(), At: timeFromProto(p.GetAt()), Title: p.GetTitle(), Lines: p.GetLines(), Agent: p.GetAgent(), To: p.GetTo()}
}

// The abilities of channels as they travel.
const (
	abilityEdit  = "edit"
	abilityClaim = "claim"
	abilitySeen  = "seen"
	abilityNews  = "news"
)

// abilities names what the channel can do.
func (i Info) abilities() (names []string) {
	for _, a := range []struct {
		has  bool
		name string
	}{{i.Edits, abilityEdit}, {i.Claims, abilityClaim}, {i.Sees, abilitySeen}, {i.News, abilityNews}} {
		if a.has {
			names = append(names, a.name)
		}
	}
	return names
}

// able takes up the abilities that are known here.
func (i *Info) able(names []string) {
	for _, name := range names {
		switch name {
		case abilityEdit:
			i.Edits = true
		case abilityClaim:
			i.Claims = true
		case abilitySeen:
			i.Sees = true
		case abilityNews:
			i.News = true
		}
	}
}
