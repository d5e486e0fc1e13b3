package identity

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jwk"
	"github.com/lestrrat-go/jwx/v3/jws"
	"github.com/lestrrat-go/jwx/v3/jwt"
)

// An Issued verifies tokens by the keys with which the cluster signs them (the
// issuer's JSON Web Key Set, RFC 7517), without asking the cluster of each. A
// token counts until it ends: the cluster gives short-lived ones to pods.
type Issued struct {
	Issuer   string // as tokens name it
	Audience string // that tokens must be for
	Keys     string // the key set: a file, or https://...
	Client   *http.Client

	mu   sync.Mutex
	set  jwk.Set
	read time.Time // when set was
}

const (
	keysFor   = 10 * time.Minute // until the keys are read anew
	keysLeast = 10 * time.Second // between two times, where a token's key is not among them
	skew      = 30 * time.Second // between two clocks
)

// ServiceAccount implements [Cluster].
func (v *Issued) ServiceAccount(ctx context.Context, token string) (string, error) {
	set, read, err := v.keys(ctx, keysFor)
	if err != nil {
		return "", err
	}
	t, err := v.verify(token, set)
	if err != nil && time.Since(read) > keysLeast { // the cluster may sign with another key by now
		if set, _, kerr := v.keys(ctx, keysLeast); kerr == nil {
			t, err = v.verify(token, set)
		}
	}
	if err != nil {
		return "", err
	}
	sub, _ := t.Subject()
	return accountOf(sub)
}

// verify checks the signature, and what the token says of itself.
func (v *Issued) verify(token string, set jwk.Set) (jwt.Token, error) {
	t, err := jwt.ParseString(token, jwt.WithKeySet(set, jws.WithInferAlgorithmFromKey(true)),
		jwt.WithIssuer(v.Issuer), jwt.WithAudience(v.Audience), jwt.WithRequiredClaim(jwt.ExpirationKey), jwt.WithAcceptableSkew(skew))
	switch {
	case err == nil:
		return t, nil
	case errors.Is(err, jwt.TokenExpiredError()):
		return nil, errors.New("it has ended: read it anew from its file for each request")
	case errors.Is(err, jwt.InvalidIssuerError()):
		return nil, fmt.Errorf("its issuer is not %s", v.Issuer)
	case errors.Is(err, jwt.InvalidAudienceError()):
		return nil, fmt.Errorf("it is not for the audience %q", v.Audience)
	}
	return nil, errors.New("its signature is by none of the cluster's keys, or it says too little of itself")
}

// keys are the cluster's, at most so old.
func (v *Issued) keys(ctx context.Context, old time.Duration) (jwk.Set, time.Time, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.set != nil && time.Since(v.read) < old {
		return v.set, v.read, nil
	}
	set, err := v.fetch(ctx)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("reading the cluster's keys from %s: %w", v.Keys, err)
	}
	v.set, v.read = set, time.Now()
	return v.set, v.read, nil
}

func (v *Issued) fetch(ctx context.Context) (jwk.Set, error) {
	text, err := v.text(ctx)
	if err != nil {
		return nil, err
	}
	set, err := jwk.Parse(text)
	if err != nil {
		return nil, errors.New("it is no JSON Web Key Set")
	}
	for i := range set.Len() {
		if k, ok := set.Key(i); !ok || k.KeyType() == jwa.OctetSeq() {
			return nil, errors.New("it holds a shared secret, with which anybody who verifies could sign")
		}
	}
	return set, nil
}

func (v *Issued) text(ctx context.Context) ([]byte, error) {
	if !strings.HasPrefix(v.Keys, "https://") && !strings.HasPrefix(v.Keys, "http://") {
		return os.ReadFile(v.Keys)
	}
	ctx, cancel := context.WithTimeout(ctx, askingFor)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.Keys, nil)
	if err != nil {
		return nil, err
	}
	resp, err := v.Client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answered %s", resp.Status)
	}
	return io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
}
