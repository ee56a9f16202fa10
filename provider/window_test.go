package provider

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
)

// local is a server that answers some paths, as "METHOD PATH", and 404 else.
func local(t *testing.T, answers map[string]string) *server {
	s := serve(t)
	step := func(w http.ResponseWriter, r *http.Request) {
		if body, ok := answers[r.Method+" "+r.URL.Path]; ok {
			answer(200, body)(w, r)
		} else {
			answer(404, `{"detail":"Not Found"}`)(w, r)
		}
	}
	for range 10 {
		s.steps = append(s.steps, step)
	}
	return s
}

func TestTheWindowThatAServerTells(t *testing.T) {
	const (
		// As the servers write them; see the functions that read them.
		vllm   = `{"object":"list","data":[{"id":"other","max_model_len":1},{"id":"m","object":"model","max_model_len":40960}]}`
		props  = `{"default_generation_settings":{"id":0,"n_ctx":65536,"params":{}},"total_slots":4,"model_alias":"m"}`
		llama  = `{"models":[{"name":"m","model":"m"}],"object":"list","data":[{"id":"m","meta":{"n_ctx_train":262144}}]}`
		listed = `{"data":[{"id":"m","object":"model"}]}`
		shown  = `{"parameters":"stop \"x\"","model_info":{"general.architecture":"llama","llama.context_length":131072,"tokenizer.ggml.model":"gpt2"}}`
		set    = `{"parameters":"temperature 0.6\nnum_ctx                        40960\nstop \"<|im_end|>\"","model_info":{"qwen3.context_length":262144}}`
		idle   = `{"models":[]}`
		runs   = `{"models":[{"name":"other:latest","context_length":1},{"name":"m:latest","model":"m:latest","context_length":4096}]}`
	)
	ollama := func(ps, show string) map[string]string {
		return map[string]string{"GET /api/v1/models": listed, "GET /api/api/ps": ps, "POST /api/api/show": show}
	}
	for _, tt := range []struct {
		name    string
		answers map[string]string
		want    int64
	}{
		{"vLLM", map[string]string{"GET /api/v1/models": vllm}, 40_960},
		{"llama.cpp, which holds less than the model could", map[string]string{"GET /api/v1/models": llama, "GET /api/props": props}, 65_536},
		{"Ollama before the first call", ollama(idle, shown), 131_072},
		{"Ollama with a window in the model's file", ollama(idle, set), 40_960},
		{"Ollama as the model runs", ollama(runs, set), 4096},
		{"OpenRouter", map[string]string{"GET /api/v1/models": `{"data":[{"id":"m","name":"M","context_length":256000}]}`}, 256_000},
		{"Groq", map[string]string{"GET /api/v1/models": `{"data":[{"id":"m","context_window":131072}]}`}, 131_072},
		{"Mistral", map[string]string{"GET /api/v1/models": `{"data":[{"id":"m","max_context_length":32768}]}`}, 32_768},
		{"a window that is no number", map[string]string{"GET /api/v1/models": `{"data":[{"id":"m","context_length":"many","max_model_len":null}]}`}, 0},
		{"nobody tells", nil, 0},
		{"what is no JSON", map[string]string{"GET /api/v1/models": `<html>`, "GET /api/props": `[]`, "GET /api/api/ps": `{"models":3}`, "POST /api/api/show": `"x"`}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := local(t, tt.answers)
			if got := speakers[1].client(t, srv, Config{}).Window(t.Context(), "m"); got != tt.want {
				t.Errorf("got %d", got)
			}
			for _, r := range srv.requests() {
				if strings.HasPrefix(r.URI, "/api/props") && r.URI != "/api/props?autoload=false&model=m" || strings.HasSuffix(r.URI, "/show") && r.Body != `{"model":"m"}` {
					t.Errorf("asked %s %s", r.URI, r.Body)
				}
			}
		})
	}
}

func TestTheServerIsAskedLast(t *testing.T) {
	srv := local(t, map[string]string{"GET /v1beta/models": `{"models":[{"name":"models/m","inputTokenLimit":1048576}]}`})
	c := speakers[3].client(t, srv, Config{}, Model{Name: "mine", ContextWindow: 32_000})
	for _, tt := range []struct {
		model    string
		want     int64
		requests int
	}{
		{"mine", 32_000, 0},
		{"claude-opus-4-8", 1_000_000, 0},
		{"m", 1_048_576, 1},
		{"unknown", 0, 2},
	} {
		if got := c.Window(t.Context(), tt.model); got != tt.want || len(srv.requests()) != tt.requests {
			t.Errorf("%s: %d after %d requests", tt.model, got, len(srv.requests()))
		}
	}
}

func TestModelsThatAServerLists(t *testing.T) {
	first := `{"models":[{"name":"models/b","inputTokenLimit":10,"outputTokenLimit":5,"displayName":"B"}],"nextPageToken":"p2"}`
	srv := serve(t, answer(200, first), answer(200, `{"models":[{"name":"models/a"}],"nextPageToken":"p2"}`), answer(500, `{}`))
	c := speakers[3].client(t, srv, Config{})
	got, err := c.Models(t.Context())
	want := []Model{{Name: "a", Upstream: "test"}, {Name: "b", Upstream: "test", ContextWindow: 10, MaxOutput: 5}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if seen := srv.requests(); len(seen) != 2 || seen[1].URI != "/v1beta/models?pageSize=1000&pageToken=p2" {
		t.Errorf("asked %v", seen)
	}
	_, err = c.Models(t.Context())
	if want := `The upstream "test" does not tell its models: status 500.`; err == nil || err.Error() != want || holdfast.CodeOf(err) != holdfast.ErrUnavailable {
		t.Errorf("got %v", err)
	}
}

func TestASilentServerIsAskedOnce(t *testing.T) {
	srv := serve(t, hangUp)
	if got := speakers[1].client(t, srv, Config{}).Window(t.Context(), "m"); got != 0 || len(srv.requests()) != 1 {
		t.Errorf("%d after %d requests", got, len(srv.requests()))
	}
}
