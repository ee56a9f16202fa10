package toolbox

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// Add puts a tool that asks into a Box.
func (b *Box) Add(name string, run func(ctx context.Context) ([]holdfast.Part, error)) {
	b.tools = append(b.tools, tool{
		ToolDefinition: holdfast.ToolDefinition{Name: name},
		policy:         policies(b.cfg.Policies).of(name, Ask),
		run: func(ctx context.Context, _ []byte) ([]holdfast.Part, bool, error) {
			parts, err := run(ctx)
			return parts, false, err
		},
	})
}

// SetGrace is how long a server may take to end by itself, and again when it is
// asked to.
func (b *Box) SetGrace(d time.Duration) { b.grace = d }

// SetSearchTime bounds a search.
func (b *Box) SetSearchTime(d time.Duration) { b.files.searchTime = d }

// Shorten and ToolName are pure and tested as such.
var (
	Shorten  = shorten
	ToolName = toolName
)
