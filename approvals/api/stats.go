package api

import (
	"fmt"
	"time"

	"github.com/holdgate/holdgate/approvals/stats"
	"github.com/holdgate/holdgate/store/audit"
)

// statsSince is how far back statistics look where nobody says.
const statsSince = 30 * 24 * time.Hour

// stats serves GET /v1/stats.
func (s *Server) stats(r *request) (stats.Stats, error) {
	v, err := query(r, "since", "until")
	if err != nil {
		return stats.Stats{}, err
	}
	since, err := moment(v, "since")
	if err != nil {
		return stats.Stats{}, err
	}
	until, err := moment(v, "until")
	if err != nil {
		return stats.Stats{}, err
	}
	if since.IsZero() {
		since = time.Now().Add(-statsSince).UTC().Truncate(time.Second)
	}
	c := stats.NewCounter(since)
	err = s.c.Log.Each(r.Context(), audit.Query{Since: since, Until: until}, func(e audit.Entry) error {
		c.Count(e)
		return nil
	})
	if err != nil {
		return stats.Stats{}, fmt.Errorf("counting what the audit log has: %w", err)
	}
	counted := c.Stats()
	counted.Until = until
	return counted, nil
}
