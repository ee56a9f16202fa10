-- Times are microseconds since 1970, UTC.

-- +goose Up
-- No reference: an entry outlives its session.
CREATE TABLE audit (
    -- The order in which entries were written.
    seq        INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    at         INTEGER NOT NULL,
    principal  TEXT    NOT NULL,
    session_id TEXT    NOT NULL,
    label      TEXT    NOT NULL,
    policy     TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    old_value  TEXT    NOT NULL,
    new_value  TEXT    NOT NULL
) STRICT;
CREATE INDEX audit_newest ON audit (principal, session_id, label, key, seq);
CREATE INDEX audit_at ON audit (at);
