package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
)

// Challenge asks the listener to prove that it knows the token.
type Challenge struct {
	// Nonce is 32 random bytes in hex, new for each connection.
	Nonce string `json:"nonce"`
}

// Proven answers a Challenge.
type Proven struct {
	Proof string `json:"proof"` // see [Proof]
}

// nonceLen is the length of a nonce, in characters.
const nonceLen = 64

// Proof is what shows that the listener at addr knows the token: hex of
// HMAC-SHA-256 over the nonce and the address, under the token. For TCP the
// address is the one that the connection reached, as "IP:port"; the proof is
// then good for no other listener. All unix sockets count as one address,
// "unix": who can put one where it is looked for can read the token there.
func Proof(token, nonce string, addr net.Addr) string {
	where := addr.String()
	if addr.Network() == "unix" {
		where = "unix"
	}
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("sidecar:" + nonce + ":" + where))
	return hex.EncodeToString(mac.Sum(nil))
}

// prove serves POST /v1/prove. It needs no token, and tells nothing to whom
// does not know it.
func (s *Server) prove(r *http.Request, in Challenge) (Proven, error) {
	if b, err := hex.DecodeString(in.Nonce); err != nil || len(b) != nonceLen/2 {
		return Proven{}, problem(http.StatusBadRequest, "malformed", "Malformed request", "nonce must be 32 bytes in hex")
	}
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return Proven{}, problem(http.StatusForbidden, "foreign-site", "Refused", "the listener's own address is not known")
	}
	return Proven{Proof: Proof(s.c.Token, in.Nonce, addr)}, nil
}
