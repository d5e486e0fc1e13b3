package steps

import (
	"fmt"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/upstream"
	"github.com/holdgate/holdgate/proxy/wire"
)

// Key names the request: its canonical JSON without what differs between a
// request and its retry, where it is for, and on whose account.
func (e *Exchange) Key() (holdgate.Digest, error) {
	var canon []byte
	if len(e.Body) > 0 {
		var err error
		if canon, err = wire.CanonicalWithout(e.Body, "stream", "stream_options"); err != nil {
			return "", fmt.Errorf("reading the request for its key: %w", err)
		}
	}
	return e.Steps.Digester.Fields("request", e.R.Method, e.Target.URL.Scheme, e.Target.URL.Host, e.Target.URL.Path, e.Target.URL.RawQuery, e.Credentials(), string(canon)), nil
}

// Credentials names the account that the request is made on, so that an answer
// made on one is not picked up by another. It is a keyed digest.
func (e *Exchange) Credentials() string {
	var fields []string
	for _, name := range upstream.CredentialHeaders {
		for _, v := range e.R.Header.Values(name) {
			fields = append(fields, name, signer(v))
		}
	}
	return string(e.Steps.Digester.Fields("credentials", fields...))
}

// signer is what a credential says of the account. A signature of AWS (Signature
// Version 4) is of one request at one time: the account is its access key.
func signer(credential string) string {
	if !strings.HasPrefix(credential, "AWS4-") {
		return credential
	}
	_, scope, found := strings.Cut(credential, "Credential=")
	key, _, ok := strings.Cut(scope, "/")
	if !found || !ok {
		return credential
	}
	return key
}

// permitKey names the request as something that is itself to be permitted. What
// asks no model is judged as HTTP, where headers say what is asked for.
func (e *Exchange) permitKey(c holdgate.Call) (holdgate.Digest, error) {
	k, err := e.Key()
	fields := []string{string(k)}
	if c.HTTP != nil {
		fields = append(fields, route.Meaning(e.R.Header))
	}
	return e.Steps.Digester.Fields("permit", fields...), err
}

// Account names the upstream and on whose account it is asked. What was refused
// is put back for the account alone on which it came: the call has what only
// that upstream has seen, and its notice can be guessed.
func (e *Exchange) Account() holdgate.Digest {
	fields := []string{e.Target.URL.Scheme, e.Target.URL.Host, e.Credentials()}
	query := e.Target.URL.Query()
	for _, name := range []string{"key", "access_token"} { // Google's
		for _, v := range query[name] {
			fields = append(fields, name, v)
		}
	}
	return e.Steps.Digester.Fields("account", fields...)
}
