package launch

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Java's own program reads the store, and finds each certificate in it.
func TestJavaReadsTheStore(t *testing.T) {
	t.Parallel()
	keytool, err := exec.LookPath("keytool")
	if err != nil {
		t.Skip("SKIPPED: the store for Java is not read: keytool is not here (apt-get install default-jre-headless)")
	}
	var text []byte
	for _, name := range []string{"one", "two"} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
		der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	path := filepath.Join(t.TempDir(), "store.jks")
	if err := os.WriteFile(path, javaStore(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), keytool, "-J-Xint", "-J-Duser.language=en", "-list", "-v", "-keystore", path, "-storetype", "JKS", "-storepass", javaPassword).CombinedOutput()
	if err != nil || strings.Count(string(out), "trustedCertEntry") != 2 || !strings.Contains(string(out), "Owner: CN=one") || !strings.Contains(string(out), "Owner: CN=two") {
		t.Errorf("got %v: %s", err, out)
	}
}

func TestJavasOptionsFollowThePersonsOwn(t *testing.T) {
	t.Parallel()
	w := Way{Agents: "127.0.0.1:9", JavaStore: "/a b/store.jks", NoProxy: "localhost,127.0.0.1"}
	const want = `-Xmx1g "-Djavax.net.ssl.trustStore=/a b/store.jks" -Djavax.net.ssl.trustStoreType=JKS -Djavax.net.ssl.trustStorePassword=changeit` +
		` -Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=9 -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=9 "-Dhttp.nonProxyHosts=localhost|127.0.0.1"`
	env := Environment([]string{"JAVA_TOOL_OPTIONS=-Xmx1g"}, "x", w)
	if got := env[len(env)-1]; got != "JAVA_TOOL_OPTIONS="+want {
		t.Errorf("got %s", got)
	}
	env = Environment([]string{"JAVA_TOOL_OPTIONS=-Dtoken=secret"}, "x", w, "secret")
	if got := strings.Join(env, " "); strings.Contains(got, "secret") || !strings.Contains(got, "JAVA_TOOL_OPTIONS=\"-Djavax") {
		t.Errorf("got %s", got)
	}
}
