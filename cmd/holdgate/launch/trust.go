package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/holdgate/holdgate/cmd/holdgate/app"
)

// Trust are files with the certificates that the agent is to trust. They are
// in a folder of their own, for the agent is not told where the state folder
// is. Remove them once the agent has ended.
type Trust struct {
	Dir        string
	CA, Bundle string // paths in it; see [Way]
	JavaStore  string
}

// NewTrust makes the folder. [Trust.Write] fills it.
func NewTrust() (*Trust, error) {
	dir, err := os.MkdirTemp("", "holdgate-run-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for certificates: %w", err)
	}
	return &Trust{Dir: dir, CA: filepath.Join(dir, "ca.pem"), Bundle: filepath.Join(dir, "ca-bundle.pem"), JavaStore: filepath.Join(dir, "ca-bundle.jks")}, nil
}

// Write writes the files: caFile's certificate, and it with the system's, which is
// enough for all that goes through the sidecar.
func (t *Trust) Write(caFile string, getenv func(string) string) error {
	ca, bundle, err := app.CABundle(caFile, getenv("SSL_CERT_FILE"))
	if err != nil {
		return err
	}
	if err := errors.Join(os.WriteFile(t.CA, ca, 0o600), os.WriteFile(t.Bundle, bundle, 0o600), os.WriteFile(t.JavaStore, javaStore(bundle), 0o600)); err != nil {
		return fmt.Errorf("writing certificates: %w", err)
	}
	return nil
}

// Remove removes the files.
func (t *Trust) Remove() error { return os.RemoveAll(t.Dir) }
