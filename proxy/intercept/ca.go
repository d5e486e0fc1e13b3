package intercept

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// OpenCA reads the CA from dir (ca.pem, ca.key), or makes one there on first
// use: ECDSA P-256, ten years, of this folder alone. The key file has mode
// 0600, and one that others may read is refused.
func OpenCA(dir string) (*tls.Certificate, error) { return openCA(dir, "ca", nil) }

// OpenCAFor is OpenCA for a CA that can sign certificates of servers at these names and
// addresses alone (RFC 5280, section 4.2.1.10), in NAME.pem and NAME.key. Whoever trusts
// it trusts it for nothing else. Where the one that is there is not for all of them, a
// new one takes its place.
func OpenCAFor(dir, name string, hosts []string) (*tls.Certificate, error) {
	ca, err := openCA(dir, name, hosts)
	if err != nil {
		return nil, err
	}
	leaf, err := SignLeaf(ca, time.Now(), hosts...)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.Leaf)
	if _, err := leaf.Leaf.Verify(x509.VerifyOptions{Roots: roots}); err == nil {
		return ca, nil
	}
	certFile := filepath.Join(dir, name+".pem")
	b, err := makeCA(filepath.Join(dir, name+".key"), hosts)
	if err != nil {
		return nil, fmt.Errorf("making a CA for other names: %w", err)
	}
	if err := whole(certFile, 0o644, b, os.Rename); err != nil {
		return nil, fmt.Errorf("making a CA for other names: %w", err)
	}
	return openCA(dir, name, hosts)
}

// openCA reads a CA, or makes one for the hosts, for any where there are none. Sidecars
// that start together on one folder have the same: the key's name is given once, and the
// certificate is made for the key that has it.
func openCA(dir, name string, hosts []string) (*tls.Certificate, error) {
	certFile, keyFile := filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
	if err := once(keyFile, 0o600, makeKey); err != nil {
		return nil, fmt.Errorf("making a CA's key: %w", err)
	}
	info, err := os.Stat(keyFile)
	if err != nil {
		return nil, fmt.Errorf("reading the CA's key: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s has mode %04o: others may read the CA's key; set it to 0600, or remove it and %s to have a new CA made", keyFile, info.Mode().Perm(), certFile)
	}
	if err := once(certFile, 0o644, func() ([]byte, error) { return makeCA(keyFile, hosts) }); err != nil {
		return nil, fmt.Errorf("making a CA: %w", err)
	}
	ca, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("reading the CA: %w: remove %s and %s to have a new one made", err, certFile, keyFile)
	}
	if ca.Leaf == nil || !ca.Leaf.IsCA {
		return nil, fmt.Errorf("%s is no CA certificate", certFile)
	}
	if time.Now().After(ca.Leaf.NotAfter) {
		return nil, fmt.Errorf("the CA in %s ended on %s: remove it and %s to have a new one made", certFile, ca.Leaf.NotAfter.Format(time.DateOnly), keyFile)
	}
	return &ca, nil
}

// once gives a file its name where nobody has it, when it is whole.
func once(file string, mode fs.FileMode, content func() ([]byte, error)) error {
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	b, err := content()
	if err != nil {
		return err
	}
	if err := whole(file, mode, b, os.Link); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// whole writes a file beside its name, and has it named when it is on the disk.
func whole(file string, mode fs.FileMode, b []byte, named func(from, to string) error) error {
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(b)
	if err := errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return named(f.Name(), file)
}

func makeKey() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// makeCA makes a certificate of the key in the file. All that are made of one key for the
// same hosts have one subject, so that whoever trusts one of them trusts what another has
// signed.
func makeCA(keyFile string, hosts []string) ([]byte, error) {
	key, err := readKey(keyFile)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, err
	}
	subject := fmt.Sprintf("%x", sha256.Sum256(append(public, strings.Join(hosts, " ")...)))[:8]
	now := time.Now()
	tmpl := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "Holdgate CA " + subject, Organization: []string{"Holdgate"}},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.AddDate(10, 0, 0),
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	constrain(tmpl, subject, hosts)
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

