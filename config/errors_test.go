package config

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
)

// up is a whole upstream in one line, to be changed by a case.
const up = `{name="a", protocol="chat", base_url="http://h/v1"}`

func TestErrorsOfAFileSayWhereAndWhatToDo(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{
			"an unknown key suggests the nearest of its table", "\n[limits]\nbodi = \"1MiB\"\n",
			"f.toml:3: unknown key \"limits.bodi\"\n    bodi = \"1MiB\"\nDid you mean \"body\"?",
		},
		{
			"a known key in capitals", "[limits]\nBody = \"1MiB\"\n",
			"f.toml:2: unknown key \"limits.Body\"\n    Body = \"1MiB\"\nDid you mean \"body\"?",
		},
		{
			"a known table in capitals", "[LIMITS]\nbody = \"1MiB\"\n",
			"f.toml:1: unknown key \"LIMITS\"\n    [LIMITS]\nDid you mean \"limits\"?",
		},
		{
			"a known list in capitals", "[[Upstream]]\nname = \"a\"\n",
			"f.toml:1: unknown key \"Upstream\"\n    [[Upstream]]\nDid you mean \"upstream\"?",
		},
		{
			"a known key of a list in capitals", "upstream = [" + up + ",\n{Name=\"b\", protocol=\"chat\", base_url=\"http://h\"}]\n",
			"f.toml:2: unknown key \"upstream.Name\"\n    {Name=\"b\", protocol=\"chat\", base_url=\"http://h\"}]\nDid you mean \"name\"?",
		},
		{
			"a known key below a name in capitals", "[models.\"a.B[0]\"]\nContext_Window = 5\n",
			"f.toml:2: unknown key \"models.\\\"a.B[0]\\\".Context_Window\"\n    Context_Window = 5\nDid you mean \"context_window\"?",
		},
		{"a table where a size belongs", "limits.body.Max = 5\n", "f.toml:1: limits.body must be a size such as \"64MiB\", \"64MB\" or a number of bytes"},
		{
			"an unknown table suggests the nearest table", "[compaction_contuinity]\nenabled = true\n",
			"f.toml:1: unknown key \"compaction_contuinity\"\n    [compaction_contuinity]\nDid you mean \"compaction_continuity\"?",
		},
		{
			"an unknown list suggests the nearest list", "[[upstreams]]\nname = \"a\"\n",
			"f.toml:1: unknown key \"upstreams\"\n    [[upstreams]]\nDid you mean \"upstream\"?",
		},
		{
			"a key in the wrong table is sent to its own", "[limits]\nttl = \"3h\"\n",
			"f.toml:2: unknown key \"limits.ttl\"\n    ttl = \"3h\"\nDid you mean compaction_continuity.ttl?",
		},
		{
			"a key that is like no other is told the known ones", "[limits]\nquxquux.max = 4\n",
			"f.toml:2: unknown key \"limits.quxquux.max\"\n    quxquux.max = 4\nKnown here are body, in_flight.",
		},
		{
			"a literal key under a wrong name is not repeated", "[[upstream]]\napikey = \"sk-ant-0123456789\"\n",
			"f.toml:2: unknown key \"upstream.apikey\"\n    apikey = ...\nDid you mean \"api_key\"?",
		},
		{
			"a literal key without quotes is not repeated", "[[upstream]]\napi_key = sk-ant-0123456789\n",
			"f.toml:2: this is not valid TOML: unexpected character U+0073 's' at start of value\n    api_key = ...",
		},
		{
			"a literal key is refused and not repeated", "[[upstream]]\nname=\"a\"\nprotocol=\"chat\"\nbase_url=\"http://h\"\napi_key=\"sk-ant-0123456789\"\n",
			"f.toml:5: upstream.api_key must be \"env:NAME\" or \"file:/PATH\" (an absolute path): a key never stands in this file",
		},
		{
			"an empty credential reference is refused", "[[upstream]]\nname=\"a\"\nprotocol=\"chat\"\nbase_url=\"http://h\"\napi_key=\"\"\n",
			"f.toml:5: upstream.api_key must be \"env:NAME\" or \"file:/PATH\" (an absolute path): a key never stands in this file",
		},
		{
			"text that is not TOML", "[limits\n",
			"f.toml:1: this is not valid TOML: expected ']' to close table name\n    [limits",
		},
		{
			"a key that stands twice", "[limits]\nbody = 100000\nbody = 200000\n",
			"f.toml:3: this is not valid TOML: key body is already defined\n    body = 200000",
		},
		{
			"a text where a truth value belongs", "[compaction_continuity]\nenabled = \"yes\"\n",
			"f.toml:2: compaction_continuity.enabled must be true or false\n    enabled = \"yes\"",
		},
		{
			"a fraction where a whole number belongs", "[compaction_continuity]\nmax_capsule_tokens = 1.5\n",
			"f.toml:2: compaction_continuity.max_capsule_tokens must be a whole number such as 2500\n    max_capsule_tokens = 1.5",
		},
		{
			"a number in a list of texts", "[[upstream]]\nmodels = [\"a\",\n  3]\n",
			"f.toml:3: upstream.models must be a list of texts such as [\"claude-*\"]\n    3]",
		},
		{
			"a value where a table belongs", "limits = 3\n",
			"f.toml:1: limits must be a table: write [limits] above its keys\n    limits = 3",
		},
		{
			"a table where a list belongs", "[upstream]\nname = \"a\"\n",
			"f.toml:1: upstream must be a list: write [[upstream]] above each entry",
		},
		{
			"a size of the wrong type", "[limits]\nbody = 1.5\n",
			"f.toml:2: limits.body must be a size such as \"64MiB\", \"64MB\" or a number of bytes",
		},
		{
			"a size in an unknown unit", "[limits]\nbody = \"64 megs\"\n",
			"f.toml:2: limits.body must be a size such as \"64MiB\", \"64MB\" or a number of bytes",
		},
		{"a body limit that is too small", "[limits]\nbody = 65535\n", "f.toml:2: limits.body must be from 64KiB to 2GiB"},
		{"a body limit that is too large", "[limits]\nbody = \"3GiB\"\n", "f.toml:2: limits.body must be from 64KiB to 2GiB"},
		{"too much in flight", "[limits]\nin_flight = \"65GiB\"\n", "f.toml:2: limits.in_flight must be from 64KiB to 64GiB"},
		{
			"no room for one body", "[limits]\nbody = \"2MiB\"\nin_flight = \"1MiB\"\n",
			"f.toml:3: limits.in_flight leaves no room for one body: in_flight (1MiB) must be at least body (2MiB)",
		},
		{
			"a body above the default room", "[limits]\nbody = \"1GiB\"\n",
			"f.toml:2: limits.body leaves no room for one body: in_flight (512MiB) must be at least body (1GiB)",
		},
		{"an extractor without a model", "[compaction_continuity.extractor]\nenabled = true\n", "f.toml:2: compaction_continuity.extractor.enabled = true needs compaction_continuity.extractor.route. Add one, such as \"cheap:small-model\""},
		{"a route that names no upstream", "[compaction_continuity.extractor]\nenabled = true\nroute = \"small-model\"\n", "f.toml:3: compaction_continuity.extractor.route must be UPSTREAM:MODEL, such as \"cheap:small-model\""},
		{"a route that names no model", "[compaction_continuity.extractor]\nenabled = true\nroute = \"gemini: \"\n", "f.toml:3: compaction_continuity.extractor.route must be UPSTREAM:MODEL, such as \"cheap:small-model\""},
		{"a route to an upstream that is not there", "[compaction_continuity.extractor]\nenabled = true\nroute = \"cheap:m\"\n", "f.toml:3: compaction_continuity.extractor.route names the upstream \"cheap\", which is none. There are: anthropic, openai, openai-chat, gemini"},
		{"a call that takes no time", "[compaction_continuity.extractor]\nenabled = true\nroute = \"gemini:g\"\ntimeout = \"99ms\"\n", "f.toml:4: compaction_continuity.extractor.timeout must be from \"100ms\" to \"5m\""},
		{"a compaction that waits too long", "[compaction_continuity.extractor]\nenabled = true\nroute = \"gemini:g\"\nbarrier_timeout = \"61s\"\n", "f.toml:4: compaction_continuity.extractor.barrier_timeout must be from \"0s\" to \"1m\""},
		{"a call that is sent nothing", "[compaction_continuity.extractor]\nenabled = true\nroute = \"gemini:g\"\nmax_input_tokens = 999\n", "f.toml:4: compaction_continuity.extractor.max_input_tokens must be from 1000 to 200000"},
		{"a call that answers too much", "[compaction_continuity.extractor]\nenabled = true\nroute = \"gemini:g\"\nmax_output_tokens = 32001\n", "f.toml:4: compaction_continuity.extractor.max_output_tokens must be from 200 to 32000"},
		{"calls that are sent nothing of a session", "[compaction_continuity.extractor]\nenabled = true\nroute = \"gemini:g\"\ninput_ratio = 0\n", "f.toml:4: compaction_continuity.extractor.input_ratio must be above 0 and at most 1"},
		{"calls that are sent more than the session", "[compaction_continuity.extractor]\nenabled = true\nroute = \"gemini:g\"\ninput_ratio = 1.1\n", "f.toml:4: compaction_continuity.extractor.input_ratio must be above 0 and at most 1"},
		{"nobody who calls", "[compaction_continuity.extractor]\nenabled = true\nroute = \"gemini:g\"\nworkers = 0\n", "f.toml:4: compaction_continuity.extractor.workers must be from 1 to 64"},
		{"a queue without end", "[compaction_continuity.extractor]\nenabled = true\nroute = \"gemini:g\"\nmax_pending_jobs = 10001\n", "f.toml:4: compaction_continuity.extractor.max_pending_jobs must be from 1 to 10000"},
		{"a setting of the extractor while it is off", "[compaction_continuity.extractor]\ntimeout = \"8s\"\n", "f.toml:2: compaction_continuity.extractor.timeout has no effect while compaction_continuity.extractor.enabled = false. Remove it, or set that to true"},
		{"a policy that enables an extractor that is not there", "[[session_policy]]\nagent = \"codex\"\nextractor.enabled = true\n", "f.toml:3: session_policy.extractor.enabled = true needs compaction_continuity.extractor.route. Add one, such as \"cheap:small-model\""},
		{"too few tokens", "compaction_continuity.max_capsule_tokens = 199\n", "f.toml:1: compaction_continuity.max_capsule_tokens must be from 200 to 20000"},
		{"too many tokens", "compaction_continuity.max_capsule_tokens = 20001\n", "f.toml:1: compaction_continuity.max_capsule_tokens must be from 200 to 20000"},
		{"more words than the block holds", "[compaction_continuity]\nmax_capsule_tokens = 500\nuser_words_tokens = 501\n", "f.toml:3: compaction_continuity.user_words_tokens must be from 50 to max_capsule_tokens (500)"},
		{
			"room for words that are not kept", "[compaction_continuity]\nuser_words_tokens = 500\npreserve.user_words = false\n",
			"f.toml:2: compaction_continuity.user_words_tokens has no effect while preserve.user_words = false. Remove it, or set preserve.user_words = true",
		},
		{"a duration without a unit", "compaction_continuity.ttl = \"720\"\n", "f.toml:1: compaction_continuity.ttl must be a text such as \"720h\" or \"90m\""},
		{"a duration that is too short", "compaction_continuity.ttl = \"59m\"\n", "f.toml:1: compaction_continuity.ttl must be from \"1h\" to \"87600h\""},
		{"a duration that is too long", "compaction_continuity.ttl = \"87601h\"\n", "f.toml:1: compaction_continuity.ttl must be from \"1h\" to \"87600h\""},
		{"a record of usage that is kept too short", "[usage]\nttl = \"59m59s\"\n", "f.toml:2: usage.ttl must be from \"1h\" to \"87600h\""},
		{"a record of usage that is kept too long", "usage.ttl = \"87601h\"\n", "f.toml:1: usage.ttl must be from \"1h\" to \"87600h\""},
		{"a record of usage that is kept for a number", "usage.ttl = \"1 year\"\n", "f.toml:1: usage.ttl must be a text such as \"8760h\" or \"90m\""},
		{"an unknown fork mode", "compaction_continuity.fork = \"share\"\n", "f.toml:1: compaction_continuity.fork must be \"copy\" or \"empty\""},
		{
			"a capsule setting while off", "[compaction_continuity]\nenabled = false\nfork = \"copy\"\n",
			"f.toml:3: compaction_continuity.fork has no effect while enabled = false. Remove it, or set enabled = true",
		},
		{
			"a nested capsule setting while off", "[compaction_continuity]\nenabled = false\n[compaction_continuity.preserve]\nplan = true\n",
			"f.toml:4: compaction_continuity.preserve.plan has no effect while enabled = false. Remove it, or set enabled = true",
		},
		{
			"a capsule that would keep nothing", "[compaction_continuity.preserve]\nplan = false\nuser_decisions = false\nuser_words = false\n" + noFacts,
			"f.toml:1: compaction_continuity.preserve turns everything off. Write enabled = false in [compaction_continuity] instead",
		},
		{"an empty list of upstreams", "upstream = []\n", "f.toml:1: upstream is an empty list and has no effect. Remove it, or list at least one"},
		{
			"an upstream without a protocol", "\n[[upstream]]\nname = \"a\"\n",
			"f.toml:2: this upstream has no protocol. Add one: \"anthropic\", \"chat\", \"responses\" or \"gemini\"",
		},
		{
			"an upstream in a list of one line", "upstream = [" + up + ",\n  {name=\"b\"}]\n",
			"f.toml:2: this upstream has no protocol. Add one: \"anthropic\", \"chat\", \"responses\" or \"gemini\"",
		},
		{
			"a name that cannot stand in a path", "upstream = [{name=\"a/b\", protocol=\"chat\", base_url=\"http://h\"}]\n",
			"f.toml:1: upstream.name must be 1 to 64 characters of a-z, 0-9, dot, dash and underscore, since it stands in the path /u/NAME",
		},
		{
			"a name that is taken", "upstream = [" + up + ",\n\n " + up + "]\n",
			"f.toml:3: upstream.name \"a\" is already the name of the upstream in line 1. Give it another",
		},
		{
			"an unknown protocol", "upstream = [{name=\"a\", protocol=\"openai\", base_url=\"http://h\"}]\n",
			"f.toml:1: upstream.protocol must be \"anthropic\", \"chat\", \"responses\" or \"gemini\"",
		},
		{
			"an empty list of models", "upstream = [{name=\"a\", protocol=\"chat\", base_url=\"http://h\", models=[]}]\n",
			"f.toml:1: upstream.models is an empty list and has no effect. Remove it to match all models, or list patterns",
		},
		{
			"an empty model", "upstream = [{name=\"a\", protocol=\"chat\", base_url=\"http://h\", models=[\"\"]}]\n",
			"f.toml:1: upstream.models must not hold an empty text: it matches no model",
		},
		{
			"a model that an earlier pattern takes", "[[upstream]]\nname=\"a\"\nprotocol=\"chat\"\nbase_url=\"http://h\"\nmodels=[\n\"gpt-*\",\n\"gpt-5*\"]\n",
			"f.toml:7: upstream.models \"gpt-5*\" has no effect: \"gpt-*\" before it matches the same models. Remove one",
		},
		{
			"a model that an earlier upstream takes", "upstream = [{name=\"a\", protocol=\"chat\", base_url=\"http://h\", models=[\"gpt-*\"]},\n{name=\"b\", protocol=\"chat\", base_url=\"http://h\", models=[\"gpt-5\"]}]\n",
			"f.toml:2: upstream.models \"gpt-5\" has no effect: \"gpt-*\" of upstream \"a\" comes first. Move this one above it",
		},
		{
			"a model behind an upstream that takes all", "upstream = [" + up + ",\n{name=\"b\", protocol=\"chat\", base_url=\"http://h\", models=[\"gpt-5\"]}]\n",
			"f.toml:2: upstream.models \"gpt-5\" has no effect: upstream \"a\" comes first and takes all models of its protocol. Move this one above it",
		},
		{"recordings that are kept too short", "transcripts.ttl = \"59m\"\n", "f.toml:1: transcripts.ttl must be from \"1h\" to \"87600h\""},
		{"recordings that are kept too long", "transcripts.ttl = \"87601h\"\n", "f.toml:1: transcripts.ttl must be from \"1h\" to \"87600h\""},
		{"recordings that are kept for a number", "transcripts.ttl = \"720\"\n", "f.toml:1: transcripts.ttl must be a text such as \"2160h\" or \"90m\""},
		{"transcripts that are no truth value", "transcripts.enabled = 1\n", "f.toml:1: transcripts.enabled must be true or false\n    transcripts.enabled = 1"},
		{
			"a rule without a policy", "[[conversation.compaction.rules]]\nsummary = {}\n[[conversation.compaction.rules]]\nkeep_first = 2\n",
			"f.toml:3: this rule of conversation.compaction.rules has no policy. Add reasoning, tool_calls or summary",
		},
		{
			"a rule whose only policy is to keep", "[[conversation.compaction.rules]]\nreasoning = \"keep\"\n",
			"f.toml:1: this rule of conversation.compaction.rules has no policy. Add reasoning, tool_calls or summary",
		},
		{"an empty list of rules", "conversation.compaction.rules = []\n", "f.toml:1: conversation.compaction.rules is an empty list and has no effect. Remove it, or list at least one"},
		{
			"one rule where a list belongs", "[conversation.compaction.rules]\nreasoning = \"strip\"\n",
			"f.toml:1: conversation.compaction.rules must be a list: write [[conversation.compaction.rules]] above each entry",
		},
		{
			"another strategy", "[[conversation.compaction.rules]]\nstrategy = \"append\"\n",
			"f.toml:2: conversation.compaction.rules.strategy must be \"replace\"",
		},
		{
			"a strategy behind a rule", "conversation.compaction.rules = [{summary = {}},\n{strategy = \"replace\"}]\n",
			"f.toml:2: conversation.compaction.rules.strategy = \"replace\" has an effect in the first element only. Move it there",
		},
		{
			"a rule beside a strategy", "[[conversation.compaction.rules]]\nstrategy = \"replace\"\nkeep_last = 2\n",
			"f.toml:3: conversation.compaction.rules.keep_last has no effect beside strategy = \"replace\". Write the rule as the next element",
		},
		{
			"a negative count of turns", "[[conversation.compaction.rules]]\nreasoning = \"strip\"\nkeep_first = -1\n",
			"f.toml:3: conversation.compaction.rules.keep_first must be a number of turns, a time such as \"5h\", a position such as \"@3\", or \"last-compaction\"",
		},
		{
			"a position before the first turn", "conversation.compaction.auto.rule.keep_last = \"@0\"\n",
			"f.toml:1: conversation.compaction.auto.rule.keep_last must be a number of turns, a time such as \"5h\", a position such as \"@3\", or \"last-compaction\"",
		},
		{
			"an unknown policy for tool calls", "[[conversation.compaction.rules]]\ntool_calls = \"drop\"\n",
			"f.toml:2: conversation.compaction.rules.tool_calls must be \"strip\", \"strip-requests\", \"strip-responses\", \"omit\" or \"keep\"",
		},
		{
			"an unknown policy for reasoning", "conversation.compaction.auto.rule.reasoning = \"omit\"\n",
			"f.toml:1: conversation.compaction.auto.rule.reasoning must be \"strip\" or \"keep\"",
		},
		{
			"an unknown key of the summary of the second rule", "[[conversation.compaction.rules]]\nsummary = {}\n[[conversation.compaction.rules]]\n[conversation.compaction.rules.summary]\nmodl = \"m\"\n",
			"f.toml:5: unknown key \"conversation.compaction.rules.summary.modl\"\n    modl = \"m\"\nDid you mean \"model\"?",
		},
		{
			"blank instructions", "[[conversation.compaction.rules]]\n[conversation.compaction.rules.summary]\ninstructions = \" \"\n",
			"f.toml:3: conversation.compaction.rules.summary.instructions is empty and has no effect. Remove it, or write a text",
		},
		{"an unknown estimator", "conversation.compaction.estimator = \"words\"\n", "f.toml:1: conversation.compaction.estimator must be \"calibrated\", \"chars\" or \"tokenizer\""},
		{"a trigger at nothing", "conversation.compaction.auto.trigger_ratio = 0\n", "f.toml:1: conversation.compaction.auto.trigger_ratio must be above 0 and at most 1"},
		{"a trigger above the window", "conversation.compaction.auto.trigger_ratio = 1.5\n", "f.toml:1: conversation.compaction.auto.trigger_ratio must be above 0 and at most 1"},
		{"a trigger that is no number", "conversation.compaction.auto.trigger_ratio = nan\n", "f.toml:1: conversation.compaction.auto.trigger_ratio must be above 0 and at most 1"},
		{"a trigger in words", "conversation.compaction.auto.trigger_ratio = \"most\"\n", "f.toml:1: conversation.compaction.auto.trigger_ratio must be a number such as 0.75\n    conversation.compaction.auto.trigger_ratio = \"most\""},
		{"a gain of the whole window", "conversation.compaction.auto.min_gain = 1.0\n", "f.toml:1: conversation.compaction.auto.min_gain must be at least 0 and below 1"},
		{"a gain that is no number", "conversation.compaction.auto.min_gain = nan\n", "f.toml:1: conversation.compaction.auto.min_gain must be at least 0 and below 1"},
		{"a budget without a name", "[[budget]]\nper = \"day\"\nhard = 1\n", "f.toml:1: this budget has no name. Add one: a text such as \"team\""},
		{"a budget without a period", "[[budget]]\nname = \"a\"\nhard = 1\n", "f.toml:1: this budget has no per. Add one: \"day\" or \"month\""},
		{"a budget without an amount", "[[budget]]\nname = \"a\"\nper = \"day\"\n", "f.toml:1: this budget bounds nothing. Add hard, soft or both, in US dollars"},
		{"a budget for a week", "[[budget]]\nname = \"a\"\nper = \"week\"\nhard = 1\n", "f.toml:3: budget.per must be \"day\" or \"month\""},
		{"a budget below nothing", "[[budget]]\nname = \"a\"\nper = \"day\"\nhard = -1\n", "f.toml:4: budget.hard must be 0, or from 0.01 to 1000000000 US dollars"},
		{"a budget that is no number", "[[budget]]\nname = \"a\"\nper = \"day\"\nhard = nan\n", "f.toml:4: budget.hard must be 0, or from 0.01 to 1000000000 US dollars"},
		{"a warning behind the end", "[[budget]]\nname = \"a\"\nper = \"day\"\nhard = 1\nsoft = 1\n", "f.toml:5: budget.soft must be below hard, which refuses calls from there on"},
		{"a warning of nothing", "[[budget]]\nname = \"a\"\nper = \"day\"\nsoft = 0\n", "f.toml:4: budget.soft = 0 warns of nothing. Remove it, or give an amount"},
		{"two budgets of one name", "[[budget]]\nname = \"a\"\nper = \"day\"\nhard = 1\n[[budget]]\nname = \"a\"\nper = \"day\"\nhard = 1\n", "f.toml:6: budget.name \"a\" is already the name of an earlier budget. Give it another"},
		{"a budget for everybody by a pattern", "[[budget]]\nname = \"a\"\nper = \"day\"\nhard = 1\nlabel = \"*\"\n", "f.toml:5: budget.label = \"*\" tells nobody apart. Remove it, or write a text such as \"nightly*\""},
		{"no budgets", "budget = []\n", "f.toml:1: budget is an empty list and has no effect. Remove it, or list at least one"},
		{"a granularity that is none", "conversation.compaction.auto.granularity = \"call\"\n", "f.toml:1: conversation.compaction.auto.granularity must be \"turn\" or \"event\""},
		{"fewer tokens than none", "conversation.compaction.auto.rule.keep_last_tokens = -1\n", "f.toml:1: conversation.compaction.auto.rule.keep_last_tokens must be from 0 to 100000000"},
		{
			"tokens of a rule that is not automatic", "[[conversation.compaction.rules]]\nreasoning = \"strip\"\nkeep_last_tokens = 5\n",
			"f.toml:3: unknown key \"conversation.compaction.rules.keep_last_tokens\"\n    keep_last_tokens = 5\nDid you mean conversation.compaction.auto.rule.keep_last_tokens?",
		},
		{"fewer turns than none", "conversation.compaction.auto.min_turns = -1\n", "f.toml:1: conversation.compaction.auto.min_turns must be from 0 to 1000000"},
		{
			"an automatic rule without a policy", "[conversation.compaction.auto.rule]\nreasoning = \"keep\"\ntool_calls = \"keep\"\n",
			"f.toml:1: conversation.compaction.auto.rule turns every policy off. Write enabled = false in [conversation.compaction.auto] instead, or add a summary",
		},
		{"a strategy of the automatic rule", "conversation.compaction.auto.rule.strategy = \"replace\"\n", "f.toml:1: unknown key \"conversation.compaction.auto.rule.strategy\"\n    conversation.compaction.auto.rule.strategy = \"replace\"\nDid you mean conversation.compaction.rules.strategy?"},
		{"a window of nothing", "[models.m]\ncontext_window = 0\n", "f.toml:2: models.m.context_window must be from 1 to 100000000"},
		{"a window that is too large", "[models.\"gpt-4.1\"]\ncontext_window = 100_000_001\n", "f.toml:2: models.\"gpt-4.1\".context_window must be from 1 to 100000000"},
		{"a window with a unit", "[models.m]\ncontext_window = \"200k\"\n", "f.toml:2: models.m.context_window must be a whole number such as 200000\n    context_window = \"200k\""},
		{"an unknown key of a model", "[models.\"gpt-4.1\"]\ncontext = 1\n", "f.toml:2: unknown key \"models.\\\"gpt-4.1\\\".context\"\n    context = 1\nDid you mean conversation.compaction.auto.rule.summary.context?"},
		{"a model of which nothing is told", "[models.m]\n", "f.toml:1: models.m says nothing of the model. Add what you know, such as context_window, or remove it"},
		{"a model without a name", "[models.\"\"]\ncontext_window = 5\n", "f.toml:1: models.\"\" has no name. Write [models.NAME] with the name that requests use"},
		{"a number in the second of two tables in one line", "limits = {}\nmodels = {m = {context_window = 1}, n = {context_window = 1.5}}\n", "f.toml:2: models.n.context_window must be a whole number such as 200000\n    models = {m = {context_window = 1}, n = {context_window = 1.5}}"},
		{"an unknown key in a list in one line", "conversation.compaction.rules = [{summary = {}},\n  {summary = {}, keep_frist = 1}]\n", "f.toml:2: unknown key \"conversation.compaction.rules.keep_frist\"\n    {summary = {}, keep_frist = 1}]\nDid you mean \"keep_first\"?"},
		{"a value where a model belongs", "models.m = 200000\n", "f.toml:1: models.m must be a table: write [models.NAME] above its keys\n    models.m = 200000"},
	} {
		t.Run(c.name, func(t *testing.T) { wantError(t, c.text, c.want) })
	}
}

