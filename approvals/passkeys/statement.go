package passkeys

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-webauthn/webauthn/protocol"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store/audit"
)

// Fingerprint names a public key, as configuration does.
func Fingerprint(publicKey []byte) string {
	sum := sha256.Sum256(publicKey)
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// CheckFingerprint says why a text is no fingerprint, or nil.
func CheckFingerprint(s string) error {
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimPrefix(s, "SHA256:"))
	if !strings.HasPrefix(s, "SHA256:") || err != nil || len(b) != sha256.Size {
		return errors.New("a passkey's fingerprint is SHA256: and 43 characters, as the page shows it under People")
	}
	return nil
}

// A Statement is what a person signs.
type Statement struct {
	Call    holdgate.Digest // what was shown; empty for a key that is admitted
	Request string          // the request's id, or the fingerprint of the key that is admitted
	Answer  string          // see [Answer] and [Admission]
}

// Challenge is the statement's digest, as the authenticator signs it.
func (s Statement) Challenge() []byte {
	h := sha256.New()
	for _, part := range []string{"holdgate signed statement 1", string(s.Call), s.Request, s.Answer} {
		fmt.Fprintf(h, "%d:%s\n", len(part), part)
	}
	return h.Sum(nil)
}

// Answer is the digest of what a person answers: of its outcome without the time, the
// call that an edit makes, and what it is to stand for besides.
func Answer(o holdgate.Outcome, edited holdgate.Digest, remember string) string {
	raw, err := json.Marshal(struct {
		Decision     holdgate.Answer
		By           string
		Reason       string
		Instructions string
		Artifacts    []string
		Choice       string
		Rollback     bool
		Stop         bool
		Edited       holdgate.Digest
		Remember     string
	}{o.Decision, o.By, o.Reason, o.Instructions, append([]string{}, o.Artifacts...), o.Choice, o.Rollback, o.Stop, edited, remember})
	if err != nil {
		return ""
	}
	return digest(raw)
}

// Admission is the answer that admits a key of the person.
func Admission(person string) string { return digest([]byte("admit a passkey of " + person)) }

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// verify says what is wrong with an assertion over the challenge, or nil. The person
// must have been verified by the authenticator.
func verify(challenge []byte, rp, origin string, publicKey []byte, s audit.Signature) error {
	b64 := base64.RawURLEncoding.EncodeToString
	raw, err := json.Marshal(map[string]any{
		"id": b64(s.Credential), "rawId": b64(s.Credential), "type": "public-key",
		"response": map[string]string{"clientDataJSON": b64(s.ClientData), "authenticatorData": b64(s.AuthenticatorData), "signature": b64(s.Signature)},
	})
	if err != nil {
		return err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(raw)
	if err != nil {
		return plain(err)
	}
	return plain(parsed.Verify(b64(challenge), rp, "", []string{origin}, nil, nil, protocol.TopOriginImplicitVerificationMode, false, true, true, publicKey, protocol.SignaturePolicy{}))
}

// plain says what the library's errors keep in their details.
func plain(err error) error {
	if e, ok := errors.AsType[*protocol.Error](err); ok {
		return errors.New(e.Details)
	}
	return err
}
