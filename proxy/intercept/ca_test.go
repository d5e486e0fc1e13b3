package intercept

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestOpenCAMakesItOnceAndKeepsTheKeyToItself(t *testing.T) {
	dir := t.TempDir()
	first, err := OpenCA(dir)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "ca.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("ca.key: %v, %v; want mode 0600", info.Mode(), err)
	}
	if info, err := os.Stat(filepath.Join(dir, "ca.pem")); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("ca.pem: %v, %v; want mode 0644: agents of others trust it", info.Mode(), err)
	}
	second, err := OpenCA(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !first.Leaf.Equal(second.Leaf) {
		t.Error("the second start made another CA")
	}
	if first.Leaf.PublicKeyAlgorithm.String() != "ECDSA" {
		t.Errorf("the CA's key is %s; an RSA key makes each first connection 50 times dearer", first.Leaf.PublicKeyAlgorithm)
	}
}

// Sidecars that start together on one folder: each has the CA that lies there.
func TestOpenCAAtOnceIsOne(t *testing.T) {
	dir := t.TempDir()
	cas, errs := make([]*tls.Certificate, 16), make([]error, 16)
	var wg sync.WaitGroup
	for i := range cas {
		wg.Go(func() { cas[i], errs[i] = OpenCA(dir) })
	}
	wg.Wait()
	must(t, errors.Join(errs...))
	kept, err := OpenCA(dir)
	must(t, err)
	for i, ca := range cas {
		if !ca.Leaf.Equal(kept.Leaf) {
			t.Errorf("start %d has another CA than the folder", i)
		}
	}
	files, err := os.ReadDir(dir)
	must(t, err)
	if len(files) != 2 {
		t.Errorf("the folder holds %v: want the key and the certificate", files)
	}
}

func TestOpenCARefusesAKeyThatOthersMayRead(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenCA(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "ca.key"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenCA(dir); err == nil || !strings.Contains(err.Error(), "0600") {
		t.Errorf("got %v, want an error that says what to do", err)
	}
}

func TestALeafIsShortLivedAndOfOneHost(t *testing.T) {
	ca, err := OpenCA(t.TempDir())
	must(t, err)
	now := time.Now()
	roots := x509.NewCertPool()
	roots.AddCert(ca.Leaf)
	for _, host := range []string{"a.example", strings.Repeat("long.", 40) + "example", "192.0.2.7", "2001:db8::1"} {
		c, err := SignLeaf(ca, now, host)
		must(t, err)
		if life := c.Leaf.NotAfter.Sub(now); life > 24*time.Hour || life < leafLife {
			t.Errorf("%s: the leaf ends after %s: want less than a day, and more than it is kept", host, life)
		}
		if _, err := c.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, CurrentTime: now}); err != nil {
			t.Errorf("%s: %v", host, err)
		}
		if _, err := c.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "b.example", CurrentTime: now}); err == nil || c.Leaf.IsCA {
			t.Errorf("%s: the leaf is good for another host, or a CA", host)
		}
		if _, err := c.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, CurrentTime: now.Add(25 * time.Hour)}); err == nil {
			t.Errorf("%s: the leaf is good a day later", host)
		}
	}
	late := ca.Leaf.NotAfter.Add(-time.Hour)
	if c, err := SignLeaf(ca, late, "a.example"); err != nil || c.Leaf.NotAfter.After(ca.Leaf.NotAfter) {
		t.Errorf("the leaf outlives its CA (%v)", err)
	}
}

func TestLeavesAreSignedOnceAndBounded(t *testing.T) {
	var l leaves
	var mu sync.Mutex
	signed := 0
	gen := func() (*tls.Certificate, error) {
		mu.Lock()
		defer mu.Unlock()
		signed++
		return &tls.Certificate{}, nil
	}
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { _, _ = l.Fetch("a.example", gen) })
	}
	wg.Wait()
	if signed != 1 {
		t.Errorf("one host was signed %d times", signed)
	}
	for i := range 3 * maxLeaves {
		_, _ = l.Fetch(string(rune('a'+i%26))+strings.Repeat("x", i%500)+"."+string(rune(0x100+i)), gen)
	}
	if len(l.byID) > maxLeaves {
		t.Errorf("%d leaves are kept, more than %d", len(l.byID), maxLeaves)
	}
	if _, err := l.Fetch("bad.example", func() (*tls.Certificate, error) { return nil, errors.New("no") }); err == nil {
		t.Error("a failed signature was returned as a certificate")
	}
	if _, err := l.Fetch("bad.example", gen); err != nil {
		t.Errorf("a failed signature is kept: %v", err)
	}
}

// A CA for some names signs for no other, and is made anew for others.
func TestACAForSomeNames(t *testing.T) {
	dir := t.TempDir()
	hosts := []string{"holdgate.lan", "192.0.2.5", "localhost", "::1"}
	ca, err := OpenCAFor(dir, "page-ca", hosts)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.Leaf)
	for host, good := range map[string]bool{"holdgate.lan": true, "192.0.2.5": true, "localhost": true, "::1": true, "bank.example": false, "192.0.2.6": false, "lan": false} {
		leaf, err := SignLeaf(ca, time.Now(), host)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := leaf.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host}); (err == nil) != good {
			t.Errorf("a certificate of %s: %v", host, err)
		}
	}
	for _, tt := range []struct {
		hosts []string
		same  bool
	}{{hosts, true}, {[]string{"holdgate.lan"}, true}, {[]string{"other.lan"}, false}, {[]string{"192.0.2.5"}, false}} {
		was := ca
		if ca, err = OpenCAFor(dir, "page-ca", tt.hosts); err != nil {
			t.Fatal(err)
		}
		if ca.Leaf.Equal(was.Leaf) != tt.same {
			t.Errorf("for %v it is the same: %v", tt.hosts, !tt.same)
		}
	}
}

// Sidecars that start together for new names: none fails, and what each signs is trusted by
// whoever trusts the certificate that lies in the folder.
func TestACAForOtherNamesAtOnce(t *testing.T) {
	dir, hosts := t.TempDir(), []string{"new.lan"}
	_, err := OpenCAFor(dir, "page-ca", []string{"old.lan"})
	must(t, err)
	cas, errs := make([]*tls.Certificate, 8), make([]error, 8)
	var wg sync.WaitGroup
	for i := range cas {
		wg.Go(func() { cas[i], errs[i] = OpenCAFor(dir, "page-ca", hosts) })
	}
	wg.Wait()
	must(t, errors.Join(errs...))
	kept, err := OpenCAFor(dir, "page-ca", hosts)
	must(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(kept.Leaf)
	for i, ca := range cas {
		leaf, err := SignLeaf(ca, time.Now(), hosts...)
		must(t, err)
		if _, err := leaf.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: hosts[0]}); err != nil {
			t.Errorf("start %d: %v", i, err)
		}
	}
}
