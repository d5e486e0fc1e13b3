package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/holdgate/holdgate/deploy/program"
)

func TestMain(m *testing.M) {
	if root := os.Getenv("IMAGE_TEST_ROOT"); root != "" {
		fmt.Fprintln(os.Stderr, enter(root, os.Getenv("IMAGE_TEST_VOLUME"), os.Args[1:]))
		os.Exit(125)
	}
	os.Exit(m.Run())
}

// enter goes into an unpacked image as a container runtime does: a read-only root, a volume, the image's user without
// privileges. It runs in namespaces of its own and returns only an error.
func enter(root, volume string, command []string) error {
	in := func(path string) string { return filepath.Join(root, path) }
	for _, m := range []struct {
		from, to, kind string
		flags          uintptr
	}{
		{"", "/", "", syscall.MS_REC | syscall.MS_PRIVATE},
		{root, root, "", syscall.MS_BIND},
		{root, root, "", syscall.MS_BIND | syscall.MS_REMOUNT | syscall.MS_RDONLY},
		{volume, in(home), "", syscall.MS_BIND},
		{"/dev", in("dev"), "", syscall.MS_BIND | syscall.MS_REC},
		{"proc", in("proc"), "proc", 0},
	} {
		if err := syscall.Mount(m.from, m.to, m.kind, m.flags, ""); err != nil {
			return fmt.Errorf("mounting %s: %w", m.to, err)
		}
	}
	if err := errors.Join(syscall.Chroot(root), os.Chdir("/"+home), syscall.Setgroups(nil), syscall.Setgid(uid), syscall.Setuid(uid)); err != nil {
		return err
	}
	if err := os.WriteFile("/written", nil, 0o600); !errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("the root can be written to: %v", err)
	}
	return syscall.Exec(command[0], command, strings.Split(os.Getenv("IMAGE_TEST_ENV"), "\n"))
}

// A container is an image that was pulled and unpacked.
type container struct {
	root, volume string
	config       v1.Config
}

// command runs the image's entry point with arguments.
func (c container) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", append(slices.Clone(c.config.Entrypoint), args...)...)
	cmd.Env = []string{"IMAGE_TEST_ROOT=" + c.root, "IMAGE_TEST_VOLUME=" + c.volume, "IMAGE_TEST_ENV=" + strings.Join(c.config.Env, "\n")}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS, Pdeathsig: syscall.SIGKILL,
	}
	cmd.Stderr = os.Stderr
	return cmd
}

// pull pushes the image to a registry, and unpacks what comes back.
func pull(t *testing.T) container {
	t.Helper()
	reg := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(reg.Close)
	at := strings.TrimPrefix(reg.URL, "http://") + "/holdgate:1"
	made := exec.CommandContext(t.Context(), "../package/notice")
	made.Stderr = os.Stderr
	text, err := made.Output()
	notice := filepath.Join(t.TempDir(), "NOTICE")
	if err := errors.Join(err, os.WriteFile(notice, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"--program", runtime.GOARCH + "=" + program.Static(t), "--license", "../../LICENSE", "--notice", notice, "--version", "1.2.3", "--push", at}); err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(at)
	if err != nil {
		t.Fatal(err)
	}
	img, err := remote.Image(ref, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: runtime.GOARCH}))
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c := container{root: t.TempDir(), volume: t.TempDir(), config: config.Config}
	files := tar.NewReader(mutate.Extract(img))
	for {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(c.root, h.Name)
		err = os.MkdirAll(filepath.Dir(path), 0o755)
		if h.Typeflag == tar.TypeDir {
			err = errors.Join(err, os.MkdirAll(path, 0o755))
		} else {
			text, read := io.ReadAll(files)
			err = errors.Join(err, read, os.WriteFile(path, text, 0o600))
		}
		if err := errors.Join(err, os.Lchown(path, h.Uid, h.Gid), os.Chmod(path, os.FileMode(h.Mode))); err != nil {
			t.Fatal(err)
		}
	}
	// A runtime makes these, and lets the user into the folders above.
	for dir := c.root; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		os.Chmod(dir, 0o755)
	}
	for dir := filepath.Dir(c.volume); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		os.Chmod(dir, 0o755)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(c.root, "proc"), 0o755), os.Mkdir(filepath.Join(c.root, "dev"), 0o755), os.Chown(c.volume, uid, uid), os.Chmod(c.volume, 0o700)); err != nil {
		t.Fatal(err)
	}
	said, err := os.ReadFile(filepath.Join(c.root, documents, "NOTICE"))
	if err != nil || !strings.Contains(string(said), "github.com/open-policy-agent/opa") || !strings.Contains(string(said), "The Go Authors") {
		t.Errorf("the image's NOTICE does not name what is in it: %v", err)
	}
	if said, err := os.ReadFile(filepath.Join(c.root, documents, "LICENSE")); err != nil || !strings.Contains(string(said), "Apache License") {
		t.Errorf("the image has no LICENSE: %v", err)
	}
	return c
}

