package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/config"
	"github.com/holdfast-dev/holdfast/store"
	"github.com/holdfast-dev/holdfast/store/sqlite"
)

// noon is the time of all scripts.
var noon = at(12, 0)

func at(hour, minute int) time.Time { return time.Date(2026, 3, 1, hour, minute, 0, 0, time.UTC) }

type (
	statusKey struct{}
	idsKey    struct{}
	keysKey   struct{}
)

// TestScripts runs testdata/script. Beside the built-in commands there are:
//
//	holdfast [X=V...] ARGS...  runs the command line, with data in $WORK/data; what
//	                           begins with HOLDFAST_ is put into its environment
//	terminal ANSWER ARGS...    the same on a terminal where a person types ANSWER
//	status N                   checks the exit status of the last of these
//	seed                       writes the sessions of seed, and the audit of
//	                           seedAudit, into the database
//	seed-usage                 writes the records of usageRecords there
//	serve-calls [FLAGS...]     makes the calls of serveCalls through a server
//
// $COLUMNS is the width of the output; by default it has no limit.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"seed-usage":  seedUsage,
			"serve-calls": serveCalls,
			"holdfast":    func(ts *testscript.TestScript, neg bool, args []string) { runScript(ts, neg, false, "", args) },
			"terminal": func(ts *testscript.TestScript, neg bool, args []string) {
				runScript(ts, neg, true, args[0]+"\n", args[1:])
			},
			"status": func(ts *testscript.TestScript, _ bool, args []string) {
				if got := *ts.Value(statusKey{}).(*int); strconv.Itoa(got) != args[0] {
					ts.Fatalf("exit status %d, want %s", got, args[0])
				}
			},
			"seed": func(ts *testscript.TestScript, _ bool, _ []string) {
				st, err := sqlite.Open(filepath.Join(ts.Getenv("WORK"), "data", "holdfast.db"))
				ts.Check(err)
				for _, err := range st.Apply(context.Background(), seed()) {
					ts.Check(err)
				}
				_, err = st.Note(context.Background(), seedAudit())
				ts.Check(err)
				ts.Check(st.Close())
			},
		},
		Setup: func(env *testscript.Env) error {
			env.Values[statusKey{}] = new(int)
			env.Values[idsKey{}] = new(int)
			env.Values[keysKey{}] = new(byte)
			return nil
		},
	})
}

func runScript(ts *testscript.TestScript, neg, terminal bool, input string, args []string) {
	width, _ := strconv.Atoi(ts.Getenv("COLUMNS")) // unset: 0, no limit
	a := &app{
		in: strings.NewReader(input), out: ts.Stdout(), err: ts.Stderr(), terminal: terminal, width: width,
		now: func() time.Time { return noon }, version: "v1.2.3", open: openStore, newID: ids(ts),
		random: counter{ts.Value(keysKey{}).(*byte)},
	}
	a.dir = ts.MkAbs(".")
	a.environ = config.Environ{"HOME=" + ts.Getenv("HOME")}
	for len(args) > 0 && strings.HasPrefix(args[0], "HOLDFAST_") {
		a.environ, args = append(a.environ, args[0]), args[1:]
	}
	args = append([]string{"--data", filepath.Join(ts.Getenv("WORK"), "data")}, args...)
	if len(args) > 2 && args[2] == "__complete" {
		args = append([]string{"__complete", "--data", args[1]}, args[3:]...)
	}
	status := a.run(context.Background(), args)
	*ts.Value(statusKey{}).(*int) = status
	if neg != (status != 0) {
		ts.Fatalf("exit status %d", status)
	}
}

// Ids of the seed, as the scripts name them.
const (
	claudeSession = "0195a3b1-7000-7000-8000-000000000001"
	mainBranch    = "0195a3b2-7000-7000-8000-000000000001"
	forkBranch    = "0195a3b3-7000-7000-8000-000000000001"
	subBranch     = "0195a3b4-7000-7000-8000-000000000001"
	codexSession  = "0195a3b9-7000-7000-8000-000000000001"
	codexBranch   = "0195a3ba-7000-7000-8000-000000000001"
	goneSession   = "0195f000-7000-7000-8000-000000000001"
	runSession    = "01960000-7000-7000-8000-000000000001"
)

// seedAudit is what policies changed for a session that is there and for one that
// is gone.
func seedAudit() []store.AuditEntry {
	return []store.AuditEntry{
		{At: at(9, 0), Principal: holdfast.Local, Session: claudeSession, Policy: "short", Key: "max_capsule_tokens", From: "2500", To: "1200"},
		{At: at(9, 30), Principal: "ci", Session: goneSession, Label: "nightly\x1b[31m", Policy: "#2", Key: "enabled", From: "true", To: "false"},
		{At: at(11, 0), Principal: holdfast.Local, Session: claudeSession, Key: "max_capsule_tokens", To: "2500"},
	}
}

