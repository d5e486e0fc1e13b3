// Package metrics counts what a sidecar does, for Prometheus. [Metrics] is told of what
// happens by hooks of the parts, and asks [Sources] for what stands at the time of a
// scrape. It knows no part.
//
// No agent can make series. Each label's values are words of Holdgate's own, names of
// the configuration, or names of which only so many are kept: what comes after them, or
// is no short text, counts under [Other].
package metrics

import (
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/expfmt"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store/audit"
)

// Names says which names labels may have.
type Names struct {
	Version   string   // of Holdgate
	Upstreams []string // that the configuration names, MCP servers as "mcp/NAME"
	Channels  []string // that the configuration names
	Rungs     []string // in which clients of held calls wait
}

// Metrics are the counts of one sidecar. Its methods are safe for concurrent use.
type Metrics struct {
	registry  *prometheus.Registry
	rules     *words
	upstreams *words
	channels  *words

	decisions   *prometheus.CounterVec
	refused     *prometheus.CounterVec
	holds       *prometheus.CounterVec
	rungs       map[string]bool
	entries     *prometheus.CounterVec
	newest      prometheus.Gauge
	outcomes    *prometheus.CounterVec
	waited      *prometheus.HistogramVec
	evaluation  prometheus.Histogram
	policyFails prometheus.Counter
	policyLoads *prometheus.CounterVec
	sync        prometheus.Histogram
	syncFails   prometheus.Counter
	told        *prometheus.CounterVec
	upstream    *prometheus.HistogramVec
	answers     *prometheus.CounterVec
	tokens      *prometheus.CounterVec
	usage       *prometheus.CounterVec
}

// Buckets, in seconds.
var (
	quick   = []float64{.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1}
	network = []float64{.005, .025, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
	people  = []float64{5, 15, 30, 60, 120, 300, 600, 1800, 3600, 4 * 3600, 24 * 3600}
)

// New returns metrics that are registered nowhere else. They stand at [Metrics.Handler].
func New(n Names, s Sources) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), rules: newWords(maxRules), upstreams: newWords(len(n.Upstreams)), channels: newWords(len(n.Channels) + maxChannels)}
	m.upstreams.know(n.Upstreams...)
	m.channels.know(n.Channels...)
	m.decisions = m.counters("holdgate_decisions_total", "Decisions of the audit log, by what was decided, the rule and the kind of call.", "action", "rule", "kind")
	m.refused = m.counters("holdgate_refused_total", "Requests that never reached policy, by the rule.", "rule")
	m.holds = m.counters("holdgate_holds_total", "How clients of held calls waited for people.", "rung")
	m.rungs = set(n.Rungs...)
	m.entries = m.counters("holdgate_audit_entries_total", "Entries of the audit log that were written since the start, by type.", "type")
	m.newest = prometheus.NewGauge(prometheus.GaugeOpts{Name: "holdgate_audit_newest_timestamp_seconds", Help: "When the audit log's newest entry was written."})
	m.outcomes = m.counters("holdgate_outcomes_total", "Approval requests that have ended, by the last answer, what became of them, and the channel of that answer.", "decision", "status", "channel")
	m.waited = m.histograms("holdgate_time_to_decision_seconds", "From an approval request to its end.", people, "status")
	m.evaluation = m.histogram("holdgate_policy_evaluation_seconds", "Evaluations of policy; decisions that were remembered are not among them.", quick)
	m.policyFails = m.counter("holdgate_policy_errors_total", "Evaluations of policy that failed, so that their calls were refused or held.")
	m.policyLoads = m.counters("holdgate_policy_loads_total", "Policies that were put in force, or were not.", "result")
	m.sync = m.histogram("holdgate_store_sync_seconds", "Syncs of the store to the disk.", quick)
	m.syncFails = m.counter("holdgate_store_sync_errors_total", "Syncs of the store that failed, in PostgreSQL commits that were given up.")
	m.told = m.counters("holdgate_channel_deliveries_total", "Notices given to channels.", "channel", "result")
	m.upstream = m.histograms("holdgate_upstream_seconds", "From a request to the head of its upstream's answer.", network, "upstream")
	m.answers = m.counters("holdgate_upstream_requests_total", "Requests sent to upstreams, by the class of the answer.", "upstream", "result")
	m.tokens = m.counters("holdgate_tokens_total", "Tokens that models have used, as their answers say; those of the cache are among the input.", "direction")
	m.usage = m.counters("holdgate_model_answers_total", "Answers of models, by whether they said what they used.", "usage")
	m.begin(n)
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "holdgate_build_info", Help: "1, with the version of Holdgate.", ConstLabels: prometheus.Labels{"version": text(n.Version)}})
	build.Set(1)
	m.registry.MustRegister(build, m.newest, collector{s}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// begin begins series at zero: an increase of what is not there yet is none.
func (m *Metrics) begin(n Names) {
	m.policyLoads.WithLabelValues(result(nil))
	m.policyLoads.WithLabelValues("error")
	for _, direction := range []string{"input", "output"} {
		m.tokens.WithLabelValues(direction)
	}
	for _, said := range []string{"said", "missing"} {
		m.usage.WithLabelValues(said)
	}
	for _, rung := range n.Rungs {
		m.holds.WithLabelValues(rung)
	}
	for _, rule := range refusals {
		m.refused.WithLabelValues(m.rules.keep(rule))
	}
	for status, decision := range silences {
		m.outcomes.WithLabelValues(string(decision), string(status), noChannel)
	}
}

// Handler serves the metrics. What it is asked by whom is for others to check.
func (m *Metrics) Handler(log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, EnableOpenMetrics: true, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), ErrorHandling: promhttp.ContinueOnError})
}

