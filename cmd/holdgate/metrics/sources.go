package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Sources are asked at each scrape. What answers false or an error is left out of it. While
// Standby says so, none of the others is asked: there is nothing yet that they could tell of.
type Sources struct {
	Standby  func() bool                                   // whether another member works on the store
	Pending  func() (count int, oldest time.Time, ok bool) // approval requests; oldest is zero where there are none
	Policy   func() (revision string, broken bool)
	Store    func() (size, free int64, err error)
	Writable func() bool                    // whether the store takes writes
	Head     func() (seq uint64, err error) // of the audit log
	Channels func() []Channel
}

// A Channel is how a channel does.
type Channel struct {
	Name     string
	Up       bool
	Restarts int
	Waiting  int       // requests that it is still to tell of
	Due      time.Time // of the oldest notice that it has not given and could; zero where there is none
}

// collector makes metrics of sources.
type collector struct{ s Sources }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("holdgate_"+name, help, labels, nil)
}

var (
	standbyDesc  = describe("standby", "1 where the member stands by while another one works on the store.")
	pendingDesc  = describe("requests_pending", "Approval requests that wait for people.")
	oldestDesc   = describe("request_oldest_seconds", "How long the oldest pending approval request has waited; 0 where there is none.")
	revisionDesc = describe("policy_info", "1, with the revision of the policy in force.", "revision")
	brokenDesc   = describe("policy_broken", "1 where the policy that was pushed does not load, so that nothing is let through.")
	sizeDesc     = describe("store_bytes", "What the store's files take.")
	freeDesc     = describe("store_free_bytes", "What can still be written before the store refuses updates.")
	writableDesc = describe("store_writable", "1 where the store takes writes; 0 where nothing can be held or let through.")
	headDesc     = describe("audit_head", "The number of the audit log's newest entry.")
	upDesc       = describe("channel_up", "1 where the channel runs and reaches people.", "channel")
	restartsDesc = describe("channel_restarts_total", "How often the channel's process was started again.", "channel")
	waitingDesc  = describe("channel_waiting", "Requests that the channel is still to tell of.", "channel")
	lagDesc      = describe("channel_lag_seconds", "How long the oldest notice has been due that the channel has not given; 0 where there is none.", "channel")
)

// Describe implements [prometheus.Collector].
func (c collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{standbyDesc, pendingDesc, oldestDesc, revisionDesc, brokenDesc, sizeDesc, freeDesc, writableDesc, headDesc, upDesc, restartsDesc, waitingDesc, lagDesc} {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (c collector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	standby := c.s.Standby()
	if gauge(standbyDesc, number(standby)); standby {
		return
	}
	if n, oldest, ok := c.s.Pending(); ok {
		gauge(pendingDesc, float64(n))
		gauge(oldestDesc, age(oldest))
	}
	revision, broken := c.s.Policy()
	gauge(revisionDesc, 1, text(revision))
	gauge(brokenDesc, number(broken))
	if size, free, err := c.s.Store(); err == nil {
		gauge(sizeDesc, float64(size))
		gauge(freeDesc, float64(free))
	}
	gauge(writableDesc, number(c.s.Writable()))
	if head, err := c.s.Head(); err == nil {
		gauge(headDesc, float64(head))
	}
	for _, one := range c.s.Channels() {
		gauge(upDesc, number(one.Up), one.Name)
		gauge(waitingDesc, float64(one.Waiting), one.Name)
		gauge(lagDesc, age(one.Due), one.Name)
		ch <- prometheus.MustNewConstMetric(restartsDesc, prometheus.CounterValue, float64(one.Restarts), one.Name)
	}
}

// age is how long ago it was, in seconds; 0 where it never was.
func age(at time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return max(time.Since(at).Seconds(), 0)
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
