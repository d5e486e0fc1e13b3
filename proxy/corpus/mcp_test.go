package corpus_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdgate/holdgate"
)

// A ran call is one that an MCP server has run, with the number of its request.
type ran struct {
	Number string
	Name   string
	Args   any
}

// goServer is a server with the official Go SDK, in its strict way and without
// sessions, and a function that tells what it ran.
func goServer(t *testing.T) (at string, told func() []ran) {
	t.Helper()
	var mu sync.Mutex
	var all []ran
	s := gosdk.NewServer(&gosdk.Implementation{Name: "variants", Version: "1"}, nil)
	s.AddTool(&gosdk.Tool{Name: "remove", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *gosdk.CallToolRequest) (*gosdk.CallToolResult, error) {
		mu.Lock()
		defer mu.Unlock()
		one := ran{Name: r.Params.Name}
		if len(r.Params.Arguments) > 0 {
			_ = json.Unmarshal(r.Params.Arguments, &one.Args)
		}
		if r.Extra != nil {
			one.Number = r.Extra.Header.Get(numberHeader)
		}
		all = append(all, one)
		return &gosdk.CallToolResult{Content: []gosdk.Content{&gosdk.TextContent{Text: "removed"}}}, nil
	})
	h := httptest.NewServer(gosdk.NewStreamableHTTPHandler(func(*http.Request) *gosdk.Server { return s }, &gosdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
	t.Cleanup(h.Close)
	return h.URL, func() []ran {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// nodeServers are servers with both official SDKs of TypeScript, at /v1 and /v2.
func nodeServers(t *testing.T) (at string, told func() []ran) {
	t.Helper()
	dir := os.Getenv("HOLDGATE_CLIENTS")
	if dir == "" {
		return "", nil
	}
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "mcp-variants-server.mjs"))
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it says that it was killed
	})
	at, err = bufio.NewReader(out).ReadString('\n')
	must(t, err)
	at = strings.TrimSpace(at)
	return at, func() []ran {
		resp, err := http.Get(at + "/ran")
		must(t, err)
		defer resp.Body.Close()
		var all []ran
		must(t, json.NewDecoder(resp.Body).Decode(&all))
		return all
	}
}

// An mcpSeed is a request with a call, of which variants are made.
type mcpSeed struct {
	name, doc string
	header    http.Header
}

func mcpSeeds() []mcpSeed {
	revision := func(v string) http.Header {
		return http.Header{"Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {v}}
	}
	const params = `"name":"remove","arguments":{"path":"x","deep":{"path":"y"}}`
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + params + `,"_meta":{"progressToken":"p"}}}`
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	modern := revision("2026-07-28")
	modern.Set("Mcp-Method", "tools/call")
	modern.Set("Mcp-Name", "remove")
	return []mcpSeed{
		{"a call", call, revision("2025-06-18")},
		{"a batch", `[{"jsonrpc":"2.0","id":2,"method":"tools/list"},` + call + `]`, revision("2025-03-26")},
		{"a call without sessions", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + params + `,` + meta + `}}`, modern},
	}
}

// mcpAnswers are answers to a call in which the server asks its client: on its
// own account, as servers did, and in the answer, as they do from 2026-07-28 on.
func mcpAnswers() []seed {
	const sampling = `"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"rm -rf x"}}],"maxTokens":9}`
	const elicitation = `"method":"elicitation/create","params":{"message":"Bash?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}},"mode":"form"}`
	const result = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"done"}]}}`
	required := func(id string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"result":{"resultType":"input_required","inputRequests":{"a":{` + sampling + `},"b":{` + elicitation + `}},"requestState":"s"}}`
	}
	messages := func(docs ...string) []event {
		var events []event
		for _, d := range docs {
			events = append(events, event{"message", d})
		}
		return events
	}
	requests := mcpSeeds()
	old, modern := requests[0], requests[2]
	modern.doc = strings.Replace(modern.doc, `"id":1`, `"id":0`, 1) // as the SDK numbers it
	asks := messages(`{"jsonrpc":"2.0","id":7,`+sampling+`}`, `{"jsonrpc":"2.0","id":8,`+elicitation+`}`, result)
	return []seed{
		{name: "mcp, events", clients: []string{"mcp 1"}, server: "recorded", asked: old.header, ask: old.doc, typ: "text/event-stream", stream: true, frame: frameSSE, events: asks},
		{name: "mcp, a batch", clients: []string{"mcp 1"}, server: "recorded", asked: old.header, ask: old.doc, typ: "application/json", frame: frameArray, events: asks},
		{name: "mcp, required", clients: []string{"mcp 2"}, server: "recorded", asked: modern.header, ask: modern.doc, typ: "application/json", frame: framePlain, events: unnamed(required("0"))},
		{name: "mcp, required in an event", clients: []string{"mcp 2"}, server: "recorded", asked: modern.header, ask: modern.doc, typ: "text/event-stream", stream: true, frame: frameSSE, events: messages(required("0"))},
	}
}

// mcpRequests are the variants of each request, to each server.
func mcpRequests(servers []string) []recording {
	var all []recording
	samplers := map[string]*sampler{} // by server: each is asked the same
	for _, server := range servers {
		samplers[server] = newSampler()
	}
	for _, s := range mcpSeeds() {
		one := seed{name: s.name, typ: "application/json", frame: framePlain, events: unnamed(s.doc)}
		for _, server := range servers {
			add := func(name string, body []byte) {
				if samplers[server].takes(name) {
					all = append(all, recording{name: server + ", " + s.name + ", " + name, server: server, ask: body, asked: s.header})
				}
			}
			one.variants(add)
			for _, typ := range otherTypes {
				h := s.header.Clone()
				h.Set("Content-Type", typ)
				all = append(all, recording{name: server + ", " + s.name + " of type " + typ, server: server, ask: []byte(s.doc), asked: h})
			}
		}
	}
	return all
}

// Whatever an MCP server runs was judged under the name and with the arguments
// that the server ran it with, and where all calls are denied it runs none.
func TestMCPRequestVariants(t *testing.T) {
	t.Parallel()
	goAt, goRan := goServer(t)
	servers, told := map[string]string{"go": goAt}, []func() []ran{goRan}
	if at, f := nodeServers(t); f != nil {
		servers["first"], servers["second"] = at+"/v1", at+"/v2"
		told = append(told, f)
	}
	var names []string
	for name := range servers {
		names = append(names, name)
	}
	slices.Sort(names)
	all := mcpRequests(names)
	c := &corpus{recorded: all}
	denying := newSidecar(t, goAt, servers, holdgate.Deny, `.*`)
	c.play(t, denying, "")
	for _, f := range told {
		for _, one := range f() {
			t.Errorf("denied, it ran: %v\n%s", one, all[number(t, one)].ask)
		}
	}
	allowing := newSidecar(t, goAt, servers, holdgate.Allow, `.*`)
	c.play(t, allowing, "")
	decided, count := allowing.seen(t), 0
	for _, f := range told {
		for _, one := range f() {
			count++
			seen, run := decided[one.Number], sdkCall{one.Name, one.Args}
			if !slices.ContainsFunc(seen, func(j judged) bool { return j.covers(run) }) {
				t.Errorf("%s: it ran %v, judged was %v\n%s", all[number(t, one)].name, one, seen, all[number(t, one)].ask)
			}
		}
	}
	t.Logf("%d requests to %v, %d calls run where all are allowed", len(all), names, count)
}

func number(t *testing.T, r ran) int {
	t.Helper()
	var n int
	_, err := fmt.Sscan(r.Number, &n)
	must(t, err)
	return n
}
