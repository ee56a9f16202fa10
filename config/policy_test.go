package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
)

// policyList is a list of policies in one line.
func policyList(rows ...string) string {
	return "session_policy = [" + strings.Join(rows, ", ") + "]\n"
}

// set are the terms of what is in force that a policy sets, and those that differ
// from what holds for all.
func terms(f InForce) string {
	var list []string
	for _, t := range f.Terms {
		if t.Policy != "" || t.Value != t.Global {
			list = append(list, fmt.Sprintf("%s=%s (%s)", t.Key, t.Value, t.Policy))
		}
	}
	return strings.Join(list, " ")
}

func TestTheLastPolicyThatMatchesAndSetsAKeyHolds(t *testing.T) {
	const (
		ci      = `{name="ci", principal="ci", max_capsule_tokens=1500, fork="empty"}`
		nightly = `{name="nightly", label="nightly*", max_capsule_tokens=1200, preserve={user_words=false}}`
		codex   = `{name="codex", agent="codex", enabled=false}`
	)
	ourCI := func(label string) holdfast.Caller { return holdfast.Caller{Principal: "ci", Label: label} }
	for _, c := range []struct {
		name, text string
		caller     holdfast.Caller
		agent      string
		want       string
	}{
		{"no policy", "", ourCI("x"), "codex", ""},
		{"none that matches", policyList(ci, nightly), holdfast.Caller{Principal: "local"}, "codex", ""},
		{"one that matches sets its keys, the others stay", policyList(ci, nightly), ourCI("day"), "codex", "max_capsule_tokens=1500 (ci) fork=empty (ci)"},
		{
			"of two, each key is from the last that sets it", policyList(ci, nightly), ourCI("nightly-2"), "",
			"max_capsule_tokens=1200 (nightly) fork=empty (ci) preserve.user_words=false (nightly)",
		},
		{
			"in the other order too", policyList(nightly, ci), ourCI("nightly-2"), "",
			"max_capsule_tokens=1500 (ci) fork=empty (ci) preserve.user_words=false (nightly)",
		},
		{"of a session that is off nothing else is in force", policyList(ci, nightly, codex), ourCI("nightly"), "codex", "enabled=false (codex)"},
		{"the principal must match as a whole", policyList(ci), holdfast.Caller{Principal: "ci2"}, "codex", ""},
		{"a star stands for any text", policyList(`{principal="c*i*", fork="empty"}`), holdfast.Caller{Principal: "c.i.x"}, "", "fork=empty (#1)"},
		{"all that is given must match", policyList(`{principal="ci", label="a", agent="codex", fork="empty"}`), ourCI("a"), "claude-code", ""},
		{"a policy counts by its place where it has no name", policyList(ci, `{agent="codex", fork="copy"}`), ourCI(""), "codex", "max_capsule_tokens=1500 (ci) fork=copy (#2)"},
		{"a policy may say what holds anyway", policyList(`{principal="ci", enabled=true}`), ourCI(""), "", "enabled=true (#1)"},
		{"words of its own fit its own block", policyList(`{principal="ci", max_capsule_tokens=300, user_words_tokens=300}`), ourCI(""), "", "max_capsule_tokens=300 (#1) user_words_tokens=300 (#1)"},
		{"a smaller block has room for no more words", policyList(`{principal="ci", max_capsule_tokens=300}`), ourCI(""), "", "max_capsule_tokens=300 (#1) user_words_tokens=300 (#1)"},
		{
			"a policy turns on what is off for all", "compaction_continuity = {enabled=false, fork=\"empty\"}\n" + policyList(`{principal="ci", enabled=true}`),
			ourCI(""), "", "enabled=true (#1)",
		},
		{"the others stay off", "compaction_continuity.enabled = false\n" + policyList(`{principal="ci", enabled=true}`), holdfast.Caller{Principal: "local"}, "", ""},
		{
			"where three leave nothing it is off", policyList(`{principal="ci", preserve={plan=false}}`, `{label="a", preserve={user_words=false}}`, `{agent="codex", preserve={user_decisions=false, constraints=false, rejected_alternatives=false, open_questions=false, facts=false}}`),
			ourCI("a"), "codex", "enabled=false ()",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, err := parse(c.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, terms(cfg.ForSession(c.caller, c.agent))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestALaterListOfPoliciesTakesThePlaceOfTheOneBefore(t *testing.T) {
	m := merge(t, policyList(`{principal="a", fork="empty"}`, `{principal="b", fork="empty"}`), "[[session_policy]]\nagent = \"codex\"\nenabled = false\n")
	if diff := cmp.Diff([]SessionPolicy{{Name: "#1", Agent: "codex", Enabled: new(false)}}, m.Policies); diff != "" {
		t.Error(diff)
	}
	for key, want := range map[string]string{"session_policy[0].agent": "2.toml:2", "session_policy[0].principal": BuiltIn, "session_policy[1].fork": BuiltIn} {
		if got := m.Origin(key); got != want {
			t.Errorf("%s is from %s, want %s", key, got, want)
		}
	}
}

func TestPoliciesAreOverruledByALaterLayerThatTurnsAllOff(t *testing.T) {
	m := merge(t, policyList(`{principal="a", fork="empty"}`), "compaction_continuity.enabled = false\n")
	if m.Policies != nil || m.ContinuityRuns() {
		t.Errorf("policies %v, runs %v", m.Policies, m.ContinuityRuns())
	}
	if strings.Contains(m.TOML(false), "session_policy") {
		t.Errorf("policies are shown:\n%s", m.TOML(false))
	}
}

func TestAPolicyThatCannotHoldIsRefusedInItsPlace(t *testing.T) {
	const notAlone = "= true turns on what is off, and an agent's name is what a client says of itself. Add principal or label"
	for _, c := range []struct{ name, text, want string }{
		{"an empty list", "session_policy = []", "f.toml:1: session_policy is an empty list and has no effect. Remove it, or list at least one"},
		{"an unknown key", "[[session_policy]]\nttl = \"5h\"", "f.toml:2: unknown key \"session_policy.ttl\"\n    ttl = \"5h\"\nDid you mean compaction_continuity.ttl?"},
		{"for no sessions", "\n[[session_policy]]\nfork = \"empty\"", "f.toml:2: this policy is for no sessions. Add principal, label or agent; what is for all stands in [compaction_continuity]"},
		{
			"a pattern that tells nothing apart", policyList(`{principal="**", fork="empty"}`),
			"f.toml:1: session_policy.principal = \"**\" does not tell sessions apart. Remove it, or write a text such as \"ci\"",
		},
		{
			"an empty pattern", policyList(`{label="", fork="empty"}`),
			"f.toml:1: session_policy.label = \"\" does not tell sessions apart. Remove it, or write a text such as \"nightly*\"",
		},
		{"sets nothing", "[[session_policy]]\nprincipal = \"a\"\nname = \"n\"", "f.toml:1: this policy sets nothing. Add a key such as enabled = false"},
		{"a name of other characters", policyList(`{name="A", principal="a", fork="empty"}`), "f.toml:1: session_policy.name must be 1 to 64 characters of a-z, 0-9, dot, dash and underscore"},
		{
			"a name twice", policyList(`{name="n", principal="a", fork="empty"}`, `{name="n", principal="b", fork="empty"}`),
			"f.toml:1: session_policy.name \"n\" is already the name of an earlier policy. Give it another",
		},
		{"a number out of range", policyList(`{principal="a", max_capsule_tokens=100}`), "f.toml:1: session_policy.max_capsule_tokens must be from 200 to 20000"},
		{"no such fork", policyList(`{principal="a", fork="none"}`), "f.toml:1: session_policy.fork must be \"copy\" or \"empty\""},
		{"a text for a switch", policyList(`{principal="a", preserve={plan="no"}}`), "f.toml:1: session_policy.preserve.plan must be true or false\n    " + strings.TrimSpace(policyList(`{principal="a", preserve={plan="no"}}`))},
		{"a key beside off", policyList(`{principal="a", enabled=false, fork="empty"}`), "f.toml:1: session_policy.fork has no effect beside enabled = false. Remove it"},
		{
			"words beside none", policyList(`{principal="a", user_words_tokens=60, preserve={user_words=false}}`),
			"f.toml:1: session_policy.user_words_tokens has no effect beside preserve.user_words = false. Remove it",
		},
		{
			"words where there are none", "compaction_continuity.preserve.user_words = false\n" + policyList(`{principal="a", user_words_tokens=60}`),
			"f.toml:2: session_policy.user_words_tokens has no effect while preserve.user_words = false for these sessions. Remove it, or add preserve.user_words = true",
		},
		{
			"a key that a later policy sets for all of its sessions", policyList(`{principal="ci", fork="empty"}`, `{name="all", principal="c*", fork="copy"}`),
			"f.toml:1: session_policy.fork has no effect: policy all, which comes later, sets it for the same sessions. Move that one up, or remove one",
		},
		{
			"off for all and on for none", "compaction_continuity.enabled = false\n" + policyList(`{principal="a", fork="empty"}`),
			"f.toml:2: this policy has no effect while compaction_continuity.enabled = false and no policy sets enabled = true",
		},
		{
			"on for others", "compaction_continuity.enabled = false\n" + policyList(`{principal="a", enabled=true}`, `{principal="b", fork="empty"}`),
			"f.toml:2: session_policy.fork has no effect while enabled = false for these sessions. Remove it, or add enabled = true",
		},
		{
			"more words than fit", policyList(`{principal="a", max_capsule_tokens=300, user_words_tokens=301}`),
			"f.toml:1: session_policy.user_words_tokens must be at most max_capsule_tokens, which is 300 for these sessions (f.toml:1)",
		},
		{
			"more words than fit in what holds for all", policyList(`{principal="a", user_words_tokens=2501}`),
			"f.toml:1: session_policy.user_words_tokens must be at most max_capsule_tokens, which is 2500 for these sessions (built-in)",
		},
		{
			"more words than fit in what another one sets", "[[session_policy]]\nprincipal = \"a\"\nuser_words_tokens = 900\n[[session_policy]]\nlabel = \"n*\"\nmax_capsule_tokens = 800\n",
			"f.toml:3: session_policy.user_words_tokens must be at most max_capsule_tokens, which is 800 for these sessions (f.toml:6)",
		},
		{
			"nothing left", policyList(`{principal="a", preserve={plan=false, user_words=false, user_decisions=false, constraints=false, rejected_alternatives=false, open_questions=false, facts=false}}`),
			"f.toml:1: this policy leaves nothing that is preserved. Write enabled = false instead",
		},
		{
			"an agent alone turns on what is off for all", "compaction_continuity.enabled = false\n" + policyList(`{agent="codex", enabled=true}`),
			"f.toml:2: session_policy.enabled " + notAlone,
		},
		{
			"an agent alone turns on what is off for a principal", policyList(`{principal="ci", enabled=false}`, `{agent="codex", enabled=true}`),
			"f.toml:1: session_policy.enabled " + notAlone,
		},
		{
			"an agent alone keeps what is not kept", "compaction_continuity.preserve.user_words = false\n" + policyList(`{agent="codex", preserve={user_words=true}}`),
			"f.toml:2: session_policy.preserve.user_words " + notAlone,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Merge(FileLayer("f.toml", []byte(c.text)))
			if err == nil || holdfast.CodeOf(err) != holdfast.ErrConfig {
				t.Fatalf("got %v", err)
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatMayStandInPoliciesDoes(t *testing.T) {
	for name, text := range map[string]string{
		"a pair that would not fit, where a third sets the size": policyList(`{label="*n", max_capsule_tokens=800}`, `{principal="a", max_capsule_tokens=3000}`, `{principal="a*", user_words_tokens=790}`, `{principal="a", user_words_tokens=2000}`),
		"words that fit no other one, of other sessions":         policyList(`{principal="a", max_capsule_tokens=300}`, `{principal="b", user_words_tokens=900}`),
		"an agent alone turns off, and says again what is on":    policyList(`{agent="codex", enabled=true, preserve={plan=false}}`),
		"an agent within a principal turns on":                   "compaction_continuity.enabled = false\n" + policyList(`{principal="ci", agent="codex", enabled=true}`),
		"keys for all, where only policies enable":               "compaction_continuity = {enabled=false, max_capsule_tokens=900, ttl=\"5h\", preserve={plan=false}}\n" + policyList(`{principal="ci", enabled=true}`),
		"recording, where only policies enable":                  "compaction_continuity.enabled = false\ntranscripts.enabled = true\n" + policyList(`{principal="ci", enabled=true}`),
		"words for all, where only policies keep them":           "compaction_continuity = {user_words_tokens=500, preserve={user_words=false}}\n" + policyList(`{principal="ci", preserve={user_words=true}}`),
		"a broad policy first, then exceptions":                  policyList(`{principal="c*", enabled=false}`, `{principal="ci", enabled=true}`),
		"a key in force for those that the later one leaves out": policyList(`{principal="c*", fork="empty"}`, `{principal="ci", fork="copy"}`),
	} {
		cfg, err := parse(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		m := merge(t, text)
		again, err := parse(m.TOML(false))
		if err != nil {
			t.Errorf("%s: shown: %v", name, err)
		}
		if diff := cmp.Diff(cfg, again); diff != "" {
			t.Errorf("%s: as shown:\n%s", name, diff)
		}
	}
}

func TestPatternsMeetWhereATextIsOfBoth(t *testing.T) {
	var all []string // texts of at most four letters
	for row, n := []string{""}, 0; n <= 4; n++ {
		all = append(all, row...)
		var longer []string
		for _, s := range row {
			longer = append(longer, s+"a", s+"b")
		}
		row = longer
	}
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.StringMatching(`[ab*]{1,4}`).Draw(t, "p")
		q := rapid.StringMatching(`[ab*]{1,4}`).Draw(t, "q")
		both, only := false, false
		for _, text := range all {
			both = both || matches(p, text) && matches(q, text)
			only = only || matches(q, text) && !matches(p, text)
		}
		// Two such patterns that meet have a text of at most as many letters as both have.
		if got := meet(p, q); both && !got || got && !both && len(p)+len(q) <= 4 {
			t.Fatalf("%q and %q meet: %v", p, q, got)
		}
		if a, b := (&SessionPolicy{Label: p}), (&SessionPolicy{Label: q}); a.covers(b) && only {
			t.Fatalf("%q does not cover %q", p, q)
		}
	})
}
