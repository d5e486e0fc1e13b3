package upstream

import (
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
)

// minRSA is how long an RSA key of an upstream's certificates is at least, in
// bits (CA/Browser Forum Baseline Requirements, section 6.1.5).
const minRSA = 2048

// tls is how upstream servers are spoken to. They are always verified.
func (n *Network) tls() *tls.Config {
	return &tls.Config{RootCAs: n.c.RootCAs, MinVersion: tls.VersionTLS12, VerifyConnection: strongKeys}
}

// A weakKeyError says that a key of an upstream's certificates is too short.
type weakKeyError struct {
	subject string
	bits    int
}

func (e *weakKeyError) Error() string {
	return fmt.Sprintf("the RSA key of %s has %d bits, and %d are the least", e.subject, e.bits, minRSA)
}

// strongKeys refuses a server to which no chain of strong keys leads. The last
// certificate of a chain is one that somebody chose to trust, whatever its key.
func strongKeys(cs tls.ConnectionState) error {
	var weak error
	for _, chain := range cs.VerifiedChains {
		if weak = weakKey(chain); weak == nil {
			return nil
		}
	}
	return weak
}

func weakKey(chain []*x509.Certificate) error {
	for i, c := range chain {
		if i > 0 && i == len(chain)-1 {
			break
		}
		if key, ok := c.PublicKey.(*rsa.PublicKey); ok && key.N.BitLen() < minRSA {
			return &weakKeyError{c.Subject.String(), key.N.BitLen()}
		}
	}
	return nil
}

// Fault says why an upstream failed, and what can be done where the
// reason is who it says that it is.
func Fault(err error) string {
	why := certificateFault(err)
	if why == "" {
		return holdgate.Visible(err.Error())
	}
	return why + ". Nothing was sent to it"
}

// Hints for who runs the agent, who can seldom change the server.
const (
	hintCA     = "If the server is to be trusted, put the certificate of its CA into a file and name it under tls.ca_files in Holdgate's configuration"
	hintServer = "Whoever runs the server has to mend that; Holdgate takes no other certificate in its place"
)

// certificateFault says what is wrong with how an upstream proves who it is, or
// "" where it is something else that is wrong.
func certificateFault(err error) string {
	if e, ok := errors.AsType[*weakKeyError](err); ok {
		return "its certificate is refused: " + e.Error() + ". " + hintServer
	}
	if e, ok := errors.AsType[x509.HostnameError](err); ok {
		return wrongName(e) + ". " + hintServer
	}
	if e, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return unknownSigner(err, e) + ". " + hintCA
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		return invalidCertificate(e) + ". " + hintServer
	}
	if text := err.Error(); strings.Contains(text, "protocol version") {
		return "it speaks no TLS later than 1.1, which is not safe any longer (" + holdgate.Visible(text) + "). " + hintServer
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "its certificate is refused: " + holdgate.Visible(e.Err.Error()) + ". " + hintServer
	}
	return ""
}

// wrongName says whose certificate a server showed.
func wrongName(e x509.HostnameError) string {
	names := slices.Clone(e.Certificate.DNSNames)
	for _, ip := range e.Certificate.IPAddresses {
		names = append(names, ip.String())
	}
	host := holdgate.Visible(e.Host)
	if len(names) == 0 {
		return fmt.Sprintf("its certificate names %s in its common name alone (%s), which counts no longer: it must stand among the alternative names",
			host, holdgate.Visible(e.Certificate.Subject.CommonName))
	}
	const shown = 5
	more := ""
	if len(names) > shown {
		more = fmt.Sprintf(" and %d more", len(names)-shown)
		names = names[:shown]
	}
	return fmt.Sprintf("its certificate is for %s%s and not for %s", holdgate.Visible(strings.Join(names, ", ")), more, host)
}

// unknownSigner says who signed for a server that nobody here knows.
func unknownSigner(err error, e x509.UnknownAuthorityError) string {
	c := e.Cert
	if v, ok := errors.AsType[*tls.CertificateVerificationError](err); ok && len(v.UnverifiedCertificates) > 0 {
		c = v.UnverifiedCertificates[0]
	}
	if c == nil {
		return "its certificate is signed by nobody who is trusted here"
	}
	if c.CheckSignatureFrom(c) == nil || string(c.RawIssuer) == string(c.RawSubject) {
		return "its certificate is signed by itself (" + holdgate.Visible(c.Subject.String()) + ")"
	}
	return "its certificate is signed by " + holdgate.Visible(c.Issuer.String()) + ", who is not trusted here, or whose own certificate the server left out"
}

// invalidCertificate says what rules a certificate out.
func invalidCertificate(e x509.CertificateInvalidError) string {
	if e.Reason != x509.Expired || e.Cert == nil {
		return "its certificate is refused: " + holdgate.Visible(e.Error())
	}
	if now := time.Now(); now.Before(e.Cert.NotBefore) {
		return fmt.Sprintf("its certificate begins on %s, and here it is %s", e.Cert.NotBefore.UTC().Format(time.DateTime), now.UTC().Format(time.DateTime))
	}
	return "a certificate of its ended on " + e.Cert.NotAfter.UTC().Format(time.DateTime) + " (" + holdgate.Visible(e.Cert.Subject.String()) + ")"
}
