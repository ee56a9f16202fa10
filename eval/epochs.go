package eval

import (
	"fmt"

	"github.com/holdfast-dev/holdfast"
)

// Epoch is what the upstream saw between one compaction and the next.
type Epoch struct {
	// Compaction counts from 1. Compaction requests in a row are one: agents
	// ask again when they dislike an answer.
	Compaction int `json:"compaction"`
	// Kind is PlainCompaction or OpaqueCompaction.
	Kind Kind `json:"kind"`
	// Requests has one judgement for each turn of the epoch, in order.
	Requests []Judgement `json:"requests"`
}

// Survived reports whether the epoch had turns and the plan and the words stand
// in each of them, in the same block.
func (e Epoch) Survived() bool {
	for _, j := range e.Requests {
		if !j.Survived() || j.Block != e.Requests[0].Block {
			return false
		}
	}
	return len(e.Requests) > 0
}

// Lost reports whether the first turn of the epoch holds nothing of the
// plan and of the words. Later turns do not count: a model may state its plan again.
func (e Epoch) Lost() bool { return len(e.Requests) > 0 && e.First().Lost() }

// First is the judgement of the first turn: what the model knew when it went
// on. It is zero for an epoch without turns.
func (e Epoch) First() Judgement {
	if len(e.Requests) == 0 {
		return Judgement{}
	}
	return e.Requests[0]
}

// JudgeEpochs judges the turns behind each compaction of one session. plans
// holds the plan as it stood at each compaction; a number of compactions other
// than that of the plans is an error.
func JudgeEpochs(requests []Request, plans [][]holdfast.Step) ([]Epoch, error) {
	return judgeEpochs(requests, plans, make([][]string, len(plans)))
}

// judgeEpochs judges words of the user too, as many lists as plans.
func judgeEpochs(requests []Request, plans [][]holdfast.Step, words [][]string) ([]Epoch, error) {
	var epochs []Epoch
	compacting := false
	for _, r := range requests {
		switch {
		case r.Kind.IsCompaction():
			if !compacting {
				epochs = append(epochs, Epoch{Compaction: len(epochs) + 1, Kind: r.Kind})
			}
			compacting = true
		case r.Kind == Turn:
			compacting = false
			if len(epochs) == 0 || len(epochs) > len(plans) {
				continue
			}
			j, err := judge(r.Body, plans[len(epochs)-1], words[len(epochs)-1])
			if err != nil {
				return nil, err
			}
			last := &epochs[len(epochs)-1]
			last.Requests = append(last.Requests, j)
		}
	}
	if len(epochs) != len(plans) {
		return epochs, fmt.Errorf("the upstream saw %d compactions, %d were expected", len(epochs), len(plans))
	}
	return epochs, nil
}
