package toolbox_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine/query"
	"github.com/holdfast-dev/holdfast/toolbox"
)

var _ query.Tools = (*toolbox.Box)(nil)

// open returns a Box that ends with the test.
func open(t *testing.T, cfg toolbox.Config) *toolbox.Box {
	t.Helper()
	b, err := toolbox.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// call makes a call and joins what it answers; errors of tools begin with "! ".
func call(t *testing.T, b *toolbox.Box, name, arguments string) string {
	t.Helper()
	r, err := b.Run(t.Context(), holdfast.ToolCall{ID: "c1", Name: name, Arguments: []byte(arguments)})
	if err != nil {
		t.Fatal(err)
	}
	if r.CallID != "c1" {
		t.Errorf("the result is for %q", r.CallID)
	}
	return told(r)
}

func told(r holdfast.ToolResult) string {
	var out []string
	for _, p := range r.Parts {
		switch p := p.(type) {
		case holdfast.Text:
			out = append(out, string(p))
		case holdfast.Media:
			out = append(out, p.Type+" "+p.MIME+" "+p.Name+" "+p.Data)
		}
	}
	if r.IsError {
		return "! " + strings.Join(out, "\n")
	}
	return strings.Join(out, "\n")
}

func names(b *toolbox.Box) string {
	var all []string
	for _, d := range b.Definitions() {
		all = append(all, d.Name)
	}
	return strings.Join(all, " ")
}

func said(text string) func(context.Context) ([]holdfast.Part, error) {
	return func(context.Context) ([]holdfast.Part, error) { return []holdfast.Part{holdfast.Text(text)}, nil }
}

func TestCallsNeedPermission(t *testing.T) {
	const (
		ran       = "ran"
		refused   = "! the user refused this call"
		forbidden = "! the configuration does not allow this tool"
		nobody    = "! this call needs a confirmation, and nobody is there to give it"
	)
	for _, test := range []struct {
		name     string
		policies map[string]toolbox.Policy
		answers  []toolbox.Answer // nil: nobody can be asked
		want     [2]string        // of two calls of git_push
		offered  bool
	}{
		{"by default a foreign tool asks", nil, []toolbox.Answer{toolbox.Once, toolbox.No}, [2]string{ran, refused}, true},
		{"nobody to ask is a refusal", nil, nil, [2]string{nobody, nobody}, true},
		{"always counts for later calls", nil, []toolbox.Answer{toolbox.Always}, [2]string{ran, ran}, true},
		{"a refusal does not count for later calls", nil, []toolbox.Answer{toolbox.No, toolbox.Once}, [2]string{refused, ran}, true},
		{"a pattern allows", map[string]toolbox.Policy{"git_*": toolbox.Allow}, nil, [2]string{ran, ran}, true},
		{"a denied tool is not offered", map[string]toolbox.Policy{"git_*": toolbox.Deny}, nil, [2]string{forbidden, forbidden}, false},
		{
			"a shorter pattern that denies counts before a longer one",
			map[string]toolbox.Policy{"git_p*": toolbox.Allow, "*push": toolbox.Deny},
			nil,
			[2]string{forbidden, forbidden},
			false,
		},
		{
			"the longer pattern counts",
			map[string]toolbox.Policy{"*": toolbox.Ask, "git_*": toolbox.Ask, "git_push": toolbox.Allow},
			nil,
			[2]string{ran, ran},
			true,
		},
		{
			"of two that are equally long the stricter",
			map[string]toolbox.Policy{"git_pus?": toolbox.Allow, "git_pu*h": toolbox.Deny},
			nil,
			[2]string{forbidden, forbidden},
			false,
		},
		{"the pattern of another tool says nothing", map[string]toolbox.Policy{"git_pull": toolbox.Allow}, nil, [2]string{nobody, nobody}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := toolbox.Config{Policies: test.policies}
			answers := test.answers
			if answers != nil {
				cfg.Ask = func(_ context.Context, c holdfast.ToolCall) (toolbox.Answer, error) {
					if len(answers) == 0 || c.Name != "git_push" || string(c.Arguments) != `{"to":"main"}` {
						t.Fatalf("asked for %s %s", c.Name, c.Arguments)
					}
					defer func() { answers = answers[1:] }()
					return answers[0], nil
				}
			}
			b := open(t, cfg)
			b.Add("git_push", said("ran"))
			for i, want := range test.want {
				if got := call(t, b, "git_push", `{"to":"main"}`); got != want {
					t.Errorf("call %d: %q, want %q", i+1, got, want)
				}
			}
			if offered := strings.Contains(names(b), "git_push"); offered != test.offered {
				t.Errorf("offered: %v", offered)
			}
			if len(answers) > 0 {
				t.Errorf("%d answers were not asked for", len(answers))
			}
		})
	}
}

