package tools

import (
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/record"
)

// storedTool is a tool as stored.
type storedTool struct {
	record.Header

	Server   string           `json:"server"`
	Name     string           `json:"name"`
	NamedBy  string           `json:"named_by,omitempty"` // the agent whose word the server's name was, when Now was said
	Now      storedDefinition `json:"now"`
	Was      storedDefinition `json:"was,omitzero"` // where Now is another one and not accepted
	Accepted []string         `json:"accepted"`     // hashes, the latest last
	At       time.Time        `json:"at"`           // when Now was first seen
	Writes   uint64           `json:"writes"`       // how often it was written
}

// storedDefinition is a definition as stored. Its JSON is bytes, for an encoder
// may rewrite JSON.
type storedDefinition struct {
	Hash        string `json:"hash"`
	Description string `json:"description,omitempty"`
	Schema      []byte `json:"schema,omitempty"`
	Annotations []byte `json:"annotations,omitempty"`
	Cut         bool   `json:"cut,omitempty"` // it is longer than what is kept
}

// storedServer is kept of a server whose last list could not be read.
type storedServer struct {
	record.Header

	Server string `json:"server"`
	Unread string `json:"unread"`
}

func (s *storedTool) changed() bool { return !slices.Contains(s.Accepted, s.Now.Hash) }

func (s *storedTool) view() Tool {
	k := Tool{Server: s.Server, NamedBy: s.NamedBy, Definition: s.Now.view(s.Name), Hash: s.Now.Hash, Changed: s.changed(), Cut: s.Now.Cut || s.Was.Cut}
	if k.Changed && s.Was.Hash != "" {
		was := s.Was.view(s.Name)
		k.Was = &was
	}
	return k
}

func (d storedDefinition) view(name string) holdgate.Definition {
	return holdgate.Definition{Name: name, Description: d.Description, Schema: d.Schema, Annotations: d.Annotations}
}

func (d storedDefinition) size() int {
	return len(d.Description) + len(d.Schema) + len(d.Annotations)
}

// storeDefinition is a definition as it is kept, where there is so much room.
func storeDefinition(d holdgate.Definition, hash string, room int) storedDefinition {
	s := storedDefinition{Hash: hash, Description: d.Description, Schema: d.Schema, Annotations: d.Annotations}
	if s.size() > min(maxDefinition, room) {
		s = storedDefinition{Hash: hash, Description: strings.ToValidUTF8(d.Description[:min(len(d.Description), cutDescription)], ""), Cut: true}
	}
	return s
}
