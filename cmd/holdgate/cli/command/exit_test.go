package command_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// A certificate that nobody here knows is told as that, and not as a token that is wrong.
func TestACertificateThatIsNotKnownIsNamed(t *testing.T) {
	t.Parallel()
	door := httptest.NewTLSServer(http.NotFoundHandler())
	defer door.Close()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, client.TokenName), []byte(strings.Repeat("a", 64)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Options{StateDir: dir, URL: door.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Status(t.Context())
	x := command.Explain(err)
	if strings.Contains(x.Text, "token") || !strings.Contains(x.Text, "certificate signed by unknown authority") || !strings.Contains(x.Hint, "page-ca.pem") {
		t.Errorf("it says %q, and to do %q", x.Text, x.Hint)
	}
}
