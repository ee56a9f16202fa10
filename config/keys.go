package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// keyLines finds the line of every key of a well-formed document. Elements of
// lists are numbered from 0: "upstream[1].name". A table has the line where it
// is first named. No list holds tables: each [[list]] is one level deep.
func keyLines(data []byte) map[string]int {
	l := lineFinder{lines: map[string]int{}, counts: map[string]int{}}
	l.parser.Reset(data)
	table := ""
	for l.parser.NextExpression() {
		node := l.parser.Expression()
		switch node.Kind {
		case unstable.Table:
			table = l.walk("", node.Key())
		case unstable.ArrayTable:
			table = l.walk("", node.Key())
			element := table + "[" + strconv.Itoa(l.counts[table]) + "]"
			l.counts[table]++
			l.lines[element] = l.line
			table = element
		case unstable.KeyValue:
			l.value(l.walk(table, node.Key()), node.Value())
		}
	}
	return l.lines
}

type lineFinder struct {
	parser unstable.Parser
	lines  map[string]int
	counts map[string]int // elements of each [[list]] so far
	line   int            // of the key that was walked last
}

// walk notes a dotted key under prefix and returns its full name.
func (l *lineFinder) walk(prefix string, key unstable.Iterator) string {
	name := prefix
	for key.Next() {
		n := key.Node()
		if name != "" {
			name += "."
		}
		name += string(n.Data)
		l.line = l.parser.Shape(n.Raw).Start.Line
		if l.lines[name] == 0 {
			l.lines[name] = l.line
		}
	}
	return name
}

func (l *lineFinder) value(name string, v *unstable.Node) {
	children := v.Children()
	switch v.Kind {
	case unstable.InlineTable:
		for first := true; children.Next(); first = false {
			n := children.Node()
			key := l.walk(name, n.Key())
			if first && strings.HasSuffix(name, "]") {
				l.lines[name] = l.line // an element of a list stands where it begins
			}
			l.value(key, n.Value())
		}
	case unstable.Array:
		for i := 0; children.Next(); i++ {
			n := children.Node()
			element := name + "[" + strconv.Itoa(i) + "]"
			l.lines[element] = l.line
			if n.Kind == unstable.String {
				l.lines[element] = l.parser.Shape(n.Raw).Start.Line
			}
			l.value(element, n)
		}
	}
}

// hint says what an unknown key was most likely meant to be: a known key of the
// same table with a similar name, else one of that very name in another table.
func hint(key []string) string {
	n := 1
	for n < len(key) && keys[strings.Join(key[:n], ".")] != "" {
		n++ // only the first unknown name counts, not what stands below it
	}
	table, name := strings.Join(key[:n-1], "."), key[n-1]
	best, bestDistance := "", len(name)/3+1
	var elsewhere string
	var here []string
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		i := strings.LastIndexByte(k, '.')
		known := k[i+1:]
		if k[:max(i, 0)] != table {
			if known == name && elsewhere == "" {
				elsewhere = k
			}
			continue
		}
		here = append(here, known)
		if d := distance(known, name); d <= bestDistance {
			best, bestDistance = known, d-1
		}
	}
	switch {
	case best != "":
		return fmt.Sprintf("Did you mean %q?", best)
	case elsewhere != "":
		return fmt.Sprintf("Did you mean %s?", elsewhere)
	case len(here) == 0:
		return "Remove it."
	}
	return "Known here are " + strings.Join(here, ", ") + "."
}

// distance is how many characters must be put in, left out or replaced to make
// b of a, at most 64 of either looked at.
func distance(a, b string) int {
	a, b = a[:min(len(a), 64)], b[:min(len(b), 64)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
