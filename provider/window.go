package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast"
)

const (
	// askTimeout bounds one question to a server about its models.
	askTimeout = 5 * time.Second
	// maxAsked bounds an answer to it, in bytes.
	maxAsked = 16 << 20
)

// Window is the context window of a model in tokens: as the user says, else from
// the embedded list, else as the server tells; 0 when nobody does.
//
// Asked are the list of models, where many servers tell it, and, since servers of
// one's own often hold less than the model could, what llama.cpp and Ollama say of
// the model as it runs. Ollama loads a model with the first call: before, it tells
// what the model was made for unless its file sets less. Ask again after a call.
func (c *Client) Window(ctx context.Context, model string) int64 {
	if m, _ := c.catalogue.Model(c.up, model); m.ContextWindow > 0 {
		return m.ContextWindow
	}
	listed, err := c.Models(ctx)
	for _, m := range listed {
		if m.Name == model && m.ContextWindow > 0 {
			return m.ContextWindow
		}
	}
	var silent *silence
	if errors.As(err, &silent) || c.up.Protocol == holdfast.Gemini {
		return 0
	}
	if window := c.llamaCpp(ctx, model); window > 0 {
		return window
	}
	return c.ollama(ctx, model)
}

// Models lists the models that the server says it has, sorted by name, with their
// windows and bounds where it tells. An error has the code unavailable.
func (c *Client) Models(ctx context.Context) ([]Model, error) {
	path := "/v1/models"
	if c.up.Protocol == holdfast.Gemini {
		path = "/v1beta/models"
	}
	var list []Model
	query := url.Values{}
	switch c.up.Protocol {
	case holdfast.Gemini:
		query.Set("pageSize", "1000")
	case holdfast.Anthropic:
		query.Set("limit", "1000")
	}
	for {
		var page modelPage
		if err := c.ask(ctx, http.MethodGet, c.up.URL(&url.URL{Path: path, RawQuery: query.Encode()}), nil, &page); err != nil {
			return nil, holdfast.Errorf(holdfast.ErrUnavailable, "The upstream %q does not tell its models: %w.", c.up.Name, err)
		}
		for _, m := range slices.Concat(page.Data, page.Models) {
			list = append(list, m.model(c.up.Name))
		}
		if page.NextPageToken == "" || query.Get("pageToken") == page.NextPageToken {
			break
		}
		query.Set("pageToken", page.NextPageToken)
	}
	slices.SortStableFunc(list, func(a, b Model) int { return strings.Compare(a.Name, b.Name) })
	// llama.cpp lists its models in both forms.
	return slices.CompactFunc(list, func(a, b Model) bool { return a.Name == b.Name }), nil
}

// modelPage is a list of models: data of OpenAI's and Anthropic's form, models of
// Gemini's (https://ai.google.dev/api/models).
type modelPage struct {
	Data          []listedModel `json:"data"`
	Models        []listedModel `json:"models"`
	NextPageToken string        `json:"nextPageToken"`
}

// listedModel is a model as servers list it. Each of these has its own name for
// the window:
//   - vLLM: https://docs.vllm.ai/en/stable/serving/openai_compatible_server.html
//   - OpenRouter: https://openrouter.ai/docs/api-reference/list-available-models
//   - Groq: https://console.groq.com/docs/models
//   - Mistral: https://docs.mistral.ai/api/endpoint/models
//   - Gemini, with a bound on the answer: https://ai.google.dev/api/models
type listedModel struct {
	ID               string `json:"id"`
	Name             string `json:"name"`
	MaxModelLen      count  `json:"max_model_len"`
	ContextLength    count  `json:"context_length"`
	ContextWindow    count  `json:"context_window"`
	MaxContextLength count  `json:"max_context_length"`
	InputTokenLimit  count  `json:"inputTokenLimit"`
	OutputTokenLimit count  `json:"outputTokenLimit"`
}

// count is a number above zero; what a server writes else is 0.
type count int64

// UnmarshalJSON never fails.
func (c *count) UnmarshalJSON(b []byte) error {
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil || n < 0 {
		n = 0
	}
	*c = count(n)
	return nil
}

func (m listedModel) model(upstream string) Model {
	name := m.ID
	if name == "" {
		name = strings.TrimPrefix(m.Name, "models/")
	}
	window := max(m.MaxModelLen, m.ContextLength, m.ContextWindow, m.MaxContextLength, m.InputTokenLimit)
	return Model{Name: name, Upstream: upstream, ContextWindow: int64(window), MaxOutput: int64(m.OutputTokenLimit)}
}

// beside is an address of the server beside the API: its base without the version.
func (c *Client) beside(path, query string) *url.URL {
	to := *c.up.Base
	to.RawPath = ""
	to.Path = strings.TrimSuffix(strings.TrimRight(to.Path, "/"), "/v1") + path
	to.RawQuery = query
	return &to
}

// llamaCpp asks llama.cpp for the window of a slot; 0: it tells none. One that
// serves several models does not load one for this.
// https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
func (c *Client) llamaCpp(ctx context.Context, model string) int64 {
	var props struct {
		Settings struct {
			Window int64 `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	query := url.Values{"model": {model}, "autoload": {"false"}}
	if c.ask(ctx, http.MethodGet, c.beside("/props", query.Encode()), nil, &props) != nil {
		return 0
	}
	return max(props.Settings.Window, 0)
}

// ollama asks Ollama for the window of a model: as it runs, else as its file sets
// it, else what it was made for; 0: it tells none.
// https://docs.ollama.com/api/ps and https://docs.ollama.com/api-reference/show-model-details
func (c *Client) ollama(ctx context.Context, model string) int64 {
	var running struct {
		Models []struct {
			Name   string `json:"name"`
			Window int64  `json:"context_length"`
		} `json:"models"`
	}
	if c.ask(ctx, http.MethodGet, c.beside("/api/ps", ""), nil, &running) == nil {
		for _, m := range running.Models {
			if (m.Name == model || m.Name == model+":latest") && m.Window > 0 {
				return m.Window
			}
		}
	}
	var shown struct {
		Parameters string                     `json:"parameters"`
		Info       map[string]json.RawMessage `json:"model_info"`
	}
	body, _ := json.Marshal(map[string]string{"model": model}) // strings always marshal
	if c.ask(ctx, http.MethodPost, c.beside("/api/show", ""), body, &shown) != nil {
		return 0
	}
	for line := range strings.Lines(shown.Parameters) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "num_ctx" {
			if n, err := strconv.ParseInt(f[1], 10, 64); err == nil && n > 0 {
				return n
			}
		}
	}
	var made int64
	for key, value := range shown.Info {
		if strings.HasSuffix(key, ".context_length") {
			if n, err := strconv.ParseInt(string(bytes.Trim(value, `"`)), 10, 64); err == nil {
				made = max(made, n)
			}
		}
	}
	return made
}

// ask puts one question to the server and reads its answer into out.
func (c *Client) ask(ctx context.Context, method string, to *url.URL, body []byte, out any) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := c.request(ctx, method, to, body)
	if err != nil {
		return err
	}
	res, err := c.transport.RoundTrip(req)
	if err != nil {
		return &silence{err}
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", res.StatusCode)
	}
	return json.NewDecoder(io.LimitReader(res.Body, maxAsked)).Decode(out)
}

// silence is why a server did not answer at all: another question is in vain.
type silence struct{ error }

func (s *silence) Unwrap() error { return s.error }
