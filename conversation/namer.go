package conversation

import (
	"crypto/sha256"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast"
)

// Namer gives ids to the lines of a file that has none: each is made of the line
// and of all before it, so the same file gets the same ids again, and a file that
// grew keeps those that it had.
type Namer struct{ state [sha256.Size]byte }

// Next is the id of the next line.
func (n *Namer) Next(line []byte) holdfast.EventID {
	h := sha256.New()
	h.Write(n.state[:])
	h.Write(line)
	h.Sum(n.state[:0])
	return holdfast.EventID(uuid8(n.state))
}

// uuid8 is a UUID of version 8: what it is made of is for its maker to say.
func uuid8(sum [sha256.Size]byte) string {
	id := uuid.UUID(sum[:16])
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return id.String()
}
