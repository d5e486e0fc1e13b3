package steps

import (
	"fmt"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/upstream"
	"github.com/holdgate/holdgate/proxy/wire"
)

// Key names the request: what it asks without what differs between a request and its
// retry, where it is for, and on whose account. A stored answer is for it.
func (e *Exchange) Key() (holdgate.Digest, error) { return e.named(e.identity) }

func (e *Exchange) named(what func() ([]byte, error)) (holdgate.Digest, error) {
	canon, err := what()
	if err != nil {
		return "", fmt.Errorf("reading the request for its key: %w", err)
	}
	return e.Steps.Digester.Fields("request", e.R.Method, e.Target.URL.Scheme, e.Target.URL.Host, e.Target.URL.Path, e.Target.URL.RawQuery, e.Credentials(), string(canon)), nil
}

// identity is what a request asks, however a client says it again.
func (e *Exchange) identity() ([]byte, error) {
	if m := e.Target.Message; m != nil {
		return m.Identity, nil
	}
	if t, ok := e.Target.Codec.(route.Talker); ok && len(e.Body) > 0 {
		return t.Identity(e.Body)
	}
	return e.content()
}

// content is all that is sent, in its canonical form.
func (e *Exchange) content() ([]byte, error) {
	if len(e.Body) == 0 {
		return nil, nil
	}
	return wire.CanonicalWithout(e.Body, "stream", "stream_options")
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
// Version 4) is of one request at one time: the account is its access key. One that names
// two keys is taken for what it is as a whole.
func signer(credential string) string {
	algorithm, params, found := strings.Cut(credential, " ")
	if !found || !strings.HasPrefix(algorithm, "AWS4-") || strings.Count(strings.ToLower(params), "credential") != 1 {
		return credential
	}
	for param := range strings.SplitSeq(params, ",") {
		if scope, is := strings.CutPrefix(strings.TrimSpace(param), "Credential="); is {
			if key, _, ok := strings.Cut(scope, "/"); ok {
				return key
			}
		}
	}
	return credential
}

// permitKey names the request as something that is itself to be permitted: by all that
// will be sent. What asks no model is judged as HTTP, where headers say what is asked for.
func (e *Exchange) permitKey(c holdgate.Call) (holdgate.Digest, error) {
	k, err := e.named(e.content)
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
