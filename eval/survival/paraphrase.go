package survival

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/eval"
)

// synonyms are the words that a paraphrase replaces, in both languages of the
// sessions.
var synonyms = map[string]string{
	"always": "every time", "answer": "reply", "approved": "agreed on", "because": "since", "below": "under", "change": "alter", "changed": "altered",
	"client": "consumer", "code": "sources", "completed": "finished", "contract": "agreement", "costs": "takes", "database": "store",
	"decided": "settled", "decision": "choice", "decisions": "choices", "depends": "relies", "digest": "checksum", "fails": "breaks", "failed": "came to nothing",
	"find": "see", "first": "earliest", "forget": "leave", "free": "clear", "generated": "produced", "global": "overall", "inheritance": "subclassing",
	"instead": "rather", "kilobytes": "some size", "larger": "bigger", "later": "afterwards", "legacy": "former", "like": "favour", "listens": "waits",
	"maintain": "look after", "message": "note", "messages": "notes", "must": "has to", "name": "call", "needed": "required", "never": "at no time",
	"not": "hardly", "number": "item", "old": "earlier", "owners": "people in charge", "pending": "waiting", "pin": "fix", "plan": "scheme", "plugin": "extension",
	"pool": "group", "pools": "groups", "prefer": "would rather have", "proposed": "suggested", "record": "log", "reflection": "introspection", "rejected": "turned down",
	"rename": "relabel", "requests": "calls", "returns": "gives", "revision": "edition", "second": "further", "session": "sitting", "settings": "options",
	"shared": "common", "short": "brief", "slow": "sluggish", "start": "launch", "step": "stage", "steps": "stages", "test": "check",
	"tests": "checks", "thread": "task", "took": "used", "touch": "modify", "tried": "attempted", "use": "go with", "used": "went with", "user": "person",
	"uses": "goes with", "vendored": "copied-in", "version": "release", "words": "remarks", "work": "operate", "yesterday": "the other day",

	"abgelehnt": "verworfen", "alte": "frühere", "alter": "früherer", "braucht": "benötigt", "daran": "damit", "dürfen": "können", "einstellungen": "Optionen",
	"entscheidung": "Wahl", "geht": "klappt", "gestern": "neulich", "immer": "jedes Mal", "kein": "nichts von", "liegt": "steht", "muss": "hat zu",
	"nehmen": "wählen", "nenne": "heiße", "nicht": "kaum", "nie": "zu keiner Zeit", "nimm": "wähle", "nutzer": "Mensch", "stattdessen": "eher",
	"stehen": "liegen", "statt": "eher als", "vergiss": "lass", "versucht": "probiert", "verwenden": "einsetzen", "weil": "da", "zu": "allzu",
}

var (
	anyTag    = regexp.MustCompile(`</?[A-Za-z][\w-]*[^<>\n]*>`)
	portGiven = regexp.MustCompile(`(?i)\bport \d+`)
	fileLike  = regexp.MustCompile(`/|\\|\w\.[a-z]{1,5}$`)
	nameLike  = regexp.MustCompile("_|`|[a-z][A-Z]|^[A-Z]{3,}|\\d")
	allDigit  = regexp.MustCompile(`^[\d.,:%x-]+$`)
)

// paraphrase says every sentence again, old records included, in other words. A
// text in angle brackets is no sentence.
func paraphrase(_ *rand.Rand, r eval.Request) string {
	var out []string
	for _, s := range conversation(r.Body) {
		if s = reword(s); s != "" {
			out = append(out, s)
		}
	}
	return strings.Join(bothEnds(out, summaryRoom(r, shortBytes)), "\n")
}

// reword replaces the words of a sentence that have a synonym, and blurs what is
// specific in it.
func reword(sentence string) string {
	sentence = portGiven.ReplaceAllString(anyTag.ReplaceAllString(sentence, " "), "some port")
	words := strings.Fields(sentence)
	for i, w := range words {
		core := strings.TrimFunc(w, func(r rune) bool { return unicode.IsPunct(r) && r != '_' && r != '/' })
		if core == "" {
			continue
		}
		at := strings.Index(w, core)
		words[i] = w[:at] + otherWord(core) + w[at+len(core):]
	}
	return strings.Join(words, " ")
}

// otherWord is what a paraphrase says for a word.
func otherWord(word string) string {
	switch {
	case fileLike.MatchString(word):
		return "a file"
	case allDigit.MatchString(word):
		return "some number"
	case nameLike.MatchString(word):
		return "some name"
	}
	other, ok := synonyms[strings.ToLower(word)]
	if !ok {
		return word
	}
	if r, n := utf8.DecodeRuneInString(other); unicode.IsUpper([]rune(word)[0]) {
		other = string(unicode.ToUpper(r)) + other[n:]
	}
	return other
}
