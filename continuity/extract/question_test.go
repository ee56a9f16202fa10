package extract_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity/extract"
)

// What is only asked is decided by nobody, with a question mark or without.
func TestAQuestionDecidesNothing(t *testing.T) {
	for _, tt := range []struct {
		name, words, statement string
		want                   holdfast.FactStatus
	}{
		{"a mark", "Should we use Redis?", "use Redis", holdfast.FactProvisional},
		{"a mark before another", "We use Redis?!", "We use Redis", holdfast.FactProvisional},
		{"a mark before dots", "We use Redis?...", "We use Redis", holdfast.FactProvisional},
		{"an Arabic mark", "هل نستخدم Redis؟", "نستخدم Redis", holdfast.FactProvisional},
		{"a Greek mark", "Χρησιμοποιούμε Redis;", "Χρησιμοποιούμε Redis", holdfast.FactProvisional},
		{"a Spanish mark before it alone", "¿Usamos Redis", "Usamos Redis", holdfast.FactProvisional},
		{"a verb before its subject", "should we use redis for the queue", "use redis for the queue", holdfast.FactProvisional},
		{"the same behind other words", "ok so can we drop the events table", "drop the events table", holdfast.FactProvisional},
		{"the same behind a comma", "for the queue, should we use redis", "use redis", holdfast.FactProvisional},
		{"with dots behind it", "Is it ok to use Redis…", "use Redis", holdfast.FactProvisional},
		{"a word that asks why", "Why would we use Redis.", "use Redis", holdfast.FactProvisional},
		{"a word that asks which", "which cache should we use", "cache we use", holdfast.FactProvisional},
		{"what if", "what if we use redis for the queue", "use redis for the queue", holdfast.FactProvisional},
		{"a tag", "We use Redis, right", "We use Redis", holdfast.FactProvisional},
		{"German behind a condition", "wenn das fehlschlägt, sollen wir redis nehmen", "wir redis nehmen", holdfast.FactProvisional},
		{"French how", "Comment utiliser Redis", "utiliser Redis", holdfast.FactProvisional},
		{"German", "sollen wir redis nehmen", "wir redis nehmen", holdfast.FactProvisional},
		{"French", "Devrait-on utiliser Redis", "utiliser Redis", holdfast.FactProvisional},
		{"Russian", "не стоит ли взять Redis", "взять Redis", holdfast.FactProvisional},
		{"Polish", "czy użyć Redis", "użyć Redis", holdfast.FactProvisional},
		{"Turkish", "Redis kullanalım mı", "Redis kullanalım", holdfast.FactProvisional},
		{"a Chinese particle", "我们用 Redis 吗。", "用 Redis", holdfast.FactProvisional},
		{"a Chinese verb with its contrary", "我们要不要用 Redis", "用 Redis", holdfast.FactProvisional},
		{"the same of being", "是不是用 Redis", "用 Redis", holdfast.FactProvisional},
		{"a Japanese particle", "Redis を使いますか。", "Redis を使", holdfast.FactProvisional},
		{"a doubting Japanese particle", "Redis を使うかな", "Redis を使", holdfast.FactProvisional},
		{"Korean", "Redis 쓸까요", "Redis 쓸", holdfast.FactProvisional},

		{"an order that begins like a question", "Do it with Redis.", "Do it with Redis", holdfast.FactActive},
		{"an order to have something done", "Have the client use Redis.", "Have the client use Redis", holdfast.FactActive},
		{"a time that begins like a question", "When it gives up it returns E17.", "When it gives up it returns E17", holdfast.FactActive},
		{"what is wanted", "What we need is a lock.", "What we need is a lock", holdfast.FactActive},
		{"a wish without its subject", "Should work on Windows.", "Should work on Windows", holdfast.FactActive},
		{"an aside that asks", "Use Redis (why not?).", "Use Redis", holdfast.FactActive},
		{"a German proposal", "Nehmen wir Redis.", "Nehmen wir Redis", holdfast.FactActive},
		{"a German statement that begins with was", "Was wir brauchen: einen Lock.", "Was wir brauchen: einen Lock", holdfast.FactActive},
		{"a German statement that begins with wie", "Wie besprochen nehmen wir Redis.", "nehmen wir Redis", holdfast.FactActive},
		{"a German permission", "Darf nicht geändert werden.", "Darf nicht geändert werden", holdfast.FactActive},
		{"a French order", "Utilisez-le partout.", "Utilisez-le partout", holdfast.FactActive},
		{"a German verb behind a reason", "Weil der Kunde das so will, dürfen wir die Tabelle nicht ändern.", "dürfen wir die Tabelle nicht ändern", holdfast.FactActive},
		{"a German verb behind a time", "Bevor wir ausliefern, müssen wir testen.", "Bevor wir ausliefern, müssen wir testen", holdfast.FactActive},
		{"a German verb behind a condition, and a full stop", "Wenn der Port belegt ist, müssen wir 48213 nehmen.", "Wenn der Port belegt ist, müssen wir 48213 nehmen", holdfast.FactActive},
		{"a Dutch verb behind a reason", "Omdat de klant het wil, moeten we de tabel houden.", "moeten we de tabel houden", holdfast.FactActive},
		{"an English order to comment", "Comment every exported function.", "Comment every exported function", holdfast.FactActive},
		{"whatever it be, in French", "Quel que soit le cas, utilise sqlite.", "utilise sqlite", holdfast.FactActive},
		{"a Spanish mi", "Usa sqlite, es mejor para mi.", "Usa sqlite", holdfast.FactActive},
		{"whether or not, in Chinese", "不管是不是测试，都用 Postgres。", "都用 Postgres", holdfast.FactActive},
		{"a Chinese statement", "我们用 Redis。", "用 Redis", holdfast.FactActive},
		{"a Korean reason", "느리니까", "느리니까", holdfast.FactActive},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, _ := extract.Ground(talk(holdfast.Capsule{}, "u: "+tt.words), extract.Extraction{Constraints: []extract.Item{{Statement: tt.statement, Quote: tt.words}}})
			if got := d.Constraints[0]; got.Status != tt.want || got.Statement != tt.statement {
				t.Errorf("%s: %q, want %s: %q", got.Status, got.Statement, tt.want, tt.statement)
			}
		})
	}
}

