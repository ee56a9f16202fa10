package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

// What the person takes back: a message with a choice of its own, and the step
// that it brought into the plan.
const (
	takenPrompt = "Wait, the format is the cause. " + takenChoice
	takenChoice = takenChosen + ", because the graders compare it."
	takenChosen = "Always copy the table audit_shadow first"
	takenStep   = "Ask the vendor for another file format"
)

// What is said in its place, and behind the compactions. Both are longer than what
// any agent keeps of the newest messages, by its configuration.
const (
	otherPrompt = "Look at the tests first: at those of the reader, those of the mapping and those of the import as a whole, and say which of them " +
		"would still hold if the order of the columns changed, and which of them only repeat what the code says."
	onPrompt = "Go on with the next part of the work, and when it is finished look through all of it once more, with an eye on the names, " +
		"the comments and the error messages, before anything else is begun. Say in a few words what was done and what was left, where the code and its " +
		"comments part, which of the tests took longest, and whether a colleague who sees all of this for the first time on a Monday morning would find " +
		"the place where the work goes on without asking anybody, and if not, what would have to be written down for that, and where it should stand."
)

// changed is the plan while that message stands.
var changed = slices.Concat([]holdfast.Step{{Text: steps[0], Status: done}, {Text: takenStep, Status: working}}, planned[1:])

// sitting is an agent at work in one session, as the person in front of it uses it.
type sitting interface {
	say(ctx context.Context, prompt string) error
	// back goes to before the last prompt.
	back(ctx context.Context) error
	compact(ctx context.Context) error
	stop()
}

// rewinds are sessions in which a message is taken back before each compaction, those
// of the slowest agents first.
func rewinds() []agentCase {
	plan, change := []eval.Reply{codexPlan(planned)}, []eval.Reply{codexPlan(changed)}
	return []agentCase{
		openCodeCase().rewound(sitAtOpenCode, openCodeRun, []eval.Reply{openCodePlan(planned)}, []eval.Reply{openCodePlan(changed)}),
		claudeCase("claude-code 2.1.332", "2.1.332", nil).rewound(sitAtClaude, claudeRun, claudePlan(), []eval.Reply{claudeCreate(takenStep), claudeUpdate("1", done)}),
		codexCase("codex 0.171.0, local", codexLocal).rewound(sitAtCodex, codexRun, plan, change),
		codexCase("codex 0.171.0, remote", codexRemote).rewound(sitAtCodex, codexRun, plan, change),
		piCase("0.74.2", "chat", "openai-completions").rewound(sitAtPi("chat"), piRun, []eval.Reply{piRun}, []eval.Reply{piRun}),
		piCase("0.74.2", "responses", "openai-responses").rewound(sitAtPi("responses"), piRun, []eval.Reply{piRun}, []eval.Reply{piRun}),
	}
}

// rewound is the case with another session: in it, a message is taken back three times
// and the session compacted, first with another message before, then at once, and at
// last where the message was answered in words alone. run is any call of a tool; plan
// makes the plan, and change changes it while the message stands.
func (c agentCase) rewound(open func(context.Context, desk) (sitting, error), run eval.Reply, plan, change []eval.Reply) agentCase {
	c.name += ", rewound"
	c.thinks = c.agent == "claude-code"
	c.plans = [][]holdfast.Step{planned, planned, planned}
	words := []string{takenChosen}
	both := append(slices.Clone(words), takenStep)
	prompt := firstPrompt
	if len(c.values) > 0 {
		both, prompt = words, piPrompt
	}
	c.taken = [][]string{both, both, words}
	message := append(slices.Clone(change), say("The plan is another one now.", small))
	on := []eval.Reply{run, say("It goes well.", small)}
	c.script = slices.Concat(
		plan, []eval.Reply{say("The plan is made.", small)},
		message, []eval.Reply{say("The tests are fine.", small)}, on,
		message, on,
		[]eval.Reply{say("That is noted.", small)}, on,
	)
	c.drive = func(ctx context.Context, d desk) error {
		s, err := open(ctx, d)
		if err != nil {
			return err
		}
		defer s.stop()
		say := func(prompt string) func(context.Context) error {
			return func(ctx context.Context) error { return s.say(ctx, prompt) }
		}
		for _, act := range []func(context.Context) error{
			say(prompt),
			say(takenPrompt), s.back, say(otherPrompt), s.compact, say(onPrompt),
			say(takenPrompt), s.back, s.compact, say(onPrompt),
			say(takenPrompt), s.back, s.compact, say(onPrompt),
		} {
			if err := act(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// takenBack is nil when there were as many compactions as lists of texts, the model was
// told each text of a list before its compaction, and none of them stands in a block
// behind it, or anywhere in the first turn.
func takenBack(requests []eval.Request, taken [][]string) error {
	told, compactions, opening := map[string]bool{}, 0, false
	for _, r := range requests {
		switch {
		case r.Kind.IsCompaction() && !opening:
			if compactions++; compactions > len(taken) {
				continue
			}
			for _, text := range taken[compactions-1] {
				if !told[text] {
					return fmt.Errorf("no turn before compaction %d holds %q: the case proves nothing", compactions, text)
				}
			}
			told, opening = map[string]bool{}, true
		case r.Kind == eval.Turn:
			j, err := eval.Judge(r.Body, nil)
			if err != nil {
				return err
			}
			for _, text := range slices.Concat(taken...) {
				holds := bytes.Contains(r.Body, []byte(text))
				if strings.Contains(j.Block, text) || opening && holds {
					return fmt.Errorf("a turn behind compaction %d holds %q, which was taken back", compactions, text)
				}
				told[text] = told[text] || holds
			}
			opening = false
		}
	}
	if compactions != len(taken) {
		return fmt.Errorf("the upstream saw %d compactions, %d were expected", compactions, len(taken))
	}
	return nil
}
