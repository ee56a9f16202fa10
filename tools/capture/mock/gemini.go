package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// geminiBody is what is read of a Gemini request.
type geminiBody struct {
	System json.RawMessage   `json:"systemInstruction"`
	Tools  []json.RawMessage `json:"tools"`
}

// writeGemini answers with one event, or with a body when the path asks for no
// stream.
func writeGemini(path string, a answer, turn int) (kind string, reply []byte) {
	parts := []any{}
	if a.Text != "" {
		parts = append(parts, object{"text": a.Text})
	}
	for i, c := range a.Tools {
		parts = append(parts, object{"functionCall": object{"id": fmt.Sprintf("fc_%04d%02d", turn, i+1), "name": c.Name, "args": c.Input}})
	}
	whole := object{
		"candidates": []any{object{"index": 0, "finishReason": "STOP", "content": object{"role": "model", "parts": parts}}},
		"usageMetadata": object{
			"promptTokenCount": a.inputTokens(), "candidatesTokenCount": 20,
			"totalTokenCount": a.inputTokens() + 20,
		},
		"responseId": fmt.Sprintf("resp_%04d", turn),
	}
	text, _ := json.Marshal(whole)
	if strings.HasSuffix(path, ":streamGenerateContent") {
		return "text/event-stream", fmt.Appendf(nil, "data: %s\r\n\r\n", text)
	}
	return "application/json", text
}