func TestAQuestionBesideAStatementSupportsNothing(t *testing.T) {
	const words = "We meet on Monday. Should we use Redis?"
	d, counts := extract.Ground(talk(holdfast.Capsule{}, "u: "+words), extract.Extraction{Constraints: []extract.Item{{Statement: "use Redis", Quote: words}}})
	if got := d.Constraints[0]; got.Statement != words || counts[extract.Misread] != 1 {
		t.Errorf("%q was believed, %v", got.Statement, counts)
	}
}

func TestAQuestionInTheNextLineSupportsNothing(t *testing.T) {
	const words = "use sqlite for the store\nshould we use redis for the queue"
	d, _ := extract.Ground(talk(holdfast.Capsule{}, "u: "+words), extract.Extraction{Constraints: []extract.Item{{Statement: "use redis for the queue", Quote: words}}})
	if got := d.Constraints[0].Statement; got == "use redis for the queue" {
		t.Errorf("%q was believed", got)
	}
}

func TestWhatIsOnlyAskedIsNotRejected(t *testing.T) {
	const words = "Not Kafka. Should we not use Redis?"
	d, _ := extract.Ground(talk(holdfast.Capsule{}, "u: "+words), extract.Extraction{RejectedAlternatives: []extract.Item{{Statement: "Redis", Quote: words}}})
	if got := d.RejectedAlternatives[0]; got.Status == holdfast.FactRejected && got.Statement == "Redis" {
		t.Errorf("%q was rejected", got.Statement)
	}
}
