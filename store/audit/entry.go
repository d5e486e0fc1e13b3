package audit

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/holdgate/holdgate"
)

// Type says what an entry records.
type Type string

// The types of entry.
const (
	TypeDecision Type = "decision" // what policy said of a call
	TypeVote     Type = "vote"     // what one person answered
	TypeOutcome  Type = "outcome"  // what ended an approval request
	TypeExtended Type = "extended" // nobody was told of a request in time, so that silence denies it
	TypeClaim    Type = "claim"    // somebody looks at a request, or no more
	TypeDelegate Type = "delegate" // somebody lets another person vote in their place
	TypeDefer    Type = "defer"    // somebody puts a request off for themselves, or no more
	TypeLeft     Type = "left"     // nobody waits for a request, for its agent's run has ended; or somebody does again
	TypeEscalate Type = "escalate" // more people may approve a request
	TypeGrant    Type = "grant"    // a grant was made, revoked, or has expired
	TypeGranted  Type = "granted"  // a grant answered a question: its call may go on from here
	TypePeople   Type = "people"   // who may answer was replaced
	TypeUsed     Type = "used"     // an approval was used: its call may go on from here
	TypeResult   Type = "result"   // what became of what was approved: "spent" or "unknown" if it was used, else "unused"
	TypeObserved Type = "observed" // a call that the provider ran by itself
	TypeRefused  Type = "refused"  // what never reached policy: malformed, too large, an address
	TypePolicy   Type = "policy"   // a policy was loaded, or could not be
	TypeConfig   Type = "config"   // people, agents and the like were replaced by a file's, or a file was not taken
	TypeStart    Type = "start"    // the sidecar started
	// TypeIntervention is a person's who paused, resumed or stopped an agent.
	TypeIntervention Type = "intervention"
	TypeSession      Type = "session"    // a session's mode was set, or it was halted or let go on
	TypeConfidence   Type = "confidence" // an agent said how sure it is
	TypeMessage      Type = "message"    // between people and an agent, or its delivery
	TypeRetention    Type = "retention"  // what the oldest entries say was dropped; their hashes are kept
	TypeDefinition   Type = "definition" // what an MCP server says of its tools: seen first, changed, or accepted by a person
	TypePasskey      Type = "passkey"    // a person's passkey was registered, admitted or removed
	TypeUndo         Type = "undo"       // somebody takes back what an agent changed in its folder
	TypeFinding      Type = "finding"    // an agent's own request shows that it did something without being let, or traffic looks like that of a model API that is not read
)

// Types returns all types of entry.
func Types() []Type {
	return []Type{
		TypeDecision, TypeVote, TypeOutcome, TypeExtended, TypeClaim, TypeDelegate, TypeDefer, TypeLeft, TypeEscalate, TypeGrant, TypeGranted,
		TypePeople, TypeUsed, TypeResult, TypeObserved, TypeRefused, TypePolicy, TypeConfig, TypeStart, TypeIntervention,
		TypeSession, TypeConfidence, TypeMessage, TypeRetention, TypeDefinition, TypePasskey, TypeUndo, TypeFinding,
	}
}

// An Entry is one line of the log. Seq, Time, PrevHash, Hash and Member are
// filled in when it is appended.
//
// The fields of this type, and of those within it, stand in the order of their
// JSON names, which is the order of the canonical form.
type Entry struct {
	Call     *Call     `json:"call,omitempty"`
	Decision *Decision `json:"decision,omitempty"`
	Door     string    `json:"door,omitempty"`
	// Dropped is up to which entry retention has dropped what entries say.
	Dropped  uint64 `json:"dropped,omitempty"`
	Exchange string `json:"exchange,omitempty"`
	Grant    string `json:"grant,omitempty"` // the grant that it is about
	// Hash is the hex SHA-256 of the entry without this field, in canonical
	// form.
	Hash string `json:"hash"`
	// Input is the call's arguments or request as policy saw it, redacted. It
	// must be strict JSON: no duplicate keys, valid UTF-8.
	Input json.RawMessage `json:"input,omitempty"`
	// Member is the sidecar that wrote the entry, where several share a store.
	Member string `json:"member,omitempty"`
	// Note says in words what the other fields can't.
	Note    string            `json:"note,omitempty"`
	Outcome *holdgate.Outcome `json:"outcome,omitempty"`
	// PrevHash is the hash of the entry before; empty in the first.
	PrevHash  string `json:"prev_hash"`
	RequestID string `json:"request_id,omitempty"`
	// Seen is what policy saw of the call besides Input, as package rego writes
	// and reads it. It must be strict JSON.
	Seen json.RawMessage `json:"seen,omitempty"`
	Seq  uint64          `json:"seq"` // from 1, without gaps
	// Signed is the voter's signature with a passkey, or the passkey that it is about.
	Signed *Signature `json:"signed,omitempty"`
	// Status is what the request has become by its outcome: silence can approve it
	// or let it expire. Entries of before November 2026 have none.
	Status holdgate.Status `json:"status,omitempty"`
	Time   time.Time       `json:"time"`
	Type   Type            `json:"type"`
}

