package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// signatureHeader carries the signature, both ways.
const signatureHeader = "Holdgate-Signature"

// window is how far a signature's time may be from now.
const window = 5 * time.Minute

var (
	errSignature = errors.New("the signature is missing or wrong")
	errOld       = errors.New("the signature's time is more than five minutes from now")
)

// A secret is what both sides sign with. It prints as nothing.
type secret []byte

// String implements [fmt.Stringer].
func (secret) String() string { return "<secret>" }

// GoString implements [fmt.GoStringer].
func (secret) GoString() string { return "<secret>" }

// Format implements [fmt.Formatter].
func (secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("<secret>")) }

// sign returns the header's value for a body that is sent at a time.
func (s secret) sign(at time.Time, body []byte) string {
	t := strconv.FormatInt(at.Unix(), 10)
	return "t=" + t + ",v1=" + hex.EncodeToString(s.mac(t, body))
}

func (s secret) mac(t string, body []byte) []byte {
	m := hmac.New(sha256.New, s)
	m.Write([]byte(t))
	m.Write([]byte("."))
	m.Write(body)
	return m.Sum(nil)
}

// verify checks the header's value, and returns what names this signature among
// all of the window.
func (s secret) verify(header string, body []byte, now time.Time) (name [sha256.Size]byte, at time.Time, err error) {
	t, v1, ok := strings.Cut(header, ",")
	t, okT := strings.CutPrefix(t, "t=")
	v1, okV := strings.CutPrefix(v1, "v1=")
	sum, err := hex.DecodeString(v1)
	if !ok || !okT || !okV || err != nil || len(sum) != sha256.Size || !hmac.Equal(sum, s.mac(t, body)) {
		return name, at, errSignature
	}
	seconds, err := strconv.ParseInt(t, 10, 64)
	if err != nil {
		return name, at, errSignature
	}
	at = time.Unix(seconds, 0)
	if at.Before(now.Add(-window)) || at.After(now.Add(window)) {
		return name, at, errOld
	}
	return [sha256.Size]byte(sum), at, nil
}
