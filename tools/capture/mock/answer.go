package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// answer is one scripted answer: a text, tool calls, or both.
type answer struct {
	Text  string `json:"text"`
	Tools []call `json:"tools"`
	// Compaction keeps the answer for the next compaction.
	Compaction bool `json:"compaction"`
	// Usage is the number of input tokens to report; 0 means 1000. A large one
	// makes an agent compact.
	Usage int `json:"usage"`
	// Held sends the first half of the answer and no more.
	Held bool `json:"held"`
	// Overflow sends an error in place of the answer: the input is too long.
	Overflow bool `json:"overflow"`

	opaque bool // answer with a compaction item (responses)
}

// call is one tool call.
type call struct {
	Name      string          `json:"name"`
	Namespace string          `json:"namespace"` // responses only
	Input     json.RawMessage `json:"input"`
}

// form tells how a request wants to be compacted.
type form int

const (
	ordinary form = iota
	plain
	opaque
)

// answer picks what to say.
func (m *model) answer(f form, offersTools bool) answer {
	m.turns++
	scripted := len(m.queue) > 0 && (f == plain || f == ordinary && offersTools) && m.queue[0].Compaction == (f == plain)
	switch {
	case scripted:
		a := m.queue[0]
		m.queue = m.queue[1:]
		return a
	case f == opaque:
		return answer{opaque: true}
	case f == plain:
		return answer{Text: fmt.Sprintf("<analysis>\nscripted analysis %d\n</analysis>\n\n<summary>\nscripted summary %d\n</summary>", m.turns, m.turns)}
	case !offersTools:
		return answer{Text: `{"title":"Scripted title"}`}
	}
	return answer{Text: fmt.Sprintf("reply %d", m.turns)}
}

func (a answer) inputTokens() int {
	if a.Usage > 0 {
		return a.Usage
	}
	return 1000
}

// messagesBody is what is read of an Anthropic request.
type messagesBody struct {
	Model    string          `json:"model"`
	System   json.RawMessage `json:"system"`
	Messages []struct {
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Tools []json.RawMessage `json:"tools"`
}

// compaction looks at the last message only: the marker also stands in
// histories.
func (b messagesBody) compaction() form {
	if n := len(b.Messages); n > 0 && bytes.Contains(b.Messages[n-1].Content, []byte("CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.")) {
		return plain
	}
	return asksForSummary(b.System)
}

// responsesBody is what is read of a Responses request.
type responsesBody struct {
	Model string            `json:"model"`
	Input []json.RawMessage `json:"input"`
	Tools []json.RawMessage `json:"tools"`
}

func (b responsesBody) compaction() form {
	if len(b.Input) == 0 {
		return ordinary
	}
	last := b.Input[len(b.Input)-1]
	switch {
	case bytes.Contains(last, []byte(`"compaction_trigger"`)):
		return opaque
	case bytes.Contains(last, []byte("You are performing a CONTEXT CHECKPOINT COMPACTION.")):
		return plain
	}
	return asksForSummary(b.Input[0])
}

// stream collects server-sent events.
type stream struct{ bytes.Buffer }

func (s *stream) event(name string, data any) {
	text, _ := json.Marshal(data)
	fmt.Fprintf(s, "event: %s\ndata: %s\n\n", name, text)
}

type object = map[string]any

func writeMessages(b messagesBody, a answer, turn int) (kind string, reply []byte) {
	var s stream
	stop := "end_turn"
	s.event("message_start", object{"type": "message_start", "message": object{
		"id": fmt.Sprintf("msg_%04d", turn), "type": "message", "role": "assistant", "model": b.Model,
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": object{"input_tokens": a.inputTokens(), "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1},
	}})
	index := 0
	block := func(start, delta object) {
		s.event("content_block_start", object{"type": "content_block_start", "index": index, "content_block": start})
		s.event("content_block_delta", object{"type": "content_block_delta", "index": index, "delta": delta})
		s.event("content_block_stop", object{"type": "content_block_stop", "index": index})
		index++
	}
	if a.Text != "" {
		block(object{"type": "text", "text": ""}, object{"type": "text_delta", "text": a.Text})
	}
	for i, c := range a.Tools {
		stop = "tool_use"
		block(object{"type": "tool_use", "id": fmt.Sprintf("toolu_%04d%02d", turn, i+1), "name": c.Name, "input": object{}},
			object{"type": "input_json_delta", "partial_json": string(c.Input)})
	}
	s.event("message_delta", object{
		"type":  "message_delta",
		"delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": 20},
	})
	s.event("message_stop", object{"type": "message_stop"})
	return "text/event-stream", s.Bytes()
}

func writeResponses(b responsesBody, a answer, turn int) (kind string, reply []byte) {
	var s stream
	output := []any{}
	add := func(item object, deltas ...object) {
		s.event("response.output_item.added", object{"type": "response.output_item.added", "output_index": len(output), "item": item})
		for _, d := range deltas {
			d["item_id"], d["output_index"] = item["id"], len(output)
			s.event(d["type"].(string), d)
		}
		s.event("response.output_item.done", object{"type": "response.output_item.done", "output_index": len(output), "item": item})
		output = append(output, item)
	}
	response := object{"id": fmt.Sprintf("resp_%04d", turn), "object": "response", "model": b.Model, "status": "in_progress", "output": []any{}}
	s.event("response.created", object{"type": "response.created", "response": response})
	if a.opaque {
		add(object{
			"type": "compaction", "id": fmt.Sprintf("cmp_%04d", turn),
			"encrypted_content": base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "opaque summary %d", turn)),
		})
	}
	if a.Text != "" {
		add(object{
			"type": "message", "id": fmt.Sprintf("msg_%04d", turn), "role": "assistant", "status": "completed",
			"content": []any{object{"type": "output_text", "text": a.Text, "annotations": []any{}}},
		}, object{"type": "response.output_text.delta", "content_index": 0, "delta": a.Text})
	}
	for i, c := range a.Tools {
		item := object{
			"type": "function_call", "id": fmt.Sprintf("fc_%04d%02d", turn, i+1),
			"call_id": fmt.Sprintf("call_%04d%02d", turn, i+1), "name": c.Name, "arguments": string(c.Input), "status": "completed",
		}
		if c.Namespace != "" {
			item["namespace"] = c.Namespace
		}
		add(item)
	}
	done := object{
		"id": response["id"], "object": "response", "model": b.Model, "status": "completed", "output": output,
		"usage": object{
			"input_tokens": a.inputTokens(), "input_tokens_details": object{"cached_tokens": 0},
			"output_tokens": 20, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": a.inputTokens() + 20,
		},
	}
	s.event("response.completed", object{"type": "response.completed", "response": done})
	return "text/event-stream", s.Bytes()
}
