package continuity_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/continuity"
)

func TestWordsOfScriptsWithoutSpaces(t *testing.T) {
	han := strings.Repeat("导入模块要保留到三月份，之后才能删除，删除之前必须先通知运维同事。", 9)
	thai := strings.Repeat("กรุณาเก็บตัวนำเข้าเดิมไว้จนถึงเดือนมีนาคม", 9)
	korean := strings.Repeat("데이터베이스마이그레이션스크립트를 유지해주세요. ", 15)
	mark := strings.Repeat("数据库必须保留，", 120)  // 2880 bytes, 24 each
	none := strings.Repeat("数据库必须保留模块", 120) // 3240 bytes, 27 each
	for _, tt := range []struct{ name, in, want string }{
		{"a paragraph of Chinese stays whole", han, han},
		{"a paragraph of Thai stays whole", thai, thai},
		{"a paragraph of Korean stays whole", korean, strings.TrimSpace(korean)},
		{
			"a blob beside some Chinese is a blob", "解码：" + strings.Repeat("QUJDREVG", 200),
			"[a pasted line of 1609 characters left out]",
		},
		{
			"one that is too long is cut behind its marks", mark,
			strings.Repeat("数据库必须保留，", 56) + " […] " + strings.Repeat("数据库必须保留，", 21),
		},
		{
			"an early and a late space are not where it is cut", "请用 Go：" + mark + "谢谢 你",
			"请用 Go：" + strings.Repeat("数据库必须保留，", 56) + " […] " + strings.Repeat("数据库必须保留，", 20) + "谢谢 你",
		},
		{
			"without marks it is cut between two runes", none,
			strings.Repeat("数据库必须保留模块", 50) + "数据库必须" + " […] " + "据库必须保留模块" + strings.Repeat("数据库必须保留模块", 18),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := continuity.Words(tt.in)
			if got != tt.want {
				t.Errorf("got %d bytes\n%q\nwant %d\n%q", len(got), got, len(tt.want), tt.want)
			}
			if again := continuity.Words(got); again != got || !utf8.ValidString(got) {
				t.Errorf("again it becomes\n%q", again)
			}
		})
	}
}

// A letter of most alphabets has two bytes or three: what counts for a word is how many
// letters it has.
func TestWordsOfOtherAlphabets(t *testing.T) {
	for _, line := range []string{
		"Используй только существующее подключение к базе данных, потому что администраторы заказчика запрещают открывать дополнительные соединения в рабочее время.",
		"Μην χρησιμοποιήσεις παράλληλες συναλλαγές, επειδή οι διαχειριστές απαγορεύουν κατηγορηματικά περισσότερες ταυτόχρονες συνδέσεις.",
		"कॉन्फ़िगरेशन पैरामीटर केवल एन्क्रिप्टेड भंडार में सहेजे जाने चाहिए, क्योंकि प्रशासक समानांतर कनेक्शन की संख्या बढ़ाने से मना करते हैं।",
	} {
		typed := strings.TrimSpace(strings.Repeat(line+" ", 4))
		if got := continuity.Words(typed); got != typed {
			t.Errorf("%q became %q", line, got)
		}
		texts := []string{"Build it.", strings.TrimRight(line, ".।") + ", 48213."}
		for i := range 60 {
			texts = append(texts, "and once more "+strings.Repeat("x", i))
		}
		b, _ := continuity.Render(said(texts...), continuity.All, continuity.Budget{Tokens: 2500, Words: 1000}, continuity.EstimateTokens)
		if !strings.Contains(b.Text, "48213") {
			t.Errorf("the value is lost:\n%s", b.Text)
		}
	}
}
