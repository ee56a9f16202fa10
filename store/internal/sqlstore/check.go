package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

const (
	// mostAlike bounds the findings of one kind in one table.
	mostAlike = 100
	// abandoned is how long a lease has ended that nobody will come back to.
	abandoned = 30 * 24 * time.Hour
	// settled is when a branch must be written whose recording is.
	settled = time.Hour
)

// Inspection looks at a database and writes nothing. It is safe for concurrent
// use.
type Inspection struct {
	s *Store
	c CheckDialect
}

// CheckDialect is what differs between databases when they are looked at.
type CheckDialect struct {
	// Explain is that of Dialect.
	Explain func(error) *holdfast.Error
	// Damage has the database check itself and returns what it says, without text
	// of rows. A database that is too damaged for that returns what it can.
	Damage func(ctx context.Context, t *sql.Tx, full bool) ([]string, error)
	// Tables lists the tables by name, without the database's own.
	Tables func(context.Context, *sql.Tx) ([]string, error)
	// References lists the foreign keys, each of one column.
	References func(context.Context, *sql.Tx) ([]Reference, error)
}

// Reference is a foreign key.
type Reference struct{ Table, Column, Parent, ParentColumn string }

// NewInspection returns an inspection over a pool of connections that only read,
// which stays the caller's to close.
func NewInspection(reader *sql.DB, c CheckDialect) *Inspection {
	return &Inspection{&Store{reader: reader, dialect: Dialect{Explain: c.Explain}}, c}
}

// Check looks at the database and all rows. Of a schema that is older than this
// build it looks at what there is. It may run for minutes beside a server, which
// waits for nothing but the wiping of what it removes meanwhile.
func (i *Inspection) Check(ctx context.Context, o store.CheckOptions) (store.Report, error) {
	if o.Progress == nil {
		o.Progress = func(string, int64, int64) {}
	}
	c := &check{Inspection: i, ctx: ctx, o: o, alike: map[alike]int{}}
	for _, step := range []func() error{c.pages, c.rows, c.revisions, c.conversations} {
		if err := step(); err != nil {
			return store.Report{}, i.s.explain("check the database", err)
		}
		if c.report.Partial {
			break
		}
	}
	return c.report, nil
}

// check is one run.
type check struct {
	*Inspection
	ctx    context.Context
	o      store.CheckOptions
	report store.Report
	alike  map[alike]int
	tables map[string]bool
}

type alike struct {
	kind  store.FindingKind
	table string
}

func (c *check) found(f store.Finding) {
	key := alike{f.Kind, f.Table}
	if c.alike[key]++; c.alike[key] > mostAlike {
		c.report.Omitted++
		return
	}
	c.report.Findings = append(c.report.Findings, f)
}

// has reports whether all of some tables are there.
func (c *check) has(tables ...string) bool {
	for _, table := range tables {
		if !c.tables[table] {
			return false
		}
	}
	return true
}

// pages has the database check itself.
func (c *check) pages() error {
	c.o.Progress("pages", 0, 0)
	return c.s.read(c.ctx, func(t tx) error {
		said, err := c.c.Damage(c.ctx, t.Tx, c.o.Full)
		for _, what := range said {
			c.report.Partial = true
			c.found(store.Finding{
				Kind: store.Damaged, What: what,
				Next: "put a backup in its place; without one, export what can still be read with `holdfast conversation export`",
			})
		}
		return err
	})
}

