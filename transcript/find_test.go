package transcript

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// disk is a file system with one empty file for each path, each a minute older than
// the one before.
func disk(paths ...string) func(string) fs.FS {
	files := fstest.MapFS{}
	for i, p := range paths {
		files[strings.TrimPrefix(p, "/")] = &fstest.MapFile{Data: make([]byte, i), ModTime: time.Unix(int64(1e9-60*i), 0)}
	}
	return func(dir string) fs.FS {
		sub, err := fs.Sub(files, strings.TrimPrefix(filepath.ToSlash(dir), "/"))
		if err != nil {
			panic(err)
		}
		return sub
	}
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name   string
		env    map[string]string
		paths  []string
		agents []Format
		want   []string
	}{
		{
			name: "the folders in the home, the newest first",
			paths: []string{
				"/h/.qwen/projects/-w/chats/q.jsonl",
				"/h/.claude/projects/-w/s.jsonl",
				"/h/.claude/projects/-w/s/subagents/agent-7.jsonl",
				"/h/.codex/sessions/2026/01/02/rollout-x.jsonl",
				"/h/.codex/archived_sessions/rollout-y.jsonl",
				"/h/.local/share/opencode/opencode.db",
				"/h/.pi/agent/sessions/--w--/t_p.jsonl",
				"/h/.gemini/tmp/w/chats/session-t-1.jsonl",
				"/h/.gemini/tmp/w/chats/session-t-0.json",
				"/h/.cline/data/sessions/k/k.messages.json",
				"/h/.config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/1/api_conversation_history.json",
				"/h/.local/share/jp/workspace/w/conversations/1-t/events.json",
				"/h/p/.jp/conversations/2-t/events.json",
			},
			want: []string{
				"qwen-code /h/.qwen/projects/-w/chats/q.jsonl 0",
				"claude-code /h/.claude/projects/-w/s.jsonl 1",
				"claude-code /h/.claude/projects/-w/s/subagents/agent-7.jsonl 2",
				"codex /h/.codex/sessions/2026/01/02/rollout-x.jsonl 3",
				"codex /h/.codex/archived_sessions/rollout-y.jsonl 4",
				"opencode /h/.local/share/opencode/opencode.db 5",
				"pi /h/.pi/agent/sessions/--w--/t_p.jsonl 6",
				"gemini-cli /h/.gemini/tmp/w/chats/session-t-1.jsonl 7",
				"gemini-cli /h/.gemini/tmp/w/chats/session-t-0.json 8",
				"cline /h/.cline/data/sessions/k/k.messages.json 9",
				"cline /h/.config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/1/api_conversation_history.json 10",
				"jp /h/.local/share/jp/workspace/w/conversations/1-t/events.json 11",
				"jp /h/p/.jp/conversations/2-t/events.json 12",
			},
		},
		{
			name: "what the environment says goes before the home",
			env: map[string]string{
				"CLAUDE_CONFIG_DIR": "/c", "CODEX_HOME": "/x", "XDG_DATA_HOME": "/d", "PI_CODING_AGENT_DIR": "/p",
				"GEMINI_CLI_HOME": "/g", "QWEN_HOME": "/q", "CLINE_DIR": "/k",
			},
			paths: []string{
				"/c/projects/-w/s.jsonl", "/x/sessions/rollout-x.jsonl", "/d/opencode/opencode.db", "/p/sessions/a/b.jsonl",
				"/g/.gemini/tmp/w/chats/session-1.json", "/q/projects/w/chats/q.jsonl", "/k/data/sessions/k/k.messages.json",
				"/h/.claude/projects/-w/s.jsonl", "/h/.codex/sessions/rollout-x.jsonl", "/h/.pi/agent/sessions/a/b.jsonl",
			},
			want: []string{
				"claude-code /c/projects/-w/s.jsonl 0", "codex /x/sessions/rollout-x.jsonl 1", "opencode /d/opencode/opencode.db 2",
				"pi /p/sessions/a/b.jsonl 3", "gemini-cli /g/.gemini/tmp/w/chats/session-1.json 4",
				"qwen-code /q/projects/w/chats/q.jsonl 5", "cline /k/data/sessions/k/k.messages.json 6",
			},
		},
		{
			name: "other files that the agents keep there are not sessions",
			paths: []string{
				"/h/.claude/projects/-w/s/tool-results/x.jsonl", "/h/.claude/projects/-w/notes.md", "/h/.claude/history.jsonl",
				"/h/.codex/history.jsonl", "/h/.codex/sessions/2026/note.jsonl", "/h/.gemini/tmp/w/logs.json", "/h/.gemini/tmp/w/checkpoint-a.json",
				"/h/.cline/data/sessions/k/k.json", "/h/p/.jp/conversations/2-t/metadata.json", "/h/.local/share/opencode/log/x.log",
			},
		},
		{
			name:   "of the agents that are named",
			agents: []Format{Codex, Pi},
			paths:  []string{"/h/.claude/projects/-w/s.jsonl", "/h/.codex/sessions/rollout-x.jsonl", "/h/.pi/agent/sessions/a/b.jsonl"},
			want:   []string{"codex /h/.codex/sessions/rollout-x.jsonl 1", "pi /h/.pi/agent/sessions/a/b.jsonl 2"},
		},
		{
			name:  "the files of an old OpenCode are found as their folder",
			paths: []string{"/h/.local/share/opencode/storage/session/global/ses_1.json"},
			want:  []string{"opencode /h/.local/share/opencode/storage 0"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			place := Place{Home: "/h", Work: "/h/p/deep/er", Env: func(name string) string { return c.env[name] }, Dir: disk(c.paths...)}
			var got []string
			for _, f := range Find(place, c.agents...) {
				got = append(got, fmt.Sprintf("%s %s %d", f.Agent, filepath.ToSlash(f.Path), f.Size))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

func TestFindWithoutAHomeLooksOnlyWhereTheEnvironmentSays(t *testing.T) {
	var asked []string
	place := Place{
		Env: func(name string) string { return map[string]string{"CODEX_HOME": "/x"}[name] },
		Dir: func(dir string) fs.FS {
			asked = append(asked, filepath.ToSlash(dir))
			return fstest.MapFS{}
		},
	}
	if found := Find(place); len(found) != 0 {
		t.Errorf("found %v", found)
	}
	if want := []string{"/x/sessions", "/x/archived_sessions"}; !slices.Equal(asked, want) {
		t.Errorf("looked in %v, not in %v", asked, want)
	}
}

func TestFindGoesOnBehindAFolderThatIsClosed(t *testing.T) {
	open := disk("/h/.codex/sessions/2026/rollout-b.jsonl")
	place := Place{Home: "/h", Env: func(string) string { return "" }, Dir: func(dir string) fs.FS { return closed{open(dir), "2025"} }}
	if found := Find(place, Codex); len(found) != 1 || path.Base(filepath.ToSlash(found[0].Path)) != "rollout-b.jsonl" {
		t.Errorf("found %v", found)
	}
}

// closed has a folder more, which cannot be read.
type closed struct {
	fs.FS
	name string
}

func (c closed) Open(name string) (fs.File, error) {
	if name == c.name {
		return nil, fs.ErrPermission
	}
	return c.FS.Open(name)
}

func (c closed) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == c.name {
		return nil, fs.ErrPermission
	}
	list, err := fs.ReadDir(c.FS, name)
	if name == "." && err == nil {
		info := fstest.MapFS{c.name + "/x": {}}
		more, _ := fs.ReadDir(info, ".")
		list = append(more, list...)
	}
	return list, err
}
