// Package report makes what people send along when something is wrong, and what
// strangers may read: how a sidecar is, without anything that it was told.
//
// It lets through what is known to be harmless: numbers, words of a dictionary's length,
// names that Holdgate itself brings. See [Scrub]. Of those words, names that the sidecar was
// told are taken out. See [Files.Conceal].
package report

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"
)

// Files are what a report consists of: texts by the names of files.
type Files map[string]string

// JSON adds a file of a value's JSON.
func (f Files) JSON(name string, v any) {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		b = []byte(Scrub(err.Error()))
	}
	f[name] = string(b) + "\n"
}

// YAML adds a file of a value's YAML.
func (f Files) YAML(name string, v any) {
	b, err := yaml.Marshal(v)
	if err != nil {
		b = []byte(Scrub(err.Error()))
	}
	f[name] = string(b)
}

var (
	label    = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="((?:\\.|[^"\\])*)"`)
	goSource = regexp.MustCompile(`\S*/([^/\s]+\.go:[0-9]+)`)
)

// named are labels of metrics whose values need not be Holdgate's own words.
var named = []string{"channel", "revision", "rule", "upstream"}

// Metrics adds metrics in Prometheus's text. Of the labels that users can name, those show
// of which own says that Holdgate brings them.
func (f Files) Metrics(name, text string, own func(label, value string) bool) {
	f[name] = label.ReplaceAllStringFunc(text, func(l string) string {
		parts := label.FindStringSubmatch(l)
		switch {
		case parts[1] == "le" || parts[1] == "quantile":
			return l
		case slices.Contains(named, parts[1]) && !own(parts[1], parts[2]):
			return parts[1] + `="` + hidden + `"`
		}
		return parts[1] + `="` + scrub(parts[2], true) + `"`
	})
}

// Conceal takes texts out of a file wherever they stand, and names where they are whole
// words, in capitals or not.
func (f Files) Conceal(file string, texts, names []string) {
	texts = slices.Clone(texts)
	slices.SortFunc(texts, func(a, b string) int { return len(b) - len(a) })
	for _, t := range texts {
		f[file] = strings.ReplaceAll(f[file], t, hidden)
	}
	all := make(map[string]bool, len(names))
	for _, n := range names {
		for _, word := range word().FindAllString(n, -1) {
			all[strings.ToLower(word)] = true
		}
	}
	f[file] = word().ReplaceAllStringFunc(f[file], func(w string) string {
		if all[strings.ToLower(w)] {
			return hidden
		}
		return w
	})
}

// word is a part of a name: of ada.lovelace@example.com each by itself is one.
var word = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\pL\pM][\pL\pM\pN]*`) })

// Process adds what the runtime says of this process: its memory, and where its
// goroutines stand. Stacks have no arguments; of sources the folders do not show.
func (f Files) Process() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	limit := debug.SetMemoryLimit(-1)
	f.JSON("process.json", map[string]any{
		"goroutines": runtime.NumGoroutine(), "gomaxprocs": runtime.GOMAXPROCS(0), "cpus": runtime.NumCPU(), "memory_limit": limit,
		"heap_in_use": m.HeapInuse, "heap_objects": m.HeapObjects, "heap_released": m.HeapReleased, "stacks": m.StackInuse, "from_system": m.Sys,
		"collections": m.NumGC, "collecting": time.Duration(m.PauseTotalNs).String(),
	})
	var stacks bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&stacks, 1); err != nil {
		f["goroutines.txt"] = Scrub(err.Error()) + "\n"
		return
	}
	f["goroutines.txt"] = goSource.ReplaceAllString(stacks.String(), "$1")
}

// Write writes the files as a .tar.gz, in the order of their names.
func (f Files) Write(w io.Writer, at time.Time) error {
	zip := gzip.NewWriter(w)
	out := tar.NewWriter(zip)
	for _, name := range slices.Sorted(maps.Keys(f)) {
		h := &tar.Header{Name: "holdgate-report/" + strings.ReplaceAll(name, "/", "_"), Mode: 0o600, Size: int64(len(f[name])), ModTime: at}
		if err := out.WriteHeader(h); err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
		if _, err := io.WriteString(out, f[name]); err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if err := zip.Close(); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}
