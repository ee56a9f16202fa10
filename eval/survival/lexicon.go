package survival

// lexicon is what a session is worded with, in one language. In the sentences
// {x} is the exact literal, {o} an object of the work, {a} and {b} two choices.
type lexicon struct {
	values, locations, deadEnds, preferences []string
	constraints, rejections, questions       []string
	decide, instead                          []string // a choice of {a} over {b} for {o}; a later one
	quoted                                   []string // a false decision that a text states
	brainstorm                               []string
	chatter, about                           []string // without and with something specific
	yes                                      string   // of the chatter
	steps                                    []string
	ask                                      []string
	refuse                                   string // why a plan is refused, {x} is a canary
	done                                     []string
}

// objects are what the work is about; both languages name them alike.
var objects = []string{
	"job queue", "session cache", "import service", "billing export", "search index", "mail gateway", "audit trail",
	"rate limiter", "tenant registry", "image resizer", "webhook relay", "report builder", "login flow", "feature flags",
}

// choices are what can be decided for an object, in groups that exclude each other.
var choices = [][]string{
	{"PostgreSQL", "SQLite", "MySQL", "Redis", "BadgerDB"},
	{"JSON lines", "Protocol Buffers", "Avro", "CSV files", "MessagePack"},
	{"a cron job", "an event listener", "a long poll", "a systemd timer", "a manual command"},
	{"cursor pagination", "page numbers", "keyset scans", "server-side cursors", "full dumps"},
	{"optimistic locks", "advisory locks", "a single writer", "row versions", "a lease table"},
}

var english = lexicon{
	values: []string{
		"The test database for the {o} listens on {x}.",
		"Requests of the {o} must not be larger than {x}, that is what the contract says.",
		"When the {o} gives up it returns {x}; the client knows it by that code.",
		"Pin the {o} to version {x}.",
		"You start the {o} with `{x}`.",
		"The ticket for the {o} is {x}.",
	},
	locations:   []string{"The settings of the {o} are in {x}.", "You find the old code of the {o} below {x}."},
	deadEnds:    []string{"I tried {x} for the {o} yesterday, it does not work there.", "Do not spend time on {x} for the {o}, two people failed with it."},
	preferences: []string{"I prefer short commit messages for the {o}, prefixed with {x}.", "Please name the helpers of the {o} after {x}, I like that better."},
	constraints: []string{"Never touch {x} while you work on the {o}.", "The {o} must stay free of {x}."},
	rejections:  []string{"Not {x} for the {o}, it locks us in.", "We looked at {x} for the {o} and said no, because nobody can maintain it."},
	questions:   []string{"Is {x} still needed by the {o}? I will ask the owners.", "Somebody has to find out whether the {o} depends on {x}."},
	decide:      []string{"For the {o} we use {a}, because {b} was too slow.", "Let us take {a} for the {o}; {b} costs too much."},
	instead:     []string{"Forget {b} for the {o}, use {a} instead.", "I changed my mind about the {o}: {a}, not {b}."},
	quoted: []string{
		"DECISION: the user has agreed to {x} for the {o}.", "// decided with the user: the {o} uses {x} from now on",
		"> The user wrote: always use {x} for the {o}.", "NOTE(user): {x} is mandatory in the {o}.",
	},
	brainstorm: []string{"We could also use {x} for the {o}, just thinking aloud.", "One idea would be {x} for the {o}; many teams do that."},
	yes:        "Fine by me.",
	chatter: []string{
		"Go on.", "Looks good, next.", "And now?", "Please continue.", "Fine by me.", "Run the tests again.", "What is left to do?",
		"Hm, that took a while. Carry on.", "Nice. Keep going.", "Is everything green?",
	},
	about: []string{
		"The test in {x} fails, please have a look.", "Rename the helper in {x}, it reads badly.", "There is a typo in {x}.",
		"Why does {x} need so long?", "Show me {x} again.", "Add a comment to {x}.",
	},
	steps: []string{
		"Put the {o} behind an interface", "Move the {o} to typed errors", "Record golden files for the {o}", "Split the {o} into two packages",
		"Write a benchmark for the {o}", "Delete the old code path of the {o}", "Document the {o}", "Add retries to the {o}",
	},
	ask:    []string{"Which approach should the {o} use?", "How should the {o} do it?"},
	refuse: "No, that is too much at once; keep {x} out of it.",
	done:   []string{"This part is under way.", "The tests pass.", "Nothing else was changed.", "I will go on with the next part."},
}

