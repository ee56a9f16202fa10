-- +goose Up
-- Which revisions a person made, in the order in which they were written.
CREATE TABLE edits (
    seq       INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    branch_id TEXT    NOT NULL REFERENCES branches (id) ON DELETE CASCADE,
    revision  INTEGER NOT NULL,
    UNIQUE (branch_id, revision)
) STRICT;
