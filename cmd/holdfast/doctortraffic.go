package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// counts are what a server has counted: by name, then by the value of a label.
type counts map[string]*dto.MetricFamily

// readCounts reads metrics in the text form of Prometheus.
func readCounts(r io.Reader) (counts, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(r)
}

// by sums a metric by one of its labels; the name of a label that it has not gives all
// under "".
func (c counts) by(name, label string) map[string]int {
	sums := map[string]int{}
	for _, m := range c["holdfast_"+name].GetMetric() {
		of := ""
		for _, l := range m.GetLabel() {
			if l.GetName() == label {
				of = l.GetValue()
			}
		}
		sums[of] += int(m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue())
	}
	return sums
}

func (c counts) of(name string) int { return c.by(name, "")[""] }

// unlinked says why requests have no branch, or a branch has no past, and what to do.
var unlinked = map[string][2]string{
	"previous_response": {"name the answer before and leave their history with the provider, and pass without the record", "have the agent send its history (store = false)"},
	"ambiguous":         {"may belong to several sessions, of which none was guessed", "/r/NAME/ before the path tells sessions apart"},
	"unknown_epoch":     {"go on from a compaction that was not seen here, or that has expired, so that the record begins anew", ""},
	"unreadable":        {"have a history that cannot be read", "report the agent and its version"},
	"store":             {"passed while the store did not answer in time", "look at the log of the server, and at the disk"},
}

// traffic tells what a server's counts mean.
func (d *doctor) traffic(c counts) {
	const check = "traffic"
	outcomes := c.by("requests_total", "outcome")
	all := 0
	var parts []string
	for _, outcome := range slices.Sorted(maps.Keys(outcomes)) {
		all += outcomes[outcome]
		parts = append(parts, fmt.Sprintf("%d %s", outcomes[outcome], strings.ReplaceAll(outcome, "_", " ")))
	}
	if all == 0 {
		d.say(check, noted, "No request has come since the server started.", "point an agent at it, as the README shows")
	} else {
		d.say(check, healthy, fmt.Sprintf("%s since the server started: %s.", count(all, "request", "requests"), strings.Join(parts, ", ")), "")
	}
	compactions := c.by("compactions_total", "outcome")
	if done, broken := compactions["committed"], compactions["failed"]; done+broken > 0 {
		d.say(check, healthy, fmt.Sprintf("%s seen to the end, %d broke off.", count(done, "compaction", "compactions"), broken), "")
	}
	for agent, n := range sorted(c.by("false_shrink_total", "agent")) {
		if agent == "" {
			agent = "an unknown agent"
		}
		d.say(check, noted, fmt.Sprintf("Of %s %s shrank though no compaction was recognised: it may have changed its prompts.", agent, count(n, "history", "histories")), "look for a newer holdfast, and report the agent's version")
	}
	for reason, n := range sorted(c.by("unlinked_total", "outcome")) {
		why, known := unlinked[reason]
		if !known {
			why = [2]string{"were not linked (" + reason + ")", ""}
		}
		d.say(check, noted, fmt.Sprintf("Requests that %s: %d.", why[0], n), why[1])
	}
	for reason, n := range sorted(c.by("unread_total", "outcome")) {
		d.say(check, noted, fmt.Sprintf("%s passed without being read: %s.", count(n, "body", "bodies"), strings.ReplaceAll(reason, "_", " ")), "")
	}
	for _, x := range []struct {
		name, status, one, more, what, next string
	}{
		{"panics_total", ailing, "defect was", "defects were", "caught, and the traffic went on", "report what the log of the server says"},
		{"records_dropped_total", noted, "record", "records", "found the queue to the store full", "look at the disk"},
		{"store_errors_total", noted, "record was", "records were", "refused by the store", "look at the log of the server"},
		{"commit_timeouts_total", noted, "compaction", "compactions", "went on before it was durable", "a faster disk for --data"},
		{"restored_total", noted, "request", "requests", "was refused with the record in it and sent as the agent wrote it", "report the provider"},
		{"barrier_timeouts_total", noted, "request", "requests", "went on before the extractor had read", "a faster model, or a longer barrier"},
	} {
		total := 0
		for _, n := range c.by(x.name, "") {
			total += n
		}
		if total > 0 {
			d.say(check, x.status, fmt.Sprintf("%s %s.", count(total, x.one, x.more), x.what), x.next)
		}
	}
	if _, told := c["holdfast_recording"]; told && c.of("recording") == 0 {
		d.say(check, ailing, "Nothing is recorded: the store refused it.", "free disk space, or look at the log of the server")
	}
}

// sorted yields what was counted more than zero times, by name.
func sorted(of map[string]int) func(func(string, int) bool) {
	return func(yield func(string, int) bool) {
		for _, name := range slices.Sorted(maps.Keys(of)) {
			if of[name] > 0 && !yield(name, of[name]) {
				return
			}
		}
	}
}
