package engine

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/continuity/extract"
	"github.com/holdfast-dev/holdfast/engine/extraction"
)

// Metrics are the engine's counters. Labels are bounded: agents and protocols
// of the tables, outcomes of this package. Nothing of a conversation is in them.
type Metrics struct {
	compactions    *prometheus.CounterVec
	falseShrink    *prometheus.CounterVec
	unlinked       *prometheus.CounterVec
	harvest        *prometheus.CounterVec
	delivery       *prometheus.CounterVec
	storeErrors    *prometheus.CounterVec
	transcripts    *prometheus.CounterVec
	forks          prometheus.Counter
	dropped        prometheus.Counter
	redactions     prometheus.Counter
	commitTimeouts prometheus.Counter
	recording      prometheus.Gauge
	waiting        prometheus.Gauge
	commitHold     prometheus.Histogram
	revision       prometheus.Histogram
	tokens         prometheus.Histogram
	facts          prometheus.Histogram

	extractions       *prometheus.CounterVec
	extractionDropped *prometheus.CounterVec
	extractionTokens  *prometheus.CounterVec
	extractionDepth   prometheus.Gauge
	extractionSeconds prometheus.Histogram
	barrierWait       prometheus.Histogram
	barrierTimeouts   prometheus.Counter
}

// NewMetrics makes the engine's metrics and registers them.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "holdfast_" + name, Help: help}, labels)
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "holdfast_" + name, Help: help})
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: "holdfast_" + name, Help: help, Buckets: buckets})
	}
	m := &Metrics{
		compactions:    vec("compactions_total", "Compactions of linked branches, by outcome (committed, failed).", "agent", "protocol", "outcome"),
		falseShrink:    vec("false_shrink_total", "Histories that shrank though no compaction was recognised.", "agent"),
		unlinked:       vec("unlinked_total", "Requests without a branch, or branches without a past, by reason.", "outcome"),
		harvest:        vec("harvest_facts_total", "Capsule changes, by the tool that carried them.", "outcome"),
		delivery:       vec("delivery_total", "Blocks delivered, by way (summary, sticky), and boundaries with nothing to deliver (skipped).", "outcome"),
		storeErrors:    vec("store_errors_total", "Batches that the store refused, by code.", "outcome"),
		transcripts:    vec("transcript_passages_total", "Pieces of recorded histories, by outcome: written, gap (written behind a gap), dropped (the queue was full), failed.", "outcome"),
		forks:          counter("forks_total", "Branches that began as a fork."),
		dropped:        counter("records_dropped_total", "Records that found the queue full; they are written with the session's next."),
		redactions:     counter("redactions_total", "Secrets taken out of the user's words; those of a history count again when it is read again."),
		commitTimeouts: counter("commit_timeouts_total", "Boundaries that went on before they were durable."),
		recording: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "holdfast_recording",
			Help: "1 while records are written, 0 since the store refused one.",
		}),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "holdfast_records_waiting",
			Help: "Records that are not durable yet.",
		}),
		commitHold: histogram("commit_hold_seconds", "How long a terminal event was held.", prometheus.ExponentialBuckets(0.0005, 2, 10)),
		revision:   histogram("capsule_revision", "Revisions of capsules as they are made.", prometheus.ExponentialBuckets(1, 2, 10)),
		tokens:     histogram("capsule_tokens", "Estimated tokens of blocks at boundaries.", prometheus.ExponentialBuckets(64, 2, 8)),
		facts:      histogram("capsule_active_facts", "Open steps and facts in force of capsules as they change.", prometheus.ExponentialBuckets(1, 2, 8)),
	}
	m.extractions = vec("extraction_jobs_total", "Jobs of the extractor, by what became of them (queued, coalesced, skipped, started, ok, failed, stale, dropped).", "outcome")
	m.extractionDropped = vec("extraction_dropped_total", "Answers and items of the extractor that were not believed, by reason.", "outcome")
	m.extractionTokens = vec("extraction_tokens_total", "Tokens of the extractor's calls, as the provider told them (input, output).", "kind")
	m.extractionDepth = prometheus.NewGauge(prometheus.GaugeOpts{Name: "holdfast_extraction_queue_depth", Help: "Jobs of the extractor that wait."})
	m.extractionSeconds = histogram("extraction_seconds", "How long a call of the extractor took.", prometheus.ExponentialBuckets(0.05, 2, 10))
	m.barrierWait = histogram("barrier_wait_seconds", "How long a request waited for extraction, where it did.", prometheus.ExponentialBuckets(0.01, 2, 10))
	m.barrierTimeouts = counter("barrier_timeouts_total", "Requests that went on before extraction was done.")
	reg.MustRegister(m.extractions, m.extractionDropped, m.extractionTokens, m.extractionDepth, m.extractionSeconds, m.barrierWait, m.barrierTimeouts)
	m.recording.Set(1)
	reg.MustRegister(m.compactions, m.falseShrink, m.unlinked, m.harvest, m.delivery, m.storeErrors, m.transcripts, m.forks, m.dropped, m.redactions,
		m.commitTimeouts, m.recording, m.waiting, m.commitHold, m.revision, m.tokens, m.facts)
	return m
}

// extraction are the counters of the pool.
func (m *Metrics) extraction() extraction.Metrics {
	return extraction.Metrics{
		Job:   func(o extraction.Outcome) { m.extractions.WithLabelValues(string(o)).Inc() },
		Depth: func(n int) { m.extractionDepth.Set(float64(n)) },
	}
}

// extracted counts a call of the extractor's model.
func (m *Metrics) extracted(took time.Duration, tokens holdfast.Tokens) {
	m.extractionSeconds.Observe(took.Seconds())
	u := tokens.Usage()
	m.extractionTokens.WithLabelValues("input").Add(float64(u.Input + u.CacheRead + u.CacheWrite))
	m.extractionTokens.WithLabelValues("output").Add(float64(u.Output))
}

// doubted counts items, or whole answers, that were not believed.
func (m *Metrics) doubted(counts extract.Counts) {
	for reason, n := range counts {
		m.extractionDropped.WithLabelValues(string(reason)).Add(float64(n))
	}
}

// observe counts a new state of a branch's capsule.
func (e *Engine) observe(b *branch) {
	c := b.effective
	e.metrics.revision.Observe(float64(c.Revision))
	n := 0
	if c.Plan != nil {
		for _, s := range c.Plan.Steps {
			if s.Status != holdfast.StepCompleted {
				n++
			}
		}
	}
	n += continuity.CountInForce(c)
	e.metrics.facts.Observe(float64(n))
}
