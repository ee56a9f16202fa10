package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/holdfast-dev/holdfast"
)

// key is one key that a layer may have.
type key struct {
	name string // dotted; * stands for any name
	kind
	about    string
	required bool // in each element of its list
}

// holdsKeys is whether the value is a table or a list of tables.
func (k key) holdsKeys() bool {
	return k.value.Type == "object" || k.value.Type == "array" && k.value.Items == nil
}

// kind is what the value of a key must be.
type kind struct {
	form  string // behind "must be"
	value jsonschema.Schema
}

var (
	boolean = kind{"true or false", jsonschema.Schema{Type: "boolean"}}
	size    = kind{`a size such as "64MiB", "64MB" or a number of bytes`, jsonschema.Schema{Types: []string{"string", "integer"}, Pattern: `^[0-9]+( ?([KMG]i?)?B)?$`}}
	bound   = kind{
		`a number of turns, a time such as "5h", a position such as "@3", or "last-compaction"`,
		jsonschema.Schema{Types: []string{"integer", "string"}, Minimum: new(0.0), Maximum: new(float64(maxTurns))},
	}
	table = kind{value: jsonschema.Schema{Type: "object"}}
	list  = kind{value: jsonschema.Schema{Type: "array"}}
	price = number("3.5", jsonschema.Schema{Minimum: new(0.0), Maximum: new(float64(maxPrice))})
	money = number("50", jsonschema.Schema{Minimum: new(0.0), Maximum: new(float64(maxBudget))})
)

// named is a table whose keys are names that a person chooses.
func named(pattern *regexp.Regexp) kind {
	return kind{value: jsonschema.Schema{Type: "object", PropertyNames: &jsonschema.Schema{Pattern: pattern.String()}}}
}

func duration(examples string) kind {
	return kind{"a text such as " + examples, jsonschema.Schema{Type: "string", Pattern: `^([0-9]+(\.[0-9]+)?(h|ms|m|s|us|ns))+$`}}
}

// texts is a list of texts of at least some characters.
func texts(example string, least int) kind {
	return kind{
		fmt.Sprintf("a list of texts such as [%q]", example),
		jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "string", MinLength: &least}},
	}
}

// notEmpty is a list that has at least one element.
func (k kind) notEmpty() kind {
	k.value.MinItems = new(1)
	return k
}

// anyText is a text that may be empty.
func anyText(form string) kind { return kind{form, jsonschema.Schema{Type: "string"}} }

func text(example, pattern string) kind {
	return kind{fmt.Sprintf("a text such as %q", example), jsonschema.Schema{Type: "string", MinLength: new(1), Pattern: pattern}}
}

func whole(example int, low, high float64) kind {
	return kind{fmt.Sprintf("a whole number such as %d", example), jsonschema.Schema{Type: "integer", Minimum: &low, Maximum: &high}}
}

func number(example string, limits jsonschema.Schema) kind {
	limits.Type = "number"
	return kind{"a number such as " + example, limits}
}

func choice[T ~string](values ...T) kind {
	var form string
	var enum []any
	for i, v := range values {
		switch {
		case i > 0 && i == len(values)-1:
			form += " or "
		case i > 0:
			form += ", "
		}
		form += fmt.Sprintf("%q", string(v))
		enum = append(enum, string(v))
	}
	return kind{form, jsonschema.Schema{Type: "string", Enum: enum}}
}

// guarded are the keys, some of them only reserved, that with all below them
// decide what is run, what is spent, where data goes and when it is erased. Of the
// tools also what is denied is guarded: a list takes the place of the one before, so
// that it could allow again what the user's own file denies. Automatic compaction is
// guarded by its switch: what it does may be prepared with a summary.
var guarded = []string{
	"upstream", "mcp", "tools", "models.*.upstream", "models.*.price",
	continuityKey + ".ttl", extractorKey, policyKey, budgetKey, "transcripts", "usage", "principals",
	"query.model", "query.system", "query.max_calls", "query.titles", "query.title_model",
	rulesKey + summaryPart, autoKey + ".enabled", autoKey + ".rule" + summaryPart,
}

// isGuarded takes the name of a key in keys.
func isGuarded(name string) bool {
	return slices.ContainsFunc(guarded, func(g string) bool { return name == g || strings.HasPrefix(name, g+".") })
}

// needsTrust tells of the name of a key in keys whether a layer may have it only
// where it is trusted. A table alone sets nothing, save that of a summary.
func needsTrust(name string) bool {
	return isGuarded(name) && (keys[name].value.Type != "object" || strings.HasSuffix(name, summaryPart))
}

