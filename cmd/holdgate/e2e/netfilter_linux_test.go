package e2e_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The roles that this test's processes have inside the network that is led.
const (
	netfilterVariable = "HOLDGATE_TEST_NETFILTER" // the folder that all of them share
	probeVariable     = "HOLDGATE_TEST_PROBE"     // what a program of the agent's tries, as JSON
)

// Who is who inside.
const (
	sidecarUID = 7300
	agentUID   = 1000
)

// A server of the network inside, which is nowhere else.
const (
	server4, server6 = "203.0.113.10", "2001:db8::10"
	nameServer       = "203.0.113.53"
	excepted         = "203.0.113.99"
)

// The rules that `holdgate netfilter` prints lead what an agent's programs
// connect to through Holdgate, over both versions of IP, and nothing else out.
// All of it happens in a network of the test's own, before the rules and after.
func TestNetfilterLeadsToHoldgate(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: the rules of `holdgate netfilter` are not tried: processes of several users need root")
	}
	if _, err := exec.LookPath("nft"); err != nil {
		t.Skip("SKIPPED: the rules of `holdgate netfilter` are not tried: the program nft is not here (apt-get install nftables)")
	}
	dir := openFolder(t)
	for name, from := range map[string]string{"holdgate": binary, "test": os.Args[0]} {
		copyProgram(t, from, filepath.Join(dir, name))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "test"), "-test.run=^TestInsideTheNetwork$", "-test.v")
	cmd.Env = append(environment(), netfilterVariable+"="+dir, "HOLDGATE_BINARY="+filepath.Join(dir, "holdgate"))
	cmd.Dir = dir
	all := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 65535}}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS,
		UidMappings: all, GidMappings: all, GidMappingsEnableSetgroups: true, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EINVAL) {
		t.Skipf("SKIPPED: the rules of `holdgate netfilter` are not tried: no namespaces here: %v", err)
	}
	if err != nil || strings.Contains(string(out), "--- SKIP") {
		t.Fatalf("inside: %v\n%s", err, out)
	}
}

// openFolder is a folder that other users can look into.
func openFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "holdgate-netfilter-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

const insidePolicy = `package holdgate

import rego.v1

default decision := {"action": "allow", "rule": "test.all"}

decision := {"action": "deny", "rule": "test.deny", "reason": "it says forbidden"} if input.http.path == "/forbidden"
`

