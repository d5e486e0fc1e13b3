package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// MinToken is the least length of a token, in characters: 128 bits in hex.
const MinToken = 32

// TokenHash is SHA-256 of a token. A token comes from a secure source of
// randomness, so that nothing slower is needed to keep it from being guessed.
type TokenHash [sha256.Size]byte

// HashToken returns the token's hash.
func HashToken(token string) TokenHash { return sha256.Sum256([]byte(token)) }

// A Credential says whose a token is.
type Credential struct {
	Person string
	Token  TokenHash
}

// CheckCredentials says what is wrong with a server's credentials.
func CheckCredentials(list []Credential) error {
	if len(list) == 0 {
		return errors.New("api: nobody has a credential")
	}
	for i, c := range list {
		switch {
		case c.Person == "":
			return errors.New("api: a credential is nobody's")
		case c.Token == TokenHash{}:
			return fmt.Errorf("api: the credential of %s is empty", c.Person)
		case slices.ContainsFunc(list[:i], func(o Credential) bool { return o.Token == c.Token }):
			return fmt.Errorf("api: the token of %s is somebody's already", c.Person)
		}
	}
	return nil
}

// authenticate returns whose token the request carries. A right token always
// passes; failures beyond a few a second are told apart from the first ones,
// and not logged.
func (s *Server) authenticate(r *http.Request) (person string, hash TokenHash, err error) {
	if in, ok := r.Context().Value(signedIn{}).(Credential); ok {
		if person, ok := holder(s.c.Credentials(), in.Token); ok && person == in.Person {
			return person, in.Token, nil
		}
		return "", in.Token, unauthorized()
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") {
		hash = HashToken(token)
		if person, ok := holder(s.c.Credentials(), hash); ok {
			return person, hash, nil
		}
	}
	if !s.failures.Allow() {
		return "", hash, problem(http.StatusTooManyRequests, "too-many-failures", "Too many failures", "too many requests without a right token")
	}
	s.c.Logger.WarnContext(r.Context(), "refusing a request without an approver's token", "method", r.Method, "path", r.URL.Path)
	return "", hash, unauthorized()
}

// stillKnown refuses whose token was taken back since the request was let in. An
// open endpoint asks for none.
func (s *Server) stillKnown(r *request) error {
	if r.by == "" {
		return nil
	}
	if person, ok := holder(s.c.Credentials(), r.token); !ok || person != r.by {
		return unauthorized()
	}
	return nil
}

func unauthorized() error {
	return problem(http.StatusUnauthorized, "unauthorized", "Not authorised", "the approver's token is missing or wrong")
}

// holder finds whose the token of this hash is, in a time that does not tell
// who was found, or how much of a hash is right.
func holder(list []Credential, hash TokenHash) (person string, ok bool) {
	found := -1
	for i, c := range list {
		if subtle.ConstantTimeCompare(c.Token[:], hash[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return "", false
	}
	return list[found].Person, true
}
