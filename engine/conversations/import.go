package conversations

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/conversation"
	"github.com/holdfast-dev/holdfast/store"
)

// Imported tells what an import did with one conversation.
type Imported struct {
	ID    holdfast.ConversationID
	Title string
	New   bool // it was not there before
	Added int  // events
	Known int  // events that were there already
}

// Damage is a line that was left out.
type Damage struct {
	Line   int // from 1
	Reason string
}

// ImportOptions say how a file is read.
type ImportOptions struct {
	// Copy gives all that is read new ids, so that it stands beside what is there.
	Copy bool
	// Progress is called now and then with the bytes that were read; nil: never.
	Progress func(bytes int64)
}

// Import reads conversations in the line form: one, or several that each begin
// with a head. What has no id gets one that is made of its line and of all before
// it; what has no time gets that of the event before it, or the present. A
// conversation that neither a head nor its first event gives an id to has that
// which its lines make: one that begins like another and goes on in another way is
// a conversation of its own. The error is a conflict when a conversation that is there goes on in another way
// than in the file: then what stands before it in the file is imported, and it
// is left as it is.
func (s *Service) Import(ctx context.Context, r io.Reader, o ImportOptions) ([]Imported, []Damage, error) {
	im := importer{s: s, options: o, at: s.now().UTC().Truncate(time.Microsecond)}
	err := im.read(ctx, r)
	if err == nil {
		err = im.end(ctx)
	}
	if err != nil && im.w != nil {
		err = im.w.undo(ctx, err)
	}
	return im.done, im.damage, err
}

func (im *importer) read(ctx context.Context, r io.Reader) error {
	in := bufio.NewReaderSize(r, 1<<20)
	var read int64
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		read += int64(len(line))
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if err := im.line(ctx, n, line); err != nil {
				return err
			}
		}
		if im.options.Progress != nil && n%1000 == 0 {
			im.options.Progress(read)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return holdfast.Errorf(holdfast.ErrUnavailable, "the file cannot be read: %w", err)
		}
	}
}

// importer is the reading of one file.
type importer struct {
	s       *Service
	options ImportOptions
	done    []Imported
	damage  []Damage

	// Of the conversation that is being read. w is nil until its first event.
	head  conversation.Head
	w     *writer
	now   Imported
	names conversation.Namer
	at    time.Time // of the event before
	// name is what the lines so far make, whatever id the last one has.
	name holdfast.EventID
	// unnamed tells that nothing in the file says which conversation it is: neither a
	// head nor the id of its first event.
	unnamed bool
	// have are the events that are stored already and not yet seen in the file.
	have []store.StoredEvent
	// anyOrder compares by ids alone: what is stored may have more, and in another
	// order. stored has them then, in the place of have.
	anyOrder bool
	stored   map[holdfast.EventID]bool
	// made is the title that the first message of what is stored gives.
	made string
	// renamed are the new ids of a copy, by the old ones.
	renamed map[holdfast.EventID]holdfast.EventID
}

func (im *importer) line(ctx context.Context, n int, line []byte) error {
	head, ok, err := conversation.ParseHead(line)
	if err != nil {
		return holdfast.Errorf(holdfast.CodeOf(err), "line %d: %w", n, err)
	}
	if ok {
		if err := im.end(ctx); err != nil {
			return err
		}
		im.head = head
		im.names.Next(line)
		return nil
	}
	im.name = im.names.Next(line)
	e, err := conversation.ParseLine(line)
	if err != nil {
		im.damage = append(im.damage, Damage{n, err.Error()})
		return nil
	}
	given := e.ID != ""
	if !given {
		e.ID = im.name
	}
	return im.take(ctx, n, e, given, line)
}

// take takes the next event, which stands in line n of the file. given tells that its id is its own.
func (im *importer) take(ctx context.Context, n int, e holdfast.Entry, given bool, line []byte) error {
	if e.At.IsZero() {
		e.At = im.at
	}
	im.at = e.At
	if im.options.Copy {
		im.rename(&e)
	}
	if im.w == nil {
		im.unnamed = im.head.ID == "" && !given
		if err := im.begin(ctx, cmp.Or(im.head.ID, conversationOf(e.ID)), e.At); err != nil {
			return err
		}
	}
	if _, unknown := e.Event.(holdfast.Unknown); !unknown {
		line = conversation.Stamp(line, e)
	}
	if im.anyOrder && im.stored[e.ID] {
		im.now.Known++
		return nil
	}
	for len(im.have) > 0 {
		old := im.have[0]
		// An unknown line has no id that an export could have written down.
		if old.ID != e.ID && (given || !bytes.Equal(old.Line, line)) {
			if im.unnamed && im.w.c.ID != conversationOf(im.name) {
				if err := im.apart(ctx); err != nil {
					return err
				}
				continue
			}
			return holdfast.Errorf(holdfast.ErrConflict,
				"line %d: conversation %s has another event at this place: it went on in another way. Import the file with --copy to have both", n, im.w.c.ID)
		}
		im.have = im.have[1:]
		im.now.Known++
		return nil
	}
	im.title(e.Event)
	im.now.Added++
	return im.w.put(ctx, store.StoredEvent{ID: e.ID, Kind: conversation.KindOf(e.Event), At: e.At, Line: line})
}

