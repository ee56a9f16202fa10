package main

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// chatBody is what is read of a chat completions request.
type chatBody struct {
	Model    string            `json:"model"`
	Stream   bool              `json:"stream"`
	Messages []json.RawMessage `json:"messages"`
	Tools    []json.RawMessage `json:"tools"`
}

// compaction looks at the first and the last message: agents put the order to
// summarize into one of them.
func (b chatBody) compaction() form {
	if n := len(b.Messages); n > 0 {
		return asksForSummary(b.Messages[0], b.Messages[n-1])
	}
	return ordinary
}

// summarizers are the orders of agents whose compaction is a request by itself.
var summarizers = []string{
	"You are a context summarization a", // agent (opencode), assistant (pi)
	"Provide a detailed summary of our conversation above.",
	"You are the component that summarizes internal chat history",   // qwen-code 0.15
	"You are the component that summarizes a conversation when its", // qwen-code 0.24, with tools and without
	"Summarize the provided coding session into a concise contin",   // cline
	"responsible for distilling chat history into a structured",     // gemini-cli
}

func asksForSummary(texts ...json.RawMessage) form {
	for _, t := range texts {
		for _, s := range summarizers {
			if bytes.Contains(t, []byte(s)) {
				return plain
			}
		}
	}
	return ordinary
}

func writeChat(b chatBody, a answer, turn int) (kind string, reply []byte) {
	calls := []any{}
	for i, c := range a.Tools {
		calls = append(calls, object{
			"index": i, "id": fmt.Sprintf("call_%04d%02d", turn, i+1), "type": "function",
			"function": object{"name": c.Name, "arguments": string(c.Input)},
		})
	}
	finish := "stop"
	message := object{"role": "assistant", "content": a.Text}
	if len(calls) > 0 {
		finish = "tool_calls"
		message["tool_calls"] = calls
	}
	base := func(kind string, choices []any) object {
		return object{"id": fmt.Sprintf("chatcmpl-%04d", turn), "object": kind, "created": 1, "model": b.Model, "choices": choices}
	}
	usage := object{"prompt_tokens": a.inputTokens(), "completion_tokens": 20, "total_tokens": a.inputTokens() + 20}
	if !b.Stream {
		whole := base("chat.completion", []any{object{"index": 0, "message": message, "finish_reason": finish}})
		whole["usage"] = usage
		text, _ := json.Marshal(whole)
		return "application/json", text
	}
	var s bytes.Buffer
	chunk := func(choices []any, more object) {
		c := base("chat.completion.chunk", choices)
		for k, v := range more {
			c[k] = v
		}
		text, _ := json.Marshal(c)
		fmt.Fprintf(&s, "data: %s\n\n", text)
	}
	chunk([]any{object{"index": 0, "delta": message, "finish_reason": nil}}, nil)
	chunk([]any{object{"index": 0, "delta": object{}, "finish_reason": finish}}, nil)
	chunk([]any{}, object{"usage": usage})
	s.WriteString("data: [DONE]\n\n")
	return "text/event-stream", s.Bytes()
}