// The image that a registry hands out starts without root on a root that nobody can write to, starts a channel, holds a
// call until the program in it approves the call, reaches an upstream by TLS, and ends at a signal.
func TestTheImageRuns(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: making a container takes root")
	}
	c := pull(t)
	if want := fmt.Sprintf("%d:%d", uid, uid); c.config.User != want {
		t.Fatalf("the image's user is %s, want %s", c.config.User, want)
	}
	upstream := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "from upstream") }))
	t.Cleanup(upstream.Close)
	certificates, err := os.OpenFile(filepath.Join(c.root, roots), os.O_APPEND|os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(certificates)
	if n := bytes.Count(text, []byte("BEGIN CERTIFICATE")); n < 80 {
		t.Errorf("the image has %d CA certificates", n)
	}
	if err := errors.Join(pem.Encode(certificates, &pem.Block{Type: "CERTIFICATE", Bytes: upstream.Certificate().Raw}), certificates.Close()); err != nil {
		t.Fatal(err)
	}
	told := make(chan string, 16)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		select {
		case told <- string(body):
		default:
		}
	}))
	t.Cleanup(hook.Close)
	for file, text := range map[string]string{
		"hook.key":      "0123456789abcdef0123456789abcdef",
		"holdgate.yaml": "plugins: {webhook: {config: {url: " + hook.URL + ", secret_file: /" + home + "/hook.key}}}\n",
	} {
		path := filepath.Join(c.volume, file)
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chown(path, uid, uid)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)

	serve := c.command(ctx, append(slices.Clone(c.config.Cmd), "--config", "/"+home+"/holdgate.yaml", "--agents", "127.0.0.1:0", "--approvers", "127.0.0.1:0", "--upstream", "tls="+upstream.URL)...)
	out, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { serve.Process.Kill() })
	doors := map[string]string{}
	for lines := bufio.NewScanner(out); len(doors) < 2 && lines.Scan(); {
		var one struct{ Listening, Addr string }
		if json.Unmarshal(lines.Bytes(), &one) == nil {
			if _, _, err := net.SplitHostPort(one.Addr); err == nil {
				doors[one.Listening] = one.Addr
			}
		}
	}
	if len(doors) < 2 {
		t.Fatal("it did not start")
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", serve.Process.Pid))
	if err != nil || !strings.Contains(string(status), fmt.Sprintf("\nUid:\t%d\t%d\t%d", uid, uid, uid)) || !strings.Contains(string(status), "\nCapEff:\t0000000000000000\n") {
		t.Errorf("it runs as another user, or with capabilities:\n%s", status)
	}
	for url, want := range map[string]string{
		"http://" + doors["approvers"] + "/readyz":          "",
		"http://" + doors["agents"] + "/up/tls/anything/at": "from upstream",
	} {
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || !strings.Contains(string(body), want) {
			t.Errorf("%s: %s: %s", url, resp.Status, body)
		}
	}

	asked := c.command(ctx, "gate", "deploy", "--agents", "http://"+doors["agents"], "--message", "May I?")
	if err := asked.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case event := <-told:
		if !strings.Contains(event, "May I?") {
			t.Errorf("the channel told %s", event)
		}
	case <-ctx.Done():
		t.Fatal("the channel told nobody")
	}
	raw, err := c.command(ctx, "pending", "--json").Output()
	var pending []struct {
		ID   string
		Call struct{ Digest string }
	}
	if err := errors.Join(err, json.Unmarshal(raw, &pending)); err != nil || len(pending) != 1 {
		t.Fatalf("pending: %v\n%s", err, raw)
	}
	if out, err := c.command(ctx, "approve", pending[0].ID, "--digest", pending[0].Call.Digest, "--yes").Output(); err != nil {
		t.Fatalf("approve: %v\n%s", err, out)
	}
	if err := asked.Wait(); err != nil {
		t.Errorf("the gate: %v", err)
	}
	serve.Process.Signal(syscall.SIGTERM)
	if err := serve.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
}

// Equal inputs make equal images, and both processors are there.
func TestAnImageIsReproducible(t *testing.T) {
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, []byte("a program"), 0o700); err != nil {
		t.Fatal(err)
	}
	var digests []string
	for range 2 {
		index, err := build{Version: "1", Created: time.Unix(1, 0), License: []byte("l"), Notice: []byte("n")}.index(map[string]string{"amd64": file, "arm64": file}, []string{"amd64", "arm64"})
		if err != nil {
			t.Fatal(err)
		}
		digest, err := index.Digest()
		if err != nil {
			t.Fatal(err)
		}
		m, err := index.IndexManifest()
		if err != nil || len(m.Manifests) != 2 {
			t.Fatalf("%v: %v", err, m)
		}
		digests = append(digests, digest.String())
	}
	if digests[0] != digests[1] {
		t.Errorf("two builds: %v", digests)
	}
}
