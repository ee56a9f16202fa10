package extract_test

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/continuity/extract"
)

func TestAParagraphWithoutSpacesIsReadWhole(t *testing.T) {
	text := "数据库我们决定使用 PostgreSQL，不要再考虑其他方案。" + strings.Repeat("导入模块要保留到三月份，之后才能删除，删除之前必须先通知运维同事。", 9)
	s := extract.Source{Tokens: 12000, Estimate: continuity.EstimateTokens, Redact: func(s string) string { return s }}
	b, ok := s.Next(holdfast.Capsule{}, []extract.Message{{ID: "1", Turn: 1, Role: extract.User, Text: text}})
	if !ok || !b.Eligible || len(b.Messages) != 1 || b.Messages[0].Text != text {
		t.Errorf("eligible %v, sent %+v", b.Eligible, b.Messages)
	}
}