func TestWhatGoesWrongIsTold(t *testing.T) {
	b := open(t, toolbox.Config{Policies: map[string]toolbox.Policy{"*": toolbox.Allow}})
	b.Add("x_fails", func(context.Context) ([]holdfast.Part, error) { return nil, errors.New("the disk is full") })
	b.Add("x_quiet", func(context.Context) ([]holdfast.Part, error) { return nil, nil })
	b.Add("x_vast", said(strings.Repeat("x", 8<<20+1)))
	for _, test := range []struct{ name, tool, arguments, want string }{
		{"a tool that fails", "x_fails", `{}`, "! the disk is full"},
		{"a tool that says nothing", "x_quiet", `{}`, "[the tool answered with nothing]"},
		{"a tool that says far too much", "x_vast", `{}`, "! the result has 8388609 bytes, more than the 8388608 that are taken. Ask for less at once"},
		{"a tool that is not there", "x_none", `{}`, "! there is no tool of this name"},
		{"no arguments are an empty object", "x_quiet", ``, "[the tool answered with nothing]"},
		{"arguments that break off", "x_quiet", `{"a":`, "! the arguments are no JSON object, or have a name twice"},
		{"arguments that are a list", "x_quiet", `[]`, "! the arguments are no JSON object, or have a name twice"},
		{"a name that stands twice", "x_quiet", `{"a":1,"a":2}`, "! the arguments are no JSON object, or have a name twice"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := call(t, b, test.tool, test.arguments); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestAToolThatHangsIsToldToTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, toolbox.Config{Policies: map[string]toolbox.Policy{"*": toolbox.Allow}})
		b.Add("x_hangs", func(ctx context.Context) ([]holdfast.Part, error) { <-ctx.Done(); return nil, ctx.Err() })
		began := time.Now()
		got := call(t, b, "x_hangs", `{}`)
		if want := "! the tool did not answer within 1m0s and was stopped. Ask for less, or do without it"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("it took %s", took)
		}
	})
}

func TestThePersonMayTakeTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, toolbox.Config{Ask: func(context.Context, holdfast.ToolCall) (toolbox.Answer, error) {
			time.Sleep(time.Hour) // of the test's own clock
			return toolbox.Once, nil
		}})
		b.Add("x_asks", func(ctx context.Context) ([]holdfast.Part, error) { return nil, ctx.Err() })
		if got := call(t, b, "x_asks", `{}`); got != "[the tool answered with nothing]" {
			t.Errorf("%q", got)
		}
	})
}

func TestAnErrorEndsTheTurn(t *testing.T) {
	gone := errors.New("gone")
	long := said(strings.Repeat("x", 2000))
	for _, test := range []struct {
		name string
		cfg  toolbox.Config
		run  func(context.Context) ([]holdfast.Part, error)
		stop bool
		want error
	}{
		{"the person interrupts", toolbox.Config{Policies: map[string]toolbox.Policy{"*": toolbox.Allow}}, func(ctx context.Context) ([]holdfast.Part, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, true, context.Canceled},
		{"the person cannot be asked", toolbox.Config{Ask: func(context.Context, holdfast.ToolCall) (toolbox.Answer, error) { return toolbox.Once, gone }}, long, false, gone},
		{"a long result cannot be kept", toolbox.Config{
			MaxResult: 1000, Policies: map[string]toolbox.Policy{"*": toolbox.Allow},
			Keep: func(context.Context, holdfast.ToolCall, holdfast.ToolResult) error { return gone },
		}, long, false, gone},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := open(t, test.cfg)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			b.Add("x_tool", func(within context.Context) ([]holdfast.Part, error) {
				if test.stop {
					cancel()
				}
				return test.run(within)
			})
			if r, err := b.Run(ctx, holdfast.ToolCall{Name: "x_tool"}); !errors.Is(err, test.want) {
				t.Errorf("%v, %v, want %v", told(r), err, test.want)
			}
		})
	}
}

