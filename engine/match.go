package engine

import "cmp"

// match is how a history compares with an epoch.
type match struct {
	tip    int // the newest position that it carries; -1: none
	next   int // the index in the history behind that anchor
	n      int // how many of the epoch's anchors it carries
	run    int // with how many of them it begins, one behind the other
	strong bool
}

func (ep *epoch) match(anchors []anchor) match {
	m := match{tip: -1}
	for i, a := range anchors {
		seq := i
		if i < len(ep.anchors) && ep.anchors[i].digest == a.digest { // as most histories go on
			if i == m.run {
				m.run++
			}
		} else if at, known := ep.pos[a.digest]; known {
			seq = at
		} else {
			continue
		}
		m.n++
		m.strong = m.strong || a.strong
		if seq >= m.tip {
			m.tip, m.next = seq, i+1
		}
	}
	return m
}

// compare orders matches with epochs of one beginning: negative when o is the closer
// one. The way on which a history goes longest from its beginning is its own: behind
// the place where two parted, a model may say the same long texts on both.
func (m match) compare(o match) int { return cmp.Or(cmp.Compare(m.run, o.run), cmp.Compare(m.n, o.n)) }

// isTip reports whether the match reaches the epoch's newest anchor.
func (m match) isTip(ep *epoch) bool { return m.tip == len(ep.anchors)-1 }
