package compaction

import "github.com/holdfast-dev/holdfast"

// Point is the size of a conversation as it was behind one of its events, in
// estimated tokens of a request.
type Point struct {
	// Index is that of the event in the stream.
	Index int
	// Raw is without any compaction, Projected with those that were in force then.
	Raw, Projected int
}

// Curve is how a conversation grew: a point behind each event that goes to a
// model, and behind each that changes what does. It takes time linear in the
// stream for each compaction. Between two of them events are added one by one, so
// a call counts before its result is there.
func (e Estimator) Curve(entries []holdfast.Entry) []Point {
	var points []Point
	raw := size{count: e.Count}
	for _, text := range e.Overhead {
		raw.add(text)
	}
	projected := raw
	for i, entry := range entries {
		switch entry.Event.(type) {
		case holdfast.Overlay, holdfast.Revocation:
			projected = e.measure(entries[:i+1])
		case holdfast.UserMessage, holdfast.AssistantMessage, holdfast.Reasoning, holdfast.ToolCall, holdfast.ToolResult:
			raw.addEvent(entry.Event)
			projected.addEvent(entry.Event)
		default:
			continue
		}
		points = append(points, Point{i, e.whole(raw), e.whole(projected)})
	}
	return points
}
