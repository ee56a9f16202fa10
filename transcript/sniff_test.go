package transcript

import "testing"

func TestSniffKnowsEachFormatByItsFirstBytes(t *testing.T) {
	for _, c := range []struct {
		name, head, path string
		want             Format
	}{
		{"Claude Code, a snapshot first", claudeWhole, "", ClaudeCode},
		{"Claude Code, a damaged line first", `{"type":"user","uu` + "\n" + claudeWhole, "", ClaudeCode},
		{"Claude Code, a mode first", `{"type":"mode","mode":"normal","sessionId":"s"}`, "", ClaudeCode},
		{"Codex", codexWhole, "", Codex},
		{"Codex, cut within its head", codexWhole[:60], "", Codex},
		{"Codex, before version 0.32", `{"id":"x","timestamp":"2025-06-01T00:00:00Z","instructions":null}`, "", Codex},
		{"Pi", piWhole, "", Pi},
		{"Gemini CLI", geminiWhole, "", Gemini},
		{"Gemini CLI, one document", "{\n  \"sessionId\": \"g\",\n  \"projectHash\": \"h\",\n  \"messages\": [\n    {\"id\": \"", "", Gemini},
		{"Qwen Code", qwenWhole, "", Qwen},
		{"Qwen Code, a subagent's", `{"uuid":"1","parentUuid":null,"sessionId":"q","type":"user","cwd":"/w","version":"1","isSidechain":true,"agentId":"a"}`, "", Qwen},
		{"Cline", documents[Cline], "", Cline},
		{"Cline, the editor's list", `[{"role":"user","content":[{"type":"te`, "", Cline},
		{"jp", documents[JP], "", JP},
		{"OpenCode, an export", openCodeExport(), "", OpenCode},
		{"the database of OpenCode", "SQLite format 3\x00\x10\x00", "/h/opencode/opencode.db", OpenCode},
		{"another database", "SQLite format 3\x00\x10\x00", "/h/notes.db", ""},
		{"our own form", `{"kind":"conversation","version":1,"id":"x"}`, "", ""},
		{"another document", `{"name":"x","version":"1","messages":3}`, "package.json", ""},
		{"a text", "Dear diary", "", ""},
		{"nothing", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if f, ok := Sniff([]byte(c.head), c.path); f != c.want || ok != (c.want != "") {
				t.Errorf("it is %q, %v, not %q", f, ok, c.want)
			}
		})
	}
}
