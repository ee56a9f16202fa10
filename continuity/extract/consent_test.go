package extract_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity/extract"
)

// verdict is what becomes of a plan of two steps that is answered so.
func verdict(answer string) holdfast.PlanStatus {
	d, _ := extract.Ground(talk(holdfast.Capsule{}, "u: Plan it.", "a: Plan:\n1. Drop the table\n2. Add the reader", "u: "+answer),
		extract.Extraction{Plan: &extract.PlanItem{Verdict: extract.Accepted, Quote: answer}})
	if d.Plan == nil {
		return ""
	}
	return d.Plan.Verdict
}

func TestWhatIsAYes(t *testing.T) {
	for _, answer := range []string{
		"yes", "Yes.", "y", "Yep!", "ok", "OK then.", "ok go ahead", "Sure.", "Agreed.", "I agree.", "Approved.", "lgtm", "Perfect, ship it.", "Do it.", "do it please", "Go.", "Go for it", "Go ahead and start with step 1.",
		"Looks good, ship it", "Looks good to me, thanks.", "This looks great!", "That works for me.", "Sounds good to me", "Sounds like a plan, ok.", "Fine by me, start with step 1.", "I'm happy with that.", "Good idea.", "Makes sense, proceed.", "Implement the plan.", "Proceed with the plan.", "Let's do it.", "Yes please do.", "Hm, ok.", "Thanks, go ahead.",
		"sounds good, but never push to main", "ok never push to main", "Yes, but keep the csv package until March.", "Perfect. Start with the reader.", "Great, and add tests.", "Good. Don't forget the tests.", "Good. Don't forget it.", "Yes, no new dependencies please.", "Go ahead, and let me know when it is done.", "OK, the client must not wait for the server.", "Yes, on port 3.", "Good, there is nothing wrong with it.", "Yes, Redis too.", "Steps 1 to 2, please.", "All but step 2, please.", "yes skip step 2", "Only step 2.", "No problem, go ahead.", "You can start.", "I like the plan.",
		"ja mach das", "Ja, mach das so.", "Jawohl", "Passt, aber ohne Schritt 2.", "Passt so.", "Klingt gut, leg los.", "Sieht gut aus, mach das.", "Einverstanden.", "In Ordnung.", "Gut, mach nur Schritt 2.", "Meinetwegen.", "Von mir aus.", "Gute Idee, mach das", "Setz das so um.", "Ok, so wie du sagst.",
		"oui vas-y", "D'accord, allez-y.", "Ça me va.", "Parfait.", "Sí, adelante.", "dale", "Vale.", "Perfecto, hazlo.", "Va bene.", "sì, procedi", "Pode ser, sim.", "Beleza.", "Akkoord.", "Zgoda.", "Tak, zrób to.", "давай", "Да, делай.", "Хорошо, начинай.", "Evet.", "Tamam, go ahead.", "نعم", "نعم، تمام",
		"好的，开始吧", "可以的，请继续", "好的", "可以。", "好的，就这样做。", "没问题，开始吧", "可以，但是不要推送到 main", "いいですね、お願いします", "はい、お願いします。", "はい、進めてください", "네, 그렇게 해주세요.", "좋아요", "네",
	} {
		if got := verdict(answer); got != holdfast.PlanAccepted {
			t.Errorf("%q leaves the plan %s", answer, got)
		}
	}
}

