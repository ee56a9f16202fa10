package agents_test

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agents"
	"github.com/holdfast-dev/holdfast/wire/chat"
)

func TestQuotedResult(t *testing.T) {
	const (
		args  = `{"questions":[{"question":"Which db?"}]}`
		open  = "Here is the conversation so far:\n\n<conversation>\n"
		end   = "</conversation>\n\nWrite the summary."
		asked = "[Assistant tool call]: question(" + args + ")\n"
	)
	for _, tt := range []struct {
		name, prompt, want string
		ok                 bool
	}{
		{"the end of the conversation ends the result", open + asked + "[Tool result]: postgres\n\n" + end, "postgres", true},
		{"the next call ends it", open + asked + "[Tool result]: postgres\n[Assistant tool call]: bash({})\n[Tool result]: hi\n\n" + end, "postgres", true},
		{"the next text of the model ends it", open + asked + "[Tool result]: postgres\n\n[Assistant]: fine\n\n" + end, "postgres", true},
		{"the next words of the user end it", open + asked + "[Tool result]: postgres\n\n[User]: go on\n\n" + end, "postgres", true},
		{"a result of several paragraphs is whole", open + asked + "[Tool result]: postgres\n\nand\n  sqlite\n\n" + end, "postgres\n\nand\n  sqlite", true},
		{"a result that holds the closing tag is whole", open + asked + "[Tool result]: a</conversation>b\n\n" + end, "a</conversation>b", true},
		{"an empty result is one", open + asked + "[Tool result]: \n\n" + end, "", true},
		{"the newest of equal calls counts", open + asked + "[Tool result]: sqlite\n\n[User]: again\n\n" + asked + "[Tool result]: postgres\n\n" + end, "postgres", true},
		{"a prompt that was cut off is read to its end", open + asked + "[Tool result]: postgres", "postgres", true},
		{"a call without a result has none", open + asked + end, "", false},
		{"other arguments are another call", open + "[Assistant tool call]: question({})\n[Tool result]: postgres\n\n" + end, "", false},
		{"arguments that go on are another call", open + "[Assistant tool call]: question(" + args + " )\n[Tool result]: postgres\n\n" + end, "", false},
		{"another tool is another call", open + "[Assistant tool call]: ask_question(" + args + ")\n[Tool result]: postgres\n\n" + end, "", false},
		{"a call within a line is a quotation", open + "[User]: see " + asked + "[Tool result]: postgres\n\n" + end, "", false},
		{"what stands behind the conversation is no part of it", open + end + "\n" + asked + "[Tool result]: postgres\n\n", "", false},
		{"the form of another agent is not read", open + "[Assistant tool calls]: question(" + args + ")\n[Tool result]: postgres\n\n" + end, "", false},
		{"a request without such a prompt has nothing", "", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := agents.QuotedResult(tt.prompt, "question", args)
			if got.Text != tt.want || got.IsError || ok != tt.ok {
				t.Errorf("got %+v, %v; want %q, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}

func TestQuotedResultTellsAnError(t *testing.T) {
	const prompt = "Here is the conversation so far:\n\n<conversation>\n[Assistant tool call]: plan_exit({})\n" +
		"[Tool error]: The user dismissed this question\n\n[User]: smaller steps\n\n</conversation>\n\nWrite the summary."
	const want = "The user dismissed this question"
	if got, ok := agents.QuotedResult(prompt, "plan_exit", "{}"); !ok || !got.IsError || got.Text != want {
		t.Errorf("got %+v, %v; want the error %q", got, ok, want)
	}
}

func TestQuotedResultOfACapturedPrompt(t *testing.T) {
	f := load(t, "../testdata/wire/opencode-1.18.33/question-plan-mode/28-manual-compact.json")
	var c chat.Codec
	req, err := c.Scan(f.Body)
	if err != nil {
		t.Fatal(err)
	}
	events, err := c.Decode(req.Messages[len(req.Messages)-1].Of(f.Body), func(string) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	text, isText := events[len(events)-1].(holdfast.UserMessage).Parts[0].(holdfast.Text)
	if !isText || !strings.HasPrefix(string(text), "Here is the conversation so far:") {
		t.Fatalf("the prompt is %+v", events)
	}
	const both = `{"questions":[{"question":"Which db?","header":"DB","options":[{"label":"sqlite","description":"small"},{"label":"postgres","description":"big"}]},` +
		`{"question":"Which systems?","header":"OS","multiple":true,"options":[{"label":"linux","description":"l"},{"label":"macos","description":"m"}]}]}`
	const want = `User has answered your questions: "Which db?"="sqlite", "Which systems?"="Unanswered". You can now continue with the user's answers in mind.`
	if got, ok := agents.QuotedResult(string(text), "question", both); !ok || got.IsError || got.Text != want {
		t.Errorf("got %+v, %v; want %q", got, ok, want)
	}
}
