package provider

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/upstream"
)

func TestErrorsSayWhatToDo(t *testing.T) {
	long := strings.Repeat("x", 301)
	for _, tt := range []struct {
		name string
		step http.HandlerFunc
		code holdfast.Code
		want string
	}{
		{
			"a key that is refused, without what is shown of it", answer(401, `{"error":{"message":"Incorrect API key provided: secr****. Find yours at https://x.example/keys."}}`),
			holdfast.ErrForbidden, `The upstream "test" refused the key (status 401: Incorrect API key provided: [key]. Find yours at https://x.example/keys). Check what TEST_KEY holds, and that it may use this model.`,
		},
		{
			"a call that is not allowed, though the key is right", answer(403, `{"error":{"message":"This region is not supported."}}`),
			holdfast.ErrForbidden, `The upstream "test" does not allow the call (status 403: This region is not supported). Check that what TEST_KEY holds may use this model, and from here.`,
		},
		{
			"a quota that is used up", answer(403, `{"error":{"code":"insufficient_quota","message":"Your quota is used up."}}`),
			holdfast.ErrForbidden, `The upstream "test" has no credit left for this key (status 403: Your quota is used up). Add some, or use another upstream.`,
		},
		{
			"the end of the key in quotes", answer(401, `{"error":{"message":"Unknown key \"xx-key\"; ask us"}}`),
			holdfast.ErrForbidden, `The upstream "test" refused the key (status 401: Unknown key "[key]"; ask us). Check what TEST_KEY holds, and that it may use this model.`,
		},
		{
			"words that hold the key", answer(422, "{\"detail\":\"no\\n secret-key \"}"),
			holdfast.ErrUsage, `The upstream "test" does not take the call (status 422: no [key]).`,
		},
		{
			"many words", answer(400, `{"message":"`+long+`"}`),
			holdfast.ErrUsage, `The upstream "test" does not take the call (status 400: ` + long[:300] + `…).`,
		},
		{"no words", answer(400, `<html>`), holdfast.ErrUsage, `The upstream "test" does not take the call (status 400).`},
		{"an error that is a text", answer(400, `{"error":"bad"}`), holdfast.ErrUsage, `The upstream "test" does not take the call (status 400: bad).`},
		{
			"fields that are wrong, in FastAPI's form", answer(422, `{"detail":[{"type":"missing","loc":["body","messages",0,"content"],"msg":"Field required"},{"type":"extra","msg":"Extra inputs are not permitted"}]}`),
			holdfast.ErrUsage, `The upstream "test" does not take the call (status 422: Field required; Extra inputs are not permitted).`,
		},
		{
			"the same in Mistral's form", answer(422, `{"object":"error","message":{"detail":[{"type":"missing","loc":["body"],"msg":"Field required"}]},"type":"invalid_request_error","code":null}`),
			holdfast.ErrUsage, `The upstream "test" does not take the call (status 422: Field required).`,
		},
		{
			"an error in a list", answer(400, `[{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"bad."}}]`),
			holdfast.ErrUsage, `The upstream "test" does not take the call (status 400: bad).`,
		},
		{"a payment that is due", answer(402, `{}`), holdfast.ErrForbidden, `The upstream "test" has no credit left for this key (status 402). Add some, or use another upstream.`},
		{
			"a path that is not there", answer(404, `{"detail":"Not Found"}`),
			holdfast.ErrConfig, `The upstream "test" answers 404 where chat calls go: Not Found. Check its base_url and protocol.`,
		},
		{
			"an address that moved", answer(301, ``, "Location", "/elsewhere"),
			holdfast.ErrConfig, `The upstream "test" answers 301 where chat calls go. Check its base_url and protocol.`,
		},
		{
			"a conversation above the window", answer(400, `{"error":{"code":"context_length_exceeded","message":"Too much."}}`),
			holdfast.ErrTooLarge, "The upstream \"test\" does not take the conversation, it is too long (status 400: Too much). `holdfast conversation compact` makes it shorter.",
		},
		{
			"the same in Anthropic's words", answer(400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`),
			holdfast.ErrTooLarge, "The upstream \"test\" does not take the conversation, it is too long (status 400: prompt is too long: 210000 tokens > 200000 maximum). `holdfast conversation compact` makes it shorter.",
		},
		{"a body that is too large", answer(413, ``), holdfast.ErrTooLarge, "The upstream \"test\" does not take the conversation, it is too long (status 413). `holdfast conversation compact` makes it shorter."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := serve(t, tt.step)
			_, err := speakers[1].client(t, srv, Config{KeyName: "TEST_KEY"}).Call(t.Context(), holdfast.Call{Model: "m", Events: ask("look")}, nil)
			if err == nil || err.Error() != tt.want || holdfast.CodeOf(err) != tt.code {
				t.Errorf("got %s: %v", holdfast.CodeOf(err), err)
			}
			if n := len(srv.requests()); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// The words of a prompt above the window, as the providers' servers say them.
func TestEachProvidersWordsForAPromptThatIsTooLong(t *testing.T) {
	for _, words := range []string{
		"prompt is too long: 213462 tokens > 200000 maximum",
		"input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again",
		"Your input exceeds the context window of this model. Please adjust your input and try again.",
		"This model's maximum context length is 8192 tokens. However, you requested 100 output tokens and your prompt contains at least 8193 input tokens.",
		"This endpoint's maximum context length is 131072 tokens. However, you requested about 537812 tokens.",
		"Input length (265330) exceeds model's maximum context length (262144).",
		"Input length 265330 exceeds the maximum allowed input length of 262112 tokens.",
		"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
		"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
		"This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
		"Please reduce the length of the messages or completion.",
		"The input (265330 tokens) is longer than the model's context length (262144 tokens).",
		"the request exceeds the available context size, try increasing it",
		"The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length.",
		"Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)",
		"invalid params, context window exceeds limit (2013)",
		"prompt too long; exceeded max context length by 512 tokens",
	} {
		body, err := json.Marshal(map[string]any{"error": map[string]any{"type": "invalid_request_error", "message": words}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = speakers[1].client(t, serve(t, answer(400, string(body))), Config{}).Call(t.Context(), holdfast.Call{Model: "m", Events: ask("look")}, nil)
		if holdfast.CodeOf(err) != holdfast.ErrTooLarge {
			t.Errorf("%s: %v", holdfast.CodeOf(err), err)
		}
	}
}

func TestACallWithoutAKeyIsNotMade(t *testing.T) {
	srv := serve(t, streamOf(5, speakers[1].ok))
	c := speakers[1].client(t, srv, Config{KeyName: "TEST_KEY"})
	c.up.Key = ""
	_, err := c.Call(t.Context(), holdfast.Call{Model: "m", Events: ask("look")}, nil)
	if want := `The upstream "test" has no key. Set TEST_KEY, or give it api_key = "env:NAME" in its [[upstream]].`; err == nil || err.Error() != want || holdfast.CodeOf(err) != holdfast.ErrConfig {
		t.Errorf("got %v", err)
	}
	if n := len(srv.requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
	c.cfg.KeyName = "" // a server of one's own needs none
	if _, err := c.Call(t.Context(), holdfast.Call{Model: "m", Events: ask("look")}, nil); err != nil || srv.requests()[0].Header.Get("Authorization") != "" {
		t.Errorf("got %v", err)
	}
}

func TestAServerThatIsNotThere(t *testing.T) {
	srv := serve(t)
	c := speakers[1].client(t, srv, Config{Attempts: 2})
	srv.Close()
	_, err := c.Call(t.Context(), holdfast.Call{Model: "m", Events: ask("look")}, nil)
	begin, end := `The upstream "test" cannot be reached at `+c.up.Base.Host+`: `, ". Check its base_url, and that the server runs."
	if err == nil || !strings.HasPrefix(err.Error(), begin) || !strings.HasSuffix(err.Error(), end) || holdfast.CodeOf(err) != holdfast.ErrUnavailable {
		t.Errorf("got %v", err)
	}
}

func TestAnUnknownModelIsAnsweredWithTheNearest(t *testing.T) {
	unknown := []string{
		`{"type":"error","error":{"type":"not_found_error","message":"model: lama-3"}}`,
		`{"error":{"code":"model_not_found","message":"There is no lama-3."}}`,
		`{"object":"error","message":"The model lama-3 does not exist.","code":404}`,
		`{"error":{"code":404,"message":"models/lama-3 is not found","status":"NOT_FOUND"}}`,
	}
	lists := []string{
		`{"data":[{"id":"llama-3","type":"model"},{"id":"other"}]}`, `{"data":[{"id":"llama-3"},{"id":"other"}]}`, `{"data":[{"id":"llama-3"}]}`, `{"models":[{"name":"models/llama-3"}]}`,
	}
	paths := []string{"/v1/models?limit=1000", "/api/v1/models", "/v1/models", "/v1beta/models?pageSize=1000"}
	for i, s := range speakers {
		t.Run(string(s.protocol), func(t *testing.T) {
			srv := serve(t, answer(404, unknown[i]), answer(200, lists[i]))
			_, err := s.client(t, srv, Config{}, Model{Name: "lama-2"}).Call(t.Context(), holdfast.Call{Model: "lama-3", Events: ask("look")}, nil)
			want := "The upstream \"test\" knows no model \"lama-3\". Did you mean lama-2, llama-3? `holdfast models` lists all."
			if err == nil || err.Error() != want || holdfast.CodeOf(err) != holdfast.ErrNotFound {
				t.Errorf("got %v", err)
			}
			if seen := srv.requests(); len(seen) != 2 || seen[1].URI != paths[i] || seen[1].Header.Get(s.header[0]) != s.header[1] {
				t.Errorf("asked %v", seen)
			}
		})
	}
	t.Run("nothing is near", func(t *testing.T) {
		srv := serve(t, answer(400, `{"error":{"message":"zzz is not a valid model ID","code":400}}`), answer(500, ``))
		_, err := speakers[1].client(t, srv, Config{}).Call(t.Context(), holdfast.Call{Model: "zzz", Events: ask("look")}, nil)
		if want := "The upstream \"test\" knows no model \"zzz\". `holdfast models` lists those that are."; err == nil || err.Error() != want {
			t.Errorf("got %v", err)
		}
	})
}

func TestTheKeyStaysWithItsProtocol(t *testing.T) {
	for _, s := range speakers {
		srv := serve(t, streamOf(100, s.ok))
		if _, err := s.client(t, srv, Config{}).Call(t.Context(), holdfast.Call{Model: "model-1", Events: ask("look")}, nil); err != nil {
			t.Fatal(err)
		}
		sent := 0
		for _, values := range srv.requests()[0].Header {
			for _, v := range values {
				sent += strings.Count(v, "secret-key")
			}
		}
		if sent != 1 || strings.Contains(srv.requests()[0].URI, "secret") {
			t.Errorf("%s: the key was sent %d times, to %s", s.protocol, sent, srv.requests()[0].URI)
		}
	}
}

func TestNamesOfModelsInPathsAreEscaped(t *testing.T) {
	s := speakers[3]
	srv := serve(t, streamOf(100, s.ok), streamOf(100, s.ok))
	c := s.client(t, srv, Config{})
	for i, tt := range []struct{ model, want string }{
		{"models/gemini-3-pro", "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse"},
		{"a/../b?c", "/v1beta/models/a%2F..%2Fb%3Fc:streamGenerateContent?alt=sse"},
	} {
		if _, err := c.Call(t.Context(), holdfast.Call{Model: tt.model, Events: ask("look")}, nil); err != nil {
			t.Fatal(err)
		}
		if got := srv.requests()[i].URI; got != tt.want {
			t.Errorf("%s: %s", tt.model, got)
		}
	}
}

func TestDeepSeekGetsNoSchema(t *testing.T) {
	for base, want := range map[string]string{"https://api.deepseek.com": `"json_object"`, "https://openrouter.ai/api/v1": `"json_schema"`} {
		u := upstream.Upstream{Protocol: holdfast.Chat, Base: parse(t, base)}
		body, err := protocolOf(&u).write(holdfast.Call{Schema: []byte(`{}`), Events: ask("look")})
		if err != nil || !strings.Contains(string(body), `"response_format":{"type":`+want) {
			t.Errorf("%s: %s, %v", base, body, err)
		}
	}
}

func TestStrictServersGetNoReasoning(t *testing.T) {
	events := append(ask("look"), holdfast.Reasoning{Text: "hm"}, holdfast.AssistantMessage{Text: "done"})
	for _, tt := range []struct {
		base   string
		strict bool
	}{
		{"https://api.groq.com/openai/v1", true},
		{"https://api.cerebras.ai/v1", true},
		{"https://api.mistral.ai/v1", true},
		{"https://codestral.mistral.ai/v1", true},
		{"https://api.deepseek.com", false},
		{"https://openrouter.ai/api/v1", false},
		{"https://notmistral.ai/v1", false},
		{"http://localhost:8080/v1", false},
	} {
		u := upstream.Upstream{Protocol: holdfast.Chat, Base: parse(t, tt.base)}
		body, err := protocolOf(&u).write(holdfast.Call{Events: events})
		if err != nil || strings.Contains(string(body), "reasoning") == tt.strict {
			t.Errorf("%s: %s, %v", tt.base, body, err)
		}
	}
}

func TestOpenAIIsCalledInItsOwnForm(t *testing.T) {
	for _, tt := range []struct{ base, want string }{
		{"https://api.openai.com/v1", `"max_completion_tokens":5`},
		{"https://x.openai.azure.com/openai/v1", `"max_completion_tokens":5`},
		{"https://api.openai.com.example/v1", `"max_tokens":5`},
		{"http://localhost:11434/v1", `"max_tokens":5`},
	} {
		u := upstream.Upstream{Protocol: holdfast.Chat, Base: parse(t, tt.base)}
		body, err := protocolOf(&u).write(holdfast.Call{MaxOutput: 5})
		if err != nil || !strings.Contains(string(body), tt.want) {
			t.Errorf("%s: %s, %v", tt.base, body, err)
		}
	}
}