func readKey(file string) (crypto.Signer, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(b)
	if block == nil {
		return nil, fmt.Errorf("%s holds no key: remove it to have a new one made", file)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: remove it to have a new one made", file, err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("%s holds no key that signs", file)
	}
	return signer, nil
}

// constrain lets a CA sign certificates of servers at the hosts alone; where there are
// none, any.
func constrain(tmpl *x509.Certificate, subject string, hosts []string) {
	if len(hosts) == 0 {
		return
	}
	tmpl.Subject.CommonName = "Holdgate's page " + subject
	tmpl.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	tmpl.PermittedDNSDomainsCritical = true
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip == nil {
			tmpl.PermittedDNSDomains = append(tmpl.PermittedDNSDomains, host)
		} else {
			if short := ip.To4(); short != nil {
				ip = short
			}
			tmpl.PermittedIPRanges = append(tmpl.PermittedIPRanges, &net.IPNet{IP: ip, Mask: net.CIDRMask(8*len(ip), 8*len(ip))})
		}
	}
	// A kind of name that nothing is permitted of would be free.
	if len(tmpl.PermittedDNSDomains) == 0 {
		tmpl.PermittedDNSDomains = []string{"invalid"}
	}
	if len(tmpl.PermittedIPRanges) == 0 {
		tmpl.ExcludedIPRanges = []*net.IPNet{{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}, {IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)}}
	}
	tmpl.PermittedEmailAddresses, tmpl.PermittedURIDomains = []string{"invalid"}, []string{"invalid"}
}

// SignLeaf makes the certificate of a host, or of several names and addresses of one:
// with a key of its own, of no use to anybody a day later.
func SignLeaf(ca *tls.Certificate, now time.Time, hosts ...string) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	end := now.Add(leafEnds)
	if end.After(ca.Leaf.NotAfter) {
		end = ca.Leaf.NotAfter
	}
	tmpl := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{Organization: []string{"Holdgate"}},
		NotBefore:    now.Add(-leafSkew), NotAfter: end,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			tmpl.IPAddresses = append(tmpl.IPAddresses, ip)
		} else {
			tmpl.DNSNames = append(tmpl.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, ca.Leaf, &key.PublicKey, ca.PrivateKey)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der, ca.Certificate[0]}, PrivateKey: key, Leaf: leaf}, nil
}

// leaves keeps the certificates that were signed, up to a bound: an agent can
// name as many hosts as it likes.
type leaves struct {
	mu   sync.Mutex
	byID map[string]*leaf
}

type leaf struct {
	once   sync.Once
	cert   *tls.Certificate
	err    error
	signed time.Time
}

const (
	maxLeaves = 1024
	leafLife  = 12 * time.Hour // a leaf is signed anew long before it ends
	leafEnds  = 24 * time.Hour
	leafSkew  = time.Hour // by which a client's clock may be behind
)

// Fetch returns the certificate for the host, signing it at most once at a
// time.
func (l *leaves) Fetch(host string, gen func() (*tls.Certificate, error)) (*tls.Certificate, error) {
	l.mu.Lock()
	if l.byID == nil {
		l.byID = map[string]*leaf{}
	}
	e := l.byID[host]
	if e == nil || time.Since(e.signed) > leafLife {
		if len(l.byID) >= maxLeaves {
			clear(l.byID)
		}
		e = &leaf{signed: time.Now()}
		l.byID[host] = e
	}
	l.mu.Unlock()
	e.once.Do(func() { e.cert, e.err = gen() })
	if e.err != nil {
		l.mu.Lock()
		if l.byID[host] == e {
			delete(l.byID, host)
		}
		l.mu.Unlock()
	}
	return e.cert, e.err
}
