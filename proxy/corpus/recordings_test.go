package corpus_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"golang.org/x/mod/module"
)

// A recording is one exchange as a public test suite recorded it.
type recording struct {
	name   string // where it stands, for messages
	url    *url.URL
	ask    []byte
	server string      // the MCP server that is asked, where it is none of a model
	asked  http.Header // beside what all requests have
	status int
	header http.Header // of the answer; recorders keep few
	coded  bool        // the answer came in gzip, and the recorder took that off
	answer []byte
}

// road is the way to it through the door.
func (r recording) road() string {
	if r.server != "" {
		return "/mcp/" + r.server
	}
	return "/up/recorded" + r.url.RequestURI()
}

// recordings reads the exchanges with model APIs in the modules that
// testdata/recordings names. A module that is not in the module cache is said
// and left out.
func recordings(t *testing.T) []recording {
	t.Helper()
	list, err := os.ReadFile("../../testdata/recordings")
	must(t, err)
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	must(t, err)
	var all []recording
	for line := range strings.Lines(string(list)) {
		line, _, _ = strings.Cut(line, "#")
		path, version, ok := strings.Cut(strings.TrimSpace(line), "@")
		if !ok {
			continue
		}
		escaped, err := module.EscapePath(path)
		must(t, err)
		dir := filepath.Join(strings.TrimSpace(string(cache)), filepath.FromSlash(escaped)+"@"+version)
		if _, err := os.Stat(dir); err != nil {
			t.Logf("SKIPPED: %s is not in the module cache; `.ci/run` downloads it", path)
			continue
		}
		all = append(all, readModule(t, dir)...)
	}
	return all
}

func readModule(t *testing.T, dir string) []recording {
	t.Helper()
	var all []recording
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(filepath.ToSlash(path), "/testdata/") {
			return err
		}
		name := filepath.Base(filepath.Dir(path)) + "/" + d.Name()
		var list []recording
		switch {
		case strings.HasSuffix(path, ".yaml"):
			list, err = readCassette(path)
		case strings.HasSuffix(path, ".httprr"), strings.HasSuffix(path, ".httprr.gz"):
			list, err = readTrace(path)
		}
		for i, r := range list {
			if speaks(r) != nil {
				r.name = fmt.Sprintf("%s#%d", name, i)
				all = append(all, r)
			}
		}
		return err
	}))
	return all
}

// readCassette reads a recording of go-vcr, version 2 of its format.
func readCassette(path string) ([]recording, error) {
	var c struct {
		Interactions []struct {
			Request  struct{ Body, URL string }
			Response struct {
				Code         int
				Headers      http.Header
				Body         string
				Uncompressed bool
			}
		}
	}
	data, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(data, &c)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var list []recording
	for _, i := range c.Interactions {
		u, err := url.Parse(i.Request.URL)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		list = append(list, recording{url: u, ask: []byte(i.Request.Body), status: i.Response.Code, header: i.Response.Headers, coded: i.Response.Uncompressed, answer: []byte(i.Response.Body)})
	}
	return list, nil
}

// readTrace reads a recording of httprr: after a line that names the format,
// for each exchange the lengths of request and response, and both.
func readTrace(path string) ([]recording, error) {
	data, err := os.ReadFile(path)
	if err == nil && strings.HasSuffix(path, ".gz") {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(data)); err == nil {
			data, err = io.ReadAll(z)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	rest, ok := bytes.CutPrefix(data, []byte("httprr trace v1\n"))
	if !ok {
		return nil, nil
	}
	var list []recording
	for len(rest) > 0 {
		var asked, answered int
		line, after, _ := bytes.Cut(rest, []byte("\n"))
		if _, err := fmt.Sscan(string(line), &asked, &answered); err != nil || asked+answered > len(after) {
			return nil, fmt.Errorf("%s: lengths %q", path, line)
		}
		r, err := readExchange(after[:asked], after[asked:asked+answered])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		list, rest = append(list, r), after[asked+answered:]
	}
	return list, nil
}

func readExchange(asked, answered []byte) (recording, error) {
	req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(asked)))
	if err != nil {
		return recording{}, err
	}
	ask, err := io.ReadAll(req.Body)
	if err != nil {
		return recording{}, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(answered)), req)
	if err != nil {
		return recording{}, err
	}
	answer, err := io.ReadAll(resp.Body)
	resp.Header.Del("Content-Length")
	return recording{url: req.URL, ask: ask, status: resp.StatusCode, header: resp.Header, answer: answer}, err
}
