package e2e_test

import "testing"

// The official client signs in to a hosted server for the URL that it dialled,
// which is the door's.
func TestSigningInToAnMCPServerWorksThroughTheDoor(t *testing.T) {
	clientsDir(t)
	t.Parallel()
	straight := nodeServer(t, "mcp-oauth-server.mjs") + "/mcp"
	s := serve(t, nil, "--mcp", "hosted="+straight, "--policy", write(t, "all.rego", allowAll))
	for _, url := range []string{straight, "http://" + s.agents + "/mcp/hosted"} {
		tools, res := toolResult(t, node(t, nil, "mcp-oauth.mjs", url).output())
		if len(tools) != 1 || res.IsError || len(res.Content) != 1 || res.Content[0].Text != "somebody with a token" {
			t.Errorf("%s: the client has the tools %q and the result %+v", url, tools, res)
		}
	}
}