// conversationOf is the id of a conversation that an event gives its name to.
func conversationOf(id holdfast.EventID) holdfast.ConversationID {
	var names conversation.Namer
	return holdfast.ConversationID(names.Next([]byte("conversation of " + id)))
}

// apart leaves a conversation that only begins as the file does, for the one that
// is named by the line at which they part. It has the events before that line too,
// of which there are some: their names begin with that of the first.
func (im *importer) apart(ctx context.Context) error {
	var shared []store.StoredEvent
	for e, err := range im.s.st.Events(ctx, im.s.principal, im.w.c.ID, store.EventRange{UpTo: int64(im.now.Known)}) {
		if err != nil {
			return err
		}
		shared = append(shared, e)
	}
	im.have = nil
	if err := im.begin(ctx, conversationOf(im.name), shared[0].At); err != nil {
		return err
	}
	// An import that was killed may have written some of them.
	im.now.Known = min(len(shared), len(im.have))
	im.have = im.have[im.now.Known:]
	for _, e := range shared[im.now.Known:] {
		if entry, err := conversation.ParseLine(e.Line); err == nil {
			im.title(entry.Event)
		}
		im.now.Added++
		if err := im.w.put(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// title takes the title from e where there is none yet.
func (im *importer) title(e holdfast.Event) {
	if im.now.Title == "" {
		im.now.Title = conversation.TitleOf(e)
		im.w.c.Title = im.now.Title
	}
}

// begin finds or makes the conversation id, which began at a time.
func (im *importer) begin(ctx context.Context, id holdfast.ConversationID, at time.Time) error {
	c := store.Conversation{
		ID: id, Principal: im.s.principal, Title: im.head.Title, Origin: store.ImportedConversation, Agent: im.head.Agent,
		Parent: im.head.Parent, ParentSeq: im.head.ParentSeq, Version: store.StreamVersion, CreatedAt: im.head.CreatedAt,
	}
	if im.options.Copy {
		c.ID = holdfast.ConversationID(im.s.newID())
	}
	if c.CreatedAt.IsZero() {
		c.CreatedAt = at
	}
	old, err := im.s.st.Get(ctx, im.s.principal, c.ID)
	switch {
	case err == nil:
		if c = old; c.Version > store.StreamVersion {
			return newer(c)
		}
		c.Title = cmp.Or(c.Title, im.head.Title)
		for e, err := range im.s.st.Events(ctx, im.s.principal, c.ID, store.EventRange{}) {
			if err != nil {
				return err
			}
			if im.made == "" && e.Kind == conversation.KindUser {
				im.made = conversation.TitleOf(entry(e).Event)
			}
			if im.anyOrder {
				im.stored[e.ID] = true
				continue
			}
			if conversation.Known(e.Kind) {
				e.Line = nil // its id is enough to compare it by
			}
			im.have = append(im.have, e)
		}
	case holdfast.CodeOf(err) != holdfast.ErrNotFound:
		return err
	}
	im.w = im.s.writer(c)
	im.w.exists, im.w.title = err == nil, old.Title
	im.now = Imported{ID: c.ID, Title: c.Title, New: err != nil}
	return nil
}

// end writes what is left of the conversation that is being read, and its title where
// that was not known when it was begun.
func (im *importer) end(ctx context.Context) error {
	if im.w == nil && im.head.ID != "" {
		if err := im.begin(ctx, im.head.ID, im.at); err != nil {
			return err
		}
	}
	if im.w != nil {
		if err := im.w.flush(ctx); err != nil {
			return err
		}
		if title := im.w.c.Title; title != im.w.title {
			if err := im.s.Retitle(ctx, im.w.c.ID, title); err != nil {
				return err
			}
		}
		im.done = append(im.done, im.now)
	}
	im.head, im.w, im.now = conversation.Head{}, nil, Imported{}
	im.names, im.have, im.renamed, im.made = conversation.Namer{}, nil, nil, ""
	return nil
}

// rename gives an event, and what it names, new ids.
func (im *importer) rename(e *holdfast.Entry) {
	if im.renamed == nil {
		im.renamed = map[holdfast.EventID]holdfast.EventID{}
	}
	id := holdfast.EventID(im.s.newID())
	switch event := e.Event.(type) {
	case holdfast.Overlay, holdfast.UserMessage, holdfast.AssistantMessage:
		im.renamed[e.ID] = id
	case holdfast.Continuity:
		if to, ok := im.renamed[holdfast.EventID(event.Capsule.Watermark)]; ok {
			event.Capsule.Watermark = string(to)
			e.Event = event
		}
	case holdfast.Revocation:
		ids := make([]holdfast.EventID, len(event.Overlays))
		for i, old := range event.Overlays {
			ids[i] = cmp.Or(im.renamed[old], old)
		}
		e.Event = holdfast.Revocation{Overlays: ids}
	}
	e.ID = id
}