// A Signature is what a person signed with a passkey, and all that is needed to verify
// it: see package approvals/passkeys. Digests are in hex.
type Signature struct {
	// Admitted says why the key counts: "configuration", or the fingerprint of the key
	// that admitted it.
	Admitted          string          `json:"admitted,omitempty"`
	Answer            string          `json:"answer,omitempty"` // digest of what was answered
	AuthenticatorData []byte          `json:"authenticator_data,omitempty"`
	Call              holdgate.Digest `json:"call,omitempty"` // that was answered
	ClientData        []byte          `json:"client_data,omitempty"`
	Credential        []byte          `json:"credential,omitempty"` // the key's id, as the authenticator calls it
	Edited            holdgate.Digest `json:"edited,omitempty"`     // of the call that an edit makes
	Key               string          `json:"key,omitempty"`        // the fingerprint of PublicKey
	Origin            string          `json:"origin,omitempty"`
	PublicKey         []byte          `json:"public_key,omitempty"` // COSE
	Remember          string          `json:"remember,omitempty"`   // what the approval is to stand for besides, in JSON
	Request           string          `json:"request,omitempty"`    // that was answered, or the key that was admitted
	RP                string          `json:"rp_id,omitempty"`
	Signature         []byte          `json:"signature,omitempty"`
}

// Call is a call as the log names it.
type Call struct {
	Agent   string          `json:"agent"`
	Digest  holdgate.Digest `json:"digest,omitempty"`
	Folder  string          `json:"folder,omitempty"` // where it happens, as far as that is proven
	Gate    string          `json:"gate,omitempty"`
	HTTP    string          `json:"http,omitempty"` // "GET host/path"
	ID      string          `json:"id,omitempty"`   // the provider's or client's own
	Kind    holdgate.Kind   `json:"kind"`
	MCP     string          `json:"mcp,omitempty"` // "server method"
	Model   string          `json:"model,omitempty"`
	Program string          `json:"program,omitempty"` // the agent's, by its own word
	Proven  bool            `json:"proven,omitempty"`  // the agent; else it is its own word
	Said    string          `json:"said,omitempty"`    // the folder that the agent says it is in, where it is not Folder
	Session string          `json:"session"`
	Tool    *Tool           `json:"tool,omitempty"`
}

// Name is the call in a few words: its tool, model, method or address.
func (c *Call) Name() string {
	switch {
	case c.Tool != nil && c.Tool.Server != "":
		return c.Tool.Server + "/" + c.Tool.Name
	case c.Tool != nil:
		return c.Tool.Name
	}
	return cmp.Or(c.Model, c.MCP, c.HTTP, c.Gate, string(c.Kind))
}

// Tool names a tool.
type Tool struct {
	Name   string `json:"name"`
	Server string `json:"server,omitempty"`
}

// Decision is a decision as the log names it.
type Decision struct {
	Action   holdgate.Action  `json:"action"`
	Reason   string           `json:"reason,omitempty"`
	Revision string           `json:"revision,omitempty"`
	Risk     holdgate.Risk    `json:"risk,omitempty"`
	Rule     string           `json:"rule,omitempty"`
	Would    *holdgate.Action `json:"would,omitempty"`
}
