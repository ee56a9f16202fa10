package config

import (
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// keyLines tells where the keys of a well-formed document stand.
type keyLines struct {
	// lines are by the name of the key. Elements of lists are numbered from 0:
	// "upstream[1].name". A table has the line where it is first named.
	lines map[string]int
	// starts are the parts of the key that begins at an offset, or whose value
	// does: the decoder's errors lack those outside of an inline table.
	starts map[int][]string

	breaks []int // offsets of the line breaks
	parser unstable.Parser
	counts map[string]int // elements of each [[list]] so far
	line   int            // of the key that was walked last
}

// keyPath is a key by its name in keyLines.lines and by its parts.
type keyPath struct {
	name  string
	parts []string
}

func findKeys(data []byte) *keyLines {
	l := &keyLines{lines: map[string]int{}, starts: map[int][]string{}, counts: map[string]int{}}
	for i, c := range data {
		if c == '\n' {
			l.breaks = append(l.breaks, i)
		}
	}
	l.parser.Reset(data)
	var table keyPath
	for l.parser.NextExpression() {
		node := l.parser.Expression()
		switch node.Kind {
		case unstable.Table:
			table = l.walk(keyPath{}, node.Key())
		case unstable.ArrayTable:
			table = l.walk(keyPath{}, node.Key())
			last := element(table.name, l.counts[table.name])
			l.counts[table.name]++
			l.lines[last] = l.line
			table.name = last
		case unstable.KeyValue:
			l.value(l.walk(table, node.Key()), node.Value())
		}
	}
	return l
}

// lineOf is the line in which a node begins.
func (l *keyLines) lineOf(n *unstable.Node) int {
	before, _ := slices.BinarySearch(l.breaks, int(n.Raw.Offset))
	return before + 1
}

// keyAt is the key that begins at a line and column, or whose value does; else
// the given one.
func (l *keyLines) keyAt(line, column int, otherwise []string) []string {
	offset := column - 1
	if line > 1 {
		offset += l.breaks[line-2] + 1
	}
	if parts, ok := l.starts[offset]; ok {
		return parts
	}
	return otherwise
}

// walk notes a dotted key below a table. Below a [[list]] it goes on in the
// newest element.
func (l *keyLines) walk(key keyPath, rest unstable.Iterator) keyPath {
	key.parts = append([]string{}, key.parts...)
	var start uint32
	for first := true; rest.Next(); first = false {
		if n := l.counts[key.name]; n > 0 {
			key.name = element(key.name, n-1)
		}
		n := rest.Node()
		key.name = join(key.name, keyPart(string(n.Data)))
		key.parts = append(key.parts, string(n.Data))
		if first {
			start = n.Raw.Offset
		}
		l.line = l.lineOf(n)
		if l.lines[key.name] == 0 {
			l.lines[key.name] = l.line
		}
	}
	l.starts[int(start)] = key.parts
	return key
}

func (l *keyLines) value(key keyPath, v *unstable.Node) {
	if v.Raw.Length > 0 {
		l.starts[int(v.Raw.Offset)] = key.parts
	}
	children := v.Children()
	switch v.Kind {
	case unstable.InlineTable:
		for first := true; children.Next(); first = false {
			n := children.Node()
			below := l.walk(key, n.Key())
			if first && strings.HasSuffix(key.name, "]") {
				l.lines[key.name] = l.line // an element of a list stands where it begins
			}
			l.value(below, n.Value())
		}
	case unstable.Array:
		for i := 0; children.Next(); i++ {
			n := children.Node()
			item := keyPath{element(key.name, i), key.parts}
			l.lines[item.name] = l.line
			if n.Kind == unstable.String {
				l.lines[item.name] = l.lineOf(n)
			}
			l.value(item, n)
		}
	}
}
