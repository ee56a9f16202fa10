package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agents"
	"github.com/holdfast-dev/holdfast/config"
	"github.com/holdfast-dev/holdfast/keyring"
	"github.com/holdfast-dev/holdfast/store"
)

// load reads the configuration and checks what it says of agents and principals,
// which other rooms know.
func (a *app) load() (*config.Merged, error) {
	merged, err := a.sources().Load()
	if err != nil {
		return nil, err
	}
	return merged, checkPolicies(merged)
}

// checkPolicies refuses policies that can match no session.
func checkPolicies(m *config.Merged) error {
	for i, p := range m.Policies {
		fail := func(key, format string, args ...any) error {
			return holdfast.Errorf(holdfast.ErrConfig, "%s: session_policy.%s %s",
				m.Origin(fmt.Sprintf("session_policy[%d].%s", i, key)), key, fmt.Sprintf(format, args...))
		}
		// With a letter for any text a pattern is a name that it matches.
		if _, err := keyring.ParsePrincipal(strings.ReplaceAll(p.Principal, "*", "a")); p.Principal != "" && err != nil {
			return fail("principal", "matches no principal: %v", err)
		}
		if p.Agent != "" && !slices.ContainsFunc(agents.Identified(), p.MatchesAgent) {
			return fail("agent", "= %q matches no agent. Those that can be told are %s", p.Agent, strings.Join(agents.Identified(), ", "))
		}
	}
	return nil
}

// inForce is what holds for a session by keys of one label.
type inForce struct {
	label string
	config.InForce
}

// sessionTerms is what holds for a session by the configuration, by each label that
// a key of its principal has and that makes a difference; the first one is that of
// no label.
func (a *app) sessionTerms(ctx context.Context, d store.Keys, cfg config.Config, s store.Session) ([]inForce, error) {
	keys, err := d.Keys(ctx)
	if err != nil {
		return nil, err
	}
	labels := []string{""}
	for _, k := range keys {
		if k.Principal == s.Principal && !k.Revoked(a.now()) && !slices.Contains(labels, k.Label) {
			labels = append(labels, k.Label)
		}
	}
	slices.Sort(labels)
	var all []inForce
	for _, label := range labels {
		f := inForce{label, cfg.ForSession(holdfast.Caller{Principal: s.Principal, Label: label}, s.Agent)}
		if label == "" || !slices.Equal(f.Terms, all[0].Terms) {
			all = append(all, f)
		}
	}
	return all, nil
}

// termsText tells what policies set for a session, a line for each key.
func termsText(all []inForce) string {
	var b strings.Builder
	for _, f := range all {
		for _, t := range f.Terms {
			if t.Policy == "" {
				continue
			}
			of := ""
			if f.label != "" {
				of = fmt.Sprintf(", for keys labelled %s", line(f.label))
			}
			fmt.Fprintf(&b, "policy   %s: %s = %s%s\n", line(t.Policy), t.Key, t.Value, of)
		}
	}
	if b.Len() == 0 {
		return "policy   none\n"
	}
	return b.String()
}

// termsJSON is what is in force in JSON output.
type termsJSON struct {
	Label string     `json:"label"`
	Keys  []termJSON `json:"keys"`
}

type termJSON struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Policy string `json:"policy,omitempty"`
}

func newTermsJSON(all []inForce) []termsJSON {
	rows := make([]termsJSON, len(all))
	for i, f := range all {
		rows[i] = termsJSON{Label: f.label, Keys: []termJSON{}}
		for _, t := range f.Terms {
			rows[i].Keys = append(rows[i].Keys, termJSON{t.Key, t.Value, t.Policy})
		}
	}
	return rows
}