func TestALongResultIsShortenedAndKept(t *testing.T) {
	var kept []holdfast.ToolResult
	b := open(t, toolbox.Config{
		MaxResult: 1000, Policies: map[string]toolbox.Policy{"*": toolbox.Allow},
		Keep: func(_ context.Context, c holdfast.ToolCall, raw holdfast.ToolResult) error {
			if c.ID != "c1" {
				t.Errorf("kept for %q", c.ID)
			}
			kept = append(kept, raw)
			return nil
		},
	})
	image := holdfast.Media{Type: "image", MIME: "image/png", Data: "AAAA"}
	raw := []holdfast.Part{holdfast.Text(strings.Repeat("a", 600)), image, holdfast.Text(strings.Repeat("z", 600))}
	b.Add("x_long", func(context.Context) ([]holdfast.Part, error) { return raw, nil })
	b.Add("x_fits", said(strings.Repeat("a", 1000)))

	if got := call(t, b, "x_fits", ""); got != strings.Repeat("a", 1000) || kept != nil {
		t.Errorf("what fits became %q, kept %v", got, kept)
	}
	// 160 of the 1000 bytes are held free for the line between; 1201 bytes with
	// the line break between the texts, less two halves of 420.
	want := strings.Repeat("a", 420) + "\n[361 of 1201 bytes are left out here, 2 lines. Ask for less at once to see them.]\n" +
		strings.Repeat("z", 420) + "\nimage image/png  AAAA"
	if got := call(t, b, "x_long", ""); got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if d := cmp.Diff([]holdfast.ToolResult{{CallID: "c1", Parts: raw}}, kept); d != "" {
		t.Error(d)
	}
}

func TestShorteningCutsBetweenLines(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	r, cut := toolbox.Shorten(holdfast.ToolResult{Parts: []holdfast.Part{holdfast.Text(strings.Repeat(line, 20))}}, 1000)
	// Of each half of 420 bytes, four whole lines.
	want := strings.TrimSuffix(strings.Repeat(line, 4), "\n") +
		"\n[1201 of 2000 bytes are left out here, 12 lines. Ask for less at once to see them.]\n" + strings.Repeat(line, 4)
	if got := told(r); !cut || got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestShorteningKeepsTheBoundAndBothEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(rapid.StringMatching(`[a-zäß漢\n]{1,40}`).Draw(t, "text"), rapid.IntRange(1, 200).Draw(t, "times"))
		most := rapid.IntRange(1000, 3000).Draw(t, "most")
		r, cut := toolbox.Shorten(holdfast.ToolResult{Parts: []holdfast.Part{holdfast.Text(text)}}, most)
		got := told(r)
		if cut != (len(text) > most) || !cut && got != text {
			t.Fatalf("cut %v: %d bytes for %d", cut, len(text), most)
		}
		if !cut {
			return
		}
		head, rest, _ := strings.Cut(got, "\n[")
		_, tail, _ := strings.Cut(rest, "]\n")
		if len(got) > most || head == "" || tail == "" || !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) || !strings.Contains(got, "are left out here") {
			t.Fatalf("%d bytes for %d: %q", len(got), most, got)
		}
		if strings.ToValidUTF8(got, "") != got {
			t.Fatalf("a character is cut: %q", got)
		}
	})
}