func TestWhatIsNoYes(t *testing.T) {
	for _, answer := range []string{
		// Without a yes.
		"This looks wrong.", "Sounds risky.", "Looks too complicated.", "That works against us.", "Good question, let me check with Anna.", "Good morning.", "Good job on the parser.", "Good point.", "Good catch, but no", "Start over.", "Stop, good grief.", "I will do it myself.", "Right now it fails.", "Go on.", "继续。", "Deal with the parser before that.", "We agreed on weekly releases.", "There is a bug in step 2.", "I don't understand step 2.", "2", "So ein Quatsch.", "Si on utilisait plutôt Redis", "Claro que no.", "好像有问题。", "不好", "네트워크 단계가 빠졌어요.", "いいえ、違います",
		// With one that is taken back.
		"Ok, wait.", "Ok wait", "Yes. Hold on, let me think.", "OK, but give me a minute.", "Ok, not yet.", "Ok, don't start yet.", "Yes and no.", "Yes. No, wait.", "Yes... actually no", "Ok, drop it.", "Yes, drop the whole idea.", "Great, but I changed my mind.", "Sí, pero no ahora.", "好吧，但是先别动", "Ja, nein.", "Alles gut, aber warte noch.", "Gut, aber ich muss erst Anna fragen.", "Bien, mais attends un peu.", "Vale, pero espera.", "Хорошо, но подожди.", "好的，等一下", "はい、でもちょっと待って", "네, 잠깐만요",
		// That is doubted, or one on a condition or for later.
		"Ok, that is wrong.", "Looks good, but I am not sure about step 2.", "Good, but step 2 sounds risky.", "Ok, but that is too much at once.", "Right, but that breaks staging.", "Passt, aber das ist zu viel.", "Yes, if Anna agrees.", "Ok in principle.", "Maybe, sounds good.", "Fine, but later.", "Passt, aber erst morgen.", "Ja, wenn Anna zustimmt.",
		"Yes, but not today.", "OK, but not this week.", "Ok, don't do anything yet.", "Yes, don't do any of it.", "Ok, we should not do this.", "Ok, leave it.", "Good, now undo it all.", "Ja, aber heute nicht mehr.", "Oui, mais pas tout de suite.", "Sí, pero hoy no.", "Да, но не сегодня.", "好的，但是今天不要", "好的，现在不要开始", "好的，明天再做", "はい、でもまだ始めないでください", "네, 아직 하지 마세요", "네, 내일 해주세요",
		"好吧，算了", "好的，取消吧", "はい、でもやめてください", "はい、中止してください", "네, 그만하세요", "네, 취소해 주세요",
		"Ok, verwirf das.", "Oui, annule tout.", "Sí, cancela todo.", "Sì, annulla tutto.", "Sim, cancele tudo.", "Tak, anuluj to.", "Да, отмени всё.",
		// With one of a language of which no more is known.
		"Evet ama şimdi değil.", "Tamam, biraz bekle.", "نعم، لكن ليس الآن",
		// That wants another thing first, or another plan.
		"OK, show it again with a step for the rollback before you start.", "Ok, explain step 2.", "Good, but revise step 2.", "Great, another rewrite.", "Ok, let's use a different approach.", "Okay, back to the drawing board.", "Good, now plan the second half.", "Go ahead and show me the new plan.", "Good, let's use Redis instead.", "Gut, zeig mir den Plan noch einmal.",
		// That asks.
		"what do you mean by the second one", "Ok, why step 2?", "Looks good. What about the tests?", "ok should we drop the table at all", "is that ok", "Sure, but who reviews it", "Yes, I have a question.", "ok so what's next",
		// In lines without marks.
		"yes, do it like that\nwait for my review first", "yes, looks good\nshould we add tests first", "looks good to me\nlet me check with anna", "ok, that is fine by me\nI have a question", "ok, das passt mir so\nich muss erst Anna fragen",
		"yes, that plan looks good to me and I like how the reader is split up\nwait until monday before you start with it",
		// In a language that no list covers.
		"Kyllä, tee niin.",
	} {
		if got := verdict(answer); got != holdfast.PlanProposed {
			t.Errorf("%q makes the plan %s", answer, got)
		}
	}
}

// Which part is taken is for the answer of the model to say; that any is, is not.
func TestAPartThatNobodyAcceptedStaysAProposal(t *testing.T) {
	const answer = "This looks wrong."
	d, _ := extract.Ground(talk(holdfast.Capsule{}, "u: Plan it.", "a: Plan:\n1. Drop the table\n2. Add the reader", "u: "+answer),
		extract.Extraction{Plan: &extract.PlanItem{Verdict: extract.Partly, Steps: []string{"Drop the table"}, Quote: answer}})
	if d.Plan == nil || d.Plan.Verdict != holdfast.PlanProposed {
		t.Errorf("%+v", d.Plan)
	}
}
