package eval

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"hash"
	"strings"
)

// behind is what an Anthropic request holds, as newer models bind thinking to it: the
// system text, the tools and all messages before, in one row of blocks, without thinking
// and cache marks. moved counts the thinking in it that stands behind something else than
// it was made behind, by its signature:
// https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks.
func behind(body []byte) (signature string, moved int) {
	var r struct {
		System, Tools any
		Messages      []struct {
			Role    string
			Content any
		}
	}
	if json.Unmarshal(body, &r) != nil {
		return "", 0
	}
	sum := sha256.New()
	for _, b := range blocksIn(r.System) {
		// What claude-code says of itself to the provider differs from request to request.
		if text, _ := b["text"].(string); !strings.HasPrefix(text, "x-anthropic-billing-header") {
			add(sum, "system", b)
		}
	}
	add(sum, "tools", r.Tools)
	for _, m := range r.Messages {
		for _, b := range blocksIn(m.Content) {
			if b["type"] != "thinking" {
				add(sum, m.Role, b)
			} else if b["signature"] != signed(sum) {
				moved++
			}
		}
	}
	return signed(sum), moved
}

func signed(sum hash.Hash) string { return base64.StdEncoding.EncodeToString(sum.Sum(nil)) }

// blocksIn are the blocks of a content, which may be one text.
func blocksIn(content any) (blocks []map[string]any) {
	switch c := content.(type) {
	case string:
		return []map[string]any{{"type": "text", "text": c}}
	case []any:
		for _, b := range c {
			if b, ok := b.(map[string]any); ok {
				blocks = append(blocks, b)
			}
		}
	}
	return blocks
}

// add adds a value by its content, whatever the order of its keys.
func add(sum hash.Hash, role string, v any) {
	raw, err := json.Marshal([]any{role, unmarked(v)})
	if err != nil {
		panic(err) // it was JSON before
	}
	sum.Write(raw)
}

// unmarked is a value without cache marks.
func unmarked(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			if k != "cache_control" {
				out[k] = unmarked(x)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = unmarked(x)
		}
		return out
	}
	return v
}
