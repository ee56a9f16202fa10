package sqlstore

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
	"github.com/holdfast-dev/holdfast/store/internal/refuse"
)

const (
	attemptColumns = `id, began_at, ended_at, principal, label, session_id, branch_id, boundary_id, conversation_id, job, parent, trace,
		agent, role, upstream, model, protocol, input, cache_read, cache_write, output, reasoning,
		input_price, cache_read_price, cache_write_price, output_price, cost, sent, received, estimate, status, outcome`
	insertAttempts = `INSERT INTO attempts (` + attemptColumns + `) VALUES `
	attemptRow     = `(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	overAttempts   = ` ON CONFLICT DO NOTHING`
	addAttempt     = insertAttempts + attemptRow + overAttempts
	listAttempts   = `SELECT ` + attemptColumns + ` FROM attempts`
	newestFirst    = ` ORDER BY began_at DESC, id DESC LIMIT ?`
	sumCost        = `SELECT principal, label, CAST(sum(COALESCE(cost, 0) + COALESCE(estimate, 0)) AS BIGINT) FROM attempts
		WHERE began_at >= ? AND COALESCE(cost, estimate) IS NOT NULL GROUP BY principal, label ORDER BY principal, label`
	expireAttempts = `DELETE FROM attempts WHERE began_at < ?`

	// A sum of what nobody told is NULL.
	sumColumns = `CASE WHEN role = 'primary' THEN 0 ELSE 1 END, count(*),
		count(CASE WHEN input IS NULL OR output IS NULL THEN 1 END),
		count(CASE WHEN input IS NOT NULL AND output IS NOT NULL AND cost IS NULL THEN 1 END),
		CAST(sum(input) AS BIGINT), CAST(sum(cache_read) AS BIGINT), CAST(sum(cache_write) AS BIGINT),
		CAST(sum(output) AS BIGINT), CAST(sum(reasoning) AS BIGINT), CAST(sum(cost) AS BIGINT)`
)

// groupKeys are what attempts are grouped by. Days are counted since 1970, which
// grows as their names do.
var groupKeys = map[store.UsageGroup]string{
	"":                ``,
	store.ByPrincipal: `principal`,
	store.ByModel:     `model`,
	store.ByRole:      `role`,
	store.BySession:   `session_id`,
	store.ByDay:       `began_at / 86400000000`,
	store.ByAgent:     `agent`,
}

// manyAttempts are written by one statement, which costs less than one for each.
const manyAttempts = 16

var addAttempts = insertAttempts + strings.Repeat(attemptRow+`, `, manyAttempts-1) + attemptRow + overAttempts

// AddAttempts implements store.Attempts.
func (s *Store) AddAttempts(ctx context.Context, attempts []holdfast.Attempt) error {
	err := s.write(ctx, func(t tx) error {
		var args []any
		for len(attempts) > 0 {
			query, n := addAttempt, 1
			if len(attempts) >= manyAttempts {
				query, n = addAttempts, manyAttempts
			}
			args = args[:0]
			for i := range n {
				args = appendAttempt(args, &attempts[i])
			}
			if _, err := t.exec(query, args...); err != nil {
				return err
			}
			attempts = attempts[n:]
		}
		return nil
	})
	return s.explain("write usage records", err)
}

// appendAttempt appends the values of a row.
func appendAttempt(args []any, a *holdfast.Attempt) []any {
	var price [4]*int64
	if p := a.Price; p != nil {
		price = [4]*int64{&p.Input, &p.CacheRead, &p.CacheWrite, &p.Output}
	}
	return append(args, string(a.ID), a.Began.UnixMicro(), a.Ended.UnixMicro(), string(a.Principal), a.Label, string(a.Session), string(a.Branch), string(a.Boundary),
		string(a.Conversation), a.Job, string(a.Parent), a.Trace, a.Agent, string(a.Role), a.Upstream, a.Model, string(a.Protocol),
		value(a.Tokens.Input), value(a.Tokens.CacheRead), value(a.Tokens.CacheWrite), value(a.Tokens.Output), value(a.Tokens.Reasoning),
		value(price[0]), value(price[1]), value(price[2]), value(price[3]), value(a.Cost), a.Sent, a.Received, value(a.Estimate), int64(a.Status), string(a.Outcome))
}

// value is a number that may be missing.
func value(n *int64) any {
	if n == nil {
		return nil
	}
	return *n
}

// Attempts implements store.Attempts.
func (s *Store) Attempts(ctx context.Context, p holdfast.Principal, limit int) ([]holdfast.Attempt, error) {
	query, args := listAttempts+newestFirst, []any{max(limit, 0)}
	if p != "" {
		query, args = listAttempts+` WHERE principal = ?`+newestFirst, []any{p, max(limit, 0)}
	}
	var list []holdfast.Attempt
	err := s.read(ctx, func(t tx) error {
		return t.each(query, args, func(rows *sql.Rows) error {
			var a holdfast.Attempt
			var price [4]*int64
			err := rows.Scan(&a.ID, instant{&a.Began}, instant{&a.Ended}, &a.Principal, &a.Label, &a.Session, &a.Branch, &a.Boundary,
				&a.Conversation, &a.Job, &a.Parent, &a.Trace, &a.Agent, &a.Role, &a.Upstream, &a.Model, &a.Protocol,
				&a.Tokens.Input, &a.Tokens.CacheRead, &a.Tokens.CacheWrite, &a.Tokens.Output, &a.Tokens.Reasoning,
				&price[0], &price[1], &price[2], &price[3], &a.Cost, &a.Sent, &a.Received, &a.Estimate, &a.Status, &a.Outcome)
			if price[0] != nil && price[1] != nil && price[2] != nil && price[3] != nil {
				a.Price = &holdfast.Price{Input: *price[0], CacheRead: *price[1], CacheWrite: *price[2], Output: *price[3]}
			}
			list = append(list, a)
			return err
		})
	})
	if err != nil {
		return nil, s.explain("list usage records", err)
	}
	return list, nil
}

// SumAttempts implements store.Attempts.
func (s *Store) SumAttempts(ctx context.Context, q store.UsageQuery) ([]store.UsageSum, error) {
	if _, known := groupKeys[q.By]; !known {
		return nil, refuse.NoUsageGroup(string(q.By))
	}
	query, args := sumQuery(q)
	var list []store.UsageSum
	err := s.read(ctx, func(t tx) error {
		return t.each(query, args, func(rows *sql.Rows) error {
			var u store.UsageSum
			var day int64
			key := any(&u.Key)
			if q.By == store.ByDay {
				key = &day
			}
			err := rows.Scan(key, &u.Auxiliary, &u.Attempts, &u.Unknown, &u.Unpriced,
				&u.Tokens.Input, &u.Tokens.CacheRead, &u.Tokens.CacheWrite, &u.Tokens.Output, &u.Tokens.Reasoning, &u.Cost)
			if q.By == store.ByDay {
				u.Key = time.Unix(day*24*60*60, 0).UTC().Format(time.DateOnly)
			}
			list = append(list, u)
			return err
		})
	})
	if err != nil {
		return nil, s.explain("sum usage records up", err)
	}
	return list, nil
}

// sumQuery is how SumAttempts reads.
func sumQuery(q store.UsageQuery) (query string, args []any) {
	key := groupKeys[q.By]
	if key == "" {
		key = `''`
	}
	query, args = `SELECT `+key+`, `+sumColumns+` FROM attempts WHERE began_at >= ?`, []any{q.Since.UnixMicro()}
	if q.Principal != "" {
		query += ` AND principal = ?`
		args = append(args, q.Principal)
	}
	return query + ` GROUP BY 1, 2 ORDER BY 1, 2`, args
}

// Spent implements store.Attempts.
func (s *Store) Spent(ctx context.Context, since time.Time) ([]store.Spending, error) {
	var list []store.Spending
	err := s.read(ctx, func(t tx) error {
		return t.each(sumCost, []any{since.UnixMicro()}, func(rows *sql.Rows) error {
			var one store.Spending
			err := rows.Scan(&one.Principal, &one.Label, &one.Cost)
			list = append(list, one)
			return err
		})
	})
	if err != nil {
		return nil, s.explain("sum costs up", err)
	}
	return list, nil
}

// ExpireAttempts implements store.Attempts. The records hold no text, so nothing
// is wiped.
func (s *Store) ExpireAttempts(ctx context.Context, before time.Time) (int, error) {
	var removed int64
	err := s.write(ctx, func(t tx) error {
		var err error
		removed, err = t.exec(expireAttempts, before.UnixMicro())
		return err
	})
	return int(removed), s.explain("remove expired usage records", err)
}
