-- Times are microseconds since 1970, UTC.

-- +goose Up
-- The newest message that was read by extraction, or found to hold nothing.
ALTER TABLE branches ADD COLUMN watermark TEXT NOT NULL DEFAULT '';

-- Who makes which call of the extractor, until when.
CREATE TABLE claims (
    -- No reference: a branch may be written behind its first claim.
    branch_id  TEXT    NOT NULL,
    mark       TEXT    NOT NULL,
    holder     TEXT    NOT NULL,
    held_until INTEGER NOT NULL,
    PRIMARY KEY (branch_id, mark)
) STRICT, WITHOUT ROWID;
CREATE INDEX claims_until ON claims (held_until);

-- Random bytes that the processes on this database share.
CREATE TABLE secrets (
    name    TEXT NOT NULL PRIMARY KEY,
    content BLOB NOT NULL
) STRICT, WITHOUT ROWID;