// allKeys is every key that there is, in the order of a file. Errors, hints, the
// variables of the environment and the schema come from it.
var allKeys = slices.Concat(
	[]key{
		{name: "upstream", kind: list, about: "Providers that calls go to, in order of precedence. None given: the four public ones."},
		{name: "upstream.name", kind: text("anthropic", upstreamName.String()), about: "Unique; stands in the path /u/NAME/.", required: true},
		{name: "upstream.protocol", kind: choice(holdfast.Anthropic, holdfast.Chat, holdfast.Responses, holdfast.Gemini), about: "What clients and provider speak.", required: true},
		{name: "upstream.base_url", kind: text("https://api.anthropic.com", "^https?://"), about: "What the provider's own SDK takes as its base URL.", required: true},
		{name: "upstream.api_key", kind: kind{`"env:NAME" or "file:/PATH"`, jsonschema.Schema{Type: "string", Pattern: "^(env:[A-Za-z_][A-Za-z0-9_]*|file:.+)$"}}, about: "Where the credential is. Not given: the client's own is forwarded."},
		{name: "upstream.models", kind: texts("claude-*", 1).notEmpty(), about: "Patterns of the models that go there; * stands for any text. The first match in order wins; none given: all of its protocol."},
		{name: "limits", kind: table, about: "What protects the machine."},
		{name: "limits.body", kind: size, about: "The largest request body, 64KiB to 2GiB; above: 413."},
		{name: "limits.in_flight", kind: size, about: "The bodies of all requests that are held at once, from the body limit to 64GiB; above: 429."},
		{name: "compaction_continuity", kind: table, about: "What is carried through the compactions of proxied sessions."},
		{name: "compaction_continuity.enabled", kind: boolean, about: "Off: requests pass as they are."},
		{name: "compaction_continuity.max_capsule_tokens", kind: whole(2500, 200, 20000), about: "The size of the record that a model receives."},
		{name: "compaction_continuity.user_words_tokens", kind: whole(1000, 50, 20000), about: "The share of the user's own words in it, at most max_capsule_tokens."},
		{name: "compaction_continuity.ttl", kind: duration(`"720h" or "90m"`), about: "How long a session is kept after its last use, 1h to 87600h."},
		{name: "compaction_continuity.fork", kind: choice(ForkCopy, ForkEmpty), about: "What a fork starts with: the plan as it was, or nothing."},
		{name: "compaction_continuity.preserve", kind: table, about: "What is kept."},
		{name: "compaction_continuity.preserve.plan", kind: boolean, about: "The plan and its progress."},
		{name: "compaction_continuity.preserve.user_decisions", kind: boolean, about: "What was decided."},
		{name: "compaction_continuity.preserve.constraints", kind: boolean, about: "What the work must keep to."},
		{name: "compaction_continuity.preserve.rationale", kind: boolean, about: "The reasons of decisions and rejected alternatives."},
		{name: "compaction_continuity.preserve.rejected_alternatives", kind: boolean, about: "What must not be proposed again."},
		{name: "compaction_continuity.preserve.open_questions", kind: boolean, about: "Questions and blockers that wait for an answer."},
		{name: "compaction_continuity.preserve.facts", kind: boolean, about: "Values, places, dead ends and preferences that the work needs."},
		{name: "compaction_continuity.preserve.user_words", kind: boolean, about: "The user's own words, verbatim."},
	},
	sessionPolicyKeys(),
	extractorKeys(),
	budgetKeys(),
	[]key{
		{name: "transcripts", kind: table, about: "Recording of proxied sessions."},
		{name: "transcripts.enabled", kind: boolean, about: "Keep what passes through the proxy, as conversations."},
		{name: "transcripts.ttl", kind: duration(`"2160h" or "90m"`), about: "How long a recorded conversation is kept after its last use, 1h to 87600h. Not given: as long as its session, which always takes it along."},
		{name: "usage", kind: table, about: "Records of what calls of models took."},
		{name: "usage.ttl", kind: duration(`"8760h" or "90m"`), about: "How long a record is kept after its call, 1h to 87600h."},
		{name: "conversation", kind: table, about: "Conversations of Holdfast itself."},
		{name: compactionKey, kind: table, about: "How conversations are compacted. Nothing is deleted: a compaction changes what the model is sent."},
		{name: compactionKey + ".estimator", kind: choice(EstimateCalibrated, EstimateChars, EstimateTokenizer), about: "How tokens are estimated: by characters and what the provider last counted, by characters alone, or by a tokenizer."},
		{name: rulesKey, kind: list, about: "What a compaction does, rule by rule; each needs a policy. Rules of later layers go behind those of earlier ones. None given: keep the first turn and the last three, strip reasoning and tool calls of the others."},
		{name: rulesKey + ".strategy", kind: choice("replace"), about: "Alone in the first element: the rules of earlier layers do not count."},
	},
	policyKeys(rulesKey),
	[]key{
		{name: autoKey, kind: table, about: "Compaction without being asked, behind a turn that is complete."},
		{name: autoKey + ".enabled", kind: boolean, about: "Compact by itself."},
		{name: autoKey + ".trigger_ratio", kind: number("0.75", jsonschema.Schema{ExclusiveMinimum: new(0.0), Maximum: new(1.0)}), about: "The share of the context window that must be exceeded."},
		{name: autoKey + ".min_turns", kind: whole(5, 0, 1_000_000), about: "The number of turns that must be exceeded."},
		{name: autoKey + ".granularity", kind: choice(GranularityTurn, GranularityEvent), about: "What it compacts: whole turns, or any events, also between two calls of one turn."},
		{name: autoKey + ".min_gain", kind: number("0.02", jsonschema.Schema{Minimum: new(0.0), ExclusiveMaximum: new(1.0)}), about: "The share of the window that a compaction without a summary must free; 0: any."},
		{name: autoKey + ".rule", kind: table, about: "What it does: one rule."},
		{name: autoKey + ".rule.keep_last_tokens", kind: whole(10000, 0, 100_000_000), about: "With granularity = \"event\", in place of keep_last: how many tokens of the newest events stay."},
	},
	policyKeys(autoKey+".rule"),
	[]key{
		{name: "query", kind: table, about: "Conversations of holdfast query with a model."},
		{name: "query.model", kind: anyText(`a text such as "claude-sonnet-4-5"`), about: "The model, or UPSTREAM:MODEL; \"\": none is set."},
		{name: "query.system", kind: anyText(`a text such as "Be brief."`), about: "The system text; \"\": none."},
		{name: "query.max_calls", kind: whole(50, 1, 1000), about: "How often the model may be called in one turn."},
		{name: "query.titles", kind: boolean, about: "Let a model give conversations their titles, in the background."},
		{name: "query.title_model", kind: anyText(`a text such as "claude-haiku-4-5"`), about: "The model that does so, a small one, or UPSTREAM:MODEL; \"\": that of the conversation."},
		{name: "query.tool_timeout", kind: duration(`"60s" or "5m"`), about: "How long one call of a tool may take, 1s to 1h."},
		{name: "query.max_result", kind: size, about: "What the result of a tool may take of a request, 1KB to 10MB."},
		{name: "tools", kind: table, about: "Which tools a model may call."},
		{name: "tools.allow", kind: texts("fs_*", 1), about: "Patterns of the tools that may be run; * stands for any text. None: no tool."},
		{name: "tools.deny", kind: texts("fs_*", 1), about: "Patterns of the tools that may not, whatever allow says."},
		{name: "tools.files", kind: boolean, about: "The built-in tools, which read files."},
		{name: "mcp", kind: named(serverName), about: "Servers of the Model Context Protocol, whose tools a model may call."},
		{name: "mcp.*", kind: table, about: "A server, by a name of 1 to 32 of a-z, 0-9, dash and underscore. Either command or url."},
		{name: "mcp.*.enabled", kind: boolean, about: "Off: it is neither started nor called."},
		{name: "mcp.*.command", kind: text("npx", ""), about: "The program that is the server."},
		{name: "mcp.*.args", kind: texts("--verbose", 0), about: "Its arguments."},
		{name: "mcp.*.env", kind: named(envName), about: "Variables for it."},
		{name: "mcp.*.env.*", kind: anyText(`a text, or "env:NAME" to pass a variable on`), about: "The value, or env:NAME to pass a variable on. A credential is always passed on."},
		{name: "mcp.*.url", kind: text("https://mcp.example/mcp", "^https?://"), about: "Where the server is called."},
		{name: "mcp.*.headers", kind: named(headerName), about: "Headers of each request to it."},
		{name: "mcp.*.headers.*", kind: text("read-only", ""), about: "The value, or where it is: env:NAME or file:/PATH. A credential is always a reference."},
		{name: "models", kind: table, about: "What is told of models."},
		{name: "models.*", kind: table, about: "A model, by the name that requests use."},
		{name: "models.*.upstream", kind: text("anthropic", upstreamName.String()), about: "The upstream that serves it, by its name. Not given: the first that takes it."},
		{name: "models.*.context_window", kind: whole(200000, 1, 100_000_000), about: "Its context window in tokens."},
		{name: "models.*.max_output", kind: whole(8192, 1, 100_000_000), about: "The most tokens of one answer; below context_window."},
		{name: "models.*.price", kind: table, about: "What it costs, in US dollars for a million tokens."},
		{name: "models.*.price.input", kind: price, about: "Of what it is sent."},
		{name: "models.*.price.output", kind: price, about: "Of what it answers."},
		{name: "models.*.price.cache_read", kind: price, about: "Of what it is sent and had cached. Not given: that of input."},
		{name: "models.*.price.cache_write", kind: price, about: "Of what it is sent and caches. Not given: that of input."},
	},
)

