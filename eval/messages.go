package eval

// messagesAnswer is an answer of Anthropic Messages, as a stream and whole. It begins
// with thinking that has the signature, unless that is "".
func messagesAnswer(req *wireRequest, r Reply, signature string, id func(string) string) ([]event, object) {
	usage := func(output int) object {
		return object{
			{"input_tokens", r.InputTokens},
			{"cache_creation_input_tokens", 0},
			{"cache_read_input_tokens", 0},
			{"output_tokens", output},
			{"service_tier", "standard"},
		}
	}
	message := func(content []object, stop any, output int) object {
		return object{
			{"id", id("msg_01")},
			{"type", "message"},
			{"role", "assistant"},
			{"model", req.Model},
			{"content", content},
			{"stop_reason", stop},
			{"stop_sequence", nil},
			{"usage", usage(output)},
		}
	}
	var content []object
	var events []event
	add := func(e object) { events = append(events, event{e[0].value.(string), e}) }
	add(object{{"type", "message_start"}, {"message", message([]object{}, nil, 1)}})

	block := func(start, whole object, deltaType, deltaField, text string) {
		index := len(content)
		content = append(content, whole)
		add(object{{"type", "content_block_start"}, {"index", index}, {"content_block", start}})
		if index == 0 {
			add(object{{"type", "ping"}})
		}
		for _, p := range pieces(text) {
			add(object{{"type", "content_block_delta"}, {"index", index}, {"delta", object{{"type", deltaType}, {deltaField, p}}}})
		}
		add(object{{"type", "content_block_stop"}, {"index", index}})
	}
	if signature != "" {
		think := func(text, signature string) object {
			return object{{"type", "thinking"}, {"thinking", text}, {"signature", signature}}
		}
		const thought = "Let me look at it."
		content = append(content, think(thought, signature))
		add(object{{"type", "content_block_start"}, {"index", 0}, {"content_block", think("", "")}})
		add(object{{"type", "content_block_delta"}, {"index", 0}, {"delta", object{{"type", "thinking_delta"}, {"thinking", thought}}}})
		add(object{{"type", "content_block_delta"}, {"index", 0}, {"delta", object{{"type", "signature_delta"}, {"signature", signature}}}})
		add(object{{"type", "content_block_stop"}, {"index", 0}})
	}
	if r.Text != "" {
		block(object{{"type", "text"}, {"text", ""}}, object{{"type", "text"}, {"text", r.Text}}, "text_delta", "text", r.Text)
	}
	for _, c := range r.Calls {
		c = c.complete("toolu_01", id)
		use := func(input any) object {
			return object{{"type", "tool_use"}, {"id", c.ID}, {"name", c.Name}, {"input", input}}
		}
		block(use(object{}), use(c.Args), "input_json_delta", "partial_json", string(c.Args))
	}
	stop := "end_turn"
	if len(r.Calls) > 0 {
		stop = "tool_use"
	}
	add(object{{"type", "message_delta"}, {"delta", object{{"stop_reason", stop}, {"stop_sequence", nil}}}, {"usage", usage(r.outputTokens())}})
	add(object{{"type", "message_stop"}})
	if content == nil {
		content = []object{}
	}
	return events, message(content, stop, r.outputTokens())
}

// complete fills in what a script may leave out.
func (c Call) complete(prefix string, id func(string) string) Call {
	if c.ID == "" {
		c.ID = id(prefix)
	}
	if len(c.Args) == 0 {
		c.Args = []byte("{}")
	}
	return c
}

// outputTokens is a plausible count for what the reply says.
func (r Reply) outputTokens() int {
	n := len(r.Text)
	for _, c := range r.Calls {
		n += len(c.Name) + len(c.Args)
	}
	return n/4 + 1
}
