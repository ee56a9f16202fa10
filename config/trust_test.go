package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-dev/holdfast"
)

const (
	notTrusted = "is set by a workspace file that you have not trusted. Read the file, then run: holdfast config trust"
	hasChanged = "is set by a workspace file that has changed since you trusted it. Read it again, then run: holdfast config trust"
)

// trust trusts the workspace file as it is.
func (w *world) trust() {
	w.t.Helper()
	path, err := w.WorkspacePath("")
	if err != nil {
		w.t.Fatal(err)
	}
	file, err := ReadWorkspace(path)
	if err != nil {
		w.t.Fatal(err)
	}
	trust, err := OpenTrust(w.DataDir)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := trust.Add(file); err != nil {
		w.t.Fatal(err)
	}
}

func TestGuardedKeysNeedTrustInTheVeryBytes(t *testing.T) {
	w := newWorld(t)
	const text = "limits.body = 100_001\n\n[[upstream]]\nname = \"a\"\nprotocol = \"chat\"\nbase_url = \"http://h\"\n"
	path := w.write("home/project/.holdfast.toml", text)
	w.fails("not trusted", holdfast.ErrConfig, path+":3: upstream "+notTrusted)
	w.trust()
	w.body("trusted", 100_001, path+":1")

	w.write("home/project/.holdfast.toml", text+"# another byte")
	w.fails("changed", holdfast.ErrConfig, path+":3: upstream "+hasChanged)
	w.write("home/project/.holdfast.toml", text)
	w.body("as it was", 100_001, path+":1")
	other := w.write("home/project/sub/.holdfast.toml", text)
	w.fails("the same bytes in another place", holdfast.ErrConfig, other+":3: upstream "+notTrusted)

	w.write("home/project/sub/.holdfast.toml", "transcripts = {enabled = false}")
	w.fails("recording", holdfast.ErrConfig, other+":1: transcripts.enabled "+notTrusted)
	for text, want := range map[string]string{
		"[[session_policy]]\nprincipal = \"a\"\nenabled = false": ":1: session_policy ",
		"[tools]\nallow = [\"*\"]":                               ":2: tools.allow ",
		"[[budget]]\nname = \"a\"\nper = \"day\"\nhard = 1000":   ":1: budget ",
		"models.m.price = {input = 0, output = 0}":               ":1: models.m.price.input ",
		"tools.deny = []":                                                            ":1: tools.deny ",
		"[compaction_continuity]\nttl = \"1h\"":                                      ":2: compaction_continuity.ttl ",
		"[compaction_continuity.extractor]\nenabled = true":                          ":2: compaction_continuity.extractor.enabled ",
		"query.model = \"m\"":                                                        ":1: query.model ",
		"query.system = \"Be brief.\"":                                               ":1: query.system ",
		"query.max_calls = 1000":                                                     ":1: query.max_calls ",
		"query.titles = true":                                                        ":1: query.titles ",
		"query.title_model = \"m\"":                                                  ":1: query.title_model ",
		"conversation.compaction.auto.enabled = true":                                ":1: conversation.compaction.auto.enabled ",
		"conversation.compaction.auto.rule.summary = {}":                             ":1: conversation.compaction.auto.rule.summary ",
		"[[conversation.compaction.rules]]\nsummary = {}":                            ":2: conversation.compaction.rules.summary ",
		"[[conversation.compaction.rules]]\n[conversation.compaction.rules.summary]": ":2: conversation.compaction.rules.summary ",
		"[mcp.a]\nenabled = true\ncommand = \"sh\"":                                  ":3: mcp.a.command ",
		"mcp.a.env.B = \"1\"":                                                        ":1: mcp.a.env.B ",
		"[models.\"m.n\"]\ncontext_window = 5\nupstream = \"openai\"":                ":3: models.\"m.n\".upstream ",
	} {
		w.write("home/project/sub/.holdfast.toml", text)
		w.fails(text, holdfast.ErrConfig, other+want+notTrusted)
	}
	w.write("home/project/sub/.holdfast.toml", "Tools.allow = [\"*\"]")
	w.fails("in capitals", holdfast.ErrConfig, other+":1: unknown key \"Tools\"\n    Tools.allow = [\"*\"]\nDid you mean \"tools\"?")
	w.write("home/project/sub/.holdfast.toml", "limits.body = 100_002\nquery.tool_timeout = \"5s\"\nquery.max_result = 2000\nmodels.m.context_window = 2\n"+
		"compaction_continuity.max_capsule_tokens = 2000\nconversation.compaction.auto.rule.keep_first = 2\n"+
		"[[conversation.compaction.rules]]\nreasoning = \"strip\"\n[tools]\n")
	w.body("what needs no trust", 100_002, other+":1")
	w.write("home/project/sub/.holdfast.toml", "transcripts = {enabled = false}")
	w.DataDir = ""
	w.fails("without a data directory", holdfast.ErrConfig, other+":1: transcripts.enabled "+notTrusted)
	w.File = other
	w.body("named by a person", 64<<20, "built-in")
}

