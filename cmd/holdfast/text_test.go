package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

func TestTextOfASessionIsHarmlessOnATerminal(t *testing.T) {
	for _, c := range []struct{ name, in, clean, line string }{
		{"plain text stays", "Häuser, 日本, 🙂", "Häuser, 日本, 🙂", "Häuser, 日本, 🙂"},
		{"newline and tab stay, but not in a line", "a\n\tb", "a\n\tb", "a b"},
		{"an escape sequence", "\x1b[2J\x1b]0;t\a", "␛[2J␛]0;t␇", "␛[2J␛]0;t␇"},
		{"a carriage return and a backspace", "safe\rrm\b", "safe␍rm␈", "safe␍rm␈"},
		{"delete and NUL", "\x7f\x00", "␡␀", "␡␀"},
		{"the one-character CSI of C1", "\u009b31m", "<U+009B>31m", "<U+009B>31m"},
		{"next line of C1", "a\u0085b", "a<U+0085>b", "a<U+0085>b"},
		{"an override of direction", "a\u202eb\u2066c", "a<U+202E>b<U+2066>c", "a<U+202E>b<U+2066>c"},
		{"bytes that are not UTF-8", "a\x9b\xffb", "a\ufffd\ufffdb", "a\ufffd\ufffdb"},
	} {
		if got := clean(c.in); got != c.clean {
			t.Errorf("%s: clean %q, want %q", c.name, got, c.clean)
		}
		if got := line(c.in); got != c.line {
			t.Errorf("%s: line %q, want %q", c.name, got, c.line)
		}
	}
}

func TestJSONIsHarmlessAndKeepsItsValue(t *testing.T) {
	const text = "\x1b[1m\u009b2J\x7f\u202e\u2028 <b>&日"
	var b strings.Builder
	if err := writeJSON(&b, text); err != nil {
		t.Fatal(err)
	}
	if want := `"\u001b[1m\u009b2J\u007f\u202e\u2028 <b>&日"` + "\n"; b.String() != want {
		t.Errorf("got %s, want %s", b.String(), want)
	}
	var back string
	if err := json.Unmarshal([]byte(b.String()), &back); err != nil || back != text {
		t.Errorf("read back %q, %v", back, err)
	}
}

