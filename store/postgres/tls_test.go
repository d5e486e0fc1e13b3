package postgres_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdgate/holdgate/store/postgres"
	"github.com/holdgate/holdgate/store/postgres/pgtest"
)

// tlsAddress is where the server of this test listens, and by which its certificate names
// it; at the other address it listens too.
const tlsAddress, otherName = "127.86.7.5", "127.86.7.6"

// An authority signs certificates.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// newAuthority makes one, whose own certificate is dir/name.crt.
func newAuthority(t *testing.T, dir, name string) *authority {
	t.Helper()
	a := &authority{t: t, dir: dir}
	a.cert, a.key = a.issue(name, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// issue writes dir/name.crt and dir/name.key.
func (a *authority) issue(name string, c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c.SerialNumber, c.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: name}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	a.write(name+".crt", "CERTIFICATE", der)
	a.write(name+".key", "PRIVATE KEY", private)
	made, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return made, key
}

// write writes a file for the owner of the folder alone.
func (a *authority) write(name, kind string, der []byte) {
	a.t.Helper()
	path := filepath.Join(a.dir, name)
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
	folder, err := os.Stat(a.dir)
	if err != nil {
		a.t.Fatal(err)
	}
	owner := folder.Sys().(*syscall.Stat_t)
	if err := os.Chown(path, int(owner.Uid), int(owner.Gid)); err != nil {
		a.t.Fatal(err)
	}
}

// A server is known by its certificate, and this program by its own: where one of the two
// is missing or of somebody else, nothing is opened.
func TestTLS(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, "listen_addresses="+tlsAddress+","+otherName)
	dir := server.Socket
	ca, other := newAuthority(t, dir, "ca"), newAuthority(t, dir, "other")
	ca.issue("server", &x509.Certificate{IPAddresses: []net.IP{net.ParseIP(tlsAddress)}})
	ca.issue("holdgate", &x509.Certificate{})
	other.issue("stranger", &x509.Certificate{})
	if err := os.WriteFile(filepath.Join(dir, "data", "pg_hba.conf"), []byte("local all all trust\nhostssl all all 127.0.0.0/8 cert\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), pgtest.Address(dir, "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	for _, set := range []string{
		"ssl_cert_file = '" + dir + "/server.crt'", "ssl_key_file = '" + dir + "/server.key'", "ssl_ca_file = '" + dir + "/ca.crt'", "ssl = on",
	} {
		if _, err := conn.Exec(t.Context(), "ALTER SYSTEM SET "+set); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Exec(t.Context(), "SELECT pg_reload_conf()"); err != nil {
		t.Fatal(err)
	}
	own := "&sslcert=" + dir + "/holdgate.crt&sslkey=" + dir + "/holdgate.key"
	url := func(mode, root, client string) string {
		return "postgres://holdgate@" + tlsAddress + "/postgres?sslmode=" + mode + "&sslrootcert=" + dir + "/" + root + ".crt" + client
	}
	open := func(url string) (*postgres.Store, error) {
		return postgres.Open(t.Context(), postgres.Config{URL: url, Logger: slog.New(slog.DiscardHandler)})
	}
	var s *postgres.Store
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); { // the server reads its settings when it comes to it
		if s, err = open(url("verify-full", "ca", own)); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Update(t.Context(), put("a", "1")); err != nil {
		t.Error(err)
	}
	for what, url := range map[string]string{
		"without TLS":                          url("disable", "ca", own),
		"to a server of another authority":     url("verify-full", "other", own),
		"to a server of another name":          strings.Replace(url("verify-full", "ca", own), tlsAddress, otherName, 1),
		"without a certificate of its own":     url("verify-full", "ca", ""),
		"with one that another authority made": url("verify-full", "ca", "&sslcert="+dir+"/stranger.crt&sslkey="+dir+"/stranger.key"),
	} {
		if s, err := open(url); err == nil {
			s.Close()
			t.Errorf("%s the store was opened", what)
		}
	}
}
