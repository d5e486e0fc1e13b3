package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
)

// Challenge asks the listener to prove that it knows the caller's token.
type Challenge struct {
	// Nonce is 32 random bytes in hex, new for each connection.
	Nonce string `json:"nonce"`
	// Caller says to those who know the token whose it is: see [CallerMark].
	Caller string `json:"caller"`
}

// Proven answers a Challenge.
type Proven struct {
	Proof string `json:"proof"` // see [Proof]
}

// hexLen is the length of a nonce and of a caller's mark, in characters.
const hexLen = 64

// Proof is what shows that the listener at addr knows the token's hash: hex of
// HMAC-SHA-256 over the nonce and the address, under the hash. For TCP the
// address is the one that the connection reached, as "IP:port"; the proof is
// then good for no other listener. All unix sockets count as one address,
// "unix": who can put one where it is looked for can read the token there.
func Proof(token TokenHash, nonce string, addr net.Addr) string {
	where := addr.String()
	if addr.Network() == "unix" {
		where = "unix"
	}
	return mac(token, "sidecar:"+nonce+":"+where)
}

// CallerMark is the caller's part of a challenge: hex of HMAC-SHA-256 over the
// nonce, under the token's hash. Who does not know the hash learns nothing of
// it, not even whether two connections are of the same person.
func CallerMark(token TokenHash, nonce string) string { return mac(token, "caller:"+nonce) }

func isHex(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == hexLen/2
}

func mac(key TokenHash, text string) string {
	m := hmac.New(sha256.New, key[:])
	m.Write([]byte(text))
	return hex.EncodeToString(m.Sum(nil))
}

// prove serves POST /v1/prove. It needs no token, and tells nothing to whom
// does not know one: a mark that is nobody's is answered like any other.
func (s *Server) prove(r *request, in Challenge) (Proven, error) {
	if !isHex(in.Nonce) || !isHex(in.Caller) {
		return Proven{}, malformed("nonce and caller must be 32 bytes in hex each")
	}
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return Proven{}, problem(http.StatusForbidden, "foreign-site", "Refused", "the listener's own address is not known")
	}
	key := s.decoy
	for _, c := range s.c.Credentials() {
		if hmac.Equal([]byte(in.Caller), []byte(CallerMark(c.Token, in.Nonce))) {
			key = c.Token
		}
	}
	return Proven{Proof: Proof(key, in.Nonce, addr)}, nil
}
