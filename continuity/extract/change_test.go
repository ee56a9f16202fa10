package extract_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity/extract"
)

// held has a fact of each kind in force.
func held() holdfast.Capsule {
	said := holdfast.Evidence{By: holdfast.ByUser, Turn: 1}
	return holdfast.Capsule{
		Decisions: []holdfast.Decision{
			{ID: "queue", Subject: "queue.engine", Statement: "Redis for the queue", Status: holdfast.FactActive, Evidence: said},
			{ID: "cache", Subject: "session cache 7", Statement: "Memcached", Status: holdfast.FactActive, Evidence: said},
		},
		Constraints: []holdfast.Constraint{
			{ID: "main", Statement: "never push to main", Status: holdfast.FactActive, Evidence: said},
			{ID: "cgo", Statement: "no cgo", Status: holdfast.FactActive, Evidence: said},
			{ID: "windows", Statement: "It must run on Windows", Status: holdfast.FactActive, Evidence: said},
			{ID: "csv", Statement: "Keep the csv package until March", Status: holdfast.FactActive, Evidence: said},
		},
		RejectedAlternatives: []holdfast.Alternative{{ID: "kafka", Statement: "Kafka", Status: holdfast.FactRejected, Evidence: said}},
		Facts: []holdfast.Fact{
			{ID: "limit", Kind: holdfast.ValueFact, Statement: "The limit is 17 MB", Status: holdfast.FactActive, Evidence: said},
			{ID: "de", Kind: holdfast.PreferenceFact, Statement: "kurze Commit-Texte", Status: holdfast.FactActive, Evidence: said},
			{ID: "zh", Kind: holdfast.ValueFact, Statement: "队列用 RabbitMQ", Status: holdfast.FactActive, Evidence: said},
		},
	}
}

func TestWordsThatTakeAFactBack(t *testing.T) {
	for _, tt := range []struct{ id, words string }{
		{"queue", "Forget Redis."},
		{"queue", "Forget Redis for the queue, use Postgres instead."},
		{"queue", "Not Redis."},
		{"queue", "We do not use Redis any more."},
		{"queue", "Redis is obsolete for the queue."},
		{"queue", "We're done with Redis."},
		{"queue", "Scrap the whole Redis thing."},
		{"queue", "Switch the queue from Redis to Postgres."},
		{"queue", "Take Postgres instead of Redis."},
		{"queue", "I changed my mind about Redis."},
		{"queue", "Nimm Postgres statt Redis."},
		{"queue", "Vergiss Redis für die Queue, nimm stattdessen Postgres."},
		{"queue", "Wir nehmen doch kein Redis."},
		{"queue", "Oublie Redis, prends Postgres."},
		{"queue", "Usa Postgres en vez de Redis."},
		{"queue", "Забудь про Redis."},
		{"queue", "不要用 Redis 了，改用 Postgres。"},
		{"queue", "Redis は使わないでください。"},
		{"cache", "I changed my mind about the session cache 7: SQLite, not Memcached."},
		{"cache", "Bei session cache 7 habe ich es mir anders überlegt: SQLite, nicht Memcached."},
		{"main", "Forget the rule about main."},
		{"main", "You may push to main now."},
		{"main", "The rule that we never push to main no longer holds."},
		{"main", "Pushing to main is fine again."},
		{"main", "That restriction on main is lifted."},
		{"cgo", "cgo is allowed."},
		{"cgo", "Use cgo after all."},
		{"cgo", "The ban on cgo is gone."},
		{"cgo", "cgo is no longer forbidden."},
		{"cgo", "cgo ist nicht mehr verboten."},
		{"windows", "Windows doesn't matter any more."},
		{"windows", "It need not run on Windows."},
		{"csv", "We no longer need the csv package."},
		{"csv", "Don't keep the csv package."},
		{"csv", "You can delete the csv package now."},
		{"kafka", "Let's use Kafka after all."},
		{"kafka", "Wir nehmen doch Kafka."},
		{"limit", "The limit of 17 MB is gone."},
		{"limit", "You may go over 17 MB now."},
		{"de", "Vergiss das mit den kurzen Commit-Texten."},
		{"zh", "队列不用 RabbitMQ 了。"},
	} {
		t.Run(tt.words, func(t *testing.T) {
			d, _ := extract.Ground(talk(held(), "u: "+tt.words), extract.Extraction{Withdrawn: []extract.Item{{ID: tt.id, Quote: tt.words}}})
			if len(d.Closed) != 1 || d.Closed[0].ID != tt.id {
				t.Errorf("%s stays in force", tt.id)
			}
		})
	}
}

