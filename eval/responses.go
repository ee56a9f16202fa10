package eval

// createdAt is the time that every answer claims, in Unix seconds.
const createdAt = 1_700_000_000

// responsesAnswer is an answer of the Responses protocol, as a stream and
// whole. Opaque makes it one compaction item, whatever the reply says.
func responsesAnswer(req *wireRequest, r Reply, opaque bool, id func(string) string) ([]event, object) {
	responseID := id("resp_")
	response := func(status string, output []object, usage any) object {
		return object{
			{"id", responseID},
			{"object", "response"},
			{"created_at", createdAt},
			{"status", status},
			{"background", false},
			{"error", nil},
			{"incomplete_details", nil},
			{"instructions", nil},
			{"max_output_tokens", nil},
			{"model", req.Model},
			{"output", output},
			{"parallel_tool_calls", true},
			{"previous_response_id", nil},
			{"prompt_cache_key", req.CacheKey},
			{"store", false},
			{"tool_choice", "auto"},
			{"truncation", "disabled"},
			{"usage", usage},
			{"metadata", object{}},
		}
	}
	var events []event
	add := func(name string, rest ...member) {
		data := object{{"type", name}, {"sequence_number", len(events)}}
		events = append(events, event{name, append(data, rest...)})
	}
	output := []object{}
	// item opens and closes one output item around what inner adds.
	item := func(start, done object, inner func(at member)) {
		at := member{"output_index", len(output)}
		add("response.output_item.added", at, member{"item", start})
		inner(at)
		add("response.output_item.done", at, member{"item", done})
		output = append(output, done)
	}

	add("response.created", member{"response", response("in_progress", []object{}, nil)})
	add("response.in_progress", member{"response", response("in_progress", []object{}, nil)})
	if opaque {
		cmp := id("cmp_")
		it := object{{"id", cmp}, {"type", "compaction"}, {"encrypted_content", "b3BhcXVl" + id("")}}
		item(it, it, func(member) {})
		r = Reply{InputTokens: r.InputTokens}
	}
	if r.Text != "" {
		message := func(mid, status string, content ...object) object {
			return object{{"id", mid}, {"type", "message"}, {"status", status}, {"content", append([]object{}, content...)}, {"role", "assistant"}}
		}
		part := func(text string) object {
			return object{{"type", "output_text"}, {"annotations", []string{}}, {"logprobs", []string{}}, {"text", text}}
		}
		mid := id("msg_")
		start, done := message(mid, "in_progress"), message(mid, "completed", part(r.Text))
		item(start, done, func(at member) {
			of := func(rest ...member) []member {
				return append([]member{{"item_id", mid}, at, {"content_index", 0}}, rest...)
			}
			add("response.content_part.added", of(member{"part", part("")})...)
			for _, p := range pieces(r.Text) {
				add("response.output_text.delta", of(member{"delta", p}, member{"logprobs", []string{}})...)
			}
			add("response.output_text.done", of(member{"text", r.Text}, member{"logprobs", []string{}})...)
			add("response.content_part.done", of(member{"part", part(r.Text)})...)
		})
	}
	for _, c := range r.Calls {
		c = c.complete("call_", id)
		fid := id("fc_")
		call := func(status, args string) object {
			return object{
				{"id", fid},
				{"type", "function_call"},
				{"status", status},
				{"arguments", args},
				{"call_id", c.ID},
				{"name", c.Name},
			}
		}
		item(call("in_progress", ""), call("completed", string(c.Args)), func(at member) {
			for _, p := range pieces(string(c.Args)) {
				add("response.function_call_arguments.delta", member{"item_id", fid}, at, member{"delta", p})
			}
			add("response.function_call_arguments.done", member{"item_id", fid}, at, member{"arguments", string(c.Args)})
		})
	}
	usage := object{
		{"input_tokens", r.InputTokens},
		{"input_tokens_details", object{{"cached_tokens", 0}}},
		{"output_tokens", r.outputTokens()},
		{"output_tokens_details", object{{"reasoning_tokens", 0}}},
		{"total_tokens", r.InputTokens + r.outputTokens()},
	}
	whole := response("completed", output, usage)
	add("response.completed", member{"response", whole})
	return events, whole
}
