// Package sqlstore is the body that the SQL stores share: the contract of
// package store over database/sql. A dialect package opens the database,
// brings its own migrations and knows the errors of its driver.
//
// Laws:
//   - All batches of one Apply call are one transaction, so they share one
//     flush to disk. Where one of them is refused they are written once more, each
//     under a savepoint of its own: the refused batch is undone, the others stay.
//   - There is one writer connection. A context ends the wait for it; a
//     transaction that has begun is finished, for a caller that gave up in the
//     middle of a commit could not know what is stored.
//   - Every read is one transaction, so it sees one state; save Events, where
//     each page is one: a consumer that takes its time keeps no connection from
//     others, and no log from being emptied.
//   - What an append writes and reads does not depend on the length of the
//     stream: its end and counts stand in the row of the conversation.
//   - Statements are those that SQLite and PostgreSQL understand alike, save
//     the placeholders.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// Dialect is what differs between databases.
type Dialect struct {
	// Explain words an error of the driver for a person and gives it its code,
	// or returns nil when it does not know the error. An error that leaves
	// the database unfit for the rest of the transaction (full, locked,
	// damaged) has the code unavailable.
	Explain func(error) *holdfast.Error
	// Erased runs on the writer once rows were deleted, outside a transaction,
	// to wipe what a deletion leaves behind.
	Erased func(context.Context, *sql.DB) error
}

// Store implements the contract of package store. It is safe for concurrent
// use.
type Store struct {
	writer, reader *sql.DB
	dialect        Dialect
	prepared       map[string]*sql.Stmt // on the writer, by text; read only
	reading        map[string]*sql.Stmt // on the reader: what requests wait for; read only
	closed         atomic.Bool
}

// New returns a store over a migrated database that can be written, and owns
// both pools from then on, also when it fails. The writer has at most one
// connection, whose transactions take the write lock when they begin.
func New(ctx context.Context, writer, reader *sql.DB, d Dialect) (*Store, error) {
	s := &Store{writer: writer, reader: reader, dialect: d, prepared: map[string]*sql.Stmt{}, reading: map[string]*sql.Stmt{}}
	writer.SetMaxOpenConns(1)
	prepare := func(db *sql.DB, into map[string]*sql.Stmt, queries []string) error {
		for _, query := range queries {
			stmt, err := db.PrepareContext(ctx, query)
			if err != nil {
				return err
			}
			into[query] = stmt
		}
		return nil
	}
	err := prepare(writer, s.prepared, slices.Concat(applyQueries(), streamQueries(), []string{addAttempt, addAttempts, newestNoted, insertNoted}))
	if err == nil {
		err = prepare(reader, s.reading, outlineQueries())
	}
	if err != nil {
		return nil, errors.Join(s.explain("open the database", err), s.Close())
	}
	// A write that changes nothing finds out here, and not at the first batch,
	// that a database can only be read.
	err = s.write(ctx, func(t tx) error {
		_, err := t.exec(touchSession, 0, 0, "", "")
		return err
	})
	if err == nil {
		err = reader.PingContext(ctx)
	}
	if err != nil {
		return nil, errors.Join(s.explain("open the database", err), s.Close())
	}
	return s, nil
}

// Close waits for what runs and closes the database. Closing twice is fine;
// every other call after it fails with unavailable.
func (s *Store) Close() error {
	s.closed.Store(true)
	// The writer goes last, so that the last connection to the database is one
	// that may tidy it up.
	var errs []error
	for _, db := range []*sql.DB{s.reader, s.writer} {
		if err := db.Close(); err != nil {
			errs = append(errs, s.explain("close the database", err))
		}
	}
	return errors.Join(errs...)
}

// explain gives err a code and a text for a person; nil stays nil.
func (s *Store) explain(doing string, err error) error {
	if err == nil {
		return nil
	}
	if own := (*holdfast.Error)(nil); errors.As(err, &own) {
		return err
	}
	if known := s.dialect.Explain(err); known != nil {
		return holdfast.Errorf(known.Code, "cannot %s: %w", doing, known)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return holdfast.Errorf(holdfast.ErrUnavailable, "cannot %s in the time given: %w", doing, err)
	}
	if s.closed.Load() {
		return holdfast.Errorf(holdfast.ErrUnavailable, "cannot %s: the store is closed (%w)", doing, err)
	}
	return holdfast.Errorf(holdfast.ErrInternal, "cannot %s: %w", doing, err)
}

// write runs f in one write transaction.
func (s *Store) write(ctx context.Context, f func(tx) error) error {
	conn, err := s.writer.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	whole := context.WithoutCancel(ctx)
	t, err := conn.BeginTx(whole, nil)
	if err != nil {
		return err
	}
	defer t.Rollback() // nothing is left to undo after a commit
	if err := f(tx{t, whole, s.prepared, map[string]*sql.Stmt{}}); err != nil {
		return err
	}
	return t.Commit()
}

// read runs f in one read transaction.
func (s *Store) read(ctx context.Context, f func(tx) error) error {
	t, err := s.reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer t.Rollback()
	return f(tx{t, ctx, s.reading, map[string]*sql.Stmt{}})
}

// tx is a transaction with the statements that were prepared for it.
type tx struct {
	*sql.Tx
	ctx      context.Context
	prepared map[string]*sql.Stmt
	bound    map[string]*sql.Stmt // those that this transaction has used
}

// statement is the prepared statement of a query within the transaction, nil where
// none is. It is bound once: a group of batches runs each many times.
func (t tx) statement(query string) *sql.Stmt {
	stmt := t.bound[query]
	if stmt == nil && t.prepared[query] != nil {
		stmt = t.StmtContext(t.ctx, t.prepared[query])
		t.bound[query] = stmt
	}
	return stmt
}

// exec runs one statement and returns the number of rows that it changed.
func (t tx) exec(query string, args ...any) (int64, error) {
	var result sql.Result
	var err error
	if stmt := t.statement(query); stmt != nil {
		result, err = stmt.ExecContext(t.ctx, args...)
	} else {
		result, err = t.ExecContext(t.ctx, query, args...)
	}
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// get reads one row into dst; found is false when there is none.
func (t tx) get(query string, args []any, dst ...any) (found bool, err error) {
	if stmt := t.statement(query); stmt != nil {
		err = stmt.QueryRowContext(t.ctx, args...).Scan(dst...)
	} else {
		err = t.QueryRowContext(t.ctx, query, args...).Scan(dst...)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// each reads all rows of a query; f scans the current one.
func (t tx) each(query string, args []any, f func(*sql.Rows) error) error {
	var rows *sql.Rows
	var err error
	if stmt := t.statement(query); stmt != nil {
		rows, err = stmt.QueryContext(t.ctx, args...)
	} else {
		rows, err = t.QueryContext(t.ctx, query, args...)
	}
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// instant reads a time of the database into t.
type instant struct{ t *time.Time }

func (i instant) Scan(v any) error {
	micro, ok := v.(int64)
	if !ok {
		return fmt.Errorf("a time is stored as %T", v)
	}
	*i.t = time.UnixMicro(micro).UTC()
	return nil
}

// digest reads a digest of the database into d.
type digest struct{ d *holdfast.Digest }

func (d digest) Scan(v any) error {
	b, ok := v.([]byte)
	if !ok || len(b) != len(d.d) {
		return fmt.Errorf("a digest is stored as %T of %d bytes", v, len(b))
	}
	copy(d.d[:], b)
	return nil
}
