// Package bench measures what Holdgate costs, on the machine where it runs:
// the same requests straight to an upstream, through goproxy as it comes (with
// its transport tuned), and through Holdgate with its shipped settings, by base
// URL, by interception (HTTP/1.1 and HTTP/2) and, where agents can be confined, by the transparent door.
// Every format that Holdgate reads is spoken, and MCP over HTTP and over standard
// streams (which no other proxy of these speaks).
//
// Each of the three is a process of its own on loopback, and the load comes
// from this one. Targets take turns within a round, ratios are taken inside a
// round, and the medians of the rounds are reported: machines are noisy, and a
// ratio from one round survives that better than any single figure. CPU per
// request is that of the proxy's process alone, as the kernel accounts it.
package bench

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Options say what is measured.
type Options struct {
	Rounds   int           // 5 where zero
	Duration time.Duration // of one target in one round; DefaultDuration where zero
	Only     string        // only scenarios that [Matches] it; empty: all
	Progress func(string)  // told of each round; may be nil
	Notes    io.Writer     // for what is not measured, and why; may be nil
	// Executable is the holdgate program, which starts the peers.
	Executable string
	// Postgres is the URL of the empty database that Holdgate keeps its state in; empty: in its folder.
	Postgres string
}

// DefaultDuration is how long a target is under load in one round.
const DefaultDuration = time.Second

// A Scenario is one kind of load.
type Scenario struct {
	Name    string `json:"name"`
	Format  string `json:"format"`
	TLS     bool   `json:"tls"`
	HTTP2   bool   `json:"http2"`
	Stdio   bool   `json:"stdio"` // a connection is a server's process and its streams
	Stream  bool   `json:"stream"`
	Body    int    `json:"body_bytes"`
	Clients int    `json:"connections"`
}

// Scenarios returns everything that is measured: for one format plain and
// streamed, 4 KB and 64 KB, 1 and 16 connections, in the clear and intercepted,
// and requests of 512 KB; 4 KB over HTTP/2 both ways, intercepted; for every other format 4 KB over 16 connections; and
// tool calls of MCP, over HTTP and over standard streams.
func Scenarios() []Scenario {
	var all []Scenario
	add := func(s Scenario) {
		s.Name = fmt.Sprintf("%s %s, %d KB, %d conn", choose(s.HTTP2, "h2", choose(s.TLS, "https", "http")), choose(s.Stream, "stream", "plain"), s.Body>>10, s.Clients)
		if s.Format != anthropicName {
			s.Name += ", " + s.Format
		}
		all = append(all, s)
	}
	for _, tls := range []bool{false, true} {
		for _, stream := range []bool{false, true} {
			for _, body := range []int{4 << 10, 64 << 10} {
				for _, clients := range []int{1, 16} {
					add(Scenario{Format: anthropicName, TLS: tls, Stream: stream, Body: body, Clients: clients})
				}
			}
		}
		add(Scenario{Format: anthropicName, TLS: tls, Body: 512 << 10, Clients: 1})
	}
	for _, stream := range []bool{false, true} {
		for _, clients := range []int{1, 16} {
			add(Scenario{Format: anthropicName, TLS: true, HTTP2: true, Stream: stream, Body: 4 << 10, Clients: clients})
		}
	}
	for _, f := range formats()[1:] {
		add(Scenario{Format: f.name, Body: 4 << 10, Clients: 16})
		add(Scenario{Format: f.name, Stream: true, Body: 4 << 10, Clients: 16})
		add(Scenario{Format: f.name, TLS: true, Stream: true, Body: 4 << 10, Clients: 16})
	}
	for _, clients := range []int{1, 16} {
		add(Scenario{Format: mcpFormat().name, Body: 1 << 10, Clients: clients})
	}
	for _, clients := range []int{1, 16} {
		all = append(all, Scenario{Name: fmt.Sprintf("stdio, 1 KB, %d conn, mcp", clients), Format: mcpFormat().name, Stdio: true, Body: 1 << 10, Clients: clients})
	}
	return all
}

func choose(b bool, yes, no string) string {
	if b {
		return yes
	}
	return no
}

// A Result is the medians of one target under one scenario.
type Result struct {
	Scenario
	Target  string  `json:"target"`
	RPS     float64 `json:"requests_per_second"`
	P50     float64 `json:"p50_ms"`
	P99     float64 `json:"p99_ms"`
	First   float64 `json:"first_byte_p50_ms"`
	CPU     float64 `json:"cpu_ms_per_request"` // of the proxy; 0 where the system does not tell
	OfDir   float64 `json:"rps_of_direct"`      // medians of ratios within a round
	OfBare  float64 `json:"rps_of_goproxy"`     // 0 where goproxy was not measured
	Added   float64 `json:"added_p50_ms"`
	FirstOf float64 `json:"first_byte_of_direct"`
}

// The targets, in the order in which they take turns.
const (
	direct  = "direct"
	bare    = "goproxy"
	baseURL = "holdgate base-url" // or the door of the MCP server
	forward = "holdgate proxy"
	relayed = "holdgate mcp"
	through = "holdgate transparent" // from inside `holdgate run`
)