// Text is the metrics as a scraper would get them now.
func (m *Metrics) Text() (string, error) {
	families, err := m.registry.Gather()
	var text strings.Builder
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&text, f); err != nil {
			return "", err
		}
	}
	return text.String(), err
}

// Entry counts an entry of the audit log.
func (m *Metrics) Entry(e audit.Entry) {
	m.entries.WithLabelValues(known(string(e.Type), types)).Inc()
	m.newest.Set(float64(e.Time.UnixMilli()) / 1000)
	if e.Type != audit.TypeDecision || e.Decision == nil {
		return
	}
	kind := Other
	if e.Call != nil {
		kind = known(string(e.Call.Kind), kinds)
	}
	m.decisions.WithLabelValues(known(e.Decision.Action.String(), actions), m.rules.keep(e.Decision.Rule), kind).Inc()
	if e.Decision.Action == holdgate.Deny && strings.HasPrefix(e.Decision.Rule, "holdgate.") {
		m.Refused(e.Decision.Rule)
	}
}

// Refused counts a request that never reached policy.
func (m *Metrics) Refused(rule string) { m.refused.WithLabelValues(m.rules.keep(rule)).Inc() }

// Held counts a client that waits for people, by how it does so.
func (m *Metrics) Held(rung string) { m.holds.WithLabelValues(known(rung, m.rungs)).Inc() }

// Ended counts an approval request that has ended.
func (m *Metrics) Ended(took time.Duration, status holdgate.Status, decision holdgate.Answer, channel string) {
	if channel == "" {
		channel = noChannel
	} else {
		channel = m.channels.keep(channel)
	}
	s := known(string(status), statuses)
	m.outcomes.WithLabelValues(known(string(decision), answers), s, channel).Inc()
	m.waited.WithLabelValues(s).Observe(took.Seconds())
}

// Evaluated counts an evaluation of policy. trace is the id of a trace that was recorded
// of it, or empty.
func (m *Metrics) Evaluated(took time.Duration, failed bool, trace string) {
	observe(m.evaluation, took, trace)
	if failed {
		m.policyFails.Inc()
	}
}

// Loaded counts a policy that was put in force, or could not be.
func (m *Metrics) Loaded(err error) { m.policyLoads.WithLabelValues(result(err)).Inc() }

// Synced counts a sync of the store.
func (m *Metrics) Synced(took time.Duration, err error) {
	m.sync.Observe(took.Seconds())
	if err != nil {
		m.syncFails.Inc()
	}
}

// Told counts a notice to a channel.
func (m *Metrics) Told(channel string, err error) {
	m.told.WithLabelValues(m.channels.keep(channel), result(err)).Inc()
}

// Answered counts a request to an upstream; status 0 is no answer. trace is as in
// [Metrics.Evaluated].
func (m *Metrics) Answered(upstream string, took time.Duration, status int, trace string) {
	name := m.upstreams.keep(upstream)
	class := "error"
	if 100 <= status && status < 600 {
		class = strconv.Itoa(status/100) + "xx"
	}
	m.answers.WithLabelValues(name, class).Inc()
	observe(m.upstream.WithLabelValues(name), took, trace)
}

// Used counts what an answer of a model has used.
func (m *Metrics) Used(u holdgate.Usage) {
	m.tokens.WithLabelValues("input").Add(float64(u.Input))
	m.tokens.WithLabelValues("output").Add(float64(u.Output))
	m.usage.WithLabelValues("said").Add(float64(u.Metered))
	m.usage.WithLabelValues("missing").Add(float64(u.Answers - u.Metered))
}

// observe counts a time. Where there is a trace of it, the bucket has it as its exemplar.
func observe(o prometheus.Observer, took time.Duration, trace string) {
	if e, ok := o.(prometheus.ExemplarObserver); ok && trace != "" {
		e.ObserveWithExemplar(took.Seconds(), prometheus.Labels{"trace_id": trace})
		return
	}
	o.Observe(took.Seconds())
}

func result(err error) string {
	if err != nil {
		return "error"
	}
	return "ok"
}

func (m *Metrics) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	m.registry.MustRegister(h)
	return h
}

func (m *Metrics) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	m.registry.MustRegister(h)
	return h
}
