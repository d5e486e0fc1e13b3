package web

import (
	jsonv1 "encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/stats"
	"github.com/holdgate/holdgate/store/audit"
)

// pageEntries is how many entries a page of the history has.
const pageEntries = 100

// A historyView is a part of the audit log.
type historyView struct {
	Query    audit.Query
	Filtered bool       // the query leaves something out
	Entries  []entryRow // the newest first
	Export   string     // the address of what the filters show, as a file
	Head     audit.Head
	Older    uint64 // the first entry of the page of older ones, 0: none
	Types    []audit.Type
}

// filtered is what the form of the history asks for.
func filtered(f url.Values) audit.Query {
	return audit.Query{Text: f.Get("q"), Type: audit.Type(f.Get("type")), Agent: f.Get("agent"), Session: f.Get("session"),
		Rule: f.Get("rule"), Tool: f.Get("tool"), RequestID: f.Get("request_id")}
}

// history shows entries of the audit log.
func (s *Server) history(v *visit) error {
	f := v.URL.Query()
	h := historyView{Types: audit.Types(), Query: filtered(f)}
	h.Filtered = h.Query != audit.Query{}
	if f.Get("before") != "" {
		n, err := strconv.ParseUint(f.Get("before"), 10, 64)
		if err != nil {
			return wrong("No page", "before is the number of an entry.")
		}
		h.Head.Seq = n - 1
	}
	entries, err := v.api.Newest(v.Context(), h.Query, h.Head.Seq, pageEntries)
	if err != nil {
		return err
	}
	h.Entries = entryRows(v, entries)
	f.Del("before")
	h.Export = (&url.URL{Path: "/history/export", RawQuery: f.Encode()}).String()
	if h.Head, err = v.api.AuditHead(v.Context()); err != nil {
		return err
	}
	if len(h.Entries) > 0 {
		if last := h.Entries[len(h.Entries)-1].Seq; last > 1 {
			h.Older = last
		}
	}
	return s.show(v, http.StatusOK, "history", "History", h)
}

// exportPage is how many entries are read at once for a file.
const exportPage = 1000

// export is a file of the entries that the filters show, the oldest first: one JSON object
// a line, as GET /v1/audit/export writes them.
func (s *Server) export(v *visit) error {
	q := filtered(v.URL.Query())
	w := &download{w: v.w, name: "holdgate-audit.jsonl", header: http.Header{}}
	var err error
	if q == (audit.Query{}) {
		s.c.API.As(v.signin.credential).ServeHTTP(w, asAPI(v, "/v1/audit/export"))
	} else {
		err = exportOf(v, q, w)
	}
	switch {
	case err != nil && w.begun:
		panic(http.ErrAbortHandler) // so that nobody takes a part for the whole
	case err != nil:
		return err
	}
	return w.end()
}

// exportOf writes the entries that a query selects.
func exportOf(v *visit, q audit.Query, w io.Writer) error {
	for q.From, q.Limit = 1, exportPage; ; {
		list, err := v.api.Audit(v.Context(), q)
		if err != nil {
			return err
		}
		for _, e := range list {
			line, err := jsonv1.Marshal(e) // as the log is written
			if err != nil {
				return err
			}
			if _, err := w.Write(append(line, '\n')); err != nil {
				return err
			}
			q.From = e.Seq + 1
		}
		if len(list) < exportPage {
			return nil
		}
	}
}

// proof is a file that proves an entry: it, its place in the tree, and what is signed.
func (s *Server) proof(v *visit) error {
	seq, err := strconv.ParseUint(v.PathValue("seq"), 10, 64)
	if err != nil {
		return wrong("No entry", "The number of an entry is missing.")
	}
	list, err := v.api.Audit(v.Context(), audit.Query{From: seq, Limit: 1})
	if err != nil {
		return err
	}
	if len(list) == 0 || list[0].Seq != seq {
		return wrong("No entry", fmt.Sprintf("There is no entry %d.", seq))
	}
	head, err := v.api.AuditCheckpoint(v.Context(), 0)
	if err != nil {
		return err
	}
	in, err := v.api.AuditInclusion(v.Context(), seq, head.Size)
	if err != nil {
		return err
	}
	body, err := json.Marshal(struct {
		Entry      audit.Entry     `json:"entry"`
		Inclusion  audit.Inclusion `json:"inclusion"`
		Checkpoint api.SignedHead  `json:"checkpoint"`
	}{list[0], in, head}, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "application/json")
	v.w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="holdgate-%d.json"`, seq))
	_, err = v.w.Write(body)
	return err
}

// grants shows the standing approvals.
func (s *Server) grants(v *visit) error {
	list, err := v.api.Grants(v.Context(), v.URL.Query().Get("agent"))
	if err != nil {
		return err
	}
	return s.show(v, http.StatusOK, "grants", "Standing approvals", list)
}

// revoke ends a standing approval.
func (s *Server) revoke(v *visit) error {
	if _, err := v.api.Revoke(v.Context(), v.PathValue("id")); err != nil {
		return err
	}
	http.Redirect(v.w, v.Request, "/grants", http.StatusSeeOther)
	return nil
}

// statistics shows what became of calls and questions.
func (s *Server) statistics(v *visit) error {
	days := 7
	if text := v.URL.Query().Get("days"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 366 {
			return wrong("No time", "days is 1 to 366.")
		}
		days = n
	}
	st, err := v.api.Stats(v.Context(), time.Now().AddDate(0, 0, -days), time.Time{})
	if err != nil {
		return err
	}
	return s.show(v, http.StatusOK, "statistics", "Statistics", struct {
		stats.Stats

		Days  int
		Daily []stats.Group // the newest first
	}{st, days, daily(st, time.Now())})
}

// daily are all days of the statistics, those on which nothing was asked too, the newest
// first.
func daily(st stats.Stats, now time.Time) (days []stats.Group) {
	first := st.Since.Local().Format(time.DateOnly)
	for day := now.Local(); ; day = day.AddDate(0, 0, -1) {
		g := stats.Group{Name: day.Format(time.DateOnly)}
		if g.Name < first {
			return days
		}
		if i := slices.IndexFunc(st.ByDay, func(o stats.Group) bool { return o.Name == g.Name }); i >= 0 {
			g = st.ByDay[i]
		}
		days = append(days, g)
	}
}

// asAPI is the visit as a request to the API: GET of a path, without parameters.
func asAPI(v *visit, path string) *http.Request {
	r := v.Clone(v.Context())
	r.Method, r.URL.Path, r.URL.RawPath, r.URL.RawQuery, r.RequestURI = http.MethodGet, path, "", "", path
	return r
}

// live passes on that something has happened: the API's events, from now on.
func (s *Server) live(v *visit) error {
	r := asAPI(v, "/v1/events")
	if r.Header.Get("Last-Event-ID") == "" {
		head, err := v.api.AuditHead(v.Context())
		if err != nil {
			return err
		}
		r.Header.Set("Last-Event-ID", strconv.FormatUint(head.Seq, 10))
	}
	s.c.API.As(v.signin.credential).ServeHTTP(v.w, r)
	return nil
}