func TestBaseURLIsWhatTheProvidersSDKTakes(t *testing.T) {
	const address = `f.toml:1: upstream.base_url must be an http or https address such as "https://api.anthropic.com"`
	const query = "f.toml:1: upstream.base_url must not hold a query or a fragment: only the path of a call is put behind it"
	for _, c := range []struct{ name, protocol, url, want string }{
		{"no scheme", "chat", "api.openai.com/v1", address},
		{"another scheme", "chat", "ftp://h/v1", address},
		{"no host", "chat", "https:///v1", address},
		{"only a port", "chat", "https://:80/v1", address},
		{"a broken escape with a password in it", "chat", "https://u:sk-secret@h/%zz", address},
		{"a password", "chat", "https://u:sk-secret@h/v1", "f.toml:1: upstream.base_url must not hold a user or password. Put the credential into api_key"},
		{"a query", "gemini", "https://h?key=sk-secret", query},
		{"an empty query", "gemini", "https://h?", query},
		{"a fragment", "gemini", "https://h/#", query},
		{
			"the version that Anthropic's SDK adds", "anthropic", "https://api.anthropic.com/v1/",
			"f.toml:1: upstream.base_url must not end in /v1, which clients send themselves. Write what the provider's SDK takes, \"https://api.anthropic.com\"",
		},
		{
			"a whole endpoint", "responses", "https://api.openai.com/v1/responses",
			"f.toml:1: upstream.base_url must not end in /responses, which clients send themselves. Write what the provider's SDK takes, \"https://api.openai.com/v1\"",
		},
		{
			"the version that Gemini's SDK adds", "gemini", "https://h/v1beta",
			"f.toml:1: upstream.base_url must not end in /v1beta, which clients send themselves. Write what the provider's SDK takes, \"https://h\"",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantError(t, `upstream = [{name="a", protocol="`+c.protocol+`", base_url="`+c.url+`"}]`, c.want)
		})
	}
}

