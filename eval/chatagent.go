package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// chatForm is how an agent writes messages of Chat Completions.
type chatForm struct {
	user         func(m message) any // the content of a text in the user's role
	toolParts    bool                // a tool's text stands in a list of parts, not bare
	silent       any                 // the content of an answer that is calls alone
	contentFirst bool                // a tool's content stands before the id of its call
}

func (f chatForm) messages(history []message) []object {
	var out []object
	for _, m := range history {
		switch m.role {
		case "user":
			out = append(out, object{{"role", "user"}, {"content", f.user(m)}})
		case "tool":
			it := object{{"role", "tool"}, {"tool_call_id", m.call.ID}, {"content", bareOrPart(m.text, f.toolParts)}}
			if f.contentFirst {
				it[1], it[2] = it[2], it[1]
			}
			out = append(out, it)
		default:
			it := object{{"role", "assistant"}, {"content", m.text}}
			if m.text == "" {
				it[1].value = f.silent
			}
			var calls []object
			for _, c := range m.calls {
				calls = append(calls, object{
					{"id", c.ID}, {"type", "function"}, {"function", object{{"name", c.Name}, {"arguments", string(c.Args)}}},
				})
			}
			if calls != nil {
				it = append(it, member{"tool_calls", calls})
			}
			out = append(out, it)
		}
	}
	return out
}

func bareOrPart(text string, part bool) any {
	if part {
		return []object{textBlock(text)}
	}
	return text
}

func chatSystem(text string) object { return object{{"role", "system"}, {"content", text}} }

// chatTools are function tools with what every agent writes; more stands
// behind the parameters.
func chatTools(names string, more ...member) []object {
	var tools []object
	for name := range strings.FieldsSeq(names) {
		function := object{{"name", name}, {"description", filler(name, 2)}, {"parameters", object{{"type", "object"}, {"properties", object{}}}}}
		tools = append(tools, object{{"type", "function"}, {"function", append(function, more...)}})
	}
	return tools
}

// readChat collects an answer from the events that stream hands out.
func readChat(stream func(func([]byte) error) error) (answer, error) {
	var got answer
	done := false
	err := stream(func(data []byte) error {
		if bytes.Equal(data, []byte("[DONE]")) {
			done = true
			return nil
		}
		var e struct {
			Error   json.RawMessage `json:"error"`
			Choices []struct {
				Delta struct {
					Content string `json:"content"`
					Calls   []struct {
						Index    int    `json:"index"`
						ID       string `json:"id"`
						Function struct {
							Name      string `json:"name"`
							Arguments string `json:"arguments"`
						} `json:"function"`
					} `json:"tool_calls"`
				} `json:"delta"`
			} `json:"choices"`
		}
		if err := json.Unmarshal(data, &e); err != nil {
			return fmt.Errorf("read an event of a Chat Completions answer: %w", err)
		}
		if e.Error != nil {
			return fmt.Errorf("the stream ended with an error: %s", data)
		}
		for _, choice := range e.Choices {
			got.text += choice.Delta.Content
			for _, c := range choice.Delta.Calls {
				if c.Index >= len(got.calls) {
					got.calls = append(got.calls, Call{ID: c.ID, Name: c.Function.Name})
				}
				last := &got.calls[len(got.calls)-1]
				last.Args = append(last.Args, c.Function.Arguments...)
			}
		}
		return nil
	})
	if err == nil && !done {
		err = errors.New("the stream ended before [DONE]")
	}
	return got, err
}

// readChatBody reads the text of an answer that was not streamed.
func readChatBody(raw []byte) (string, error) {
	var b struct {
		Choices []struct {
			Message struct {
				Content string `json:"content"`
			} `json:"message"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(raw, &b); err != nil {
		return "", fmt.Errorf("read a Chat Completions answer: %w", err)
	}
	if len(b.Choices) == 0 {
		return "", errors.New("the answer has no choice")
	}
	return b.Choices[0].Message.Content, nil
}
