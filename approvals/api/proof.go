package api

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/holdgate/holdgate/store/audit"
)

// What a signature under the audit log's checkpoints is worth.
const (
	// IntegrityLocal says that the agent may be able to read the signing key: the
	// log shows what others change, and an agent's own rewriting only against a
	// checkpoint that was kept where the agent can't write.
	IntegrityLocal = "local"
	// IntegrityApart says that the agent is kept from the key.
	IntegrityApart = "apart"
)

// SignedHead is the answer of /v1/audit/checkpoint.
type SignedHead struct {
	Size       uint64 `json:"size"`       // entries
	Checkpoint string `json:"checkpoint"` // the signed note: c2sp.org/tlog-checkpoint
	Key        string `json:"key"`        // the public key
	Integrity  string `json:"integrity"`  // [IntegrityLocal] or [IntegrityApart]
}

// signer is who signs checkpoints.
func (s *Server) signer() (*audit.Signer, error) {
	if s.c.Signer == nil {
		return nil, problem(http.StatusNotFound, "no-key", "No signing key", "this sidecar signs no checkpoints")
	}
	return s.c.Signer, nil
}

// number reads a parameter that is a number of entries; without it, it is 0.
func number(v url.Values, name string) (uint64, error) {
	text := v.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, malformed("%s must be a number of entries", name)
	}
	return n, nil
}

// auditCheckpoint serves GET /v1/audit/checkpoint.
func (s *Server) auditCheckpoint(r *request) (SignedHead, error) {
	v, err := query(r, "size")
	if err != nil {
		return SignedHead{}, err
	}
	size, err := number(v, "size")
	if err != nil {
		return SignedHead{}, err
	}
	key, err := s.signer()
	if err != nil {
		return SignedHead{}, err
	}
	c, err := s.c.Log.Checkpoint(r.Context(), key, size)
	if err != nil {
		return SignedHead{}, err
	}
	integrity := IntegrityLocal
	if s.c.KeyApart {
		integrity = IntegrityApart
	}
	return SignedHead{Size: c.Size, Checkpoint: c.Text, Key: key.Public(), Integrity: integrity}, nil
}

// twoNumbers reads the parameters of a proof.
func twoNumbers(r *request, first, second string) (a, b uint64, err error) {
	v, err := query(r, first, second)
	if err != nil {
		return 0, 0, err
	}
	if a, err = number(v, first); err != nil {
		return 0, 0, err
	}
	if a == 0 {
		return 0, 0, malformed("%s must be given, from 1 on", first)
	}
	b, err = number(v, second)
	return a, b, err
}

// auditInclusion serves GET /v1/audit/proof.
func (s *Server) auditInclusion(r *request) (audit.Inclusion, error) {
	seq, size, err := twoNumbers(r, "seq", "size")
	if err != nil {
		return audit.Inclusion{}, err
	}
	key, err := s.signer()
	if err != nil {
		return audit.Inclusion{}, err
	}
	return s.c.Log.Inclusion(r.Context(), key, seq, size)
}

// auditConsistency serves GET /v1/audit/proof/consistency.
func (s *Server) auditConsistency(r *request) (audit.Consistency, error) {
	from, to, err := twoNumbers(r, "from", "to")
	if err != nil {
		return audit.Consistency{}, err
	}
	key, err := s.signer()
	if err != nil {
		return audit.Consistency{}, err
	}
	return s.c.Log.Consistency(r.Context(), key, from, to)
}
