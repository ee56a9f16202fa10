package extract

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/continuity"
)

// Eligible reports whether a message of the person may hold a decision, a
// constraint, a correction, an acceptance, a rejection, a preference or a value. It
// is there to save calls and settles nothing. It says no only to what it knows: words
// that keep the work going, questions, orders for one piece of work, reports of what
// broke. In doubt, as in a language that it does not know, it says yes. What the
// message answers counts too: behind a plan any message may be an
// acceptance; and a yes alone holds nothing where nothing was offered, which only
// Source knows.
func Eligible(text string) bool {
	own := speak(patience.ReplaceAllString(stubs.ReplaceAllString(continuity.Shorten(text, maxUserBytes), " "), " "))
	if !hasWord(own.text) {
		return false
	}
	if valueIn.MatchString(pathIn.ReplaceAllString(own.text, " ")) {
		return true
	}
	return slices.ContainsFunc(own.sentencesText(), func(s string) bool { return hasWord(s) && !ordinary(s) })
}

// ordinary reports whether a sentence is known to hold nothing for later.
func ordinary(sentence string) bool {
	tokens := slices.DeleteFunc(tokensOf(sentence), func(t string) bool { return !hasWord(t) })
	if !slices.ContainsFunc(tokens, func(t string) bool { return !chatter[t] }) {
		return true
	}
	if slices.ContainsFunc(tokens, unspaced) {
		return slices.Contains(chatterUnspaced, strings.TrimRightFunc(sentence, unicode.IsPunct))
	}
	if !charted(tokens) {
		return false
	}
	if asks(sentence) && asking[tokens[0]] {
		// What asks for something settles nothing, unless it asks for something else.
		return !slices.ContainsFunc(tokens, func(t string) bool { return objections[t] }) && (len(tokens) == 1 || !cuePairs[tokens[0]+" "+tokens[1]])
	}
	if affirms(sentence) && !orders[tokens[0]] {
		return slices.ContainsFunc(tokens, func(t string) bool { return goingOn[t] })
	}
	for len(tokens) > 1 && leads[tokens[0]] {
		tokens = tokens[1:]
	}
	for i, t := range tokens {
		if (negators[t] || refusing[t]) && !reports[t] || limits[t] || contrasts[t] || opposed[t] != nil || cues[t] || i+1 < len(tokens) && (cuePairs[t+" "+tokens[i+1]] || t == "in" && !places[tokens[i+1]] && !strings.ContainsAny(tokens[i+1], "/.")) {
			return false
		}
	}
	if names(sentence) {
		return false
	}
	return orders[tokens[0]] || slices.ContainsFunc(tokens, func(t string) bool { return reports[t] })
}

// charted reports whether a text is in one of the languages whose words for choices
// are listed, English and German, and in no other: only there does it mean something
// that none of them is there.
func charted(tokens []string) bool {
	in, out, of := 0, 0, 0
	for _, t := range tokens {
		if strings.ContainsFunc(t, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' }) {
			continue
		}
		of++
		switch {
		case chartedWords[t] || chatter[t]:
			in++
		case common[t]:
			out++
		}
	}
	return in > out && in*5 >= 2*of
}

// valueIn finds what has to be kept to the letter: numbers, code, quoted names,
// options, constants. pathIn finds files and directories, whose digits are no value.
var (
	valueIn = regexp.MustCompile("[0-9]|`[^`]+`|\"[^\"]+\"|“[^”]+”|„[^“”]+[“”]|«[^»]+»|\\b[A-Z]{2,}[A-Z_]+\\b|(?:^|\\s)--?[a-z]|\\b\\w+@\\w|https?://|\\w[._]\\w")
	pathIn  = regexp.MustCompile(`\S*\w[/\\]\w\S*\.\w+|\S*\w[/\\]\w+[/\\]\S*|\b[\w-]+\.(?:go|py|js|ts|rs|md|java|c|h|cpp|toml|yaml|yml|json|sql|sh|txt|css|html)\b|\bREADME\b`)
)

