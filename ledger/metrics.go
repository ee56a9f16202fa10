package ledger

import "github.com/prometheus/client_golang/prometheus"

// Metrics are the ledger's counters. Labels are bounded; nothing of a call but its
// kind is in them.
type Metrics struct {
	attempts *prometheus.CounterVec
	cost     *prometheus.CounterVec
	late     prometheus.Counter
	dropped  prometheus.Counter
	failures prometheus.Counter
	refused  *prometheus.CounterVec
	spent    *prometheus.GaugeVec
}

// NewMetrics makes the ledger's metrics and registers them.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "holdfast_" + name, Help: help}, labels)
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "holdfast_" + name, Help: help})
	}
	m := &Metrics{
		attempts: vec("attempts_total", "Calls of models, by how they ended (ok, error, cancelled, broken), protocol and role.", "outcome", "protocol", "role"),
		cost:     vec("cost_microdollars_total", "What calls cost as far as it is known, in millionths of a US dollar, by role.", "role"),
		late:     counter("attempts_late_total", "Usage records that found the queue full; they are kept and written later."),
		dropped:  counter("attempts_dropped_total", "Usage records that were lost: the store failed for too long, or the process ended."),
		failures: counter("attempts_write_errors_total", "Writes of usage records that the store refused; they are tried again."),
		refused:  vec("budget_refusals_total", "Calls that a budget refused.", "budget"),
		spent: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "holdfast_budget_spent_microdollars", Help: "What is spent of a budget in its period, in millionths of a US dollar.",
		}, []string{"budget"}),
	}
	reg.MustRegister(m.attempts, m.cost, m.late, m.dropped, m.failures, m.refused, m.spent)
	return m
}
