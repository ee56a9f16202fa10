package survival

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// Passage is one text of a conversation.
type Passage struct {
	Role string // user, assistant or tool
	Text string
}

// Texts lists the texts of a request's history in order, whatever the protocol:
// those of the user and of the model, and what tools returned. System texts,
// tools, calls and reasoning are left out, and so is the prompt that asks for a
// summary. A history that the agent sends in words is one passage of the user,
// behind the summary that came before it. It is nil for a body that is none.
func Texts(body []byte) []Passage {
	var root map[string]any
	if json.Unmarshal(body, &root) != nil {
		return nil
	}
	var all []Passage
	for _, name := range []string{"messages", "input", "contents"} {
		all = append(all, passagesIn(root[name], "user")...)
	}
	// The prompt stands in the last message; a proxy may have put a text behind it.
	for i := len(all) - 1; i >= 0 && all[i].Role == "user"; i-- {
		if history, ok := summaryPrompt(all[i].Text); ok {
			return append(all[:i:i], history...)
		}
	}
	return all
}

// passagesIn lists the texts of a history, of a message or of a part. role is
// that of what surrounds v.
func passagesIn(v any, role string) (out []Passage) {
	switch v := v.(type) {
	case string:
		if v != "" {
			out = append(out, Passage{role, v})
		}
	case []any:
		for _, el := range v {
			out = append(out, passagesIn(el, role)...)
		}
	case map[string]any:
		switch v["role"] {
		case nil:
		case "user", "assistant", "tool":
			role = v["role"].(string)
		case "model":
			role = "assistant"
		default: // system, developer
			return nil
		}
		switch v["type"] {
		case "tool_result", "function_call_output", "custom_tool_call_output":
			role = "tool"
		case "reasoning":
			return nil
		}
		if v["thought"] == true {
			return nil
		}
		if r, ok := v["functionResponse"].(map[string]any); ok {
			return passagesIn(r["response"], "tool")
		}
		for _, name := range []string{"text", "content", "parts", "output", "error"} {
			out = append(out, passagesIn(v[name], role)...)
		}
	}
	return out
}

// summaryPrompt reports whether a text is one by which an agent asks for a
// summary, and returns the history that it holds in words.
func summaryPrompt(text string) (history []Passage, ok bool) {
	var prior, words string
	switch {
	case strings.HasPrefix(text, "CRITICAL: Respond with TEXT ONLY."), // claude-code
		strings.HasPrefix(text, "You are performing a CONTEXT CHECKPOINT COMPACTION."), // codex
		strings.Contains(text, "First, reason in your scratchpad."),                    // qwen-code, gemini-cli
		strings.HasPrefix(text, "Critically evaluate the <state_snapshot>"):            // gemini-cli, the second time
		return nil, true
	case strings.HasPrefix(text, "Here is the conversation so far:"): // opencode
		words, prior = tagged(text, "conversation"), tagged(text, "prior-summary")
	case strings.HasPrefix(text, "<conversation>\n") && strings.Contains(text, "The messages above are"): // pi
		words, prior = tagged(text, "conversation"), tagged(text, "previous-summary")
	case strings.HasPrefix(text, "Summarize this session for continuation."): // cline
		text, words, _ = strings.Cut(text, "\nConversation:\n")
		_, prior, _ = strings.Cut(text, "Previous summary:\n")
	default:
		return nil, false
	}
	for _, text := range []string{prior, words} {
		if text = strings.TrimSpace(text); text != "" {
			history = append(history, Passage{"user", text})
		}
	}
	return history, true
}

// tagged is what stands between a tag and the last one that closes it.
func tagged(text, tag string) string {
	_, text, _ = strings.Cut(text, "<"+tag+">\n")
	if end := strings.LastIndex(text, "\n</"+tag+">"); end >= 0 {
		return text[:end]
	}
	return ""
}

// speaker is the label before each piece of a history in words.
var speaker = regexp.MustCompile(`(?m)^\[(User|Assistant|Bot|Tool result|Assistant tool calls?|Bot tool calls)\]: `)

// bySpeaker cuts histories in words into what each speaker said. The names and
// arguments of calls are left out, as Texts does it elsewhere.
func bySpeaker(passages []Passage) (out []Passage) {
	for _, p := range passages {
		labels := speaker.FindAllStringSubmatchIndex(p.Text, -1)
		if p.Role != "user" || len(labels) == 0 || labels[0][0] > 0 {
			out = append(out, p)
			continue
		}
		for i, at := range labels {
			end := len(p.Text)
			if i+1 < len(labels) {
				end = labels[i+1][0]
			}
			said := strings.TrimRight(p.Text[at[1]:end], "\n")
			switch p.Text[at[2]:at[3]] {
			case "User":
				if inside, ok := strings.CutPrefix(said, `<user_input mode="act">`); ok {
					said = strings.TrimSuffix(inside, "</user_input>")
				}
				out = append(out, Passage{"user", said})
			case "Assistant", "Bot":
				out = append(out, Passage{"assistant", said})
			case "Tool result":
				out = append(out, Passage{"tool", said})
			}
		}
	}
	return out
}

// harnessTexts are the beginnings of texts that stand in the user's role and
// that no person typed.
var harnessTexts = []string{
	"<environment_context>", "<command-", "<local-command", "<session_context>", "<turn_aborted>",
	"<user_instructions>", "<subagent_notification>", holdfast.BlockOpen, "[SYSTEM] ", "[Request interrupted",
	"This session is being continued from a previous conversation", "Continue the conversation from where it left off",
	"Another language model started to solve this problem", "What did we do so far?", "Continue if you have next steps",
	"The conversation history before this point was compacted", "Context summary:", "This is the Qwen Code.",
}

// noticeIn finds what a harness puts into the same text as the words of a person.
var noticeIn = regexp.MustCompile(`(?s)<mode_notice>.*?</mode_notice>\n?|\n?<system-reminder>.*?</system-reminder>`)

// typedIn is what a person typed of a text in the user's role; "" for a text of
// the harness.
func typedIn(text string) string {
	text = noticeIn.ReplaceAllString(text, "")
	start := strings.TrimSpace(text)
	for _, harness := range harnessTexts {
		if strings.HasPrefix(start, harness) {
			return ""
		}
	}
	return text
}

var (
	sentenceEnd = regexp.MustCompile(`[.!?]["')` + "`" + `]*\s+`)
	listNumber  = regexp.MustCompile(`^\s*\d+\.\s+`)
)

// sentencesIn cuts a text into its lines, and those into sentences. The number of
// a list item stays with it.
func sentencesIn(text string) (out []string) {
	for line := range strings.SplitSeq(text, "\n") {
		start, from := 0, len(listNumber.FindString(line))
		for {
			at := sentenceEnd.FindStringIndex(line[from:])
			if at == nil {
				break
			}
			out = append(out, strings.TrimSpace(line[start:from+at[1]]))
			start, from = from+at[1], from+at[1]
		}
		if rest := strings.TrimSpace(line[start:]); rest != "" {
			out = append(out, rest)
		}
	}
	return out
}

// conversation is all that Texts lists, in sentences.
func conversation(body []byte) (out []string) {
	for _, p := range Texts(body) {
		out = append(out, sentencesIn(p.Text)...)
	}
	return out
}
