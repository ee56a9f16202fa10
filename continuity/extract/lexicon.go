package extract

import (
	"maps"
	"strings"
)

// set makes a lookup of words that stand in one text, separated by white space.
func set(words ...string) map[string]bool {
	all := map[string]bool{}
	for _, w := range strings.Fields(strings.Join(words, " ")) {
		all[w] = true
	}
	return all
}

// phrases makes a lookup of words and of words in a row, separated by commas.
func phrases(list string) map[string]bool {
	all := map[string]bool{}
	for p := range strings.SplitSeq(list, ",") {
		all[strings.TrimSpace(p)] = true
	}
	return all
}

func union(sets ...map[string]bool) map[string]bool {
	all := map[string]bool{}
	for _, s := range sets {
		maps.Copy(all, s)
	}
	return all
}

// negators say no to what their clause says, in the languages of the common words
// and some more. Two of them say no as well: neither of two, ne and pas.
var negators = set(
	"not no never none neither nor without don't doesn't didn't isn't aren't wasn't won't can't cannot shouldn't mustn't wouldn't couldn't needn't nobody nothing nowhere unlike too",
	"nicht kein keine keinen keinem keiner keines nie niemals ohne weder nirgends niemand nichts",
	"ne n' pas jamais aucun aucune sans ni rien trop",
	"nunca jamás ningún ninguna sin tampoco nada demasiado",
	"non mai nessun nessuna senza né niente troppo",
	"não nunca nenhum nenhuma sem nem demais",
	"niet geen nooit zonder niets",
	"nie nigdy żaden żadna bez",
	"inte ej aldrig aldri ikke ingen inget uten utan uden älä ei eivät ilman není nikdy nem soha nu niciodată fără değil yok hayır asla không đừng tidak jangan bukan",
	"не нет никогда ни без нельзя слишком",
)

// refusing are verbs that say no by themselves; with a negator they say yes: not to
// forget something.
var refusing = set(
	"forget avoid stop skip drop remove delete exclude reject rejected refuse ban banned dismiss discard abandon leave omit failed fails hate dislike",
	"vergiss vergesst vergessen lass vermeide vermeiden entferne entfernen lösche löschen abgelehnt ablehnen verworfen verwirf verzichte verzichten gescheitert streiche streichen weg",
	"oublie oubliez évite évitez supprime supprimez refusé rejeté olvida olvidad olvides evita elimina quita rechazado dimentica dimenticare evitare rimuovi rifiutato",
	"esqueça esquece evite remova rejeitado vergeet vermijd verwijder afgewezen zapomnij unikaj usuń забудь забудьте избегай удали отклонено",
)

// keeping are verbs that say no to taking something away.
var keeping = set("keep keeps retain preserve behalte behalten garde gardez conserve conserva mantén mantener mantieni mantenha mantém houd behoud zachowaj оставь сохрани")

// negatorsUnspaced are those of languages without spaces between words.
var negatorsUnspaced = []string{"不", "没", "沒", "别", "別", "勿", "無", "无", "未", "禁", "ない", "ません", "なく", "しな", "않", "안 ", "못", "말고", "말아", "없"}

// limits are words of doubt, condition and time, which narrow what a sentence says. A
// statement must have all that its words have.
var limits = set(
	"maybe perhaps might could possibly probably eventually later if unless until till when whenever while only except before after once provided unsure guess doubt most least less more nearly",
	"vielleicht könnte könnten eventuell möglicherweise vermutlich später wenn falls sofern bis außer nur solange sobald bevor nachdem erst",
	"peut-être pourrait éventuellement si sauf jusqu'à jusqu'au lorsque quand seulement avant après",
	"quizás quizá podría salvo hasta cuando solo sólo antes después excepto",
	"forse potrebbe finché quando solo prima dopo tranne se",
	"talvez poderia até quando só apenas antes depois exceto",
	"misschien zou als tot tenzij alleen voordat nadat behalve",
	"może jeśli dopóki tylko przed po chyba",
	"может если пока когда только до после кроме возможно",
)