// seed is a session of each kind: one with two carried compactions, a fork and
// a subagent; one without a capsule and with hostile text; one without a turn.
func seed() []store.Batch {
	old := time.Date(2026, 2, 26, 12, 0, 0, 0, time.UTC)
	return []store.Batch{
		{
			Session: store.Session{
				ID: claudeSession, Principal: holdfast.Local, Agent: "claude-code", Key: "c0ffee-1",
				CreatedAt: at(9, 0), UsedAt: at(11, 58),
			},
			Branches: []store.Branch{
				{ID: mainBranch, Session: claudeSession, Epoch: 2, CreatedAt: at(9, 0), UsedAt: at(11, 58)},
				{ID: forkBranch, Session: claudeSession, Parent: mainBranch, ParentRevision: 2, CreatedAt: at(10, 15), UsedAt: at(10, 20)},
				{ID: subBranch, Session: claudeSession, Thread: "agent-7", CreatedAt: at(10, 40), UsedAt: at(11, 59)},
			},
			Epochs: []store.Epoch{
				{Branch: mainBranch, N: 1, Evidence: holdfast.TextDigest("s1"), Revision: 2, OpenedAt: at(10, 0)},
				{Branch: mainBranch, N: 2, Evidence: holdfast.TextDigest("s2"), Revision: 3, Block: "the block", OpenedAt: at(11, 0)},
			},
			Revisions: []store.Revision{
				row(mainBranch, 1, 0, at(9, 5), planAt(1)),
				row(mainBranch, 2, 0, at(9, 30), planAt(2)),
				row(mainBranch, 3, 1, at(10, 30), planAt(3)),
				row(mainBranch, 4, 2, at(11, 30), planAt(4)),
				row(forkBranch, 1, 0, at(10, 15), planAt(2)),
			},
			Boundaries: []store.Boundary{
				{ID: "b1", Branch: mainBranch, Epoch: 0, Row: "claude-code/auto", Status: store.BoundaryCommitted, Revision: 2, Block: "d2", At: at(10, 0)},
				{ID: "b2", Branch: mainBranch, Epoch: 1, Row: "claude-code/auto", Status: store.BoundaryCommitted, Revision: 3, At: at(11, 0)},
				{ID: "b3", Branch: mainBranch, Epoch: 2, Row: "claude-code/auto", Status: store.BoundaryFailed, Revision: 4, At: at(11, 50)},
			},
		},
		{
			Session: store.Session{
				ID: codexSession, Principal: holdfast.Local, Agent: "codex", Key: "evil\x1b[31m\nkey\u009b2J", CreatedAt: old, UsedAt: old,
			},
			Branches: []store.Branch{{ID: codexBranch, Session: codexSession, CreatedAt: old, UsedAt: old}},
		},
		{Session: store.Session{ID: runSession, Principal: holdfast.Local, Key: "run:nightly", CreatedAt: old, UsedAt: old.Add(time.Hour)}},
	}
}

func row(branch holdfast.BranchID, n, epoch int, when time.Time, c holdfast.Capsule) store.Revision {
	c.SchemaVersion, c.Revision, c.Branch, c.Digest = holdfast.SchemaVersion, n, branch, "d"+strconv.Itoa(n)
	data, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	return store.Revision{Branch: branch, N: n, Epoch: epoch, Digest: c.Digest, Capsule: data, At: when}
}

// planAt is the content of the seed's main branch at a revision.
func planAt(revision int) holdfast.Capsule {
	steps := []holdfast.Step{
		{Ref: "1", Text: "Read the store", Status: holdfast.StepPending},
		{Ref: "2", Text: "Write the migration", Status: holdfast.StepPending},
		{Ref: "3", Text: "Run the suite", Status: holdfast.StepPending},
	}
	c := holdfast.Capsule{Plan: &holdfast.Plan{Status: holdfast.PlanAccepted, Source: holdfast.FromStructuredTool, Steps: steps}}
	engine := func(id, what string, status holdfast.FactStatus) holdfast.Decision {
		return holdfast.Decision{ID: id, Subject: "storage.engine", Statement: what, Status: status, Evidence: holdfast.Evidence{By: holdfast.ByStructured}}
	}
	if revision >= 2 {
		steps[0].Status, steps[1].Status = holdfast.StepCompleted, holdfast.StepInProgress
		c.Decisions = []holdfast.Decision{engine("d1", "SQLite", holdfast.FactActive)}
	}
	if revision >= 3 {
		steps[1].Status, steps[2].Status = holdfast.StepCompleted, holdfast.StepInProgress
		c.Plan.Steps = append(steps, holdfast.Step{Ref: "4", Text: "Update the docs", Status: holdfast.StepPending})
		c.Decisions = []holdfast.Decision{engine("d1", "SQLite", holdfast.FactSuperseded), engine("d2", "PostgreSQL", holdfast.FactActive)}
	}
	if revision >= 4 {
		steps[2].Text = "Run the whole suite with the race detector, twice"
		c.Plan.Steps = steps
		c.Plan.Removed = []string{"Update the docs"}
		c.Plan.Text = "Move to PostgreSQL\nand keep the tests green\n"
		c.Proposal = &holdfast.Proposal{Status: holdfast.PlanRejected, Source: holdfast.FromPlanMode, Text: "Drop\x1b]0;owned\aall tables", Reason: "no\nway"}
	}
	return c
}

// counter is a source of bytes that are not random: the first call of a script
// reads ones, the second twos, and so on.
type counter struct{ n *byte }

func (c counter) Read(p []byte) (int, error) {
	*c.n++
	for i := range p {
		p[i] = *c.n
	}
	return len(p), nil
}

// ids returns a maker of ids that count through a whole script.
func ids(ts *testscript.TestScript) func() string {
	n := ts.Value(idsKey{}).(*int)
	return func() string {
		*n++
		return fmt.Sprintf("019cb000-0000-7000-8000-%012d", *n)
	}
}
