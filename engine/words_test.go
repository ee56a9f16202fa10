package engine_test

import (
	"strings"
	"testing"
)

func TestAParagraphWithoutSpacesReachesTheBlock(t *testing.T) {
	w := newWorld(t)
	text := "数据库我们决定使用 PostgreSQL，不要再考虑其他方案。" + strings.Repeat("导入模块要保留到三月份，之后才能删除，删除之前必须先通知运维同事。", 9)
	h := w.turn(claude, []entry{user("开始")}, long("Done a"))
	h = w.turn(claude, append(h, user(text)), long("Done b"))
	if b := w.boundary(claude, append(h, user(claudeMarker))...); !strings.Contains(b, text) {
		t.Error(b)
	}
}