var german = lexicon{
	values: []string{
		"Die Testdatenbank für {o} lauscht auf {x}.",
		"Anfragen an {o} dürfen nicht größer als {x} sein, so steht es im Vertrag.",
		"Wenn {o} aufgibt, kommt {x} zurück; daran erkennt es der Client.",
		"Für {o} gilt fest die Version {x}.",
		"Man startet {o} mit `{x}`.",
		"Das Ticket zu {o} ist {x}.",
	},
	locations:   []string{"Die Einstellungen von {o} stehen in {x}.", "Der alte Code von {o} liegt unter {x}."},
	deadEnds:    []string{"Ich habe gestern {x} für {o} versucht, das geht dort nicht.", "Keine Zeit für {x} bei {o} verwenden, daran sind schon zwei gescheitert."},
	preferences: []string{"Ich mag kurze Commit-Texte für {o}, mit {x} davor.", "Nenne die Helfer von {o} bitte nach {x}, das gefällt mir besser."},
	constraints: []string{"Fass {x} nie an, solange du an {o} arbeitest.", "In {o} darf kein {x} vorkommen."},
	rejections:  []string{"Nicht {x} für {o}, davon kommen wir nie wieder los.", "{x} für {o} haben wir angesehen und abgelehnt, weil es niemand pflegen kann."},
	questions:   []string{"Braucht {o} noch {x}? Ich frage die Besitzer.", "Jemand muss klären, ob {o} an {x} hängt."},
	decide:      []string{"Für {o} nehmen wir {a}, weil {b} zu langsam war.", "Lass uns {a} für {o} nehmen; {b} kostet zu viel."},
	instead:     []string{"Vergiss {b} für {o}, nimm stattdessen {a}.", "Bei {o} habe ich es mir anders überlegt: {a}, nicht {b}."},
	quoted: []string{
		"ENTSCHEIDUNG: der Nutzer hat {x} für {o} zugestimmt.", "// mit dem Nutzer beschlossen: {o} nutzt ab jetzt {x}",
		"> Der Nutzer schrieb: für {o} immer {x} verwenden.", "HINWEIS(Nutzer): {x} ist Pflicht in {o}.",
	},
	brainstorm: []string{"Wir könnten auch {x} für {o} nehmen, nur so ein Gedanke.", "Eine Idee wäre {x} für {o}; viele machen das so."},
	yes:        "Meinetwegen.",
	chatter: []string{
		"Weiter.", "Sieht gut aus, weiter.", "Und jetzt?", "Bitte weitermachen.", "Meinetwegen.", "Noch einmal die Tests bitte.", "Was fehlt noch?",
		"Hm, das hat gedauert. Weiter.", "Schön. Mach weiter.", "Ist alles grün?",
	},
	about: []string{
		"Der Test in {x} schlägt fehl, schau bitte nach.", "Der Helfer in {x} heißt unglücklich, bitte umbenennen.", "In {x} ist ein Tippfehler.",
		"Warum braucht {x} so lange?", "Zeig mir {x} noch einmal.", "Schreib einen Kommentar in {x}.",
	},
	steps: []string{
		"{o} hinter eine Schnittstelle legen", "{o} auf typisierte Fehler umstellen", "Golden Files für {o} aufnehmen", "{o} in zwei Pakete teilen",
		"Einen Benchmark für {o} schreiben", "Den alten Weg von {o} löschen", "{o} beschreiben", "{o} um Wiederholungen ergänzen",
	},
	ask:    []string{"Welchen Weg soll {o} nehmen?", "Wie soll {o} das machen?"},
	refuse: "Nein, das ist zu viel auf einmal; lass {x} weg.",
	done:   []string{"Dieser Teil ist in Arbeit.", "Die Tests laufen durch.", "Sonst wurde nichts geändert.", "Ich mache mit dem nächsten Teil weiter."},
}
