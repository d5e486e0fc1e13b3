package record

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// PutOffKey is where a request stands that somebody has put off until its session asks
// again.
func PutOffKey(r *StoredRequest) string { return putOffIn(r) + r.ID }

// putOffIn is the prefix of a session's: names of sessions may hold anything.
func putOffIn(r *StoredRequest) string {
	sum := sha256.Sum256([]byte(r.Agent + "\x00" + r.Session))
	return PrefixPutOff + hex.EncodeToString(sum[:16]) + "/"
}

// askedAgain shows people again what they have put off until the session of r asks.
func (c *Change) askedAgain(r *StoredRequest) error {
	for p, err := range c.Tx.Scan(putOffIn(r), "") {
		if err != nil {
			return err
		}
		if err := c.Tx.Delete(p.Key); err != nil {
			return err
		}
		before, err := c.Request(p.Key[strings.LastIndexByte(p.Key, '/')+1:])
		if err != nil {
			return err
		}
		before.Deferrals = slices.DeleteFunc(before.Deferrals, func(d Deferral) bool { return d.Next })
		if err := c.Write(before); err != nil {
			return err
		}
	}
	return nil
}
