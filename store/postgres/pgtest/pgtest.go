// Package pgtest starts a PostgreSQL server for the tests of one package, on a
// socket in a folder of its own. It uses the installed programs, and a test
// that needs it is skipped where there are none.
package pgtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// socketVariable names the socket's folder to children of a test, which use
// their parent's server.
const socketVariable = "HOLDGATE_PGTEST_SOCKET"

// shared is the server of this package's tests, which all of them share.
var shared = sync.OnceValues(func() (*Server, error) {
	server, err := New()
	if err != nil {
		return nil, err
	}
	return server, errors.Join(server.endWithUs(), os.Setenv(socketVariable, server.Socket))
})

// URL returns the address of the tables that all who give this name share,
// in the server of this package's tests. It ends with the process.
func URL(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv(socketVariable)
	if dir == "" {
		server, err := shared()
		check(t, err)
		dir = server.Socket
	}
	url, err := schema(dir, name)
	if err != nil {
		t.Fatal(err)
	}
	return url
}

// check skips a test where there is no server to be had.
func check(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skipf("NOT TESTED: PostgreSQL is not installed (Debian: apt-get install postgresql): %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Start makes a server of the test's own, with settings as [New] takes them. It
// ends with the test.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	s, err := New(settings...)
	check(t, err)
	t.Cleanup(func() { s.Stop() })
	return s
}

// A Server is a PostgreSQL server with its data in a folder of its own. It
// listens on a socket alone.
type Server struct {
	Socket string // the folder of its socket

	dir, bin string
	as       *syscall.Credential
	cmd      *exec.Cmd
	settings []string
	ours     io.Closer // the pipe of endWithUs
}

// New makes and starts a server. Settings are "name=value".
func New(settings ...string) (*Server, error) {
	s, err := empty(settings)
	if err != nil {
		return nil, err
	}
	out, err := s.command("initdb", "-D", s.dir, "-U", "holdgate", "--auth=trust", "-E", "UTF8", "--no-locale", "--no-sync").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	hba, err := os.OpenFile(filepath.Join(s.dir, "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	_, err = hba.WriteString("host all all 127.0.0.0/8 trust\n") // where it listens at all
	if err := errors.Join(err, hba.Close()); err != nil {
		return nil, err
	}
	return s, s.Start()
}

// empty makes the folder of a server.
func empty(settings []string) (*Server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("/tmp", "hgpg")
	if err != nil {
		return nil, err
	}
	s := &Server{Socket: dir, dir: filepath.Join(dir, "data"), bin: bin, settings: settings}
	return s, s.unprivileged(dir)
}

// programs returns the folder of PostgreSQL's programs.
func programs() (string, error) {
	if dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin"); len(dirs) > 0 {
		return dirs[len(dirs)-1], nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", err
	}
	path, err = filepath.EvalSymlinks(path)
	return filepath.Dir(path), err
}

// unprivileged gives the folder to a user who is not root, as whom alone the
// server runs.
func (s *Server) unprivileged(dir string) error {
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("nobody")
	if err != nil {
		return err
	}
	uid, _ := strconv.ParseUint(u.Uid, 10, 32)
	gid, _ := strconv.ParseUint(u.Gid, 10, 32)
	s.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(dir, int(uid), int(gid))
}

func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.Socket
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as}
	return cmd
}

// Start starts the server and waits until it answers. One whose predecessor
// was killed does not start before that one's last process is gone.
func (s *Server) Start() error {
	args := []string{"-D", s.dir, "-k", s.Socket, "-c", "listen_addresses=", "-c", "max_connections=300", "-c", "shared_buffers=32MB"}
	for _, one := range s.settings {
		args = append(args, "-c", one)
	}
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if err = s.launch(args); err == nil {
			return nil
		}
	}
	return err
}

// launch starts the server once.
func (s *Server) launch(args []string) error {
	log, err := os.Create(filepath.Join(s.Socket, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd = s.command("postgres", args...)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	for {
		conn, err := pgx.Connect(context.Background(), Address(s.Socket, "postgres"))
		if err == nil {
			return conn.Close(context.Background())
		}
		var status syscall.WaitStatus
		if pid, _ := syscall.Wait4(s.cmd.Process.Pid, &status, syscall.WNOHANG, nil); pid != 0 {
			said, _ := os.ReadFile(log.Name())
			return fmt.Errorf("the server ended: %w\n%s", err, said)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Kill kills the server with all its processes, as a power cut of its machine
// would, but for what the kernel still has to write.
func (s *Server) Kill() error {
	pid := s.cmd.Process.Pid
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	if err != nil {
		return err
	}
	if err := s.cmd.Process.Kill(); err != nil {
		return err
	}
	for _, child := range strings.Fields(string(children)) {
		if n, err := strconv.Atoi(child); err == nil {
			syscall.Kill(n, syscall.SIGKILL)
		}
	}
	s.cmd.Wait()
	return nil
}

// Halt stops the server at once, connections included, and keeps its data.
func (s *Server) Halt() error {
	if s.cmd == nil { // it was never started
		return nil
	}
	if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil {
		return err
	}
	return s.cmd.Wait()
}

// endWithUs has the server stopped, and its data removed, when this process ends
// however it ends: a shell waits for the end of a pipe that nobody else holds.
func (s *Server) endWithUs() error {
	watch := exec.Command("sh", "-c", `read -r _; kill -INT "$1"; while kill -0 "$1"; do sleep 0.1; done; rm -rf "$2"`,
		"sh", strconv.Itoa(s.cmd.Process.Pid), s.Socket)
	var err error
	if s.ours, err = watch.StdinPipe(); err != nil {
		return err
	}
	watch.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the tests
	return watch.Start()
}

// Stop stops the server and removes its data.
func (s *Server) Stop() error {
	s.Halt()
	return os.RemoveAll(s.Socket)
}

// Address returns the URL of a database behind a socket.
func Address(socket, database string) string {
	return "postgres://holdgate@/" + database + "?host=" + socket
}

// schema makes the schema of a name where there is none. It takes a tenth of the
// time and the room of a database.
func schema(socket, name string) (string, error) {
	sum := sha256.Sum256([]byte(name))
	own := "t" + hex.EncodeToString(sum[:8])
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, Address(socket, "postgres"))
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS `+own)
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "23505" { // somebody makes it just now
		err = nil
	}
	return Address(socket, "postgres") + "&search_path=" + own, err
}
