package eval

// chatAnswer is an answer of Chat Completions, as a stream and whole.
func chatAnswer(req *wireRequest, r Reply, id func(string) string) ([]event, object) {
	answerID := id("chatcmpl-")
	answer := func(kind string, choices []object) object {
		return object{{"id", answerID}, {"object", kind}, {"created", createdAt}, {"model", req.Model}, {"choices", choices}}
	}
	var events []event
	add := func(delta object, finish any) {
		choice := object{{"index", 0}, {"delta", delta}, {"finish_reason", finish}}
		events = append(events, event{data: answer("chat.completion.chunk", []object{choice})})
	}

	message := object{{"role", "assistant"}, {"content", nil}}
	if r.Text != "" || len(r.Calls) == 0 {
		message[1].value = r.Text
	}
	add(message[:1:1], nil)
	for _, p := range pieces(r.Text) {
		add(object{{"content", p}}, nil)
	}
	finish := "stop"
	var calls []object
	for i, c := range r.Calls {
		finish = "tool_calls"
		c = c.complete("call_", id)
		call := func(args string) object {
			return object{{"id", c.ID}, {"type", "function"}, {"function", object{{"name", c.Name}, {"arguments", args}}}}
		}
		calls = append(calls, call(string(c.Args)))
		index := object{{"index", i}}
		add(object{{"tool_calls", []object{append(index, call("")...)}}}, nil)
		for _, p := range pieces(string(c.Args)) {
			add(object{{"tool_calls", []object{{{"index", i}, {"function", object{{"arguments", p}}}}}}}, nil)
		}
	}
	add(object{}, finish)
	if calls != nil {
		message = append(message, member{"tool_calls", calls})
	}
	usage := member{"usage", object{
		{"prompt_tokens", r.InputTokens},
		{"completion_tokens", r.outputTokens()},
		{"total_tokens", r.InputTokens + r.outputTokens()},
	}}
	if req.StreamOptions.IncludeUsage {
		events = append(events, event{data: append(answer("chat.completion.chunk", []object{}), usage)})
	}
	events = append(events, event{})
	whole := answer("chat.completion", []object{{{"index", 0}, {"message", message}, {"finish_reason", finish}}})
	return events, append(whole, usage)
}
