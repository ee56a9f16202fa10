package proxy

import "github.com/prometheus/client_golang/prometheus"

// metrics are the proxy's own counters; labels are bounded.
type metrics struct {
	requests *prometheus.CounterVec
	refused  *prometheus.CounterVec
	panics   *prometheus.CounterVec
	unread   *prometheus.CounterVec
	upstream *prometheus.HistogramVec
	streams  prometheus.Gauge
	restored prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, inFlight func() float64) *metrics {
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "holdfast_" + name, Help: help}, labels)
	}
	m := &metrics{
		requests: vec("requests_total", "Requests that went to an upstream, by protocol and kind of outcome (2xx, 4xx, 5xx, unreachable, client_left, broken).", "protocol", "outcome"),
		refused:  vec("refused_total", "Requests that the proxy answered itself, by code.", "outcome"),
		panics:   vec("panics_total", "Defects that were caught; the traffic went on.", "outcome"),
		unread:   vec("unread_total", "Bodies that passed without being read, by reason.", "outcome"),
		upstream: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "holdfast_upstream_seconds",
			Help: "Time from the call to the first byte of the answer.", Buckets: prometheus.ExponentialBuckets(0.005, 2, 14),
		}, []string{"protocol"}),
		streams:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "holdfast_streams_open", Help: "Answers being relayed."}),
		restored: prometheus.NewCounter(prometheus.CounterOpts{Name: "holdfast_restored_total", Help: "Altered requests that the upstream refused and that were sent as the client wrote them."}),
	}
	reg.MustRegister(m.requests, m.refused, m.panics, m.unread, m.upstream, m.streams, m.restored,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "holdfast_ingest_bytes_in_flight", Help: "Bytes of request bodies held now."}, inFlight))
	return m
}