// excepting are pairs of words that begin an exception.
var excepting = map[string]bool{"other than": true, "apart from": true, "aside from": true, "abgesehen von": true}

// glue are words that a statement may have or leave out: articles, forms of to be,
// pronouns, politeness. Nothing with a meaning of its own is here.
var glue = set(
	"the a an is are be i we you it that this these those our your my please of then so just let us let's let’s will",
	"der die das den dem des ein eine einen einem einer eines ist sind wir ich du ihr es unser unsere bitte also dann mal ja doch",
	"le la les l' d' j' s' c' un une des est sont nous je vous il s'il plaît de du el los las una unos es son por favor lo gli uno",
	"o os as um uma é são het een zijn to jest są это",
)

// reasons begin a clause that says why, and so names what was not chosen.
var reasons = set("because since as due weil denn da parce car puisque porque pues perché porque omdat want bo ponieważ потому")

// contrasts begin a new clause; what follows is opposed to what was before.
var contrasts = set("but aber sondern mais pero ma mas maar ale но а sino however doch jedoch")

// opposed are words that begin what was not chosen, up to the end of the clause or
// one of the words that end it.
var opposed = map[string]map[string]bool{
	"instead of": set(""), "rather than": set(""), "in place of": set(""), "over": set(""), "statt": set(""), "anstatt": set(""), "anstelle": set(""),
	"au lieu": set(""), "en lugar": set(""), "en vez": set(""), "invece di": set(""), "em vez": set(""), "in plaats": set(""), "zamiast": set(""), "вместо": set(""),
	"from": set("to into towards"), "von": set("auf zu nach"), "replace": set("with by"), "replaces": set("with by"), "replacing": set("with by"),
	"ersetze": set("durch mit"), "ersetzen": set("durch mit"), "remplace": set("par"), "switch from": set("to"),
}

// excessive are German words before which "zu" is a complaint, not a direction.
var excessive = set("viel langsam teuer groß klein komplex kompliziert schwer umständlich alt unsicher lang")

// common are frequent words by which a language that these lists cover is known.
var common = set(
	"the a an and or is are to of in on for with we you i it that this use using do go not no be will can should have has was from by at as then our my your me please yes ok okay good great fine one all let make add run keep want need into than must may never always only",
	"der die das und oder ist sind zu von in im auf für mit wir du ich es dass diese nicht kein ein eine wird kann soll haben hat war aus bei dann unser mein bitte ja gut alle mach nimm nur immer nie den dem des sich auch noch wie so",
	"le la les et ou est sont de du des un une pour avec nous vous je il que ce cette ne pas dans sur par oui bien plus sans toujours jamais",
	"el los las y es son del un una para con que esto no en por sí bien más siempre nunca usa usar",
	"il lo gli e è sono di del un una per con che questo non in da sì bene più sempre mai usa usare",
	"os as e é são do da um uma para com que isto não em por sim bem mais sempre nunca usa usar",
	"het een en is zijn van voor met wij je ik dat dit niet geen in op ja goed alle altijd nooit gebruik",
	"i jest są do z na w nie tak dla to się że użyj zawsze nigdy",
	"и в не на с что это для как по мы да нет используй всегда никогда",
)

// affirmations begin an answer that says yes.
var affirmations = set(
	"yes yep yeah ok okay sure agreed approved approve accepted accept good great fine perfect excellent sounds looks go proceed do lgtm works right correct deal yup exactly absolutely implement ship start",
	"ja jawohl meinetwegen gut prima super perfekt einverstanden genau passt klar gerne los mach machen macht mache so angenommen okay klingt sieht umsetzen setze",
	"oui d'accord parfait bien vas-y allez sí si vale perfecto adelante bueno hazlo sì va bene perfetto procedi sim pode certo beleza ja akkoord prima doe tak dobrze zgoda да хорошо ок давай согласен делай",
)

// refusals begin an answer that says no.
var refusals = set("no nope nein nee non nej não nie нет ne ei hayır いいえ 不 不行 不要 아니요 아니")

