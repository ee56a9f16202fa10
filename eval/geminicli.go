package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// GeminiCLI is a scripted gemini-cli 0.61.0 that is started anew for each
// prompt. It sends no id of any kind. Its requests have the captured wire form;
// the long prompt texts are replaced. It never puts a notice before a prompt.
type GeminiCLI struct {
	dialogue
	client *http.Client
	model  string
}

// NewGeminiCLI returns a session that talks to the base URL.
func NewGeminiCLI(client *http.Client, base string) *GeminiCLI {
	a := &GeminiCLI{client: client, model: base + "/v1beta/models/gemini-2.5-pro"}
	a.dialogue = dialogue{agent: "gemini-cli", self: a}
	return a
}

// Fork implements Agent. Nothing on the wire tells of it.
func (a *GeminiCLI) Fork(string) Agent {
	b := *a
	b.branch(&b)
	return &b
}

// Subagent implements Agent: only the prompt texts are other ones.
func (a *GeminiCLI) Subagent(string) Agent { return nil }

// Prompt implements Agent. The process before has ended: what is read back has
// lost the signatures of its calls, and every result once more than before.
func (a *GeminiCLI) Prompt(ctx context.Context, text string) error {
	for i := range a.history {
		a.history[i].live = false
		if a.history[i].role == "tool" {
			a.history[i].again++
		}
	}
	return a.dialogue.Prompt(ctx, text)
}

// condense implements speaker. It asks twice, the second time with the first
// answer in the history, and uses the second. It fails when the new history would
// be larger than the old one.
func (a *GeminiCLI) condense(ctx context.Context, middle bool) error {
	old, kept, err := a.split(middle)
	if err != nil {
		return err
	}
	ask := "Generate a new <state_snapshot> based on the provided history."
	if a.summary != "" {
		ask = "A previous <state_snapshot> exists in the history. " + filler("What to keep", 1)
	}
	contents := a.contents(old, true)
	first, err := a.summarize(ctx, append(contents, geminiContent("user", object{{"text", ask + "\n\n" + scratchpadMark + " Then, generate the updated <state_snapshot>."}})))
	if err != nil {
		return err
	}
	second, err := a.summarize(ctx, append(contents,
		geminiContent("model", object{{"text", first}}),
		geminiContent("user", object{{"text", geminiSecondMark + " you just generated. " + filler("What to check", 1)}})))
	if err != nil {
		return err
	}
	before := len(encode(a.contents(a.history, false)))
	a.summary, a.history = second, kept
	if after := len(encode(a.contents(kept, false))); after > before {
		return fmt.Errorf("gemini-cli refuses the summary: its history of %d bytes would have %d", before, after)
	}
	return nil
}

// summarize posts one compaction request, which is not streamed.
func (a *GeminiCLI) summarize(ctx context.Context, contents []object) (string, error) {
	raw, err := fetch(ctx, a.client, a.model+":generateContent", a.header(), object{
		{"contents", contents},
		{"systemInstruction", geminiContent("user", object{{
			"text",
			"You are a specialized system component responsible for distilling chat history into a structured XML <state_snapshot>.\n\n" + filler("How to summarize", 6),
		}})},
		{"generationConfig", object{}},
	})
	if err != nil {
		return "", err
	}
	got, _, err := readGemini(raw)
	if err == nil && got.text == "" {
		err = errors.New("the answer to a compaction of gemini-cli holds no text")
	}
	return got.text, err
}

// contents writes the history behind the session's context and the summary. In
// a request for a summary the ids of calls have the names before them.
func (a *GeminiCLI) contents(history []message, rename bool) []object {
	id := func(c Call) string {
		if rename {
			return c.Name + "__" + c.ID
		}
		return c.ID
	}
	pending := []object{{{"text", "<session_context>\nThis is the Gemini CLI. We are setting up the context for our chat.\n" + filler("Folder", 2) + "</session_context>"}}}
	var out []object
	if a.summary != "" {
		out = append(out, geminiContent("user", append(pending, object{{"text", a.summary}})...), geminiContent("model", object{{"text", thanks}}))
		pending = nil
	}
	for i := 0; i < len(history); i++ {
		switch m := history[i]; m.role {
		case "user":
			out = append(out, geminiContent("user", append(pending, object{{"text", m.text}})...))
			pending = nil
		case "assistant":
			out = append(out, geminiContent("model", geminiSaid(m, id)...))
		default:
			var results []object
			for ; i < len(history) && history[i].role == "tool"; i++ {
				results = append(results, object{{"functionResponse", object{
					{"name", history[i].call.Name}, {"response", object{{"output", history[i].text}}}, {"id", id(history[i].call)},
				}}})
			}
			i--
			once := results
			for range m.again {
				results = append(results, once...)
			}
			out = append(out, geminiContent("user", results...))
		}
	}
	return out
}