func TestTrustEnds(t *testing.T) {
	w := newWorld(t)
	path := w.write("home/project/.holdfast.toml", "transcripts.enabled = true")
	w.trust()
	trust, err := OpenTrust(w.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil { // what is gone can be forgotten
		t.Fatal(err)
	}
	if err := trust.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := trust.Remove(path); err == nil || err.Error() != path+" was not trusted" || holdfast.CodeOf(err) != holdfast.ErrNotFound {
		t.Errorf("a second time: %v", err)
	}
	w.write("home/project/.holdfast.toml", "transcripts.enabled = true")
	w.fails("afterwards", holdfast.ErrConfig, path+":1: transcripts.enabled "+notTrusted)
}

// A list that was written once is read forever.
func TestTheListOfTrustedFiles(t *testing.T) {
	w := newWorld(t)
	path := w.write("home/project/.holdfast.toml", "transcripts.enabled = true")
	const digest = "aa282d85b68726203d8510f4af6cad3e72bc46a4b01d79e70d4a2a5c3ae4f7f8"
	frozen := "{\n  \"version\": 1,\n  \"files\": {\n    \"" + path + "\": \"" + digest + "\"\n  }\n}\n"
	w.trust()
	list := filepath.Join(w.DataDir, "trusted.json")
	got, err := os.ReadFile(list)
	if err != nil || string(got) != frozen {
		t.Errorf("%v\n got: %s\nwant: %s", err, got, frozen)
	}
	left, err := filepath.Glob(filepath.Join(w.DataDir, "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	info, err := os.Stat(list)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the list is %v, %v", info.Mode(), err)
	}
	w.write("data/trusted.json", frozen)
	w.body("a list that was there before", 64<<20, "built-in")

	w.write("data/trusted.json", "{\"version\": 2}")
	w.fails("a newer list", holdfast.ErrNewer, list+" was written by a newer version of Holdfast. Use that one")
	w.write("data/trusted.json", "{")
	w.fails("a damaged list", holdfast.ErrConfig, list+" is damaged: unexpected end of JSON input. Remove it, and trust your workspace files again")
}

func TestAWorkspaceFileIsFoundByItsName(t *testing.T) {
	w := newWorld(t)
	project := filepath.Join(w.dir, "home", "project", ".holdfast.toml")
	if got, err := w.WorkspacePath("../.holdfast.toml"); got != project || err != nil {
		t.Errorf("a relative path: %s, %v", got, err)
	}
	for path, want := range map[string]string{
		"":           "not_found: there is no .holdfast.toml in " + w.Dir + " or above. Name the file",
		"other.toml": "usage: " + w.Dir + "/other.toml is no workspace file and needs no trust: only a file that is named .holdfast.toml does",
	} {
		_, err := w.WorkspacePath(path)
		if err == nil || string(holdfast.CodeOf(err))+": "+err.Error() != want {
			t.Errorf("%q: %v, want %s", path, err, want)
		}
	}
	if _, err := ReadWorkspace(project); err == nil || err.Error() != "there is no file "+project || holdfast.CodeOf(err) != holdfast.ErrNotFound {
		t.Errorf("a missing file: %v", err)
	}
}

func TestWhatNeedsTrustIsShownByItsValues(t *testing.T) {
	w := newWorld(t)
	for text, want := range map[string]string{
		"limits.body = 100_001\n":                                 "",
		"usage.ttl = \"1h\"\nlimits.body = 100_001\n":             "[usage]\nttl = \"1h\"\n",
		"transcripts = {enabled = true}\nlimits.body = 100_001\n": "[transcripts]\nenabled = true\n",
		"[tools]\n[mcp.a]\n[models.m]\ncontext_window = 5\n":      "",
		"tools.deny = []\n":                                       "[tools]\ndeny = []\n",
		"[compaction_continuity]\nfork = \"empty\"\nttl = \"60m\"\nextractor = {enabled = true, route = \"a:b\"}\n":                                                                            "[compaction_continuity]\nttl = \"60m\"\n\n[compaction_continuity.extractor]\nenabled = true\nroute = \"a:b\"\n",
		"[[conversation.compaction.rules]]\nkeep_first = 2\nsummary = {}\n":                                                                                                                    "[[conversation.compaction.rules]]\n\n[conversation.compaction.rules.summary]\n",
		"[[conversation.compaction.rules]]\nstrategy = \"replace\"\n[[conversation.compaction.rules]]\nsummary.model = \"m\"\n[conversation.compaction.auto]\nmin_turns = 3\nenabled = true\n": "[[conversation.compaction.rules]]\n\n[conversation.compaction.rules.summary]\nmodel = \"m\"\n\n[conversation.compaction.auto]\nenabled = true\n",
		// Each is shown also where the rest of it stands in another layer.
		"mcp.a = {enabled = false, args = [\"-x\"]}\n":                                                              "[mcp.a]\nenabled = false\nargs = [\"-x\"]\n",
		"[models.m]\nupstream = \"work\"\ncontext_window = 5\nprice = {input = 1, output = 2}\n":                    "[models.m]\nupstream = \"work\"\n\n[models.m.price]\ninput = 1\noutput = 2\n",
		"transcripts.enabled = true\n[models.n]\n[models.m]\nprice = {output = 2}\n":                                "[transcripts]\nenabled = true\n\n[models.m.price]\noutput = 2\n",
		"[mcp.a]\nurl = \"http://\\u0068\"\n[mcp.a.headers]\nX = \"\\u0031\"\n[query]\nmodel = \"m\"\n":             "[query]\nmodel = \"m\"\n\n[mcp.a]\nurl = \"http://h\"\n\n[mcp.a.headers]\nX = \"1\"\n",
		"upstream = [{name = \"a\", protocol = \"chat\", base_url = \"http://\\u0068\", models = [\"\\u202e\"]}]\n": "[[upstream]]\nname = \"a\"\nprotocol = \"chat\"\nbase_url = \"http://h\"\nmodels = [\"\\u202E\"]\n",
	} {
		file, err := ReadWorkspace(w.write("home/project/.holdfast.toml", text))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := file.Guarded(); got != want || err != nil {
			t.Errorf("%q: %v\n got: %s\nwant: %s", text, err, got, want)
		}
	}
}
