package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval/survival"
)

// TestSurvival is the short run: every agent, every trouble. What it leaves out is
// measured by make eval.
func TestSurvival(t *testing.T) {
	r, err := survival.Run(t.Context(), scratch{time.Now}, survival.Options{
		Seeds: 1, Compactions: 2, Compactors: []string{"replay"}, Interleavings: 4, Brief: true,
		Extractors: []string{"oracle"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Figures {
		if !f.Passed {
			t.Errorf("%s: goal %s, failed %d of %d\n%s", f.What, f.Goal, f.Failed, f.Checked, strings.Join(f.Examples, "\n"))
		}
	}
	if len(r.Extractors) != 1 || r.Extractors[0].Calls < 10 {
		t.Fatalf("with extractors: %+v", r.Extractors)
	}
	for _, x := range r.Extractors {
		for _, f := range x.Figures {
			if !f.Passed {
				t.Errorf("with the %s extractor, %s: goal %s, failed %d of %d\n%s", x.Extractor, f.What, f.Goal, f.Failed, f.Checked, strings.Join(f.Examples, "\n"))
			}
		}
	}
	if r.Sessions < 10 || r.Requests < 200 {
		t.Errorf("%d sessions, %d requests: less than there should be", r.Sessions, r.Requests)
	}
}

// readFirst reads a request whole before it is passed on: net/http's proxy may cut an
// answer that begins before that.
func readFirst(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// passing is a product that carries nothing over.
type passing struct{}

type passingProxy struct {
	base string
	stop func()
}

func (passing) Start(_ context.Context, upstreams map[holdfast.Protocol]string, _ string, _ survival.Ablation) (survival.Proxy, error) {
	target, err := url.Parse(upstreams[holdfast.Anthropic])
	if err != nil {
		return nil, err
	}
	base, stop, err := listen(readFirst(httputil.NewSingleHostReverseProxy(target)))
	return passingProxy{base, stop}, err
}

func (p passingProxy) Base() string { return p.base }
func (p passingProxy) Stop()        { p.stop() }
func (p passingProxy) Kill()        { p.stop() }

func (p passingProxy) Next(ctx context.Context) (survival.Proxy, error) {
	return nil, holdfast.Errorf(holdfast.ErrUnavailable, "it has no store")
}

func TestAProxyThatCarriesNothingFallsShort(t *testing.T) {
	r, err := survival.Run(t.Context(), passing{}, survival.Options{
		Seeds: 1, Compactions: 1, Compactors: []string{"null"}, Protocols: []holdfast.Protocol{holdfast.Responses, holdfast.Anthropic}, Brief: true,
		Extractors: []string{"oracle"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var short []string
	for _, f := range r.Figures {
		if !f.Passed {
			short = append(short, f.ID)
		}
	}
	want := []string{"values", "structured_by_next_boundary", "words_by_next_boundary", "plan_steps", "ahead_of_revision"}
	for _, id := range want {
		if !slices.Contains(short, id) {
			t.Errorf("%s is met by a proxy that carries nothing", id)
		}
	}
	if len(r.Extractors) != 1 || !slices.ContainsFunc(r.Extractors[0].Figures, func(f survival.Figure) bool { return f.ID == "prose_by_next_boundary" && !f.Passed }) {
		t.Errorf("with an extractor that is not asked: %+v", r.Extractors)
	}
	if r.Passed {
		t.Error("the report passed")
	}
}