// TestInsideTheNetwork is the inside of TestNetfilterLeadsToHoldgate.
func TestInsideTheNetwork(t *testing.T) {
	dir := os.Getenv(netfilterVariable)
	if dir == "" {
		t.Skip("it is the inside of another test")
	}
	hosts := filepath.Join(dir, "hosts")
	place(t, hosts, server4+" up4.example\n"+server6+" up6.example\n"+server4+" secret.example\n127.0.0.1 localhost\n")
	for _, args := range [][]string{
		{"ip", "link", "set", "lo", "up"},
		{"ip", "addr", "add", server4 + "/32", "dev", "lo"}, {"ip", "addr", "add", nameServer + "/32", "dev", "lo"}, {"ip", "addr", "add", excepted + "/32", "dev", "lo"},
		{"ip", "addr", "add", server6 + "/128", "dev", "lo", "nodad"},
		{"mount", "--bind", hosts, "/etc/hosts"},
	} {
		succeed(t, args...)
	}
	ca := serveInside(t, dir)

	t.Run("without the rules", func(t *testing.T) { // the control: all of it works, and past Holdgate
		for name, got := range probeAs(t, dir, agentUID, probes(ca)) {
			if want := beforeRules[name]; !strings.Contains(got, want) {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
	})
	sidecarInside(t, dir, ca)
	succeed(t, binary, "netfilter", "--state-dir", filepath.Join(dir, "none"), "--uid", fmt.Sprint(sidecarUID), "--port", "15001", "--dns", nameServer, "--except", excepted+"/32", "--apply")
	own, err := os.ReadFile(filepath.Join(dir, "state", "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	t.Run("with the rules", func(t *testing.T) {
		for name, got := range probeAs(t, dir, agentUID, probes(string(own))) {
			if want := afterRules[name]; !strings.Contains(got, want) {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
	})
	t.Run("for one user alone", func(t *testing.T) {
		succeed(t, binary, "netfilter", "--state-dir", filepath.Join(dir, "none"), "--uid", fmt.Sprint(sidecarUID), "--agent-uid", fmt.Sprint(agentUID), "--port", "15001", "--dns", nameServer, "--apply")
		one := []probe{{Name: "led", What: "get", To: "http://up4.example/forbidden"}, {Name: "udp", What: "udp", To: net.JoinHostPort(server4, "9999")}}
		if got := probeAs(t, dir, agentUID, one); !strings.HasPrefix(got["led"], "403 ") || !strings.Contains(got["udp"], "error") {
			t.Errorf("the agent: %v", got)
		}
		if got := probeAs(t, dir, agentUID+1, one); !strings.HasPrefix(got["led"], "200 ") || got["udp"] != "echo" {
			t.Errorf("somebody else: %v", got)
		}
	})
	t.Run("in a pod that was injected", func(t *testing.T) { injectedPods(t, dir, string(own), ca) })
}

// A probe is something that a program of the agent's tries.
type probe struct {
	Name, What, To, CA string
}

func probes(ca string) []probe {
	return []probe{
		{"plain", "get", "http://up4.example/x", ""},
		{"plain, IPv6", "get", "http://up6.example/x", ""},
		{"refused", "get", "http://up4.example/forbidden", ""},
		{"refused, IPv6", "get", "http://[" + server6 + "]/forbidden", ""},
		{"TLS", "get", "https://up4.example/x", ca},
		{"TLS, IPv6", "get", "https://up6.example/x", ca},
		{"TLS without a name", "get", "https://" + server4 + "/x", ca},
		{"TLS without a name, IPv6", "get", "https://[" + server6 + "]/x", ca},
		{"TLS, another port", "get", "https://up6.example:8443/x", ca},
		{"TLS, refused", "get", "https://up4.example/forbidden", ca},
		{"TLS, the name encrypted", "ech", "https://secret.example/x", ca},
		{"loopback", "get", "http://127.0.0.1:9080/x", ""},
		{"loopback, IPv6", "get", "http://[::1]:9080/x", ""},
		{"an exception", "get", "http://" + excepted + "/forbidden", ""},
		{"UDP", "udp", net.JoinHostPort(server4, "9999"), ""},
		{"UDP, IPv6", "udp", net.JoinHostPort(server6, "9999"), ""},
		{"QUIC's port", "udp", net.JoinHostPort(server4, "443"), ""},
		{"DNS", "udp", net.JoinHostPort(nameServer, "53"), ""},
		{"DNS elsewhere", "udp", net.JoinHostPort(server4, "53"), ""},
		{"what is no HTTP", "say", net.JoinHostPort(server4, "22"), ""},
		{"the door itself", "get", "http://127.0.0.1:15001/", ""},
	}
}

var beforeRules = map[string]string{
	"plain": "200 up4.example/x", "plain, IPv6": "200 up6.example/x", "refused": "200 ", "refused, IPv6": "200 ",
	"TLS": "by The provider's authority", "TLS, IPv6": "by The provider's authority", "TLS without a name": "by The provider's authority", "TLS without a name, IPv6": "by The provider's authority",
	"TLS, another port": "by The provider's authority", "TLS, refused": "200 ", "TLS, the name encrypted": "200 secret.example/x by The provider's authority",
	"loopback": "200 ", "loopback, IPv6": "200 ", "an exception": "200 ", "UDP": "echo", "UDP, IPv6": "echo", "QUIC's port": "echo", "DNS": "echo", "DNS elsewhere": "echo",
	"what is no HTTP": "hello", "the door itself": "error",
}

var afterRules = map[string]string{
	"plain": "200 up4.example/x", "plain, IPv6": "200 up6.example/x", "refused": "403 ", "refused, IPv6": "403 ",
	"TLS": "200 up4.example/x by Holdgate CA", "TLS, IPv6": "200 up6.example/x by Holdgate CA",
	"TLS without a name": "200 " + server4 + "/x by Holdgate CA", "TLS without a name, IPv6": "200 [" + server6 + "]/x by Holdgate CA",
	"TLS, another port": "200 up6.example:8443/x by Holdgate CA", "TLS, refused": "403 ", "TLS, the name encrypted": "error: Get \"https://secret.example/x\": tls: server rejected ECH",
	"loopback": "200 ", "loopback, IPv6": "200 ", "an exception": "200 ", "UDP": "error", "UDP, IPv6": "error", "QUIC's port": "error", "DNS": "echo", "DNS elsewhere": "error",
	"what is no HTTP": "error", "the door itself": "error",
}

// serveInside serves what agents reach, and returns the authority of its
// certificates.
func serveInside(t *testing.T, dir string) (ca string) {
	t.Helper()
	cert, authority := certificate(t, "up4.example", "up6.example", "secret.example", server4, server6)
	place(t, filepath.Join(dir, "up-ca.pem"), string(authority))
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Host+r.URL.Path) })
	config, key := encryptedHello(t)
	conf := &tls.Config{Certificates: []tls.Certificate{cert}, EncryptedClientHelloKeys: []tls.EncryptedClientHelloKey{{Config: config, PrivateKey: key}}}
	for _, addr := range []string{server4 + ":80", "[" + server6 + "]:80", "127.0.0.1:9080", "[::1]:9080", excepted + ":80"} {
		ln := listenInside(t, addr)
		go func() { _ = http.Serve(ln, handler) }()
	}
	for _, addr := range []string{server4 + ":443", "[" + server6 + "]:443", "[" + server6 + "]:8443"} {
		ln := tls.NewListener(listenInside(t, addr), conf)
		go func() { _ = http.Serve(ln, handler) }()
	}
	greeter := listenInside(t, server4+":22")
	go func() {
		for {
			c, err := greeter.Accept()
			if err != nil {
				return
			}
			if _, err := bufio.NewReader(c).ReadString('\n'); err == nil { // what is left unread would reset the connection
				_, _ = io.WriteString(c, "hello\n")
			}
			_ = c.Close()
		}
	}()
	for _, addr := range []string{server4 + ":9999", "[" + server6 + "]:9999", server4 + ":443", server4 + ":53", nameServer + ":53"} {
		pc, err := net.ListenPacket("udp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = pc.Close() })
		go func() {
			b := make([]byte, 100)
			for {
				n, from, err := pc.ReadFrom(b)
				if err != nil {
					return
				}
				_, _ = pc.WriteTo(b[:n], from)
			}
		}()
	}
	until(t, "the kernel to route to an address of IPv6", func() bool {
		c, err := net.Dial("tcp", net.JoinHostPort(server6, "80"))
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return string(authority)
}

func listenInside(t *testing.T, addr string) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	return ln
}

// sidecarInside starts a sidecar as the user that the rules leave out.
func sidecarInside(t *testing.T, dir, ca string) {
	t.Helper()
	place(t, filepath.Join(dir, "policy.rego"), insidePolicy)
	place(t, filepath.Join(dir, "holdgate.yaml"), "state_dir: state\nlisten: {agents: \"127.0.0.1:7300\", transparent: \"localhost:15001\"}\npolicy: {path: policy.rego}\ntls: {ca_files: [up-ca.pem]}\n")
	state := filepath.Join(dir, "state")
	if err := errors.Join(os.Mkdir(state, 0o711), os.Chown(state, sidecarUID, sidecarUID)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, "serve", "--config", filepath.Join(dir, "holdgate.yaml"))
	cmd.Env, cmd.Dir = environment(), dir
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: sidecarUID, Gid: sidecarUID}, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGTERM); _ = cmd.Wait() })
	lines, doors := bufio.NewScanner(out), 0
	for lines.Scan() {
		if strings.Contains(lines.Text(), `"transparent"`) {
			if doors++; doors == 2 {
				return
			}
		}
	}
	t.Fatalf("the sidecar ended with %d transparent doors", doors)
}