func TestConfigurationsThatCannotWork(t *testing.T) {
	server := func(names ...string) (all []toolbox.Server) {
		for _, n := range names {
			all = append(all, toolbox.Server{Name: n, Command: "x"})
		}
		return all
	}
	for _, test := range []struct {
		name string
		cfg  toolbox.Config
		code holdfast.Code
		want string
	}{
		{"two servers of one name", toolbox.Config{Servers: server("git", "git")}, holdfast.ErrConfig, "the tools of the MCP servers git and git could be taken for each other. Rename one; a - in place of a _ is enough"},
		{"a server whose tools look like those of another", toolbox.Config{Servers: server("git_hub", "git")}, holdfast.ErrConfig, "the tools of the MCP servers git_hub and git could be taken for each other. Rename one; a - in place of a _ is enough"},
		{"a server whose tools look like a built-in one", toolbox.Config{Servers: server("update")}, holdfast.ErrConfig, "the tools of the MCP server update could be taken for the built-in tool update_plan. Give the server another name"},
		{"a server named like the file tools", toolbox.Config{Dir: t.TempDir(), Servers: server("fs")}, holdfast.ErrConfig, "the tools of the MCP server fs could be taken for the built-in tool fs_list. Give the server another name"},
		{"a name with spaces", toolbox.Config{Servers: server("git hub\x1b[2J")}, holdfast.ErrConfig, `the MCP server "git hub\x1b[2J" cannot be called so. Begin with a letter, then use letters, digits, _ and -, 32 at most`},
		{"no way to reach it", toolbox.Config{Servers: []toolbox.Server{{Name: "git"}}}, holdfast.ErrConfig, "the MCP server git needs either a command or a url"},
		{"two ways to reach it", toolbox.Config{Servers: []toolbox.Server{{Name: "git", Command: "x", URL: "http://x"}}}, holdfast.ErrConfig, "the MCP server git needs either a command or a url"},
		{"an address of another kind", toolbox.Config{Servers: []toolbox.Server{{Name: "git", URL: "file:///x"}}}, holdfast.ErrConfig, "the url of the MCP server git is no address. Write one such as https://example.com/mcp"},
		{"an unknown policy", toolbox.Config{Policies: map[string]toolbox.Policy{"fs_*": "yes"}}, holdfast.ErrConfig, `the policy "yes" of the tools "fs_*" is unknown. Write allow, ask or deny`},
		{"a malformed pattern", toolbox.Config{Policies: map[string]toolbox.Policy{"fs_[": toolbox.Allow}}, holdfast.ErrConfig, `the tool pattern "fs_[" is malformed. Write a name such as fs_list, or one with * such as github_*`},
		{"a bound that leaves no room", toolbox.Config{MaxResult: 999}, holdfast.ErrConfig, "the bounds of tools are out of range: results need at least 1000 bytes, and timeouts are above 0"},
		{"a directory that is not there", toolbox.Config{Dir: "none/such"}, holdfast.ErrUnavailable, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := toolbox.New(test.cfg)
			if err == nil || holdfast.CodeOf(err) != test.code || test.want != "" && err.Error() != test.want {
				t.Errorf("%s: %v, want %s", holdfast.CodeOf(err), err, test.want)
			}
		})
	}
	b := open(t, toolbox.Config{Servers: server("git", "git-hub")})
	if b == nil {
		t.Error("a - keeps names apart")
	}
}

func TestNamesOfTools(t *testing.T) {
	for _, test := range []struct{ name, tool, want string }{
		{"a plain name", "get_issue", "srv_get_issue"},
		{"what names cannot hold becomes _", "a.b/ü c\x1b", "srv_a_b___c_"},
		{"a name of 64 bytes stays", strings.Repeat("x", 60), "srv_" + strings.Repeat("x", 60)},
		// The first four bytes of sha256(61 times x), as sha256sum prints them.
		{"a longer one ends in its digest", strings.Repeat("x", 61), "srv_" + strings.Repeat("x", 51) + "_c508e75f"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := toolbox.ToolName("srv", test.tool); got != test.want || len(got) > 64 {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestThePlanIsChecked(t *testing.T) {
	b := open(t, toolbox.Config{})
	for _, test := range []struct{ name, arguments, want string }{
		{"a plan", `{"plan":[{"step":"a","status":"completed"},{"step":"b","status":"in_progress"},{"step":"c","status":"pending"}],"explanation":"why"}`, "Plan updated"},
		{"a plan that is given up", `{"plan":[]}`, "Plan updated"},
		{"no plan", `{"explanation":"why"}`, "! the plan is missing. State all of its steps, also those that are completed"},
		{"a step without text", `{"plan":[{"step":"a","status":"pending"},{"step":" ","status":"pending"}]}`, "! step 2 of the plan has no text"},
		{"an unknown status", `{"plan":[{"step":"a","status":"done"}]}`, "! the status of step 1 must be pending, in_progress or completed"},
		{"no status", `{"plan":[{"step":"a"}]}`, "! the status of step 1 must be pending, in_progress or completed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := call(t, b, query.PlanTool, test.arguments); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
	if got := call(t, b, query.PlanTool, `{"plan":[],"steps":[]}`); !strings.HasPrefix(got, "! the arguments do not fit the schema: ") {
		t.Errorf("an unknown member: %q", got)
	}
}
