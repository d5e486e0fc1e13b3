package command

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
)

// PrintWaiting prints the file that waits for being accepted, if any.
func PrintWaiting(w io.Writer, s api.ConfigState, more string) error {
	if s.Waiting == nil {
		return nil
	}
	text := fmt.Sprintf("THE CONFIGURATION WAITS, since %s, for a person of the role admin:\n", Short(time.Since(s.Waiting.Since)))
	for _, l := range s.Waiting.Loosens {
		text += "  it loosens: " + holdgate.Visible(l) + "\n"
	}
	for _, l := range s.Waiting.Changes {
		text += "  " + holdgate.Visible(l) + "\n"
	}
	_, err := fmt.Fprintf(w, "%sput it in force: holdgate config accept %s%s\n", text, holdgate.Visible(s.Waiting.Digest), more)
	return err
}

// WaitingConfig is the configuration's state where a file waits; nil where none
// does, or the sidecar does not watch it.
func WaitingConfig(c *cli.Context, sc *client.Client) (*api.ConfigState, error) {
	s, err := sc.Config(c.Context)
	if p, ok := errors.AsType[*api.Problem](err); ok && p.Status == http.StatusNotFound {
		return nil, nil
	}
	if err != nil || s.Waiting == nil {
		return nil, err
	}
	return &s, nil
}