// policyKeys are the keys that each rule has.
func policyKeys(rule string) []key {
	return []key{
		{name: rule + ".keep_first", kind: bound, about: "What stays at the beginning: turns, a time, a position or the last compaction."},
		{name: rule + ".keep_last", kind: bound, about: "What stays at the end: turns, a time, a position or the last compaction."},
		{name: rule + ".reasoning", kind: choice(StripReasoning, KeepReasoning), about: "What becomes of the model's reasoning."},
		{name: rule + ".tool_calls", kind: choice(StripTools, StripRequests, StripResponses, OmitTools, KeepTools), about: "What becomes of tool calls and their results."},
		{name: rule + ".summary", kind: table, about: "Put a summary in the place of the turns."},
		{name: rule + ".summary.instructions", kind: text("Keep every file name.", ""), about: "The instructions for the summarizer, in place of its own."},
		{name: rule + ".summary.context", kind: text("The project is a compiler.", ""), about: "What the summarizer is told beside the turns."},
		{name: rule + ".summary.model", kind: text("claude-haiku-4-5", ""), about: "The model that writes the summary, or UPSTREAM:MODEL. Not given: the conversation's own."},
	}
}

// keys is allKeys by name.
var keys = byName(allKeys)

func byName(all []key) map[string]key {
	m := map[string]key{}
	for _, k := range all {
		switch k.value.Type {
		case "object":
			k.form = fmt.Sprintf("a table: write [%s] above its keys", strings.ReplaceAll(k.name, "*", "NAME"))
		case "array":
			if k.form == "" {
				k.form = fmt.Sprintf("a list: write [[%s]] above each entry", k.name)
			}
		}
		m[k.name] = k
	}
	return m
}