// Matches reports whether a scenario's name contains text. A number in it is
// whole: 4 KB is not found in 64 KB.
func Matches(name, text string) bool {
	digit := func(s string, i int) bool { return i >= 0 && i < len(s) && s[i] >= '0' && s[i] <= '9' }
	for from := 0; ; from++ {
		i := strings.Index(name[from:], text)
		if i < 0 {
			return false
		}
		from += i
		end := from + len(text)
		if !(digit(text, 0) && digit(name, from-1)) && !(digit(text, len(text)-1) && digit(name, end)) {
			return true
		}
	}
}

// matching are the scenarios that [Matches] text.
func matching(text string) []Scenario {
	return slices.DeleteFunc(Scenarios(), func(s Scenario) bool { return !Matches(s.Name, text) })
}

// Run measures everything. It starts its processes and stops them again. With an
// error it returns what was measured before, of the scenario at hand too.
func Run(ctx context.Context, o Options) ([]Result, error) {
	o.Rounds = cmp.Or(o.Rounds, 5)
	o.Duration = cmp.Or(o.Duration, DefaultDuration)
	list := matching(o.Only)
	if len(list) == 0 {
		return nil, fmt.Errorf("no scenario's name contains %q: such as %q", o.Only, Scenarios()[0].Name)
	}
	p, err := startProcesses(ctx, o.Executable, o.Postgres)
	if err != nil {
		return nil, err
	}
	defer p.stop()
	if err := p.confine(ctx); err != nil && o.Notes != nil {
		fmt.Fprintln(o.Notes, "note:", err)
	}
	var results []Result
	for i, s := range list {
		r, rounds, err := p.measure(ctx, s, o)
		results = append(results, r...)
		switch {
		case ctx.Err() != nil:
			return results, fmt.Errorf("interrupted: %d of %d scenarios were measured, and of %q %d of %d rounds", i, len(list), s.Name, rounds, o.Rounds)
		case err != nil:
			return results, fmt.Errorf("measuring %s: %w", s.Name, err)
		}
	}
	return results, nil
}

// measure runs one scenario: rounds of all targets in turn, after one round that does
// not count. It says how many rounds the results are of; an interrupt ends it between
// two of them, or within one that is left out.
func (p *processes) measure(ctx context.Context, s Scenario, o Options) (results []Result, done int, err error) {
	targets := p.targets(s)
	if _, err := loadEach(ctx, targets, s.Clients, min(o.Duration, 300*time.Millisecond)); err != nil {
		return nil, 0, err
	}
	var rounds [][]run
	for range o.Rounds {
		var round []run
		if round, err = loadEach(ctx, targets, s.Clients, o.Duration); err != nil {
			break
		}
		rounds = append(rounds, round)
		if o.Progress != nil {
			o.Progress(fmt.Sprintf("%s: round %d of %d", s.Name, len(rounds), o.Rounds))
		}
	}
	if len(rounds) == 0 || err != nil && ctx.Err() == nil {
		return nil, 0, err
	}
	return summarize(s, targets, rounds), len(rounds), err
}

// loadEach is one round.
func loadEach(ctx context.Context, targets []target, clients int, d time.Duration) ([]run, error) {
	round := make([]run, len(targets))
	for j, t := range targets {
		r, err := t.load(ctx, clients, d)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		// goproxy itself sometimes cuts a fast answer short.
		if j > 0 && t.name != bare && r.size != round[0].size {
			return nil, fmt.Errorf("%s: answers of %d bytes, and of %d straight: something was refused or lost", t.name, r.size, round[0].size)
		}
		round[j] = r
	}
	return round, nil
}

func summarize(s Scenario, targets []target, rounds [][]run) []Result {
	results := make([]Result, len(targets))
	for j, t := range targets {
		over := func(f func(round []run) float64) float64 {
			v := make([]float64, len(rounds))
			for i, r := range rounds {
				v[i] = f(r)
			}
			return median(v)
		}
		ofBare := func(r []run) float64 {
			if targets[1].name != bare {
				return 0
			}
			return ratio(r[j].rps(), r[1].rps())
		}
		results[j] = Result{
			Scenario: s, Target: t.name,
			RPS:     over(func(r []run) float64 { return r[j].rps() }),
			P50:     over(func(r []run) float64 { return ms(r[j].total(0.5)) }),
			P99:     over(func(r []run) float64 { return ms(r[j].total(0.99)) }),
			First:   over(func(r []run) float64 { return ms(r[j].firstByte(0.5)) }),
			CPU:     over(func(r []run) float64 { return r[j].cpuPerRequest() }),
			OfDir:   over(func(r []run) float64 { return ratio(r[j].rps(), r[0].rps()) }),
			OfBare:  over(ofBare),
			Added:   over(func(r []run) float64 { return ms(r[j].total(0.5) - r[0].total(0.5)) }),
			FirstOf: over(func(r []run) float64 { return ratio(ms(r[j].firstByte(0.5)), ms(r[0].firstByte(0.5))) }),
		}
	}
	return results
}

// ratio is a as a share of b, and 0 where nothing of b was measured.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func median(v []float64) float64 {
	slices.Sort(v)
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}
