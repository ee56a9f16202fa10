package conversations_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMarkdownHasNoHTMLOfTheConversation: what was said may hold code, which stays as
// it is, and tags, which a page must show and not follow.
func TestMarkdownHasNoHTMLOfTheConversation(t *testing.T) {
	cases := []struct{ name, said, want string }{
		{"a tag", `look <img src=x onerror=alert(1)> and </b>`, "> look &lt;img src=x onerror=alert(1)> and &lt;/b>\n"},
		{"a comment, a declaration, an instruction", "<!-- a\n<!doctype b>\n<?c", "> &lt;!-- a\n> &lt;!doctype b>\n> &lt;?c\n"},
		{"an address in angle brackets", "<https://x.example>", "> &lt;https://x.example>\n"},
		{"less than", "1 < 2, a <= b", "> 1 < 2, a <= b\n"},
		{"code in a fence", "so:\n```go\nif a <b {\n```\n<b>", "> so:\n>\n> ```go\n> if a <b {\n> ```\n> &lt;b>\n"},
		{"a fence of tildes", "~~~\n<b>\n```\n~~~\n<i>", "> ````\n> <b>\n> ```\n> ````\n> &lt;i>\n"},
		{"a fence without an end", "```\n<b>", "> ```\n> <b>\n> ```\n"},
		{"a fence in a list, whose end seems to begin one", "- ```\n  <b>\n  ```\n<i>", "> - ```\n>   &lt;b>\n>\n> ```\n> <i>\n> ```\n"},
		{"a shorter fence in a longer one", "````\n```\n<b>\n````\n<i>", "> ````\n> ```\n> <b>\n> ````\n> &lt;i>\n"},
		{"a span over two lines", "a ` b\nc ` <img> ` d", "> a ` b\n> c ` &lt;img> ` d\n"},
		{"a line with three backticks and more of them is no fence", "``` a ` b\n<img>", "> ``` a ` b\n> &lt;img>\n"},
		{"a fence that stands in four columns is none", "a\n    ```\n<img>", "> a\n>     ```\n> &lt;img>\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newService(t)
			said, err := json.Marshal(c.said)
			if err != nil {
				t.Fatal(err)
			}
			id := one(t, s, `{"kind":"conversation","version":1,"id":"c","title":"A <script>x</script>"}`+"\n"+`{"kind":"user","content":[{"type":"text","text":`+string(said)+`}]}`)
			var b strings.Builder
			if err := s.Markdown(t.Context(), id, &b, func(text string) string { return text }); err != nil {
				t.Fatal(err)
			}
			want := "# A &lt;script>x&lt;/script>\n\n## Turn 1\n\n**User**\n\n" + c.want
			if diff := cmp.Diff(want, b.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