func wantError(t *testing.T, text, want string) {
	t.Helper()
	_, err := parse(text)
	if err == nil {
		t.Fatal("it was accepted")
	}
	if err.Error() != want || holdfast.CodeOf(err) != holdfast.ErrConfig {
		t.Errorf("code %s\n got: %s\nwant: %s", holdfast.CodeOf(err), err, want)
	}
}

func FuzzMerge(f *testing.F) {
	f.Add(full, "compaction_continuity.ttl", "720h", "{}")
	f.Add("upstream = ["+up+"]\nlimits.body = 1e9", "limits", "{body = 100000}", `{"limits":{"in_flight":"1GiB"}}`)
	f.Add("[[upstream]]\napi_key = \"sk-ant-0123456789\"\n\"\" = 1\n[a.'b.c'.\"d\"]\n", "a", "\"", "null")
	f.Add("[[conversation.compaction.rules]]\nstrategy = \"replace\"\n[[conversation.compaction.rules]]\nsummary = {}\n",
		"models.'a[0].b'.context_window", "1", `{"conversation":{"compaction":{"rules":[{"keep_first":"@2","reasoning":"strip"}]}}}`)
	f.Add("mcp.a = {command = \"a\", env = {A = \"env:B\"}}\nmodels.m.price = {input = 0.1, output = 2}\nquery.titles = false\n",
		"tools", "{allow = [\"a\", \"b*\"], deny = [\"a*\"]}", `{"query":{"model":"m","max_result":"1MB"},"models":{"m":{"max_output":3}}}`)
	f.Add("[mCp.b]\nurl = \"http://h\"\nheaders = {a-C = \"\"}\n", "Models.m.upstream", "openai", `{"Transcripts":{"enabled":true}}`)
	f.Add("[mcp.b]\nurl = \"http://h/?a=%7E#\"\nheaders = {A-b = \"file:/x\", a-C = \"\"}\n", "models.m.upstream", "openai", "{}")
	f.Fuzz(func(t *testing.T, text, key, value, settings string) {
		layers := []Layer{FileLayer("f.toml", []byte(text))}
		if l, err := setLayer(key + "=" + value); err == nil {
			layers = append(layers, l)
		}
		if l, err := ConversationLayer("conversation", []byte(settings)); err == nil {
			layers = append(layers, l)
		}
		for n := range layers {
			m, err := Merge(layers[:n+1]...)
			if err != nil {
				if holdfast.CodeOf(err) != holdfast.ErrConfig || n == 0 && !strings.HasPrefix(err.Error(), "f.toml:") {
					t.Fatalf("code %s: %s", holdfast.CodeOf(err), err)
				}
				return
			}
			inRange(t, m.Config)
			again, err := parse(m.TOML(n > 0))
			if err != nil {
				t.Fatalf("what is shown is refused: %v\n%s", err, m.TOML(n > 0))
			}
			if diff := cmp.Diff(m.Config, again); diff != "" {
				t.Fatalf("what is shown is another configuration: %s", diff)
			}
			if !json.Valid(m.JSON(true)) {
				t.Fatalf("not JSON: %s", m.JSON(true))
			}
		}
	})
}