// stubs are what continuity.Shorten puts in the place of pasted bulk.
var stubs = regexp.MustCompile(`\[(?:\d+ pasted lines|a pasted line of \d+ characters) left out\]`)

// patience finds remarks on how long something took, which settle nothing.
var patience = regexp.MustCompile(`(?i)\b(?:that|this|it) took (?:a while|a long time|quite some time|long|ages|forever)\b|\bdas hat (?:ja )?(?:lange |eine weile |ewig )?gedauert\b`)

// names reports whether a name stands inside of an English sentence: who owns
// something, what it is called.
func names(text string) bool {
	for _, s := range continuity.Sentences(text) {
		ws := strings.Fields(s.Text)
		german := slices.ContainsFunc(ws, func(w string) bool { return germanWords[strings.ToLower(strings.TrimFunc(w, unicode.IsPunct))] })
		for i, w := range ws {
			w = strings.TrimFunc(w, unicode.IsPunct)
			r, size := utf8.DecodeRuneInString(w)
			if i > 0 && !german && unicode.IsUpper(r) && size < len(w) && !strings.HasPrefix(w, "I'") {
				return true
			}
		}
	}
	return false
}

// chatter are words of messages that only keep the work going; goingOn are those of
// them by which a yes is no answer to anything.
var (
	goingOn = set("next continue going again weiter weitermachen nochmal fahr fort")
	chatter = set(
		"go on continue next keep going carry please and now then hm hmm nice cool thanks thank you great again more what's whats up ping hello hi hey wow ah oh right the tests run test them it status done ready so well",
		"weiter bitte und jetzt mach machen weitermachen danke schön super hallo noch einmal nochmal mal fahr fort die tests lauf ah oh hm na gut fertig so",
		"continue continuez merci suite suivant sigue continúa gracias siguiente continua grazie avanti obrigado próximo ga door verder bedankt dalej dzięki дальше продолжай спасибо",
	)
	chatterUnspaced = []string{"继续", "继续吧", "谢谢", "接着", "下一步", "继续下一步", "続けて", "続けてください", "続き", "ありがとう", "次", "次へ", "계속", "계속해", "계속해줘", "고마워", "다음"}
)

// germanWords and englishWords are frequent words that tell these languages from
// others.
var (
	germanWords  = set("der die das und oder ist sind zu im auf für mit wir ich dass diese dieser nicht kein ein eine einen wird kann soll haben hat war aus bei dann unser mein bitte ja gut alle nur immer den dem des sich auch noch wie warum wieso was wo in es er sie man mir mich dir zeig schau schreib lies prüfe starte füge baue benenne erkläre hier dort schlägt fehl du hast gemacht alles braucht heißt noch einmal so lange nach von vom zum zur als test tests datei funktion sonst wurde wurden nichts geändert fertig läuft laufen")
	englishWords = set("the a an and or is are to of in on for with we you i it that this do go be will can have has was from by at as then our your my me please yes ok good all let make add run want need into than why what where how who when does did fix show look see check explain rename write read open close again here there some any its it's i'm there's that's fails failing error test tests file function helper comment typo start tell give find update remove move create build everything nothing else changed done all same once")
	chartedWords = set(strings.Join(keys(germanWords), " "), strings.Join(keys(englishWords), " "), strings.Join(keys(orders), " "), strings.Join(keys(reports), " "))
)

func keys(m map[string]bool) (all []string) {
	for k := range m {
		all = append(all, k)
	}
	return all
}

