package api

import "time"

// The states of a member.
const (
	MemberWorks  = "works"
	MemberStands = "stands by"
	MemberGone   = "gone" // nothing was heard of it for some time
)

// A Member is one of the sidecars that share a store.
type Member struct {
	Name    string    `json:"name"`
	State   string    `json:"state"` // [MemberWorks], [MemberStands] or [MemberGone]
	Version string    `json:"version,omitempty"`
	Policy  string    `json:"policy,omitempty"` // the revision in force; empty where it stands by
	Held    int       `json:"held"`             // calls that wait for people there
	Started time.Time `json:"started"`
	Seen    time.Time `json:"seen"`
}

// members serves GET /v1/members.
func (s *Server) members(r *request) ([]Member, error) {
	if s.c.Members == nil {
		return []Member{}, nil
	}
	return s.c.Members(r.Context())
}
