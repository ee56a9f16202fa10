package extract

import "github.com/holdfast-dev/holdfast/continuity"

// Reading is what one call brought.
type Reading struct {
	// Delta is what was parsed and grounded, and of that what is preserved. It is
	// empty, without a watermark, where the answer was discarded.
	Delta continuity.Delta
	// Doubted counts the items of the answer that were dropped or not believed.
	Doubted   Counts
	Discarded Reason // of the whole answer; "" for one that counts
}

// Read has a model read a batch. ask makes the call; its error is returned as it is.
// delimiter is one that no text of a session knows: see Prompt. Whatever the model
// answers, prose or what nobody said, only what Parse and Ground let through is in the
// delta.
func Read(b Batch, delimiter string, keep continuity.Preserve, ask func(Prompt) (Answer, error)) (Reading, error) {
	answer, err := ask(b.Prompt(delimiter))
	if err != nil {
		return Reading{}, err
	}
	found, doubted, reason := Parse(answer, b.Base.Revision)
	r := Reading{Doubted: Counts{}, Discarded: reason}
	r.Doubted.add(doubted)
	if reason != "" {
		return r, nil
	}
	delta, doubted := Ground(b, found)
	r.Doubted.add(doubted)
	r.Delta = keep.Of(delta)
	return r, nil
}

func (c Counts) add(more Counts) {
	for reason, n := range more {
		c[reason] += n
	}
}