// inRange fails where a configuration breaks what its type promises.
func inRange(t *testing.T, c Config) {
	t.Helper()
	if len(c.Upstreams) == 0 || c.Limits.Body < 64<<10 || c.Limits.InFlight < c.Limits.Body ||
		c.Continuity.MaxCapsuleTokens < 200 || c.Continuity.TTL < 3600e9 || len(c.Compaction.Rules) == 0 {
		t.Fatalf("out of range: %+v", c)
	}
	names := map[string]bool{}
	for _, u := range c.Upstreams {
		if names[u.Name] || u.BaseURL == nil || u.BaseURL.Host == "" || u.BaseURL.User != nil || strings.HasSuffix(u.BaseURL.Path, "/") {
			t.Fatalf("bad upstream: %+v", u)
		}
		names[u.Name] = true
	}
	for _, rule := range append(c.Compaction.Rules, c.Compaction.Auto.Rule) {
		if !rule.hasPolicy() || rule.KeepFirst.Kind == "" || rule.KeepLast.Kind == "" {
			t.Fatalf("bad rule: %+v", rule)
		}
	}
	for name, m := range c.Models {
		const most = 100_000_000
		if name == "" || m == (Model{}) || m.ContextWindow < 0 || m.ContextWindow > most || m.MaxOutput < 0 || m.MaxOutput > most ||
			m.ContextWindow > 0 && m.MaxOutput >= m.ContextWindow || m.Upstream != "" && !names[m.Upstream] {
			t.Fatalf("bad model %q: %+v", name, m)
		}
		if p := m.Price; p != nil && (min(p.Input, p.Output, p.CacheRead, p.CacheWrite) < 0 || max(p.Input, p.Output, p.CacheRead, p.CacheWrite) > 1e12) {
			t.Fatalf("bad price of %q: %+v", name, *p)
		}
	}
	if q := c.Query; q.MaxCalls < 1 || q.MaxCalls > 1000 || q.ToolTimeout < 1e9 || q.ToolTimeout > 3600e9 || q.MaxResult < 1e3 || q.MaxResult > 10e6 ||
		!q.Titles && q.TitleModel != "" {
		t.Fatalf("bad query: %+v", q)
	}
	for name, s := range c.MCP {
		if (s.Command == "") == (s.URL == nil) || s.URL != nil && (s.Args != nil || s.Env != nil || s.URL.User != nil) || s.Command != "" && s.Headers != nil {
			t.Fatalf("bad server %q: %+v", name, s)
		}
	}
	if c.Transcripts.Enabled && !c.Continuity.Enabled {
		t.Fatal("recording without continuity")
	}
}

// noFacts turns off in a table of what is preserved all that is neither plan,
// decision nor word. Reasons stay: without what they are for they are nothing.
const noFacts = "constraints = false\nrejected_alternatives = false\nopen_questions = false\nfacts = false\n"
