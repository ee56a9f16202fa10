package proxy

import "bytes"

// maxMember bounds what is kept of one member, in bytes.
const maxMember = 64 << 10

// metered are the members of a whole answer that tell what it took, or that it
// failed.
var metered = []string{"usage", "usageMetadata", "error"}

// members picks the metered members of a JSON object, or of the objects of a
// list, out of pieces as they come, and keeps nothing else. Of a name that comes
// several times the last one counts. It reads well-formed texts right, and of
// others anything.
type members struct {
	values [3][]byte // by the order of metered
	begun  bool
	list   int // 1 in a list of objects
	depth  int
	text   bool // inside a string
	escape bool
	key    []byte // the name that is read, or was read last
	named  bool   // the next string of the object is a name
	naming bool
	at     int // index of the member that is kept, from 1; 0: none
}

// feed takes the next piece.
func (m *members) feed(b []byte) {
	for i := 0; i < len(b); i++ {
		if m.text && !m.escape && !m.naming && m.at == 0 {
			// Most of an answer is text that nobody keeps.
			for i < len(b)-1 && b[i] != '"' && b[i] != '\\' {
				i++
			}
		}
		c := b[i]
		if m.text {
			m.inText(c)
			continue
		}
		own := m.depth == m.list+1 // directly inside an object that counts
		switch c {
		case '"':
			m.text = true
			m.naming = own && m.named
			if m.naming {
				m.key, m.named = m.key[:0], false
			}
		case '{', '[':
			if !m.begun && c == '[' {
				m.list = 1
			}
			m.begun = true
			m.depth++
			if c == '{' && m.depth == m.list+1 {
				m.named = true
			}
		case '}', ']', ',':
			if own {
				m.at = 0
				m.named = c == ','
			}
			if c != ',' {
				m.depth--
			}
		case ':':
			if own {
				m.begin()
				continue
			}
		}
		m.keep(c)
	}
}

func (m *members) inText(c byte) {
	switch {
	case m.escape:
		m.escape = false
	case c == '\\':
		m.escape = true
	case c == '"':
		m.text = false
	}
	if m.naming && m.text && len(m.key) < 32 {
		m.key = append(m.key, c)
	}
	m.keep(c)
}

// begin starts to keep the value of the name that was read, if it counts.
func (m *members) begin() {
	m.at = 0
	for i, name := range metered {
		if string(m.key) == name {
			m.at = i + 1
			m.values[i] = m.values[i][:0]
		}
	}
}

func (m *members) keep(c byte) {
	if m.at == 0 {
		return
	}
	v := &m.values[m.at-1]
	if len(*v) >= maxMember {
		m.at, *v = 0, nil
		return
	}
	*v = append(*v, c)
}

// body is an object of the members that were found; nil without any.
func (m *members) body() []byte {
	var found [][]byte
	for i, name := range metered {
		if v := bytes.TrimSpace(m.values[i]); len(v) > 0 {
			found = append(found, []byte(`"`+name+`":`+string(v)))
		}
	}
	if found == nil {
		return nil
	}
	return append(append([]byte("{"), bytes.Join(found, []byte(","))...), '}')
}
