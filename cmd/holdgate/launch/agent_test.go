package launch_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"
)

// agent is a small agent: what the test binary is when Holdgate runs it. It
// asks its model, and prints what the model says; it runs nothing.
func agent(args []string) int {
	switch role, rest := args[0], args[1:]; role {
	case "ask": // each of rest, at the same time; then it waits for a line
		var asked sync.WaitGroup
		for _, command := range rest {
			asked.Go(func() { fmt.Println(ask(command)) })
		}
		asked.Wait()
		fmt.Println("heard: " + readLine())
	case "chatter": // prints without end while it asks
		over := make(chan string, 1)
		go func() { over <- ask(rest[0]) }()
		tick := time.NewTicker(5 * time.Millisecond)
		for n := 0; ; n++ {
			select {
			case s := <-over:
				fmt.Println(s)
				return 0
			case <-tick.C:
				fmt.Printf("tick %d\n", n)
			}
		}
	case "deaf": // sets its terminal so that nothing typed is dropped, reads nothing, and asks
		if _, err := term.MakeRaw(0); err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Println("deaf")
		fmt.Println(ask(rest[0]))
	case "leave": // leaves a process behind
		left := exec.Command("sleep", "30")
		left.Stdin, left.Stdout, left.Stderr = os.Stdin, os.Stdout, os.Stderr
		left.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := left.Start(); err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Printf("left %d\n", left.Process.Pid)
	case "signals": // says which one it gets
		got := make(chan os.Signal, 16) // none is lost behind a change of size
		signal.Notify(got, syscall.SIGTERM, syscall.SIGINT, syscall.SIGWINCH)
		fmt.Println("size " + size())
		for s := range got {
			if s != syscall.SIGWINCH {
				fmt.Printf("got %v\n", s)
				return 7
			}
			fmt.Println("size " + size())
		}
	case "stubborn": // does not end when it is told to
		got := make(chan os.Signal, 1)
		signal.Notify(got, syscall.SIGTERM, syscall.SIGHUP)
		fmt.Println("here")
		<-got
		fmt.Println("still here")
		select {}
	case "kill": // ends by a signal
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "fetch": // by HTTPS, through the proxy that it was told of
		door, err := url.Parse(os.Getenv("HTTPS_PROXY"))
		if err != nil {
			fmt.Println(err)
			return 1
		}
		resp, err := (&http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(door)}}).Get(rest[0])
		if err != nil {
			fmt.Println(err)
			return 1
		}
		defer resp.Body.Close()
		fmt.Printf("signed by %s\n", resp.TLS.PeerCertificates[0].Issuer.Organization)
	case "env":
		for _, v := range os.Environ() {
			fmt.Println(v)
		}
	}
	return 0
}

// ask asks the model to have a command run, and returns what it says.
func ask(command string) string {
	body := fmt.Sprintf(`{"model":"claude-test","max_tokens":100,"tools":[{"name":"Bash","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":%q}]}`, "run: "+command)
	resp, err := http.Post(os.Getenv("ANTHROPIC_BASE_URL")+"/v1/messages", "application/json", strings.NewReader(body))
	if err != nil {
		return "error: " + err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return "error: " + err.Error()
	}
	var m struct {
		Content []struct {
			Type, Text string
			Input      struct{ Command string }
		}
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return "error: " + string(text)
	}
	said := "model:"
	for _, c := range m.Content {
		if c.Type == "tool_use" {
			said += " <" + c.Input.Command + ">"
		} else {
			said += " " + c.Text
		}
	}
	return said
}

// readLine reads byte by byte: what follows the line is not this agent's.
func readLine() string {
	var line []byte
	for b := make([]byte, 1); ; {
		if n, err := os.Stdin.Read(b); n == 0 || err != nil || b[0] == '\n' {
			return string(line)
		}
		line = append(line, b[0])
	}
}

func size() string {
	rows, cols, err := pty.Getsize(os.Stdin)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%dx%d", rows, cols)
}

// A provider stands in for the model's provider: to "run: COMMAND" its model
// asks for Bash with that command.
type provider struct {
	*httptest.Server

	mu       sync.Mutex
	answered time.Time
}

var order = regexp.MustCompile(`run: ([^"\\]*)`)

func newProvider(t *testing.T) *provider {
	p := &provider{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		m := order.FindSubmatch(body)
		if err != nil || m == nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"msg_1","type":"message","role":"assistant","model":"claude-test","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":%q}}],`+
			`"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":20}}`, m[1])
		p.mu.Lock()
		defer p.mu.Unlock()
		p.answered = time.Now()
	}))
	t.Cleanup(p.Close)
	return p
}

// lastByte is when the provider had written its latest answer.
func (p *provider) lastByte() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.answered
}