func TestWordsThatOnlyMentionAFact(t *testing.T) {
	for _, tt := range []struct{ id, words string }{
		{"queue", "The Redis client needs a timeout of 5 seconds."},
		{"queue", "Drop the Redis timeout."},
		{"queue", "Change the Redis timeout to 5 seconds."},
		{"queue", "Never restart the Redis client."},
		{"queue", "The Redis client needs a timeout, not a retry."},
		{"queue", "Read the value from Redis."},
		{"queue", "Actually, the Redis queue is fast."},
		{"queue", "Der Redis-Client braucht ein Timeout."},
		{"queue", "Vergiss das Timeout im Redis Client nicht."},
		{"queue", "不要重启 Redis 客户端。"},
		{"main", "Rebase it onto main."},
		{"main", "I saw your push to main yesterday."},
		{"main", "The push to main failed."},
		{"cgo", "As I said, no cgo here."},
		{"cgo", "Forget cgo."},
		{"cgo", "Don't use cgo any more."},
		{"cgo", "We no longer use cgo."},
		{"cgo", "cgo nehmen wir nicht mehr."},
		{"cgo", "On n'utilise plus cgo, jamais plus."},
		{"main", "Don't push to main any more."},
		{"main", "Wir pushen nicht mehr auf main."},
		{"cgo", "The cgo docs are in the wiki."},
		{"windows", "Test the installer on Windows first."},
		{"csv", "The csv package has no tests."},
		{"csv", "Don't forget the csv package."},
		{"csv", "The csv package is not to be touched."},
		{"csv", "Nobody may change the csv package."},
		{"kafka", "Again: not Kafka."},
		{"kafka", "The Kafka client of the others leaks."},
		{"limit", "The limit is in the config."},
		{"limit", "Never go over 17 MB."},
		{"limit", "Nicht mehr als 17 MB."},
	} {
		t.Run(tt.words, func(t *testing.T) {
			d, counts := extract.Ground(talk(held(), "u: "+tt.words), extract.Extraction{Withdrawn: []extract.Item{{ID: tt.id, Quote: tt.words}}})
			if len(d.Closed) != 0 || counts[extract.Unsupported] != 1 {
				t.Errorf("closed %v, counts %v", d.Closed, counts)
			}
		})
	}
}

// A choice of something else leaves hints enough in fewer words.
func TestWhatAChoiceSupersedes(t *testing.T) {
	for _, tt := range []struct {
		words, statement string
		want             []string
	}{
		{"Forget Redis, use Postgres.", "Postgres", []string{"queue"}},
		{"Use Postgres for the queue instead.", "Postgres", []string{"queue"}},
		{"Switch the queue to Postgres.", "Postgres", []string{"queue"}},
		{"Actually, let's go with Postgres for the queue.", "Postgres", []string{"queue"}},
		{"The queue engine is Postgres.", "Postgres", []string{"queue"}},
		{"Let's use Postgres for the queue, Redis was too slow.", "Postgres", []string{"queue"}},
		{"The Redis queue becomes a Postgres table.", "a Postgres table", []string{"queue"}},
		{"Für die Queue lieber Postgres.", "Postgres", []string{"queue"}},
		{"Finalement, on prend Postgres pour la queue.", "Postgres", []string{"queue"}},
		{"queue 换成 Postgres。", "Postgres", []string{"queue"}},
		{"For the session cache 7 we use SQLite.", "SQLite", []string{"cache"}},

		{"For the Redis client use the go-redis library.", "go-redis library", nil},
		{"Use the go-redis library for the Redis client instead.", "go-redis library", nil},
		{"Use 3 workers for the queue.", "3 workers", nil},
		{"Use Postgres for the audit trail instead.", "Postgres", nil},
	} {
		t.Run(tt.words, func(t *testing.T) {
			d, _ := extract.Ground(talk(held(), "u: "+tt.words), extract.Extraction{Decisions: []extract.Item{{Subject: "storage", Statement: tt.statement, Quote: tt.words, Supersedes: []string{"queue", "cache"}}}})
			if got := d.Decisions[0]; got.Status != holdfast.FactActive || !slices.Equal(got.Supersedes, tt.want) {
				t.Error(fmt.Sprint(got.Status, " supersedes ", got.Supersedes, ", want ", tt.want))
			}
		})
	}
}
