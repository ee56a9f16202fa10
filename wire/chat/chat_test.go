package chat_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/wire/chat"
)

func TestModel(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"the model stands first", `{"model":"gpt-5","messages":[]}`, "gpt-5"},
		{"the model stands behind a long history", `{"messages":[{"role":"user","content":"model"}],"model":"m"}`, "m"},
		{"a model inside a message is none", `{"messages":[{"model":"x"}]}`, ""},
		{"an escaped name", `{"model":"a\u002fb"}`, "a/b"},
		{"a model that is no string", `{"model":5}`, ""},
		{"an empty body", "", ""},
		{"a body that is cut", `{"model":"gpt`, ""},
		{"a list", `[{"model":"m"}]`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := chat.Model([]byte(tt.body)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func FuzzModel(f *testing.F) {
	f.Add([]byte(`{"model":"m","messages":[]}`))
	f.Fuzz(func(t *testing.T, b []byte) { chat.Model(b) })
}
