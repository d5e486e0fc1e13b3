package e2e_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// A scraper gets a sidecar's metrics again and again, as Prometheus does.
type scraper struct {
	s    *sidecar
	seen map[string]float64 // what only rises, by name and labels
}

// scrape fails where the metrics cannot be parsed, or where something of which only more can be is less than before, or gone.
func (c *scraper) scrape() error {
	resp, err := c.s.api("GET", "/metrics", "")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("a scrape: %s", resp.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(resp.Body)
	if err != nil {
		return fmt.Errorf("a scrape: %w", err)
	}
	now := map[string]float64{}
	for name, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			key := name + "{" + strings.Join(labels, ",") + "}"
			switch f.GetType().String() {
			case "COUNTER":
				now[key] = m.GetCounter().GetValue()
			case "HISTOGRAM":
				h := m.GetHistogram()
				now[key], now[key+" sum"] = float64(h.GetSampleCount()), h.GetSampleSum()
				for _, b := range h.GetBucket() {
					now[fmt.Sprint(key, " to ", b.GetUpperBound())] = float64(b.GetCumulativeCount())
				}
			}
		}
	}
	for key, was := range c.seen {
		if is, there := now[key]; !there || is < was {
			return fmt.Errorf("%s was %v, and is %v (there: %t)", key, was, is, there)
		}
	}
	c.seen = now
	return nil
}

// during scrapes while a load is on, and once when it is over.
func (c *scraper) during(over <-chan struct{}) error {
	next := time.NewTicker(20 * time.Millisecond)
	defer next.Stop()
	for {
		select {
		case <-over:
			return c.scrape()
		case <-next.C:
		}
		if err := c.scrape(); err != nil {
			return err
		}
	}
}

// atLeast fails the test where fewer than n of something were counted.
func (c *scraper) atLeast(t *testing.T, n float64, key string) {
	t.Helper()
	if c.seen[key] < n {
		t.Errorf("%s is %v, want %v; there are %v", key, c.seen[key], n, slices.Sorted(maps.Keys(c.seen)))
	}
}
