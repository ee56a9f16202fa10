package redact

import "strings"

// words finds all literals of the rules in one pass over a text, in any case of
// letters (Aho and Corasick, 1975, with the failure links already followed). It
// is not changed once made.
type words struct {
	class [256]uint8 // bytes that no literal tells apart are one class
	// next is a row per state of a column per class. A state is the offset of
	// its row; those in which a literal ends come last, from accepting on.
	next      []uint32
	accepting uint32
	columns   uint32
	ends      [][]hit // by row, from accepting on
}

// hit is a literal of a rule.
type hit struct {
	rule    int
	literal string
}

// mark is the rule number of the literal that opens a mark.
const mark = -1

// hits returns what ends in an accepting state.
func (w *words) hits(state uint32) []hit { return w.ends[(state-w.accepting)/w.columns] }

// node is a state while the automaton is made.
type node struct {
	child map[byte]int
	fail  int
	ends  []hit
}

// newWords makes the automaton of all literals of the rules.
func newWords(rules []rule) words {
	nodes := []node{{child: map[byte]int{}}}
	add := func(h hit) {
		at := 0
		for _, c := range []byte(strings.ToLower(h.literal)) {
			to, ok := nodes[at].child[c]
			if !ok {
				to = len(nodes)
				nodes = append(nodes, node{child: map[byte]int{}})
				nodes[at].child[c] = to
			}
			at = to
		}
		nodes[at].ends = append(nodes[at].ends, h)
	}
	add(hit{mark, opening})
	for i, r := range rules {
		for _, l := range r.literals {
			add(hit{i, l})
		}
	}
	w := words{columns: 1}
	for _, n := range nodes {
		for c := range n.child {
			if w.class[c] == 0 {
				w.class[c] = uint8(w.columns)
				w.columns++
			}
		}
	}

	// By breadth: when a node is reached, all that is shorter is complete.
	order := []int{0}
	for i := 0; i < len(order); i++ {
		n := nodes[order[i]]
		for c, to := range n.child {
			if order[i] != 0 {
				nodes[to].fail = step(nodes, n.fail, c)
			}
			nodes[to].ends = append(nodes[to].ends, nodes[nodes[to].fail].ends...)
			order = append(order, to)
		}
	}
	row := make([]uint32, len(nodes))
	var rows uint32
	for _, accepts := range []bool{false, true} {
		if accepts {
			w.accepting = rows * w.columns
		}
		for i, n := range nodes {
			if (len(n.ends) > 0) != accepts {
				continue
			}
			row[i] = rows * w.columns
			rows++
			if accepts {
				w.ends = append(w.ends, n.ends)
			}
		}
	}
	w.next = make([]uint32, rows*w.columns)
	for c := range w.class {
		if w.class[c] == 0 {
			continue // goes back to the start, which is row 0
		}
		for i := range nodes {
			w.next[row[i]+uint32(w.class[c])] = row[step(nodes, i, byte(c))]
		}
	}
	for c := 'A'; c <= 'Z'; c++ {
		w.class[c] = w.class[c-'A'+'a']
	}
	return w
}

// step is the node that follows a node on byte c.
func step(nodes []node, at int, c byte) int {
	for {
		if to, ok := nodes[at].child[c]; ok {
			return to
		}
		if at == 0 {
			return 0
		}
		at = nodes[at].fail
	}
}