// rows counts, and looks at what one query can tell.
func (c *check) rows() error {
	return c.s.read(c.ctx, func(t tx) error {
		names, err := c.c.Tables(c.ctx, t.Tx)
		if err != nil {
			return err
		}
		c.tables = map[string]bool{}
		for n, name := range names {
			c.o.Progress("tables", int64(n), int64(len(names)))
			c.tables[name] = true
			if name == VersionTable {
				continue
			}
			count := store.TableCount{Table: name}
			if _, err := t.get(`SELECT count(*) FROM "`+name+`"`, nil, &count.Rows); err != nil {
				return err
			}
			c.report.Tables = append(c.report.Tables, count)
		}
		refs, err := c.c.References(c.ctx, t.Tx)
		if err != nil {
			return err
		}
		for _, r := range refs {
			if err := c.orphans(t, r); err != nil {
				return err
			}
		}
		for _, l := range c.looks() {
			if !c.has(l.tables...) {
				continue
			}
			err := t.each(l.query, l.args, func(rows *sql.Rows) error {
				f := l.finding
				err := rows.Scan(&f.ID)
				f.Next = fmt.Sprintf(f.Next, f.ID)
				c.found(f)
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// orphans finds rows whose foreign key leads nowhere.
func (c *check) orphans(t tx, r Reference) error {
	query := fmt.Sprintf(`SELECT c.%[2]s, count(*) FROM %[1]s c WHERE c.%[2]s IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM %[3]s p WHERE p.%[4]s = c.%[2]s) GROUP BY c.%[2]s ORDER BY c.%[2]s`,
		r.Table, r.Column, r.Parent, r.ParentColumn)
	return t.each(query, nil, func(rows *sql.Rows) error {
		var id string
		var n int64
		err := rows.Scan(&id, &n)
		c.found(store.Finding{
			Kind: store.Orphaned, Table: r.Table, ID: id,
			What: fmt.Sprintf("%d of its rows belong to %s %s, which is not among the %s", n, r.Column, id, r.Parent),
			Next: "nothing reads them; put a backup in place where what they belonged to is missed",
		})
		return err
	})
}

// look is a query that returns the ids of what is wrong. The id stands in Next
// where that has a verb.
type look struct {
	tables  []string
	query   string
	args    []any
	finding store.Finding
}

func (c *check) looks() []look {
	const restore = "reads of %s fail: put a backup in place, or erase what it belongs to"
	length := func(table, id, column string, bytes int) look {
		return look{
			[]string{table},
			fmt.Sprintf(`SELECT %s FROM %s WHERE length(%s) <> ? ORDER BY 1`, id, table, column),
			[]any{bytes},
			store.Finding{
				Kind: store.BadDigest, Table: table, What: fmt.Sprintf("its %s has not the length of a digest, %d bytes", column, bytes), Next: restore,
			},
		}
	}
	return []look{
		{
			[]string{"sessions", "removals"},
			`SELECT id FROM sessions WHERE id IN (SELECT session_id FROM removals) ORDER BY id`, nil,
			store.Finding{
				Kind: store.RemovedSession, Table: "sessions", What: "it was removed, and is still there",
				Next: "erase it with `holdfast session rm %s`",
			},
		},
		{
			// A branch may be written behind its recording.
			[]string{"conversations", "branches"},
			`SELECT id FROM conversations WHERE origin = ? AND branch <> '' AND used_at < ?
				AND branch NOT IN (SELECT id FROM branches) ORDER BY id`,
			[]any{store.RecordedConversation, c.o.Now.Add(-settled).UnixMicro()},
			store.Finding{
				Kind: store.LeftRecording, Table: "conversations", What: "the session that it records is gone",
				Next: "erase it with `holdfast conversation rm %s`",
			},
		},
		{
			[]string{"leases"},
			`SELECT conversation_id FROM leases WHERE held_until < ? ORDER BY conversation_id`,
			[]any{c.o.Now.Add(-abandoned).UnixMicro()},
			store.Finding{
				Kind: store.AbandonedLease, Table: "leases", What: "a program that held it ended without giving it back, over 30 days ago",
				Next: "nothing waits for it; what next writes to conversation %s takes its place",
			},
		},
		length("epochs", "branch_id || ' ' || n", "evidence", len(holdfast.Digest{})),
		length("anchors", "branch_id || ' ' || epoch || ' ' || seq", "digest", len(holdfast.Digest{})),
		length("boundaries", "id", "summary", len(holdfast.Digest{})),
		length("keys", "id", "digest", len(store.Key{}.Digest)),
	}
}

const (
	checkedRevisions = `SELECT v.branch_id, v.n, v.digest, v.capsule, b.session_id
		FROM revisions v JOIN branches b ON b.id = v.branch_id ORDER BY v.branch_id, v.n`
	checkedConversations = `SELECT id FROM conversations ORDER BY id`
	checkedHead          = `SELECT head, turns, bytes FROM conversations WHERE id = ?`
	checkedEvents        = `SELECT seq, kind, line FROM events WHERE conversation_id = ? ORDER BY seq`
)

// revisions reads all capsules.
func (c *check) revisions() error {
	if !c.has("revisions", "branches") {
		return nil
	}
	total, done := c.count("revisions"), int64(0)
	return c.s.read(c.ctx, func(t tx) error {
		return t.each(checkedRevisions, nil, func(rows *sql.Rows) error {
			var branch holdfast.BranchID
			var session holdfast.SessionID
			var n int
			var digest string
			var capsule []byte
			if err := rows.Scan(&branch, &n, &digest, &capsule, &session); err != nil {
				return err
			}
			c.o.Progress("revisions", done, total)
			done++
			what := ""
			switch stated, actual, err := c.o.Capsule(capsule); {
			case err != nil:
				what = "its capsule cannot be read"
			case stated != digest:
				what = "its capsule has another digest than the row"
			case actual != "" && actual != digest:
				what = "its capsule was altered: the digest is not that of its content"
			default:
				return nil
			}
			c.found(store.Finding{
				Kind: store.BadCapsule, Table: "revisions", ID: fmt.Sprintf("%s %d", branch, n), What: what,
				Next: fmt.Sprintf("put a backup in place, or erase the session with `holdfast session rm %s`", session),
			})
			return nil
		})
	})
}

func (c *check) count(table string) int64 {
	for _, t := range c.report.Tables {
		if t.Table == table {
			return t.Rows
		}
	}
	return 0
}

// conversations reads all streams, each in a transaction of its own: together they
// may take minutes, in which the log could not be emptied.
func (c *check) conversations() error {
	if !c.has("conversations", "events") {
		return nil
	}
	var ids []holdfast.ConversationID
	err := c.s.read(c.ctx, func(t tx) error {
		return t.each(checkedConversations, nil, func(rows *sql.Rows) error {
			var id holdfast.ConversationID
			err := rows.Scan(&id)
			ids = append(ids, id)
			return err
		})
	})
	total, done := c.count("events"), int64(0)
	for _, id := range ids {
		if err == nil {
			err = c.s.read(c.ctx, func(t tx) error { return c.conversation(t, id, &done, total) })
		}
	}
	return err
}

// stream is what the head of a conversation says of its events, or they themselves.
type stream struct{ head, turns, bytes int64 }

func (s stream) String() string {
	return fmt.Sprintf("event %d as the newest, %d turns and %d bytes", s.head, s.turns, s.bytes)
}

// conversation compares the head of a stream with its events, and reads these.
func (c *check) conversation(t tx, id holdfast.ConversationID, done *int64, total int64) error {
	var head, read stream
	there, err := t.get(checkedHead, []any{id}, &head.head, &head.turns, &head.bytes)
	if err != nil || !there {
		return err // it was deleted meanwhile
	}
	about := store.Finding{Table: "conversations", ID: string(id), Next: fmt.Sprintf(
		"put a backup in place, or keep what is there with `holdfast conversation export %s`", id)}
	n, firstGap := int64(0), int64(0)
	err = t.each(checkedEvents, []any{id}, func(rows *sql.Rows) error {
		var seq int64
		var kind string
		var line []byte
		if err := rows.Scan(&seq, &kind, &line); err != nil {
			return err
		}
		c.o.Progress("events", *done, total)
		*done++
		n++
		if seq != n && firstGap == 0 {
			firstGap = n
		}
		read.head = seq
		read.bytes += int64(len(line))
		if kind == turnKind {
			read.turns++
		}
		bad := about
		bad.Kind, bad.Table, bad.ID = store.BadEvent, "events", fmt.Sprintf("%s %d", id, seq)
		switch stated, err := c.o.Event(line); {
		case err != nil:
			bad.What = "its line cannot be read"
		case stated != kind:
			bad.What = "its line is of another kind than the row"
		default:
			return nil
		}
		c.found(bad)
		return nil
	})
	switch {
	case err != nil:
		return err
	case firstGap > 0:
		about.Kind, about.What = store.MissingEvents, fmt.Sprintf("events are missing: %d of %d are there, and event %d is the first that is not", n, read.head, firstGap)
		c.found(about)
		if read.head == head.head {
			return nil // with what is missing the counts would be right
		}
	case read == head:
		return nil
	}
	about.Kind, about.What = store.WrongCounts, fmt.Sprintf("it says %s; stored are %s", head, read)
	c.found(about)
	return nil
}
