package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

func TestAnAnswerFollowsItsSchema(t *testing.T) {
	const schema = `{"type":"object","properties":{"a":{"type":"integer"},"list":{"type":"array","items":{"enum":["x"]}}},"required":["a"],"additionalProperties":false}`
	const printed = ". It is printed as it came. Ask again, or use a model that takes schemas\n"
	for _, tt := range []struct {
		name, answer, out, said string
	}{
		{"as it is asked", `{"a":1}`, `{"a":1}`, ""},
		{"in a fence", "```json\n{\"a\": 1}\n```", `{"a": 1}`, ""},
		{"in a fence without a language", "```\n{\"a\": 1}\n```\n", `{"a": 1}`, ""},
		{"in prose", "It is 1.", "It is 1.", "the answer is no JSON, which the schema asks for"},
		{"in prose around a fence", "Here:\n```json\n{\"a\":1}\n```", "Here:\n```json\n{\"a\":1}\n```", "the answer is no JSON, which the schema asks for"},
		{"two documents in a fence", "```json\n{\"a\":1}\n{\"a\":2}\n```", "```json\n{\"a\":1}\n{\"a\":2}\n```", "the answer is no JSON, which the schema asks for"},
		{"of another type", `{"a":"secret words"}`, `{"a":"secret words"}`, "the answer does not follow the schema: /properties/a type is not met"},
		{"of another type in a fence", "```json\n{\"a\":\"str\"}\n```", `{"a":"str"}`, "the answer does not follow the schema: /properties/a type is not met"},
		{"a list", `[1]`, `[1]`, "the answer does not follow the schema: type is not met"},
		{"without what is required", `{}`, `{}`, "the answer does not follow the schema: required is not met"},
		{"an item deep inside", `{"a":1,"list":["y"]}`, `{"a":1,"list":["y"]}`, "the answer does not follow the schema: /properties/list/items enum is not met"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := newAsking(t, holdfast.Chat, func(int, eval.Request) eval.Reply { return eval.Reply{Text: tt.answer} })
			want, status := "", 0
			if tt.said != "" {
				want, status = "holdfast: "+tt.said+printed, 1
			}
			out, errs, got := q.run("q", "-s", schema, "Well?")
			if out != tt.out+"\n" || errs != want || got != status {
				t.Errorf("status %d, %q, %q\nwant %d, %q, %q", got, out, errs, status, tt.out, want)
			}
			if kept := q.ok("c", "print", "last"); !strings.Contains(kept, "Well?") || !strings.Contains(strings.ReplaceAll(kept, "\n  ", "\n"), tt.out) {
				t.Errorf("kept is\n%s", kept)
			}
			out, _, got = q.run("--json", "q", "-s", schema, "Well?")
			var answer struct {
				Answer string
				Data   json.RawMessage
			}
			if err := json.Unmarshal([]byte(out), &answer); err != nil || got != status || answer.Answer+string(answer.Data) == "" {
				t.Errorf("as JSON: status %d, %v, %s", got, err, out)
			}
		})
	}
}

func TestASchemaThatNothingCanBeCheckedBy(t *testing.T) {
	q := newAsking(t, holdfast.Chat, plans)
	for schema, want := range map[string]string{
		`{"type":1}`: "--schema is no JSON schema",
		`{"$schema":"http://json-schema.org/draft-04/schema#"}`: "$schema must be draft-07 or 2020-12, or be left out",
		`{"$ref":"https://example.com/other.json"}`:             "--schema is no JSON schema",
	} {
		if _, errs, status := q.run("q", "-s", schema, "Well?"); status != 2 || !strings.Contains(errs, want) || len(q.bodies()) > 0 {
			t.Errorf("%s: status %d, %s", schema, status, errs)
		}
	}
}
