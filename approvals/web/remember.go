package web

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
)

// A standing is a standing approval before it is made: what it would cover, and what
// of the last week it would have covered.
type standing struct {
	approvals.Request

	Preview approvals.Preview
	Carried []formField // the answer as it was given
}

type formField struct{ Name, Value string }

// looked reports whether the visitor was shown what the standing approval that the form
// asks for would have covered.
func looked(f url.Values) bool { return f.Get("seen") == standingKey(f) }

// standingKey names the standing approval that a form asks for.
func standingKey(f url.Values) string {
	parts := []string{f.Get("digest"), f.Get("remember"), f.Get("scope"), f.Get("for"), f.Get("uses")}
	parts = append(parts, slices.Sorted(slices.Values(f["fix"]))...)
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// showStanding shows what a standing approval would have covered, before it is made.
func (s *Server) showStanding(v *visit, r approvals.Request, d api.Decision) error {
	p, err := v.api.Preview(v.Context(), r.ID, *d.Remember)
	if err != nil {
		return s.refused(v, r, err)
	}
	st := standing{Request: r, Preview: p}
	f := v.PostForm
	for _, name := range []string{"digest", "text", "typed", "sure", "full", "remember", "fix", "scope", "for", "uses"} {
		for _, value := range f[name] {
			st.Carried = append(st.Carried, formField{name, value})
		}
	}
	st.Carried = append(st.Carried, formField{"seen", standingKey(f)})
	return s.show(v, http.StatusOK, "remember", "Always, from now on", st)
}
