package passkeys

import (
	"errors"
	"fmt"

	"github.com/holdgate/holdgate/store/audit"
)

// A Checker verifies the signatures of a log, entry by entry from the first on, with
// nothing but the log. The zero value is ready.
type Checker struct {
	Votes int               // signed votes so far, all of them right
	Keys  map[string]string // whose each key is that has signed a vote, by fingerprint
	// Unknown are the entries whose key the log does not register or admit before. In a
	// log of which nothing was dropped they are wrong.
	Unknown []uint64

	registered map[string]string
	admitted   map[string]bool
}

// Entry says what is wrong with an entry that has a signature, or nil.
func (c *Checker) Entry(e audit.Entry) error {
	s := e.Signed
	if c.registered == nil {
		c.Keys, c.registered, c.admitted = map[string]string{}, map[string]string{}, map[string]bool{}
	}
	if s == nil {
		return nil
	}
	if s.PublicKey != nil && Fingerprint(s.PublicKey) != s.Key {
		return fmt.Errorf("the key is changed: its fingerprint is not %s", s.Key)
	}
	switch {
	case e.Outcome == nil:
		return fmt.Errorf("the answer is changed: the entry has a signature and no answer")
	case e.Type == audit.TypePasskey && s.Signature == nil:
		if s.PublicKey != nil {
			c.registered[s.Key] = e.Outcome.By
		} else {
			delete(c.registered, s.Key)
			delete(c.admitted, s.Key)
		}
		return nil
	case e.Type == audit.TypePasskey:
		if s.Answer != Admission(e.Outcome.By) {
			return fmt.Errorf("the answer is changed: it is not that %s admits a passkey", e.Outcome.By)
		}
		if err := c.signed(e); err != nil {
			return err
		}
		c.admitted[s.Request] = true
		return nil
	}
	if err := c.signed(e); err != nil {
		return err
	}
	switch {
	case e.Call == nil || e.Call.Digest != s.Call:
		return fmt.Errorf("the call is changed: %s signed another one", e.Outcome.By)
	case e.RequestID != s.Request:
		return fmt.Errorf("the request is changed: %s signed %s", e.Outcome.By, s.Request)
	case Answer(*e.Outcome, s.Edited, s.Remember) != s.Answer:
		return fmt.Errorf("the answer is changed: it is not what was signed with the passkey %s", s.Key)
	}
	c.Votes++
	c.Keys[s.Key] = e.Outcome.By
	return nil
}

// signed verifies the signature itself, and that its key is one of the person's that the
// log says counts.
func (c *Checker) signed(e audit.Entry) error {
	s := e.Signed
	if err := verify((Statement{s.Call, s.Request, s.Answer}).Challenge(), s.RP, s.Origin, s.PublicKey, *s); err != nil {
		return errors.New("the signature is changed")
	}
	person, known := c.registered[s.Key]
	switch {
	case known && person != e.Outcome.By:
		return fmt.Errorf("the answer is changed: it is by %s, and the key is that of %s", e.Outcome.By, person)
	case !known || s.Admitted != ByConfiguration && !c.admitted[s.Key]:
		c.Unknown = append(c.Unknown, e.Seq)
	}
	return nil
}