// affirmationsUnspaced are those of languages without spaces between words.
var affirmationsUnspaced = []string{"好", "可以", "行", "同意", "はい", "お願い", "了解", "いいです", "ok", "네", "예", "좋"}

// nodding are words that stand beside a yes and add nothing to it; offering are those
// of a text that speaks of what is not done yet; progress are those beside which that is
// only that the work goes on.
var (
	nodding  = set("by me to with for that that's this is it's i you we of here im i'm das ist so von mir für mich damit es")
	progress = set("i i'll we we'll will with part step task work ich wir werde werden mit dem der nächsten nächste teil schritt aufgabe arbeit")
	offering = set("could can should will would shall i'll we'll let let's may might want wants need needs prefer instead either or going if ready waiting confirm choose decide könnte können kann sollte sollten werde werden will wollen möchte oder wenn bereit bestätigen entscheide")
)

// proposing are words by which a text offers a plan.
var proposing = set(
	"plan propose proposal suggest suggestion recommend steps step approach option options would shall phase phases",
	"vorschlag vorschlage schlage schritte schritt würde empfehle ansatz soll phase phasen",
	"propose étapes étape suggère propongo pasos paso sugiero proposta passos passi voorstel stappen proponuję предлагаю план шаги",
)

// Words by which a sentence is known for a question that has no mark. openers stand
// before it; inquiring begin one by themselves; interrogatives do before a verb, which before a
// thing and a verb.
var (
	openers   = set("and but so ok okay well hm hmm also then now oh hey wait actually btw please und aber also na dann nun et alors mais pero entonces ma allora maar dus ale więc но ну")
	inquiring = union(
		set("why isn't aren't shouldn't couldn't warum wieso weshalb wozu pourquoi est-ce qu'est-ce pouvez-vous voulez-vous peux-tu veux-tu comment combien quel quelle quels quelles qué cuál cómo dónde cuándo waarom hoezo czy dlaczego почему зачем разве هل क्या neden niçin"),
		phrases("is it, is this, is that, is there, are there, what if, what about, how about, how come, do you, i wonder, i'm wondering, was wenn, was wäre, wie wäre, wie wär's, ich frage, et si, e se, y si, por qué, por que, será que, que tal, qué tal, come mai, что если, а если, может ли"),
	)
	interrogatives = set("what who whom whose where when which how was wer wen wem wo wohin woher wann wie welche welcher welches welchen wat welke hoe что кто где как какой какая какие")
	which          = set("what which whose how welche welcher welches welchen wie welke")
	askingLast     = set("mı mi mu mü mıyız miyiz muyuz müyüz")
	tags           = set("right oder gell eh verdad vero né toch")
)

// verbs and their subjects make a question when they stand in this order; wishes are
// those that ask what to do, and orderly those that begin an order before a thing.
var (
	verbs = union(wishes, set(
		"is are am were do don't doesn't didn't would will have has had may might won't wouldn't",
		"ist sind war waren hat haben hätte wird werden würde würden gibt kann darf will muss zou zijn heeft",
	))
	wishes = set(
		"should shall can could must can't couldn't shouldn't does did",
		"soll sollen sollte sollten können könnten könnte dürfen müssen müssten wollen zullen moeten kunnen",
	)
	orderly = set("do don't have had will")
	persons = set("we you they i he she wir ich du ihr sie man wij jullie ik")
	// inverting are the subjects behind a French verb: peut-on, utilise-t-on.
	inverting = set("on il elle ils elles t-on t-il t-elle")
	subjects  = union(persons, set("it this that these those there the a an our my your anyone anybody somebody someone everyone es er das dieser diese dieses der die den ein eine unser unsere mein het dit dat"))
)

// Of scripts without spaces between words: what asks anywhere, and at the end.
var (
	askingUnspaced = []string{"为什么", "為什麼", "怎么样", "怎麼樣", "なぜ", "どうして", "どうでしょう"}
	askingEnds     = []string{"吗", "嗎", "呢", "么", "麼", "か", "かな", "かしら", "かね", "っけ", "까", "까요", "나요", "인가요", "은가요", "는가요", "던가요", "ไหม", "มั้ย"}
)
