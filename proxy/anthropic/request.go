package anthropic

import (
	"errors"
	"fmt"
	"iter"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// Request reads a request for a message. The body must have passed
// [wire.Strict].
//
// Tools of the provider's own types that the client runs (bash, text editor,
// computer, memory, browser) are among Tools; tools of any other type that is
// not custom, and hosted MCP servers, are among ServerTools. A hosted MCP
// server has the type "mcp": the API calls it "url", which says nothing.
//
// On Vertex AI the path names the model. There a body that does not say
// anthropic_version is not in this form, and the error wraps
// [wire.ErrUnsupported].
func (c *Codec) Request(urlPath string, body iter.Seq2[wire.Member, error]) (*holdgate.Model, error) {
	m := &holdgate.Model{Provider: c.Name()}
	if onVertex(http.MethodPost, urlPath) {
		if err := checkVertex(body); err != nil {
			return nil, fmt.Errorf("reading a request: %w", err)
		}
		m.Name, _, _ = strings.Cut(path.Base(urlPath), ":")
	}
	for member, err := range body {
		if err == nil {
			err = wire.KnownName(member, "model", "stream", "messages", "system", "tools", "tool_choice", "mcp_servers", "container")
		}
		if err != nil {
			return nil, fmt.Errorf("reading a request: %w", err)
		}
		switch string(member.Name) {
		case "model":
			m.Name, err = wire.Text(member.Value)
		case "stream":
			m.Stream, err = wire.BoolOrNull(member.Value)
		case "tools":
			err = addTools(m, member.Value)
		case "mcp_servers":
			err = addServers(m, member.Value)
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s of a request: %w", member.Name, err)
		}
	}
	if m.Name == "" {
		return nil, fmt.Errorf("reading a request: it names no model")
	}
	return m, nil
}

// checkVertex refuses a body that is not in the form of this API, or that says
// what the path does.
func checkVertex(body iter.Seq2[wire.Member, error]) error {
	var known, named bool
	for m, err := range body {
		if err == nil {
			err = wire.KnownName(m, "anthropic_version", "model")
		}
		if err != nil {
			return err
		}
		switch string(m.Name) {
		case "anthropic_version":
			known = true
		case "model":
			named = true
		}
	}
	switch {
	case !known:
		return fmt.Errorf("of what Vertex AI predicts, only bodies of Anthropic's API (with anthropic_version) are understood: %w", wire.ErrUnsupported)
	case named:
		return errors.New("the body names a model, which the path does")
	}
	return nil
}

func addTools(m *holdgate.Model, tools []byte) error {
	if wire.IsNull(tools) {
		return nil
	}
	for tool, err := range wire.Elements(tools) {
		if err != nil {
			return err
		}
		texts, err := textMembers(tool.Value, "type", "name", "mcp_server_name")
		if err != nil {
			return err
		}
		typ, name := texts[0], texts[1]
		switch {
		case clientRuns(typ):
			m.Tools = append(m.Tools, name)
		case name == "":
			m.ServerTools = append(m.ServerTools, holdgate.ServerTool{Type: typ, Name: texts[2]})
		default:
			m.ServerTools = append(m.ServerTools, holdgate.ServerTool{Type: typ, Name: name})
		}
	}
	return nil
}

// clientRuns reports whether tools of a type are run by the client. Types that
// are not known count as the provider's, which policy is more careful with.
func clientRuns(typ string) bool {
	return typ == "" || typ == "custom" ||
		slices.ContainsFunc([]string{"bash_", "text_editor_", "computer_", "memory_", "browser_"}, func(prefix string) bool {
			return strings.HasPrefix(typ, prefix)
		})
}

func addServers(m *holdgate.Model, servers []byte) error {
	if wire.IsNull(servers) {
		return nil
	}
	for server, err := range wire.Elements(servers) {
		if err != nil {
			return err
		}
		texts, err := textMembers(server.Value, "name", "url")
		if err != nil {
			return err
		}
		m.ServerTools = append(m.ServerTools, holdgate.ServerTool{Type: "mcp", Name: texts[0], URL: texts[1]})
	}
	return nil
}

// textMembers returns the members of an object that have these names; those
// that are missing or null are empty.
func textMembers(object []byte, names ...string) ([]string, error) {
	if err := wire.Known(object, names...); err != nil {
		return nil, err
	}
	texts := make([]string, len(names))
	for m, err := range wire.Members(object) {
		if err != nil {
			return nil, err
		}
		i := slices.Index(names, string(m.Name))
		if i < 0 || wire.IsNull(m.Value) {
			continue
		}
		if texts[i], err = wire.Text(m.Value); err != nil {
			return nil, fmt.Errorf("reading %s: %w", m.Name, err)
		}
	}
	return texts, nil
}
