package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/store/audit"
)

// Beginning finds the one of some ids that a person means: the id itself, or the
// only one that begins so. Where none does it is the word as it stands, for the
// sidecar to say what is wrong with it.
func Beginning(word string, all []string) (string, error) {
	found := ""
	for _, id := range all {
		switch {
		case id == word:
			return id, nil
		case word == "" || !strings.HasPrefix(id, word) || id == found:
		case found != "":
			return "", Usage("several begin with %q, such as %s and %s: write more of it", word, found, id)
		default:
			found = id
		}
	}
	if found == "" {
		return word, nil
	}
	return found, nil
}

// errFound ends a search.
var errFound = errors.New("found")

// LoggedRequest is the id of a request that the log knows, of which word may be
// the beginning.
func LoggedRequest(c *cli.Context, l Entries, word string) (string, error) {
	if word == "" {
		return "", nil
	}
	exact, err := l.Query(c.Context, audit.Query{RequestID: word, Limit: 1})
	if err != nil || len(exact) > 0 {
		return word, err
	}
	var all []string
	err = Each(c, l, audit.Query{Type: audit.TypeDecision}, func(n audit.Entry) error {
		if strings.HasPrefix(n.RequestID, word) && (len(all) == 0 || all[0] != n.RequestID) {
			all = append(all, n.RequestID)
		}
		if len(all) > 1 {
			return errFound
		}
		return nil
	})
	if err != nil && !errors.Is(err, errFound) {
		return "", fmt.Errorf("looking for requests that begin with %q: %w", word, err)
	}
	return Beginning(word, all)
}

// SessionNamed is the session that a person means, by its name or the beginning
// of it.
func SessionNamed(c *cli.Context, sc *client.Client, word string) (string, error) {
	list, err := sc.Sessions(c.Context, c.String("agent"))
	if err != nil {
		return "", err
	}
	var all []string
	for _, s := range list {
		if !slices.Contains(all, s.ID) {
			all = append(all, s.ID)
		}
	}
	return Beginning(word, all)
}
