package transcript

import (
	"cmp"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Place is where sessions are looked for.
type Place struct {
	// Home is the person's home folder, Work the folder that the program was
	// started in, both absolute; "" leaves out what is kept there.
	Home, Work string
	// Env reads a variable of the environment; "" for one that is not set.
	Env func(name string) string
	// Dir opens a folder, which may be missing: os.DirFS.
	Dir func(path string) fs.FS
}

// Found is a file that an agent left.
type Found struct {
	Agent Format
	// Path is the file's. For OpenCode before version 1.2 it is the folder
	// "storage", for OpenCodeFiles.
	Path string
	// At is when it was written last. Size is in bytes; 0 of a folder.
	At   time.Time
	Size int64
}

// root is a folder in which an agent keeps sessions.
type root struct {
	agent Format
	dir   string
	// patterns are those of path.Match for files below it, with ** for any number
	// of folders.
	patterns []string
}

// roots are all folders that the agents use, with what a variable of the
// environment says in front of the default. Where the facts come from:
//
//   - Claude Code: code.claude.com/docs/en/settings (CLAUDE_CONFIG_DIR); subagents
//     stand in the folder of their session since 2.1.2.
//   - Codex: openai/codex, docs/config.md (CODEX_HOME) and codex-rs/rollout;
//     archived_sessions holds those that were put away.
//   - OpenCode: anomalyco/opencode, packages/opencode/src/global (XDG_DATA_HOME);
//     one database since 1.2.0, files before.
//   - Pi: badlogic/pi-mono, packages/coding-agent/docs/session.md
//     (PI_CODING_AGENT_DIR, PI_CODING_AGENT_SESSION_DIR).
//   - Gemini CLI: google-gemini/gemini-cli, packages/core/src/config/storage.ts
//     (GEMINI_CLI_HOME); documents before 0.39, lines since.
//   - Qwen Code: QwenLM/qwen-code, packages/core/src/config/storage.ts
//     (QWEN_RUNTIME_DIR, QWEN_HOME).
//   - Cline: cline/cline, the CLI's data folder (CLINE_DATA_DIR, CLINE_DIR), and
//     the storage of the extension in editors that are made of Code.
//   - jp: dcdpr/jp, crates/jp_workspace and crates/jp_storage: in the project's
//     folder, and in the person's for what is kept out of it.
func (p Place) roots() (list []root) {
	add := func(agent Format, dir string, patterns ...string) {
		if dir != "" {
			list = append(list, root{agent, dir, patterns})
		}
	}
	at := func(base string, more ...string) string {
		if base == "" {
			return ""
		}
		return filepath.Join(append([]string{base}, more...)...)
	}
	env := func(name string, more ...string) string { return at(p.Env(name), more...) }
	home := func(more ...string) string { return at(p.Home, more...) }

	add(ClaudeCode, first(env("CLAUDE_CONFIG_DIR", "projects"), home(".claude", "projects")), "*/*.jsonl", "*/*/subagents/**/*.jsonl")
	add(ClaudeCode, first(env("XDG_CONFIG_HOME", "claude", "projects"), home(".config", "claude", "projects")), "*/*.jsonl", "*/*/subagents/**/*.jsonl")
	codex := first(env("CODEX_HOME"), home(".codex"))
	add(Codex, at(codex, "sessions"), "**/rollout-*.jsonl")
	add(Codex, at(codex, "archived_sessions"), "**/rollout-*.jsonl")
	data := first(env("XDG_DATA_HOME"), home(".local", "share"))
	add(OpenCode, at(data, "opencode"), "opencode*.db", "storage")
	add(Pi, first(env("PI_CODING_AGENT_SESSION_DIR"), env("PI_CODING_AGENT_DIR", "sessions"), home(".pi", "agent", "sessions")), "**/*.jsonl")
	add(Gemini, at(first(p.Env("GEMINI_CLI_HOME"), p.Home), ".gemini", "tmp"), "*/chats/session-*.json", "*/chats/**/*.jsonl")
	add(Qwen, at(first(p.Env("QWEN_RUNTIME_DIR"), env("QWEN_HOME"), home(".qwen")), "projects"), "*/chats/**/*.jsonl", "*/subagents/**/*.jsonl")
	add(Cline, first(env("CLINE_DATA_DIR", "sessions"), env("CLINE_DIR", "data", "sessions"), home(".cline", "data", "sessions")), "*/*.messages.json")
	for _, support := range []string{first(env("XDG_CONFIG_HOME"), home(".config")), home("Library", "Application Support"), env("APPDATA")} {
		for _, editor := range []string{"Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"} {
			add(Cline, at(support, editor, "User", "globalStorage", "saoudrizwan.claude-dev", "tasks"), "*/api_conversation_history.json")
		}
	}
	for _, dir := range []string{at(data, "jp"), home("Library", "Application Support", "jp")} {
		add(JP, at(dir, "workspace"), "**/conversations/*/events.json")
	}
	for dir := p.Work; dir != ""; dir = filepath.Dir(dir) {
		add(JP, at(dir, ".jp", "conversations"), "*/events.json")
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return list
}

// Find lists what the agents that are named left behind, of all agents when none is
// named, the newest first. Folders that are missing or closed hold nothing. Sniff
// has not looked at the files: one that another program left may be among them.
func Find(p Place, agents ...Format) []Found {
	var all []Found
	seen := map[string]bool{}
	for _, r := range p.roots() {
		if len(agents) > 0 && !slices.Contains(agents, r.agent) {
			continue
		}
		for _, f := range r.files(p.Dir(r.dir)) {
			if !seen[f.Path] {
				seen[f.Path] = true
				all = append(all, f)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Found) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Path, b.Path))
	})
	return all
}

// files are those of a root that a pattern matches.
func (r root) files(dir fs.FS) (list []Found) {
	deepest := 0
	for _, p := range r.patterns {
		if strings.Contains(p, "**") {
			deepest = maxDepth
		}
		deepest = max(deepest, strings.Count(p, "/"))
	}
	_ = fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && d != nil && d.IsDir():
			return fs.SkipDir
		case err != nil:
			return nil
		}
		if name != "." && r.matches(name) {
			if info, err := d.Info(); err == nil {
				f := Found{Agent: r.agent, Path: filepath.Join(r.dir, filepath.FromSlash(name)), At: info.ModTime()}
				if !d.IsDir() {
					f.Size = info.Size()
				}
				list = append(list, f)
			}
			if d.IsDir() {
				return fs.SkipDir
			}
		}
		if d.IsDir() && name != "." && strings.Count(name, "/") >= deepest {
			return fs.SkipDir
		}
		return nil
	})
	return list
}

// maxDepth bounds how deep folders are looked through where their number is open.
const maxDepth = 6

func (r root) matches(name string) bool {
	parts := strings.Split(name, "/")
	return slices.ContainsFunc(r.patterns, func(p string) bool { return matches(strings.Split(p, "/"), parts) })
}

func matches(pattern, name []string) bool {
	if len(pattern) == 0 || len(name) == 0 {
		return len(pattern) == len(name)
	}
	if pattern[0] == "**" {
		return matches(pattern[1:], name) || matches(pattern, name[1:])
	}
	// The patterns are those above.
	ok, _ := path.Match(pattern[0], name[0])
	return ok && matches(pattern[1:], name[1:])
}
