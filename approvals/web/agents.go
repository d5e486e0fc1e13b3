package web

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/store/audit"
)

// latest is how many entries of the log the live line of a session shows.
const latest = 40

// An agentList is all agents with their sessions.
type agentList struct {
	Everybody approvals.AgentStatus
	Agents    []agentRow
	Members   []api.Member // of the store; none where the sidecar is the only one there can be
}

type agentRow struct {
	agents.Agent

	Own []sessionRow
}

// A sessionRow is a session, and the newest of what it did.
type sessionRow struct {
	approvals.Session

	Last *entryRow // nil: it is not among the newest of the log
}

// recent is how many entries of the log are searched for what each session did last. A
// session that did nothing for longer leads to its own page.
const recent = 1000

// lately is what each session did last, by agent and session, as far as the log was read.
// It is safe for concurrent use.
type lately struct {
	mu   sync.Mutex
	seq  uint64 // the newest entry that was read; 0: none
	last map[[2]string]*entryRow
}

// of reads what is new in the log, and returns the newest entries about calls that agents
// made.
func (l *lately) of(v *visit) (map[[2]string]*entryRow, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	head, err := v.api.AuditHead(v.Context())
	if err != nil {
		return nil, err
	}
	if l.last == nil || head.Seq < l.seq || head.Seq-l.seq > recent {
		l.seq, l.last = head.Seq-min(head.Seq, recent), map[[2]string]*entryRow{}
	}
	if head.Seq > l.seq {
		list, err := v.api.Audit(v.Context(), audit.Query{From: l.seq + 1, Limit: int(head.Seq - l.seq)})
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			l.seq = e.Seq
			if e.Call != nil && slices.Contains([]audit.Type{audit.TypeDecision, audit.TypeObserved, audit.TypeRefused}, e.Type) {
				l.last[[2]string{e.Call.Agent, e.Call.Session}] = &entryRow{e, approvals.CallLine(e)}
			}
		}
	}
	maps.DeleteFunc(l.last, func(_ [2]string, e *entryRow) bool { return e.Seq+recent <= l.seq })
	return maps.Clone(l.last), nil
}

// agents shows what each agent does now.
func (s *Server) agents(v *visit) error {
	list, err := v.api.Agents(v.Context())
	if err != nil {
		return err
	}
	all, err := v.api.Sessions(v.Context(), "")
	if err != nil {
		return err
	}
	var l agentList
	if l.Everybody, err = v.api.AgentStatus(v.Context(), agents.Everybody); err != nil {
		return err
	}
	if l.Members, err = v.api.Members(v.Context()); err != nil {
		return err
	}
	last, err := s.lately.of(v)
	if err != nil {
		return err
	}
	for _, a := range list {
		row := agentRow{Agent: a}
		for _, o := range all {
			if o.Agent == a.ID {
				row.Own = append(row.Own, sessionRow{o, last[[2]string{o.Agent, o.ID}]})
			}
		}
		l.Agents = append(l.Agents, row)
	}
	return s.show(v, http.StatusOK, "agents", "Agents", l)
}

// intervene pauses, resumes, stops or redirects an agent, or all of them.
func (s *Server) intervene(v *visit) error {
	if err := v.ParseForm(); err != nil {
		return err
	}
	f := v.PostForm
	agent := f.Get("agent")
	if f.Has("everybody") {
		agent = agents.Everybody
	}
	in := api.Intervention{Action: agents.Action(f.Get("action")), Reason: f.Get("text")}
	if in.Action == agents.Redirect {
		if in.Instruction, in.Reason = in.Reason, ""; strings.TrimSpace(in.Instruction) == "" {
			return wrong("Nothing said", "Write what the agent is to do instead into the field above the buttons, then press Redirect.")
		}
	}
	if _, err := v.api.Intervene(v.Context(), agent, in); err != nil {
		return err
	}
	http.Redirect(v.w, v.Request, "/agents", http.StatusSeeOther)
	return nil
}

// A sessionView is one session: what it did lately, what people and it said.
type sessionView struct {
	approvals.Session

	Lately   []entryRow // the newest first
	Messages []sessions.Message
	Pending  []approvals.Request
	Grants   []approvals.Grant
}

// session shows one session.
func (s *Server) session(v *visit) error {
	agent, id := v.URL.Query().Get("agent"), v.PathValue("id")
	found, err := v.api.Session(v.Context(), agent, id)
	if err != nil {
		return err
	}
	sv := sessionView{Session: found}
	if sv.Messages, err = v.api.Messages(v.Context(), found.Agent, id); err != nil {
		return err
	}
	if sv.Pending, err = v.api.List(v.Context(), approvals.Filter{Status: "pending", Agent: found.Agent, Session: id, Limit: maxInbox}); err != nil {
		return err
	}
	lately, err := v.api.Newest(v.Context(), audit.Query{Agent: found.Agent, Session: id}, 0, latest)
	if err != nil {
		return err
	}
	sv.Lately = entryRows(v, lately)
	all, err := v.api.Grants(v.Context(), found.Agent)
	if err != nil {
		return err
	}
	for _, g := range all {
		if g.Scope == record.ScopeAgent || g.Session.ID == id {
			sv.Grants = append(sv.Grants, g)
		}
	}
	return s.show(v, http.StatusOK, "session", "Session "+id, sv)
}

// setSession sets a session's mode, or leaves it a message.
func (s *Server) setSession(v *visit) error {
	if err := v.ParseForm(); err != nil {
		return err
	}
	f, id := v.PostForm, v.PathValue("id")
	agent := f.Get("agent")
	var err error
	if f.Has("content") {
		_, err = v.api.Tell(v.Context(), agent, id, api.Note{Content: f.Get("content")})
	} else {
		m := api.SessionMode{Mode: sessions.Mode(f.Get("mode"))}
		if m.Mode == sessions.ModeThreshold {
			if m.Threshold, err = strconv.ParseFloat(f.Get("threshold"), 64); err != nil {
				return wrong("No threshold", "The threshold is a number from 0 to 1.")
			}
		}
		if m.Revision, err = strconv.ParseUint(f.Get("revision"), 10, 64); err != nil {
			return wrong("No mode", "The form is not whole.")
		}
		_, err = v.api.SetMode(v.Context(), agent, id, m)
	}
	if err != nil {
		return err
	}
	http.Redirect(v.w, v.Request, "/sessions/"+url.PathEscape(id)+"?agent="+url.QueryEscape(agent), http.StatusSeeOther)
	return nil
}
