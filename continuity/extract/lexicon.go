package extract

import (
	"maps"
	"slices"
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

// blanks replaces each of some texts by a space.
func blanks(texts ...string) *strings.Replacer {
	var pairs []string
	for _, t := range texts {
		pairs = append(pairs, t, " ")
	}
	return strings.NewReplacer(pairs...)
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
	"dont doesnt didnt isnt arent wasnt werent wont cant shouldnt mustnt wouldnt couldnt neednt",
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
var keeping = set("keep keeps stay stays remain remains retain preserve behalte behalten bleibt bleiben garde gardez conserve conserva mantén mantener mantieni mantenha mantém houd behoud zachowaj оставь сохрани")

// excluding take out what stands behind them.
var excluding = set("except außer sauf excepto salvo tranne exceto behalve oprócz кроме")

// negatorsUnspaced are those of languages without spaces between words.
var negatorsUnspaced = []string{"不", "没", "沒", "别", "別", "勿", "無", "无", "未", "禁", "ない", "ません", "なく", "しな", "않", "안 ", "못", "말고", "말아", "없"}

// limits are words of doubt, condition and time, which narrow what a sentence says. A
// statement must have all that its words have.
var limits = set(
	"maybe perhaps might could possibly probably eventually later if unless until till when whenever while only except before after once provided unsure guess doubt most least less more nearly assuming supposing hardly rarely seldom barely",
	"vielleicht könnte könnten eventuell möglicherweise vermutlich später wenn falls sofern bis außer nur solange sobald bevor nachdem erst während selten kaum",
	"peut-être pourrait éventuellement si sauf jusqu'à jusqu'au lorsque quand seulement avant après",
	"quizás quizá podría salvo hasta cuando solo sólo antes después excepto",
	"forse potrebbe finché quando solo prima dopo tranne se",
	"talvez poderia até quando só apenas antes depois exceto",
	"misschien zou als tot tenzij alleen voordat nadat behalve",
	"może jeśli dopóki tylko przed po chyba",
	"может если пока когда только до после кроме возможно",
)

// excepting are pairs of words that begin an exception or a condition.
var excepting = phrases("other than, apart from, aside from, in case, as long, used to, abgesehen von, sei denn, den fall, à moins, à condition, menos que, a condición, meno che, a condizione, condição de")

// prepositions stand behind a no that takes something out of what was said before.
var prepositions = set("for in on at with when if from before after für bei auf mit vor nach pour dans sur avec para en con per su voor bij met для в на при")

// limitsUnspaced are words of condition and time of scripts without spaces between words.
var limitsUnspaced = []string{
	"如果", "若", "要是", "假如", "除非", "只", "仅", "除了", "直到", "之前", "以前", "之后", "以后", "时候", "可能", "也许", "至少", "最多", "至多",
	"なら", "れば", "たら", "場合", "だけ", "まで", "前に", "後に", "以外", "かも", "以上", "以下", "未満",
	"면", "때", "까지", "전에", "후에", "에만", "제외", "아마", "이상", "이하",
}

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
	openers   = set("and but so ok okay well hm hmm also then now oh hey wait actually btw please first no und aber also na dann nun zuerst erst erstmal vorher et alors mais pero entonces ma allora maar dus ale więc но ну")
	inquiring = union(
		set("what's who's where's how's why isn't aren't shouldn't couldn't warum wieso weshalb wozu pourquoi est-ce qu'est-ce pouvez-vous voulez-vous peux-tu veux-tu comment combien quel quelle quels quelles qué cuál cómo dónde cuándo waarom hoezo czy dlaczego почему зачем разве هل क्या neden niçin"),
		phrases("is it, is this, is that, is there, are there, what if, what about, how about, how come, do you, i wonder, was wenn, was wäre, wie wäre, wie wär's, ich frage, et si, e se, y si, por qué, por que, será que, que tal, qué tal, come mai, что если, а если, может ли"),
	)
	interrogatives = set("what who whom whose where when which how was wer wen wem wo wohin woher wann wie welche welcher welches welchen wat welke hoe что кто где как какой какая какие")
	which          = set("what which whose how welche welcher welches welchen wie welke")
	// determiners make an order of comment, and beforeMe no question of a Spanish mi.
	determiners = set("the every each all any this these those your our only")
	beforeMe    = set("para a por en con sin per su")
	askingLast  = set("mı mi mu mü mıyız miyiz muyuz müyüz")
	tags        = set("right oder gell eh verdad vero né toch")
)

// verbs and their subjects make a question when they stand in this order; wishes are
// those that ask what to do, and orderly those that begin an order before a thing.
var (
	verbs = union(wishes, set(
		"is are am were do don't doesn't didn't would will have has had may might won't wouldn't",
		"ist sind war waren hat haben hätte wird werden würde würden gibt kann darf will muss zou zijn heeft",
	))
	wishes = union(second, set("should shall can could must can't couldn't shouldn't does did"))
	// second are those of languages in which a verb stands before its subject behind a
	// clause, too: behind one of follows always, behind one of conditions perhaps.
	second     = set("soll sollen sollte sollten können könnten könnte dürfen müssen müssten wollen zullen moeten kunnen")
	follows    = set("weil da bevor nachdem solange sobald obwohl damit seit omdat aangezien doordat voordat nadat zolang zodra hoewel zoals")
	conditions = set("wenn falls sofern als indien")
	orderly    = set("do don't have had will")
	persons    = set("we you they i he she wir ich du ihr sie man wij jullie ik")
	// inverting are the subjects behind a French verb: peut-on, utilise-t-on.
	inverting = set("on il elle ils elles t-on t-il t-elle")
	subjects  = union(persons, set("it this that these those there the a an our my your anyone anybody somebody someone everyone es er das dieser diese dieses der die den ein eine unser unsere mein het dit dat"))
)

// Of scripts without spaces between words: what asks anywhere, and at the end.
var (
	askingUnspaced = []string{"为什么", "為什麼", "怎么样", "怎麼樣", "なぜ", "どうして", "どうでしょう"}
	// whetherUnspaced say that something holds whether or not.
	whetherUnspaced = []string{"不管", "无论", "無論", "不論"}
	askingEnds      = []string{"吗", "嗎", "呢", "么", "麼", "か", "かな", "かしら", "かね", "っけ", "까", "까요", "나요", "인가요", "은가요", "는가요", "던가요", "ไหม", "มั้ย"}
)

// Words of an answer to a plan. consents are a yes, whatever follows them; approvals say
// yes where nothing stands beside them but small words and what names the plan or its
// steps; wholes do so at the beginning. lone are consents of languages of which no more is
// known: they are one where nothing else is said.
var (
	consents = phrases("yes, yep, yeah, yea, yup, ok, okay, okey, sure, lgtm, go ahead, ship it, start with, begin with, proceed with, you can start, you can go ahead, you may start, you may proceed, feel free, i like it, i like this, i like that, i like the plan, no problem, not bad, all except, everything except," +
		"ja, jawohl, jo, meinetwegen, von mir aus, kein problem, keine einwände, du kannst anfangen, du kannst loslegen, leg los, fang an, fangt an, alles außer, alles bis auf, oui, ouais, d' accord, ça me va, ça me convient, ça marche, ça roule, allez-y, vas-y, on y va, tout sauf, sí, claro que sí, por supuesto, de acuerdo, todo menos, todo excepto," +
		"sì, va bene, d' accordo, sim, beleza, pode fazer, pode seguir, akkoord, ga je gang, tak, zgoda, да, ок, evet, tamam, نعم, موافق, تمام")
	approvals = set(
		"agree agreed approve approved accept accepted y k good great fine perfect excellent awesome nice cool alright right correct exactly absolutely definitely deal works sense go proceed do implement start begin ship happy love idea only just",
		"einverstanden angenommen genehmigt gut gute idee setz setze prima super perfekt toll genau passt klar gerne los mach machen macht mache beginne starte umsetzen ordnung richtig nur",
		"parfait bien bon super seulement si claro vale perfecto adelante bueno bien hazlo dale genial listo solo perfetto procedi certo solo pode perfeito prima goed doe dobrze rób dobra хорошо отлично давай давайте согласен согласна делай начинай поехали погнали olur حسنا",
	)
	besideYes = set(
		"it that that's this these those looks look sounds sound seems makes to me by for is are be all of them everything with you your let's us we i i' m like please then now yet so the a plan plans idea proposal very really pretty quite whole both and from through ahead thanks thank here as quick",
		"das es so sieht klingt hört sich an für mich von mir aus wir ich bin dann bitte mal alles du dein deine dem den der die plan vorschlag sehr jetzt damit geht ist in bis und danke um auch ganz nun",
		"ça cela c' est tout très pour moi le y et maintenant merci todo está esta me parece para mí muy y ahora gracias tutto molto per me adesso ser grazie isso isto está muito zo het is maar to jest это так я мы всё",
		"steps points items schritte schritten punkte étapes pasos",
	)
	lone      = set("evet tamam olur نعم موافق تمام حسنا")
	wholes    = set("all everything alles tout todo tutto tudo всё")
	stepNouns = set("steps step point points item items number numbers schritt schritte schritten punkt punkte étape étapes paso pasos")
)

// Words by which an answer is no yes, whatever else it says. holding begin a clause that
// has the work wait, asks for something else first or for another plan, or leaves the work
// to the person; questioned ask in one, and itself is the plan as it is spoken of there;
// doubting stand anywhere in one. tentative stand in the sentence of a yes
// that is one for another time or on a condition.
var (
	holding = phrases("wait, hold, stop, pause, hang, halt, compare, plan the, plan it, plan for, propose, suggest, draft, revise, revisit, rework, redo, rewrite, rethink, reconsider, replan, change, adjust, modify, replace, swap, show, explain, describe, clarify, elaborate, cancel, abort, postpone, delay, defer, forget, scrap, nevermind, never mind," +
		"let me, let's wait, let's discuss, let's talk, let's think, let's not, let's revisit, i will, i' ll, i' d, i must, i have, i see, i thought, i changed, i meant, i need to, i want to, i need a, i' m not, i' m going, i am not, i don't, give me, one moment, one second, one question, one thing, a moment, not yet, not now, not so, not quite, not sure, not really, start over, start again, start from scratch, try again, do over, think again, think about, on hold, come back, come up, back to, new plan, the other, leave it, undo, revert, roll back," +
		"warte, warten, wart, wartet, stopp, moment, sekunde, überarbeite, überdenke, überleg, überlege, zeig, zeige, erklär, erkläre, ändere, änder, ersetze, verschiebe, lass mich, lass uns warten, ich werde, ich muss, ich will erst, ich schaue, ich schau, ich prüfe, ich frage, ich überlege, ich denke, ich melde, ich bin nicht, ich weiß nicht, mach ich, mache ich, noch nicht, nicht jetzt, nicht so, fang von vorn, von vorn, von vorne, gib mir," +
		"attends, attendez, arrête, arrêtez, montre, montre-moi, montrez, explique, expliquez, révise, change, laisse-moi, laissez-moi, un moment, un instant, une minute, je vais, je dois, pas encore, pas maintenant, recommence," +
		"espera, espere, detente, muestra, muéstrame, enséñame, cambia, déjame, un segundo, voy a, tengo que, todavía no, aún no, ahora no," +
		"aspetta, aspetti, fermati, mostra, mostrami, spiega, fammi, un attimo, devo, non ancora, pare, mostre, mude, deixa eu, deixe-me, um momento, ainda não, wacht, toon, laat me, laat mij, leg uit, nog niet, ik moet, ik ga," +
		"czekaj, poczekaj, zaczekaj, pokaż, wyjaśnij, zmień, chwila, chwileczkę, jeszcze nie, muszę, подожди, подождите, стой, стоп, погоди, покажи, объясни, измени, дай мне, ещё не, пока нет, я сам, я сама, мне нужно, bekle, dur")
	doubting = set(
		"wrong risky doubt unsure uncertain worried confused confusing myself hesitate hesitant nonsense bullshit terrible bad awful another different overkill mistake",
		"falsch riskant unsicher selber quatsch unsinn blödsinn schlecht zweifel bedenken risqué doute moi-même mauvais dudo duda arriesgado sbagliato errado verkeerd twijfel wątpię неправильно плохо сомневаюсь",
	)
	// passing are words of a no to the whole, or to the moment.
	passing = set(
		"any anything yet today tonight this week month before until monday tuesday wednesday thursday friday should must may can could would",
		"heute gleich sofort gerade mehr diese dieser woche monat vor bis montag dienstag mittwoch donnerstag freitag sollen sollten müssen können",
		"aujourd'hui de suite hoy oggi hoje vandaag dziś dzisiaj teraz сегодня сейчас",
	)
	questioned = set("who why how which what whose wer warum wieso was qui pourquoi comment quién chi почему кто")
	itself     = set("this that that's it it's these they das es dies ça cela c' ce esto eso questo ciò isso это")
	tentative  = set(
		"maybe perhaps possibly probably eventually later if unless once tomorrow instead rather someday principle theory",
		"vielleicht eventuell später wenn falls sofern sobald morgen stattdessen lieber prinzip grundsätzlich peut-être si demain plutôt quizás quizá si mañana luego",
		"forse se domani talvez amanhã misschien als later morgen może jeśli jutro может если завтра потом",
	)
)

// The same of scripts without spaces between words: what says yes, alone or whatever
// follows, what may stand beside it, and by what an answer is no yes.
var (
	consentsUnspaced  = []string{"好的", "好吧", "是的", "没问题", "沒問題", "同意", "はい", "ええ", "了解", "네", "예", "그래", "그래요", "좋아요", "좋습니다"}
	approvalsUnspaced = []string{
		"好", "可以", "行", "对", "對", "嗯", "批准", "开始", "開始", "执行", "执行计划", "就这样", "就这么", "这样", "做", "照做", "干",
		"お願い", "いいです", "いい", "承認", "賛成", "進めて", "始めて", "やって", "その通り", "大丈夫", "좋네요", "좋아", "진행해", "시작해", "동의", "승인", "괜찮아요", "맞아요", "오케이", "부탁해요", "부탁드립니다", "해주세요", "해줘",
	}
	besideUnspaced  = []string{"的", "吧", "了", "啊", "请", "就", "我们", "计划", "按", "按照", "这个", "继续", "来", "啦", "ね", "よ", "です", "します", "しました", "ください", "それで", "で", "どうぞ", "합니다", "해요", "주세요", "그렇게", "요"}
	holdingUnspaced = []string{
		"等", "先别", "别动", "别急", "再想", "想想", "考虑", "问题", "問題", "不对", "重新", "重做", "重写", "再看", "先看", "先给", "我自己", "不确定", "可能", "也许", "以后", "稍后", "暂停", "停", "修改", "还没", "现在不", "今天不", "明天", "先不", "暂时", "不行", "算了", "取消", "作废", "不做",
		"待って", "待ち", "ちょっと", "考え", "違", "やり直", "もう一度", "自分で", "後で", "かも", "見せて", "止め", "まだ", "今は", "今日は", "明日", "やめ", "中止", "取り消", "그만", "취소", "중단", "아직", "지금은", "오늘은", "내일", "기다", "잠깐", "잠시", "나중", "다시", "생각", "문제", "틀", "제가", "직접", "보여",
	}
)

// picks are words by which one of several things is answered alone.
var picks = set(
	"no nope only just first second third last former latter nein nur erste ersten zweite zweiten dritte letzte non seulement premier première deuxième dernier solo primero primera segundo segunda",
	"primo prima secondo seconda apenas primeiro primeira segunda alleen eerste tweede tylko pierwszy pierwsze drugie только первое первый второе второй",
)

// Words by which a fact is taken back. ending say that it holds no more; changing are
// signs of it in words that choose something else; dismissing give up what their clause
// speaks of; rules are what a fact is called then, and ruling say what a rule does. With
// them, asideOf name nothing that a fact is about.
var (
	ending = phrases("no longer, any more, anymore, any longer, changed my mind, change my mind, on second thought, done with," +
		"nicht mehr, kein mehr, anders überlegt, meinung geändert, ne plus, n' plus, changé d' avis, ya no, cambiado de opinión, cambié de opinión, non più, cambiato idea, já não, não mais, mudei de ideia, niet meer, już nie, больше не, передумал, передумала")
	changing = union(ending, phrases("instead, after all, rather, switch, switching, change, changes, changed, move, migrate, replace, replaces, replacing, from now on, is now, are now, actually, back to,"+
		"statt, stattdessen, anstatt, anstelle, doch, lieber, eher, wechsle, wechseln, ändere, ändern, ersetze, ersetzen, umstellen, ab jetzt, ab sofort, ist jetzt, sind jetzt, eigentlich, zurück zu,"+
		"plutôt, finalement, au lieu, remplace, remplacez, change, changeons, passe, passons, désormais, en fait, mejor, en lugar, en vez, cambia, cambiemos, cambiar, reemplaza, al final, ahora,"+
		"invece, piuttosto, cambiamo, sostituisci, alla fine, em vez, muda, mude, troca, troque, afinal, in plaats, toch, liever, vervang, wissel, jednak, zamiast, zmień, zamień, вместо, всё-таки, лучше, замени, поменяй"))
	dismissing = set(
		"forget scrap drop ignore lift lifted cancel cancelled canceled revoke revoked withdraw withdrawn remove discard dismiss abandon undo obsolete moot void gone outdated superseded",
		"vergiss vergesst streiche streich ignoriere verwirf entferne aufgehoben hinfällig überholt erledigt gestrichen oublie oubliez abandonne abandonnons annule annulez obsolète caduc olvida olvidad ignora descarta cancela anula obsoleto",
		"dimentica annulla scarta esqueça esquece ignore cancele descarte vergeet negeer schrap zapomnij anuluj забудь забудьте отмени отмените",
	)
	rules = set(
		"rule rules restriction restrictions constraint constraints requirement requirements limitation ban decision idea plan said regel regeln einschränkung vorgabe vorgaben entscheidung idee verbot",
		"règle règles contrainte décision idée regla reglas restricción decisión regola vincolo decisione regra decisão beslissing zasada decyzja правило решение",
	)
	ruling = set(
		"forbidden prohibited banned taboo problem matter matters apply applies hold holds needed required necessary valid important verboten untersagt tabu gilt nötig wichtig interdit nécessaire prohibido necesario vietato necessario proibido necessário verboden nodig zabronione запрещено запрещён нужно",
	)
	// comparing stand before a number that is a bound.
	comparing = set("above over beyond exceed exceeds below under more less higher lower larger smaller über unter mehr weniger größer kleiner plus moins más menos più meno mais meer minder więcej mniej больше меньше")
	// lacking are negators of the thing behind them.
	lacking = set("no without kein keine keinen keinem keiner ohne sans sin senza sem zonder geen bez без")
	asideOf = union(set(keys(changing)...), set(
		"about what thing things stuff whole entire again now also here there still take takes taking go going choose pick stick allowed allow permitted want wants yes fine free like think else but because really matter matters needed required necessary valid apply applies hold holds important we're we've we'll it's that's there's they're",
		"über sache sachen ganze ganzen wieder jetzt auch hier nehmen nimm nehmt verwende verwenden nutze nutzen wähle erlaubt wollen will schon brauchen brauche braucht gilt nötig wichtig",
		"prendre prends prend prenons utilise utilisons choisis tout permis usamos toma tomamos permitido usiamo prendi prendiamo vamos nemen neem gebruiken bierzemy użyj берём возьмём используем можно про о об",
	))
)

// The same of scripts without spaces between words; rulesUnspaced are of a
// rule, and lightUnspaced takes out of a run what names nothing.
var (
	endingUnspaced   = []string{"不再", "算了", "取消", "作废", "やめ", "撤回", "取り消", "취소", "더 이상"}
	changingUnspaced = slices.Concat(endingUnspaced, []string{"换", "改用", "改成", "改为", "而是", "还是", "代わり", "変更", "대신", "바꾸", "바꿔", "말고"})
	rulesUnspaced    = []string{"规", "限制", "禁", "取消", "作废", "ルール", "撤回", "取り消", "규칙", "제한", "금지", "취소"}
	lightUnspaced    = blanks(
		"不要", "不用", "不再", "换成", "改用", "改成", "改为", "取消", "而是", "还是", "作废", "算了", "使用", "我们", "用", "换", "别", "不", "没", "了", "的", "吧", "把", "就", "再", "请", "要", "是",
		"使わない", "使わ", "使い", "使う", "ないで", "ください", "代わりに", "やめて", "やめ", "変更", "します", "ました", "ます", "です", "は", "を", "が", "に", "の", "で", "も",
		"사용하지", "사용", "쓰지", "말고", "마세요", "대신", "하지", "바꾸", "바꿔", "취소", "으로", "로", "은", "는", "을", "를", "이", "가",
	)
)