// cues are words by which people choose, forbid, correct, prefer and tell, in
// English and German.
var cues = set(
	"use uses using used must should shall always instead prefer preferred rather want wanted need needs needed keep keeps stay stays remain take pick choose chose chosen decide decided decision stick switch require required requires requirement",
	"allow allowed forbid forbidden ban mandatory optional important ensure sure careful never whatever actually meant mean wrong correct correction mistake misunderstood changed mind like likes liked love better nicer style convention consistent consistency naming name named called call",
	"limit limits maximum minimum most least with mit each every jede jeder jedes jeden new neue neuen port version ticket owner owns team deadline budget target default second third former latter both either option variant approach agree agreed approved approve accept accepted accepts reject yes yep yeah lgtm proceed ahead perfect exactly",
	"located lives live below inside stored whether ask because since matter matters rule rules policy contract preference preferences host hosts english german language agreed same different separate together everywhere nobody somebody everything first exactly support supports target tried works work working locks costs cost slow expensive too drop dropping",
	"nehmen nimm nehmt nutze nutzen benutze verwende verwenden muss müssen musst darf dürfen sollen sollte sollten immer statt stattdessen lieber bevorzuge will wollen möchte brauche brauchen behalte behalten bleib bleibt bleiben lass lassen wähle entscheide entschieden entscheidung wechsle erlaubt verboten pflicht wichtig unbedingt eigentlich meinte meine falsch richtig anders überlegt mag gefällt besser schöner stil einheitlich nenne nennen benannt",
	"gilt gelten höchstens mindestens grenze zweite dritte beide variante vorschlag einverstanden abgelehnt ja genau passt los perfekt prima stehen steht liegt liegen lautet lauscht unter klären ob frage frag weil regel vertrag gleich getrennt überall zuerst erst versucht geht kostet langsam teuer dürfte fest version zuständig gehört heißen team eben englisch deutsch sprache",
)

// asking begin questions; objections are words of a question that wants something
// else. reports are words that tell what broke. orders begin an order for one piece
// of work.
var (
	asking     = set("what what's why where who when which how is are did do does you was any anything warum siehst weißt wieso wo wer wann welche welcher welches wie ist sind hat")
	reports    = set("fail fails failed failing crash crashes crashed typo panic panics red broken blank hangs hang leak leaks tippfehler stürzt abgestürzt rot kaputt fehl hängt")
	objections = set("not instead rather better don't shouldn't isn't aren't nicht stattdessen lieber besser statt")
	// places stand behind "in" where it tells a place, not a manner.
	places = set("the a an this that my your our it there here der die das dem den einer einem dieser diesem meinem")
	// leads stand before an order.
	leads  = set("please now then and so ok okay can could would will you also just let's let us me again bitte jetzt dann und also kannst könntest du mal noch einmal nochmal")
	orders = set(
		"go run rerun show rename fix look explain check read open close commit push deploy start restart stop find locate update build rebuild debug investigate review analyse analyze inspect summarise summarize describe tell give see print list search grep refactor clean format implement write add create finish try test verify compile install fetch pull merge rebase generate try repeat continue carry help undo revert have delete copy sync research collect gather report display download upload troubleshoot evaluate measure profile",
		"zeig zeige schau schaue lies prüfe prüf erkläre erklär such suche starte öffne schließe baue bau teste lauf führe fasse beschreibe sag gib hilf benenne korrigiere behebe repariere füge erstelle schreib schreibe noch in",
	)
)

// cuePairs are two words in a row that tell what one of them does not.
var cuePairs = map[string]bool{
	"it is": true, "how about": true, "why not": true, "what if": true, "you find": true, "do it": true, "do that": true, "go with": true, "go for": true, "go ahead": true, "sounds good": true, "looks good": true, "only the": true,
	"that one": true, "is in": true, "are in": true, "is at": true, "ist in": true, "sind in": true, "this one": true, "let's do": true, "let us": true, "let's go": true, "ship it": true, "works for": true, "fine by": true, "good to": true,
	"so machen": true, "mach das": true, "mach es": true, "sieht gut": true, "klingt gut": true, "nur die": true, "das ist": true, "machen wir": true, "in ordnung": true,
}