// geminiSaid is what the model said: the first call of this process is signed.
func geminiSaid(m message, id func(Call) string) []object {
	var parts []object
	if m.text != "" {
		parts = append(parts, object{{"text", m.text}})
	}
	for i, c := range m.calls {
		part := object{{"functionCall", object{{"id", id(c)}, {"args", c.Args}, {"name", c.Name}}}}
		if i == 0 && m.live {
			part = append(part, member{"thoughtSignature", "skip_thought_signature_validator"})
		}
		parts = append(parts, part)
	}
	return parts
}

func geminiContent(role string, parts ...object) object {
	return object{{"parts", parts}, {"role", role}}
}

// tool implements speaker. A question or a plan that is sent away without a word
// is gone from the history, with all of its turn.
func (a *GeminiCLI) tool(c Call) result {
	var args struct {
		Path    string `json:"file_path"`
		Content string `json:"content"`
		Todos   []struct {
			Description string `json:"description"`
			Status      string `json:"status"`
		} `json:"todos"`
	}
	_ = json.Unmarshal(c.Args, &args) // a call with other arguments has none of these
	switch c.Name {
	case "write_todos":
		var b strings.Builder
		b.WriteString("Successfully updated the todo list. The current list is now:")
		for i, t := range args.Todos {
			fmt.Fprintf(&b, "\n%d. [%s] %s", i+1, t.Status, t.Description)
		}
		return result{text: b.String()}
	case "ask_user":
		questions, ok := a.world.ask(c)
		var answers object
		for i, q := range questions {
			answers = append(answers, member{strconv.Itoa(i), q.answer})
		}
		return result{text: string(encode(object{{"answers", answers}})), withdrawn: !ok}
	case "exit_plan_mode":
		ok, words := a.world.approve(a.plan.text)
		if !ok {
			return result{text: "Plan rejected. User feedback: " + words + "\n\nThe plan is stored at: " + a.plan.path + "\nRevise the plan based on the feedback.", withdrawn: words == ""}
		}
		return result{text: "Plan approved. Switching to Auto-Edit mode.\n\nThe approved implementation plan is stored at: " + a.plan.path}
	case "write_file":
		if _, ok := a.write(args.Path, args.Content); ok {
			return result{text: "Successfully created and wrote to new file: " + args.Path + ". Here is the updated code:\n" + args.Content}
		}
	}
	return result{text: "<untrusted_context>\nOutput: " + a.world.output(c, 16) + "</untrusted_context>"}
}

// turn implements speaker. The real agent offers ask_user only in a terminal and
// exit_plan_mode only while it plans.
func (a *GeminiCLI) turn(ctx context.Context, history []message) (answer, error) {
	var declarations []object
	for name := range strings.FieldsSeq("update_topic list_directory read_file grep_search glob replace write_file run_shell_command ask_user exit_plan_mode write_todos") {
		declarations = append(declarations, object{{"name", name}, {"description", filler(name, 2)}, {"parametersJsonSchema", object{{"type", "object"}}}})
	}
	body := object{
		{"contents", a.contents(history, false)},
		{"systemInstruction", geminiContent("user", object{{"text", "You are a non-interactive CLI agent specializing in software engineering tasks.\n\n" + filler("How to work", 40)}})},
		{"tools", []object{{{"functionDeclarations", declarations}}}},
		{"generationConfig", object{{"temperature", 1}, {"topP", 0.95}, {"topK", 64}}},
	}
	var got answer
	finished := false
	err := post(ctx, a.client, a.model+":streamGenerateContent?alt=sse", a.header(), body, func(data []byte) error {
		piece, end, err := readGemini(data)
		got.text += piece.text
		got.calls = append(got.calls, piece.calls...)
		finished = finished || end
		return err
	})
	if err == nil && !finished {
		err = errors.New("the stream ended before a finish reason")
	}
	return got, err
}

func (a *GeminiCLI) header() object {
	return object{
		{"User-Agent", "GeminiCLI-tui/0.61.0/gemini-2.5-pro (linux; x64; terminal)"},
		{"x-goog-api-client", "google-genai-sdk/1.30.0 gl-node/v20.20.2"},
		{"x-goog-api-key", "dummy"},
		{"accept", "*/*"},
	}
}

// readGemini reads an answer or one chunk of it; end tells of a finish reason.
func readGemini(raw []byte) (got answer, end bool, err error) {
	var b struct {
		Error      json.RawMessage `json:"error"`
		Candidates []struct {
			FinishReason string `json:"finishReason"`
			Content      struct {
				Parts []struct {
					Text string `json:"text"`
					Call *Call  `json:"functionCall"`
				} `json:"parts"`
			} `json:"content"`
		} `json:"candidates"`
	}
	if err := json.Unmarshal(raw, &b); err != nil {
		return got, false, fmt.Errorf("read a Gemini answer: %w", err)
	}
	if b.Error != nil {
		return got, false, fmt.Errorf("the answer is an error: %s", raw)
	}
	for _, c := range b.Candidates {
		end = end || c.FinishReason != ""
		for _, p := range c.Content.Parts {
			got.text += p.Text
			if p.Call != nil {
				got.calls = append(got.calls, *p.Call)
			}
		}
	}
	return got, end, nil
}