func TestTablesFitTheirWidth(t *testing.T) {
	columns := []column{{title: "ID", keep: 3}, {title: "NAME", keep: 2, least: 4}, {title: "N", keep: 1}}
	rows := [][]string{{"a1", "日本語テスト", "10"}, {"b2", "x", "7"}}
	for width, want := range map[int]string{
		0:  "ID  NAME          N\na1  日本語テスト  10\nb2  x             7\n",
		20: "ID  NAME          N\na1  日本語テスト  10\nb2  x             7\n",
		15: "ID  NAME     N\na1  日本語…  10\nb2  x        7\n",
		12: "ID  NAME  N\na1  日…   10\nb2  x     7\n",
		11: "ID  NAME\na1  日…\nb2  x\n",
		5:  "ID\na1\nb2\n",
	} {
		if got := table(columns, rows, width); got != want {
			t.Errorf("width %d:\n%s\nwant:\n%s", width, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		width int
		text  string
		want  string
	}{
		{0, strings.Repeat("long ", 50), "- " + strings.Repeat("long ", 50) + "\n"},
		{16, "one two three four", "- one two three\n  four\n"},
		{10, "abcdefghijkl", "- abcdefgh\n  ijkl\n"},
		{10, "日本語日本語", "- 日本語日\n  本語\n"},
		{10, "", "- \n"},
	} {
		if got := wrap("- ", "  ", c.text, c.width); got != c.want {
			t.Errorf("width %d: %q, want %q", c.width, got, c.want)
		}
	}
}

func TestAgo(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Hour:                     "just now", // a clock that was set back
		59 * time.Second:               "just now",
		time.Minute:                    "1m ago",
		59*time.Minute + time.Second:   "59m ago",
		time.Hour:                      "1h ago",
		47*time.Hour + 59*time.Minute:  "47h ago",
		48 * time.Hour:                 "2d ago",
		1000 * 24 * time.Hour:          "1000d ago",
		time.Hour + 59*time.Minute + 1: "1h ago",
	} {
		if got := ago(noon, noon.Add(-d)); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestShortIDsDiffer(t *testing.T) {
	short := shortener([]holdfast.BranchID{"0195a3b1-7000-7001", "0195a3b1-7000-7002", "0195ffff-7000-7002"})
	for id, want := range map[holdfast.BranchID]string{
		"0195a3b1-7000-7001": "0195a3b1-7000-7001",
		"0195ffff-7000-7002": "0195ffff-7000-7002",
		"short":              "short",
	} {
		if got := short(id); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
	if got := shortener([]holdfast.BranchID{"0195a3b1-7000"})("0195a3b1-7000"); got != "0195a3b1" {
		t.Errorf("alone: %s", got)
	}
}

// An id in an error names its session, also where those that are like it are not shown.
func TestShortIDsOfSomeSessionsNameOneOfAll(t *testing.T) {
	every := []store.SessionInfo{{Session: store.Session{ID: "0195a3b1-7000-7001"}}, {Session: store.Session{ID: "0195a3b1-7000-7002"}}}
	a := &app{now: time.Now}
	if got := a.listing(every[:1], every); !strings.HasPrefix(got, "  0195a3b1-7000-7001  ") {
		t.Errorf("got %q", got)
	}
}

func plan(steps ...holdfast.Step) *holdfast.Capsule {
	return &holdfast.Capsule{Plan: &holdfast.Plan{Status: holdfast.PlanAccepted, Steps: steps}}
}

func TestChangesAreToldInOneLine(t *testing.T) {
	a := holdfast.Step{Text: "A", Status: holdfast.StepPending}
	b := holdfast.Step{Text: "B", Status: holdfast.StepPending}
	done := holdfast.Step{Text: "A", Status: holdfast.StepCompleted}
	abandoned := plan(a)
	abandoned.Plan.Status = holdfast.PlanAbandoned
	texts := plan(a)
	texts.Plan.Text = "one\ntwo"
	proposal := plan(a)
	proposal.Proposal = &holdfast.Proposal{Status: holdfast.PlanProposed, Text: "x"}
	for _, c := range []struct {
		name     string
		from, to *holdfast.Capsule
		want     string
		lines    string
	}{
		{"a plan begins", &holdfast.Capsule{}, plan(a, b), "plan accepted; 2 steps added", "+plan accepted +[ ] A +[ ] B"},
		{"a plan goes", plan(a), &holdfast.Capsule{}, "plan dropped; 1 step removed", "-plan accepted -[ ] A"},
		{"a plan is given up", plan(a), abandoned, "plan abandoned", "-plan accepted +plan abandoned"},
		{"a step is done", plan(a, b), plan(done, b), "completed: A", "-[ ] A +[x] A"},
		{"a step is reopened", plan(done), plan(a), "pending: A", "-[x] A +[ ] A"},
		{"steps change places", plan(a, b), plan(b, a), "1 step moved", "-[ ] A +[ ] A"},
		{"a step is done and moved", plan(a, b), plan(b, done), "completed: A", "-[ ] A +[x] A"},
		{"one of two equal steps goes", plan(a, a), plan(a), "1 step removed", "-[ ] A"},
		{"only text changes", plan(a), texts, "text changed", "+| one +| two"},
		{"a proposal is made", plan(a), proposal, "proposal proposed", "+proposal proposed +| x"},
		{"a proposal goes", proposal, plan(a), "proposal dropped", "-proposal proposed -| x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			changes := compare(c.from, c.to)
			if got := summarise(changes); got != c.want {
				t.Errorf("summary %q, want %q", got, c.want)
			}
			var lines []string
			for _, x := range changes {
				if x.Before != nil {
					lines = append(lines, "-"+x.Before.text())
				}
				if x.After != nil {
					lines = append(lines, "+"+x.After.text())
				}
			}
			if got := strings.Join(lines, " "); got != c.lines {
				t.Errorf("lines %q, want %q", got, c.lines)
			}
		})
	}
}

func TestCapsulesOfOtherVersionsAreShownAsFarAsTheyAreKnown(t *testing.T) {
	a := &app{now: func() time.Time { return noon }}
	b := store.BranchState{
		Branch:    store.Branch{ID: mainBranch},
		Revisions: []store.Revision{{N: 1, At: noon, Capsule: []byte(`{"schema_version":9,"plan":{"status":"accepted","steps":[{"text":"A","status":"blocked"}]},"mood":"new"}`)}},
	}
	s := store.SessionState{Branches: []store.BranchState{b}}
	c, err := decode(newest(b))
	if err != nil {
		t.Fatal(err)
	}
	want := "revision 1 of branch 0195a3b2, just now\n" +
		"A newer version wrote this (schema 9); what this one does not know is left out.\n\n" +
		"Plan: accepted, 0 of 1 step done\n  [ ] A\n"
	if diff := cmp.Diff(want, a.capsuleText(s, b, c)); diff != "" {
		t.Error(diff)
	}

	_, err = decode(store.Revision{N: 3, Capsule: []byte(`{`)})
	if want := "revision 3 is damaged: unexpected end of JSON input. Other revisions may be whole: see holdfast capsule log"; err == nil || err.Error() != want {
		t.Errorf("a damaged capsule: %v", err)
	}
	if got := a.capsuleText(s, b, &holdfast.Capsule{}); got != "revision 1 of branch 0195a3b2, just now\n\nNo plan and no decision.\n" {
		t.Errorf("an empty capsule: %q", got)
	}
}

func TestAForkOfAnotherSessionsBranchIsShown(t *testing.T) {
	a := &app{now: func() time.Time { return noon }}
	s := store.SessionState{
		Session:  store.Session{ID: claudeSession, Agent: "codex", Key: "k", CreatedAt: noon, UsedAt: noon},
		Branches: []store.BranchState{{Branch: store.Branch{ID: forkBranch, Parent: codexBranch, ParentRevision: 4, UsedAt: noon}}},
	}
	want := "session  " + claudeSession + "\nagent    codex\nkey      k\ncreated  2026-03-01 12:00\nused     just now\npolicy   none\n\n" +
		"branch 0195a3b3, fork at revision 4\n  epoch 0, revision 0, used just now\n  no plan and no decision\n"
	if diff := cmp.Diff(want, a.sessionText(s, nil)); diff != "" {
		t.Error(diff)
	}
}
