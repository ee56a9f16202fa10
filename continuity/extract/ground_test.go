package extract_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/continuity/extract"
)

// talk is a batch of messages: "u: ..." of the person, "a: ..." of the model.
func talk(base holdfast.Capsule, lines ...string) extract.Batch {
	b := extract.Batch{Base: base}
	turn := 0
	for i, line := range lines {
		role, text, _ := strings.Cut(line, ": ")
		m := extract.Message{ID: fmt.Sprint("m", i+1), Role: extract.Assistant, Text: text}
		if role == "u" {
			turn++
			m.Role = extract.User
		}
		m.Turn = turn
		b.Messages = append(b.Messages, m)
		b.Watermark = m.ID
	}
	return b
}

func TestAStatementIsWhatTheWordsSay(t *testing.T) {
	for _, tt := range []struct{ name, words, statement, want string }{
		{"the words themselves", "We use PostgreSQL for the queue.", "We use PostgreSQL for the queue", "We use PostgreSQL for the queue"},
		{"a name of them", "For the queue we use PostgreSQL, because SQLite was too slow.", "PostgreSQL", "PostgreSQL"},
		{"a part of them in their order", "Keep the csv package until March.", "keep csv package until March", "keep csv package until March"},
		{"another inflection", "Use short commit messages.", "uses short commit message", "uses short commit message"},
		{"German", "Für die Queue nehmen wir PostgreSQL, weil SQLite zu langsam war.", "PostgreSQL", "PostgreSQL"},
		{"Chinese", "数据库用 PostgreSQL，不要用 Redis。", "PostgreSQL", "PostgreSQL"},

		{"a number changed", "The limit is 17 MB.", "The limit is 71 MB", "The limit is 17 MB."},
		{"a digit added", "It listens on port 48213.", "port 482130", "It listens on port 48213."},
		{"a sign lost", "The offset is -5.", "The offset is 5", "The offset is -5."},
		{"a version changed", "Pin it to version 4.2.1.", "version 4.2.10", "Pin it to version 4.2.1."},
		{"a unit changed", "At most 17 MB.", "at most 17 GB", "At most 17 MB."},
		{"a path changed", "Never touch internal/legacy.", "Never touch internal/legacy2", "Never touch internal/legacy."},
		{"a negation added", "We use PostgreSQL.", "not PostgreSQL", "We use PostgreSQL."},
		{"a negation lost", "We do not use Redis.", "use Redis", "We do not use Redis."},
		{"a negation doubled", "Not Redis for the queue, it locks us in.", "not Not Redis for the queue, it locks us in", "Not Redis for the queue, it locks us in."},
		{"a negation lost without its apostrophe", "Dont use Redis.", "use Redis", "Dont use Redis."},
		{"a negation lost with another apostrophe", "Don‘t use Redis.", "use Redis", "Don‘t use Redis."},
		{"a negation lost in German", "Wir nehmen kein Redis.", "Wir nehmen Redis", "Wir nehmen kein Redis."},
		{"a negation lost in French", "N'utilise jamais Redis ici.", "utilise Redis ici", "N'utilise jamais Redis ici."},
		{"a negation lost in Spanish", "No uses Redis para esto.", "uses Redis", "No uses Redis para esto."},
		{"a negation lost in Russian", "Не используй Redis для этого.", "используй Redis", "Не используй Redis для этого."},
		{"a negation lost in Chinese", "不要用 Redis。", "用 Redis", "不要用 Redis。"},
		{"a negation lost in Japanese", "Redis は使わないでください。", "Redis は使", "Redis は使わないでください。"},
		{"a negation lost in Swedish", "Använd inte Redis för det.", "Använd Redis", "Använd inte Redis för det."},
		{"a negation lost in Finnish", "Älä koskaan käytä Redistä.", "käytä Redistä", "Älä koskaan käytä Redistä."},
		{"a negation lost in a language that no list covers", "Ez erabili Redis honetarako.", "erabili Redis honetarako", "Ez erabili Redis honetarako."},
		{"all words in a language that no list covers", "Ez erabili Redis honetarako.", "Ez erabili Redis honetarako", "Ez erabili Redis honetarako"},
		{"a name exchanged", "We use flask for it.", "We use django for it", "We use flask for it."},
		{"the name that was given up", "Forget Redis for the queue, use SQLite instead.", "Redis", "Forget Redis for the queue, use SQLite instead."},
		{"the name that was given up, in German", "Vergiss Redis für die Queue, nimm stattdessen SQLite.", "Redis", "Vergiss Redis für die Queue, nimm stattdessen SQLite."},
		{"the name in the reason", "For the queue we use PostgreSQL, because SQLite is what the others have.", "SQLite", "For the queue we use PostgreSQL, because SQLite is what the others have."},
		{"the name behind instead of", "Take SQLite instead of Redis.", "Redis", "Take SQLite instead of Redis."},
		{"the name behind statt", "Nimm SQLite statt Redis.", "Redis", "Nimm SQLite statt Redis."},
		{"what is replaced", "Replace moment with dayjs in the app.", "moment", "Replace moment with dayjs in the app."},
		{"names in exchanged places", "Move the data from CSV to Parquet.", "Move the data from Parquet to CSV", "Move the data from CSV to Parquet."},
		{"one of neither", "Neither Redis nor Memcached, please.", "Redis", "Neither Redis nor Memcached, please."},
		{"a condition lost", "Use Redis only if the tests pass.", "Use Redis", "Use Redis only if the tests pass."},
		{"a time lost", "Keep the csv package until March.", "Keep the csv package", "Keep the csv package until March."},
		{"a doubt lost", "Maybe we use Redis for it.", "we use Redis for it", "Maybe we use Redis for it."},
		{"an exception lost", "Use Redis for the queue, but not for sessions.", "Use Redis for the queue", "Use Redis for the queue, but not for sessions."},
		{"an exception of time lost", "Push to main, but never on Fridays.", "Push to main", "Push to main, but never on Fridays."},
		{"an exception lost in German", "Nimm Redis, aber nicht für Sitzungen.", "Nimm Redis", "Nimm Redis, aber nicht für Sitzungen."},
		{"an exception behind other than", "Format everything other than the config.", "Format everything", "Format everything other than the config."},
		{"an exception before the statement", "Apart from the README, format all files.", "format all files", "Apart from the README, format all files."},
		{"an exception kept", "Format all files apart from the README.", "Format all files apart from the README", "Format all files apart from the README"},
		{"what is said behind a but without a no", "Use Redis for the queue, but take version 7.", "Use Redis for the queue", "Use Redis for the queue"},
		{"an exception in parentheses lost", "Use Redis (not for the queue).", "Use Redis", "Use Redis (not for the queue)."},
		{"a never behind it lost", "Use Redis: never.", "Use Redis", "Use Redis: never."},
		{"a case lost", "Use Redis in case of a failure.", "Use Redis", "Use Redis in case of a failure."},
		{"as long as lost", "As long as it is small, use Redis.", "use Redis", "As long as it is small, use Redis."},
		{"an assumption lost", "Use Redis, assuming Anna agrees.", "Use Redis", "Use Redis, assuming Anna agrees."},
		{"what was once", "We used to use Redis.", "use Redis", "We used to use Redis."},
		{"a rarely lost", "We rarely use Redis.", "use Redis", "We rarely use Redis."},
		{"a condition lost in German", "Nimm Redis, es sei denn, Anna ist dagegen.", "Nimm Redis", "Nimm Redis, es sei denn, Anna ist dagegen."},
		{"a condition lost in Spanish", "Usa Redis a menos que falle.", "Usa Redis", "Usa Redis a menos que falle."},
		{"a condition lost in Chinese", "如果测试通过，用 Redis。", "用 Redis", "如果测试通过，用 Redis。"},
		{"an only lost in Chinese", "只有测试用 Redis。", "用 Redis", "只有测试用 Redis。"},
		{"a condition lost in Japanese", "テストが通れば Redis を使う。", "Redis を使う", "テストが通れば Redis を使う。"},
		{"a condition lost in Korean", "테스트가 통과하면 Redis 사용.", "Redis 사용", "테스트가 통과하면 Redis 사용."},
		{"a condition kept in Chinese", "如果测试通过，用 Redis。", "如果测试通过，用 Redis", "如果测试通过，用 Redis"},
		{"what is said behind a no of its own", "Use Redis, never Kafka.", "Use Redis", "Use Redis"},
		{"a bound lost", "Use at most 5 workers.", "Use 5 workers", "Use at most 5 workers."},
		{"a lower bound lost", "Keep at least 3 backups.", "Keep 3 backups", "Keep at least 3 backups."},
		{"a comparison lost", "The limit is less than 17 MB.", "limit is 17 MB", "The limit is less than 17 MB."},
		{"a doubt in a verb lost", "I doubt we should use Redis.", "we should use Redis", "I doubt we should use Redis."},
		{"an obligation added", "We can use Redis here.", "We must use Redis here", "We can use Redis here."},
		{"something added", "Use SQLite.", "Use SQLite and delete the old tables", "Use SQLite."},
		{"another verb", "Keep the old importer.", "Delete the old importer", "Keep the old importer."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := talk(holdfast.Capsule{}, "u: "+tt.words)
			d, _ := extract.Ground(b, extract.Extraction{Constraints: []extract.Item{{Statement: tt.statement, Quote: tt.words}}})
			want := []holdfast.Constraint{{Statement: tt.want, Status: holdfast.FactActive, Evidence: holdfast.Evidence{By: holdfast.ByUser, Turn: 1, Quote: tt.words}}}
			if diff := cmp.Diff(want, d.Constraints); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhereAQuoteStands(t *testing.T) {
	const user, inferred = holdfast.ByUser, holdfast.ByInferred
	for _, tt := range []struct {
		name, quote string
		lines       []string
		status      holdfast.FactStatus
		words       string
		turn        int
	}{
		{"in a message of the person", "Use sqlite.", []string{"u: Use sqlite."}, holdfast.FactActive, "Use sqlite.", 1},
		{"with other white space", "Use  sqlite\nhere.", []string{"u: Go. Use sqlite here."}, holdfast.FactActive, "Use sqlite here.", 1},
		{"it is widened to the sentence, so that no negation is lost", "use sqlite", []string{"u: Whatever happens, do not use sqlite for this. Thanks."}, holdfast.FactActive, "Whatever happens, do not use sqlite for this.", 1},
		{"over two sentences", "Use sqlite. It is small.", []string{"u: Go on. Use sqlite. It is small. Bye."}, holdfast.FactActive, "Use sqlite. It is small.", 1},
		{"the newest place counts", "use sqlite", []string{"u: use sqlite", "a: ok", "u: again: use sqlite"}, holdfast.FactActive, "again: use sqlite", 2},
		{"in a message of the model", "Use sqlite.", []string{"u: What now?", "a: Use sqlite."}, holdfast.FactProvisional, "Use sqlite.", 0},
		{"nowhere", "Use postgres.", []string{"u: Use sqlite."}, holdfast.FactProvisional, "Use postgres.", 0},
		{"in other letters", "use SQLITE.", []string{"u: use sqlite."}, holdfast.FactProvisional, "use SQLITE.", 0},
		{"in a fence", "Use sqlite.", []string{"u: Look:\n```\nUse sqlite.\n```\nWhat is it?"}, holdfast.FactProvisional, "Use sqlite.", 0},
		{"in a fence in a fence", "Use sqlite.", []string{"u: Look:\n````\n```\nUse sqlite.\n```\n````\nWhat is it?"}, holdfast.FactProvisional, "Use sqlite.", 0},
		{"behind code in a line", "Use sqlite.", []string{"u: ```npm test``` fails.\nUse sqlite."}, holdfast.FactActive, "Use sqlite.", 1},
		{"behind a fence with words behind its end", "Use sqlite.", []string{"u: ```\nx\n``` fails.\nUse sqlite."}, holdfast.FactActive, "Use sqlite.", 1},
		{"in a quoted line", "Use sqlite.", []string{"u: Bob wrote:\n> Use sqlite.\nIs he right?"}, holdfast.FactProvisional, "Use sqlite.", 0},
		{"across a fence", "Use it sqlite.", []string{"u: Use it\n```\nx\n```\nsqlite."}, holdfast.FactProvisional, "Use it sqlite.", 0},
		{"inside of a word", "sql", []string{"u: Use sqlite."}, holdfast.FactProvisional, "sql", 0},
		{"marks alone", "...", []string{"u: Well... use sqlite."}, holdfast.FactProvisional, "...", 0},
		{"in a question", "Use sqlite", []string{"u: Use sqlite here?"}, holdfast.FactProvisional, "Use sqlite", 0},
		{"in a question behind a statement, only the question", "use sqlite here", []string{"u: I am back. Should we use sqlite here?"}, holdfast.FactProvisional, "use sqlite here", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, _ := extract.Ground(talk(holdfast.Capsule{}, tt.lines...), extract.Extraction{Constraints: []extract.Item{{Statement: tt.words, Quote: tt.quote}}})
			a := user
			if tt.status == holdfast.FactProvisional {
				a = inferred
			}
			want := []holdfast.Constraint{{Statement: tt.words, Status: tt.status, Evidence: holdfast.Evidence{By: a, Turn: tt.turn, Quote: tt.words}}}
			if tt.status == holdfast.FactProvisional {
				want[0].Evidence.Quote = continuity.Normal(tt.quote)
			}
			if diff := cmp.Diff(want, d.Constraints); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestGroundDecisions(t *testing.T) {
	base := continuity.Seal(holdfast.Capsule{Decisions: []holdfast.Decision{
		{ID: "d1", Subject: "queue.engine", Statement: "Redis", Status: holdfast.FactActive, Evidence: holdfast.Evidence{By: holdfast.ByUser, Turn: 1}},
		{ID: "d2", Subject: "license", Statement: "MIT", Status: holdfast.FactActive, Evidence: holdfast.Evidence{By: holdfast.ByUser, Turn: 1}},
	}})
	quote := func(q string) holdfast.Evidence { return holdfast.Evidence{By: holdfast.ByUser, Turn: 1, Quote: q} }
	const because = "For the queue we use PostgreSQL, because SQLite was too slow."
	for _, tt := range []struct {
		name  string
		lines []string
		item  extract.Item
		want  holdfast.Decision
	}{
		{
			"a choice with its reason",
			[]string{"u: " + because},
			extract.Item{Subject: "queue.engine", Statement: "PostgreSQL", Rationale: "SQLite was too slow", Quote: because},
			holdfast.Decision{Subject: "queue.engine", Statement: "PostgreSQL", Rationale: "SQLite was too slow", Status: holdfast.FactActive, Evidence: quote(because)},
		},
		{
			"a reason that nobody gave",
			[]string{"u: " + because},
			extract.Item{Subject: "queue.engine", Statement: "PostgreSQL", Rationale: "because the user insists on it", Quote: because},
			holdfast.Decision{Subject: "queue.engine", Statement: "PostgreSQL", Status: holdfast.FactActive, Evidence: quote(because)},
		},
		{
			"a reason turned round",
			[]string{"u: " + because},
			extract.Item{Subject: "queue.engine", Statement: "PostgreSQL", Rationale: "SQLite was slow", Quote: because},
			holdfast.Decision{Subject: "queue.engine", Statement: "PostgreSQL", Status: holdfast.FactActive, Evidence: quote(because)},
		},
		{
			"it supersedes what the words speak of, nothing else",
			[]string{"u: Forget Redis, use PostgreSQL."},
			extract.Item{Subject: "storage", Statement: "PostgreSQL", Quote: "Forget Redis, use PostgreSQL.", Supersedes: []string{"d1", "d2", "d9"}},
			holdfast.Decision{Subject: "storage", Statement: "PostgreSQL", Supersedes: []string{"d1"}, Status: holdfast.FactActive, Evidence: quote("Forget Redis, use PostgreSQL.")},
		},
		{
			"a subject with a number that was not said",
			[]string{"u: Use PostgreSQL for queue 3."},
			extract.Item{Subject: "queue 4", Statement: "PostgreSQL", Quote: "Use PostgreSQL for queue 3."},
			holdfast.Decision{Subject: "queue 4", Statement: "PostgreSQL", Status: holdfast.FactProvisional, Evidence: holdfast.Evidence{By: holdfast.ByInferred, Quote: "Use PostgreSQL for queue 3."}},
		},
		{
			"a yes to what the model proposed",
			[]string{"a: I suggest PostgreSQL for the queue. It is fast.", "u: Yes, do that."},
			extract.Item{Subject: "queue.engine", Statement: "PostgreSQL for the queue", Quote: "Yes, do that."},
			holdfast.Decision{Subject: "queue.engine", Statement: "PostgreSQL for the queue", Status: holdfast.FactActive, Evidence: holdfast.Evidence{By: holdfast.ByAcceptance, Turn: 1, Quote: "Yes, do that.", Proposal: "I suggest PostgreSQL for the queue."}},
		},
		{
			"a yes to a choice between two settles nothing: the yes is all that is known",
			[]string{"a: Shall I take Redis or PostgreSQL?", "u: Yes, do that."},
			extract.Item{Subject: "queue.engine", Statement: "Redis", Quote: "Yes, do that."},
			holdfast.Decision{Subject: "queue.engine", Statement: "Yes, do that.", Status: holdfast.FactActive, Evidence: quote("Yes, do that.")},
		},
		{
			"a yes to the first of two questions: the answer is all that is known",
			[]string{"a: Shall I use PostgreSQL for the queue? Shall I drop the events table?", "u: Yes to the first, no to the second."},
			extract.Item{Subject: "events.table", Statement: "drop the events table", Quote: "Yes to the first, no to the second."},
			holdfast.Decision{Subject: "events.table", Statement: "Yes to the first, no to the second.", Status: holdfast.FactActive, Evidence: quote("Yes to the first, no to the second.")},
		},
		{
			"a yes to two questions",
			[]string{"a: Shall I use PostgreSQL for the queue? Shall I drop the events table?", "u: Yes, both."},
			extract.Item{Subject: "events.table", Statement: "drop the events table", Quote: "Yes, both."},
			holdfast.Decision{Subject: "events.table", Statement: "drop the events table", Status: holdfast.FactActive, Evidence: holdfast.Evidence{By: holdfast.ByAcceptance, Turn: 1, Quote: "Yes, both.", Proposal: "Shall I drop the events table?"}},
		},
		{
			"a no to what the model proposed",
			[]string{"a: I suggest PostgreSQL for the queue.", "u: No, do something else."},
			extract.Item{Subject: "queue.engine", Statement: "PostgreSQL", Quote: "No, do something else."},
			holdfast.Decision{Subject: "queue.engine", Statement: "No, do something else.", Status: holdfast.FactActive, Evidence: quote("No, do something else.")},
		},
		{
			"a yes that answers something else",
			[]string{"a: I suggest PostgreSQL for the queue.", "u: What does it cost?", "a: Nothing at all.", "u: Good, yes."},
			extract.Item{Subject: "queue.engine", Statement: "PostgreSQL", Quote: "Good, yes."},
			holdfast.Decision{Subject: "queue.engine", Statement: "Good, yes.", Status: holdfast.FactActive, Evidence: holdfast.Evidence{By: holdfast.ByUser, Turn: 2, Quote: "Good, yes."}},
		},
		{
			"the model's idea is nobody's decision",
			[]string{"u: What could we use?", "a: We could use PostgreSQL."},
			extract.Item{Subject: "queue.engine", Statement: "PostgreSQL", Quote: "We could use PostgreSQL."},
			holdfast.Decision{Subject: "queue.engine", Statement: "PostgreSQL", Status: holdfast.FactProvisional, Evidence: holdfast.Evidence{By: holdfast.ByInferred, Quote: "We could use PostgreSQL."}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, _ := extract.Ground(talk(base, tt.lines...), extract.Extraction{Decisions: []extract.Item{tt.item}})
			if diff := cmp.Diff([]holdfast.Decision{tt.want}, d.Decisions); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestGroundAlternatives(t *testing.T) {
	for _, tt := range []struct{ name, words, statement, reason, want string }{
		{"what is named in words that say no", "Not write-through. Revise it.", "write-through", "", "rejected write-through"},
		{"with the reason", "Not Redis for the queue, it locks us in.", "Redis for the queue", "it locks us in", "rejected Redis for the queue because it locks us in"},
		{"in German", "Redis für die Queue haben wir angesehen und abgelehnt, weil es niemand pflegen kann.", "Redis für die Queue", "", "rejected Redis für die Queue"},
		{"what is wanted in words that say no to another", "Not Redis, take SQLite.", "SQLite", "", "rejected Not Redis, take SQLite."},
		{"neither of two", "Neither Redis nor Memcached, please.", "Redis", "", "rejected Redis"},
		{"a French no of two words", "N'utilise pas Redis ici, merci.", "Redis", "", "rejected Redis"},
		{"a French yes of two", "N'oublie pas Redis pour la file.", "Redis", "", "provisional Redis"},
		{"words that say yes by saying no twice", "Don't forget Redis here.", "Redis", "", "provisional Redis"},
		{"words that say yes", "Use write-through.", "write-through", "", "provisional write-through"},
		{"the contrary of a no", "Not Redis for the queue.", "not Not Redis for the queue", "", "rejected Not Redis for the queue."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			quote, _, _ := strings.Cut(tt.words, " Revise")
			d, _ := extract.Ground(talk(holdfast.Capsule{}, "u: "+tt.words), extract.Extraction{RejectedAlternatives: []extract.Item{{Statement: tt.statement, Reason: tt.reason, Quote: quote}}})
			a := d.RejectedAlternatives[0]
			got := string(a.Status) + " " + a.Statement
			if a.Reason != "" {
				got += " because " + a.Reason
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestGroundQuestionsAndFacts(t *testing.T) {
	b := talk(holdfast.Capsule{}, "u: Is the old key still needed?", "a: I cannot deploy without the staging key.", "u: The limit is 17 MB. I tried sqlite over NFS, it does not work there.")
	d, counts := extract.Ground(b, extract.Extraction{
		OpenQuestions: []extract.Item{
			{Kind: "question", Statement: "Is the old key still needed?", Quote: "Is the old key still needed?"},
			{Kind: "blocker", Statement: "cannot deploy without the staging key", Quote: "I cannot deploy without the staging key."},
			{Kind: "question", Statement: "Who pays?", Quote: "Who pays?"},
			{Kind: "riddle", Statement: "x", Quote: "x"},
		},
		Facts: []extract.Item{
			{Kind: "value", Statement: "limit is 18 MB", Quote: "The limit is 17 MB."},
			{Kind: "dead_end", Statement: "sqlite over NFS", Quote: "I tried sqlite over NFS, it does not work there."},
			{Kind: "value", Statement: "staging key", Quote: "I cannot deploy without the staging key."},
			{Kind: "riddle", Statement: "x", Quote: "x"},
		},
	})
	wantQuestions := []holdfast.Question{
		{Kind: holdfast.OpenQuestion, Statement: "Is the old key still needed?", Status: holdfast.FactOpen, Evidence: holdfast.Evidence{By: holdfast.ByUser, Turn: 1, Quote: "Is the old key still needed?"}},
		{Kind: holdfast.Blocker, Statement: "cannot deploy without the staging key", Status: holdfast.FactOpen, Evidence: holdfast.Evidence{By: holdfast.ByAgent, Turn: 1, Quote: "I cannot deploy without the staging key."}},
		{Kind: holdfast.OpenQuestion, Statement: "Who pays?", Status: holdfast.FactProvisional, Evidence: holdfast.Evidence{By: holdfast.ByInferred, Quote: "Who pays?"}},
	}
	wantFacts := []holdfast.Fact{
		{Kind: holdfast.ValueFact, Statement: "The limit is 17 MB.", Status: holdfast.FactActive, Evidence: holdfast.Evidence{By: holdfast.ByUser, Turn: 2, Quote: "The limit is 17 MB."}},
		{Kind: holdfast.DeadEndFact, Statement: "sqlite over NFS", Status: holdfast.FactActive, Evidence: holdfast.Evidence{By: holdfast.ByUser, Turn: 2, Quote: "I tried sqlite over NFS, it does not work there."}},
		{Kind: holdfast.ValueFact, Statement: "staging key", Status: holdfast.FactProvisional, Evidence: holdfast.Evidence{By: holdfast.ByInferred, Quote: "I cannot deploy without the staging key."}},
	}
	if diff := cmp.Diff(wantQuestions, d.OpenQuestions); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(wantFacts, d.Facts); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(extract.Counts{extract.NotSaid: 2, extract.WrongKind: 2, extract.Misread: 1}, counts); diff != "" {
		t.Error(diff)
	}
}

func TestGroundClosings(t *testing.T) {
	base := holdfast.Capsule{
		Decisions:     []holdfast.Decision{{ID: "d1", Subject: "queue", Statement: "Redis"}},
		Constraints:   []holdfast.Constraint{{ID: "c1", Statement: "no cgo"}},
		OpenQuestions: []holdfast.Question{{ID: "q1", Statement: "Which port?"}},
	}
	const said = "u: Forget the rule about cgo. It is port 8080."
	for _, tt := range []struct {
		name      string
		answered  []extract.Item
		withdrawn []extract.Item
		want      string
		counts    extract.Counts
	}{
		{"words that speak of it", nil, []extract.Item{{ID: "c1", Quote: "Forget the rule about cgo."}}, "c1", extract.Counts{}},
		{"words that speak of something else", nil, []extract.Item{{ID: "d1", Quote: "Forget the rule about cgo."}}, "", extract.Counts{extract.Unsupported: 1}},
		{"words that nobody typed", nil, []extract.Item{{ID: "c1", Quote: "Use cgo."}}, "", extract.Counts{extract.NotSaid: 1}},
		{"an answer needs no word of the question", []extract.Item{{ID: "q1", Quote: "It is port 8080."}}, nil, "q1", extract.Counts{}},
		{"only questions are answered", []extract.Item{{ID: "c1", Quote: "Forget the rule about cgo."}}, nil, "", extract.Counts{extract.UnknownID: 1}},
		{"an id that is not there", nil, []extract.Item{{ID: "c7", Quote: "Forget the rule about cgo."}}, "", extract.Counts{extract.UnknownID: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, counts := extract.Ground(talk(base, said), extract.Extraction{Answered: tt.answered, Withdrawn: tt.withdrawn})
			got := ""
			for _, c := range d.Closed {
				got += c.ID
			}
			if got != tt.want {
				t.Errorf("closed %q, want %q", got, tt.want)
			}
			if diff := cmp.Diff(tt.counts, counts); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("to say a fact again does not take it back", func(t *testing.T) {
		d, _ := extract.Ground(talk(base, "u: As I said, no cgo here."), extract.Extraction{Withdrawn: []extract.Item{{ID: "c1", Quote: "As I said, no cgo here."}}})
		if len(d.Closed) != 0 {
			t.Errorf("closed %+v", d.Closed)
		}
	})
}

// What is in force after grounding was typed, whatever the answer says.
func TestGroundLaws(t *testing.T) {
	names := []string{"Redis", "SQLite", "flask", "internal/queue", "v1.2.3"}
	rapid.Check(t, func(t *rapid.T) {
		name := func(label string) string { return rapid.SampledFrom(names).Draw(t, label) }
		n := rapid.IntRange(1, 99999).Draw(t, "n")
		words := fmt.Sprintf(rapid.SampledFrom([]string{
			"We use %s for the %s with at most %d workers.", "Never put %s into %s, not even %d times.", "Wir nehmen %s für %s mit %d Prozessen.", "不要用 %s，用 %s，端口 %d。",
		}).Draw(t, "form"), name("a"), name("b"), n)
		fields := strings.Fields(words)
		i, k := rapid.IntRange(0, len(fields)-1).Draw(t, "i"), rapid.IntRange(0, len(fields)-1).Draw(t, "k")
		var statement string
		switch rapid.IntRange(0, 4).Draw(t, "lie") {
		case 0: // another number
			statement = strings.Replace(words, fmt.Sprint(n), fmt.Sprint(n+1+rapid.IntRange(0, 99).Draw(t, "more")), 1)
		case 1: // the contrary
			statement = "not " + words
		case 2: // a name that nobody said
			statement = strings.Join(append(append(slices.Clone(fields[:i]), "Kafka"), fields[i:]...), " ")
		case 3: // words in exchanged places
			fields[i], fields[k] = fields[k], fields[i]
			statement = strings.Join(fields, " ")
		case 4: // something added
			statement = words + " Drop the tables."
		}
		b := talk(holdfast.Capsule{}, "u: Look. "+words+" Thanks.")
		d, _ := extract.Ground(b, extract.Extraction{Decisions: []extract.Item{{Subject: "s", Statement: statement, Quote: words}}})
		got := d.Decisions[0]
		if got.Status != holdfast.FactActive || got.Evidence.Quote != words {
			t.Fatalf("%+v", got)
		}
		bare := func(s string) []string { // without commas, articles and pronouns, which say nothing
			return slices.DeleteFunc(strings.Fields(strings.ToLower(strings.NewReplacer(",", "", ".", "").Replace(s))), func(w string) bool { return w == "we" || w == "wir" || w == "the" })
		}
		if !slices.Equal(bare(words), bare(got.Statement)) {
			t.Fatalf("%q was believed of %q", got.Statement, words)
		}
	})
}