// general is the name in keys of a key with these parts, as far as they are
// known; what is not stands as it is.
func general(parts []string) string {
	name := ""
	for _, part := range parts {
		next := join(name, keyPart(part))
		if _, ok := keys[join(name, "*")]; ok {
			next = join(name, "*")
		}
		name = next
	}
	return name
}

// dotted is a key with these parts as TOML has it.
func dotted(parts []string) string {
	name := ""
	for _, part := range parts {
		name = join(name, keyPart(part))
	}
	return name
}

// keyParts are the parts of a key that reader.places has.
var keyParts = regexp.MustCompile(`"(?:\\.|[^"\\])*"|[^."]+`)

// knownKey is the name in keys of a key that reader.places has.
func knownKey(name string) string { return general(partsOf(name)) }

// partsOf are the parts of a key that reader.places has, without positions in
// lists. A name that a person chose may lose what follows a bracket.
func partsOf(name string) []string {
	parts := keyParts.FindAllString(name, -1)
	for i := range parts {
		parts[i], _, _ = strings.Cut(parts[i], "[")
	}
	return parts
}

// join puts a part behind a dotted key.
func join(name, part string) string {
	if name == "" {
		return part
	}
	return name + "." + part
}

var bareKey = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// keyPart is one part of a dotted key as TOML has it.
func keyPart(part string) string {
	if bareKey.MatchString(part) {
		return part
	}
	return quote(part)
}

// hint says what an unknown key was most likely meant to be: a known key of the
// same table with a similar name, else one of that very name in another table.
func hint(parts []string) string {
	n := 1
	for n < len(parts) {
		if _, ok := keys[general(parts[:n])]; !ok {
			break // only the first unknown name counts, not what stands below it
		}
		n++
	}
	table, name := general(parts[:n-1]), parts[n-1]
	var elsewhere string
	var here []string
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		i := strings.LastIndexByte(k, '.')
		known := k[i+1:]
		switch {
		case k[:max(i, 0)] == table:
			here = append(here, known)
		case known == name && elsewhere == "":
			elsewhere = strings.ReplaceAll(k, "*", "NAME")
		}
	}
	best := nearest(name, here)
	switch {
	case best != "":
		return fmt.Sprintf("Did you mean %q?", best)
	case elsewhere != "":
		return fmt.Sprintf("Did you mean %s?", elsewhere)
	case len(here) == 0:
		return "Remove it."
	}
	return "Known here are " + strings.Join(here, ", ") + "."
}

// nearest is that of some names which a wrong one was most likely meant to be,
// whatever its capitals; "" for none.
func nearest(name string, known []string) string {
	best, bestDistance := "", len(name)/3+1
	for _, k := range known {
		if d := distance(strings.ToLower(k), strings.ToLower(name)); d <= bestDistance {
			best, bestDistance = k, d-1
		}
	}
	return best
}

// distance is how many characters must be put in, left out or replaced to make
// b of a, at most 64 of either looked at.
func distance(a, b string) int {
	a, b = a[:min(len(a), 64)], b[:min(len(b), 64)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