// probeAs tries things in a process of a user's, and returns what came of each.
func probeAs(t *testing.T, dir string, uid int, list []probe) map[string]string {
	t.Helper()
	b, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "test"), "-test.run=^TestProbes$")
	cmd.Env = append(environment(), probeVariable+"="+string(b), "HOLDGATE_BINARY="+binary)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("probing: %v\n%s", err, out)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	got := map[string]string{}
	if err := json.Unmarshal([]byte(first), &got); err != nil || len(got) != len(list) {
		t.Fatalf("probing: %v\n%s", err, out)
	}
	return got
}

// TestProbes is what the agent's program does, inside.
func TestProbes(t *testing.T) {
	var list []probe
	if err := json.Unmarshal([]byte(os.Getenv(probeVariable)), &list); err != nil {
		t.Skip("it is the inside of another test")
	}
	got := map[string]string{}
	for _, p := range list {
		try := map[string]func(probe) (string, error){"get": probeGet, "ech": probeECH, "udp": probeUDP, "say": probeSay}[p.What]
		text, err := try(p)
		if err != nil {
			text = "error: " + err.Error()
		}
		got[p.Name] = text
	}
	if err := json.NewEncoder(os.Stdout).Encode(got); err != nil {
		t.Fatal(err)
	}
}

func probeGet(p probe) (string, error) { return probeTLS(p, &tls.Config{}) }

func probeTLS(p probe, conf *tls.Config) (string, error) {
	conf.RootCAs = x509.NewCertPool()
	conf.RootCAs.AppendCertsFromPEM([]byte(p.CA))
	tr := &http.Transport{TLSClientConfig: conf, DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: tr, Timeout: patience}).Get(p.To)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	text := fmt.Sprintf("%d %s", resp.StatusCode, body)
	if resp.TLS != nil {
		text += " by " + resp.TLS.PeerCertificates[0].Issuer.CommonName
	}
	return text, err
}

// probeUDP sends a packet. What is refused is known at once; what is lost is not
// to be told from a slow machine, and nothing here loses packets.
func probeUDP(p probe) (string, error) {
	c, err := net.Dial("udp", p.To)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience / 2))
	if _, err := io.WriteString(c, "echo"); err != nil {
		return "", err
	}
	b := make([]byte, 10)
	n, err := c.Read(b)
	return string(b[:n]), err
}

func probeSay(p probe) (string, error) {
	c, err := net.Dial("tcp", p.To)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience / 2))
	if _, err := io.WriteString(c, "SSH-2.0-probe\r\n"); err != nil {
		return "", err
	}
	b, err := io.ReadAll(c)
	if err == nil && len(b) == 0 {
		err = io.EOF
	}
	return string(b), err
}

// succeed runs a command.
func succeed(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// place writes a file that every user may read.
func place(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
