-- Times are microseconds since 1970, UTC.

-- +goose Up
CREATE TABLE conversations (
    id         TEXT    NOT NULL PRIMARY KEY,
    principal  TEXT    NOT NULL,
    title      TEXT    NOT NULL,
    origin     TEXT    NOT NULL,
    agent      TEXT    NOT NULL,
    -- No references: a branch may be written behind its recording, and a fork outlives its parent.
    branch     TEXT    NOT NULL,
    parent     TEXT    NOT NULL,
    parent_seq INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    archived   INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    used_at    INTEGER NOT NULL,
    -- Counted here, so that an append reads no events.
    head       INTEGER NOT NULL,
    turns      INTEGER NOT NULL,
    bytes      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX conversations_branch ON conversations (principal, branch) WHERE branch <> '';
CREATE INDEX conversations_used ON conversations (principal, used_at, id);

-- The rows lie in the order of their appending, apart from the keys: a line may
-- be long, and what looks for a few events passes over none of them.
CREATE TABLE events (
    conversation_id TEXT    NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    seq             INTEGER NOT NULL,
    event_id        TEXT    NOT NULL,
    kind            TEXT    NOT NULL,
    happened_at     INTEGER NOT NULL,
    line            BLOB    NOT NULL,
    PRIMARY KEY (conversation_id, seq),
    UNIQUE (conversation_id, event_id)
) STRICT;
CREATE INDEX events_kind ON events (conversation_id, kind, seq);

CREATE TABLE leases (
    conversation_id TEXT    NOT NULL PRIMARY KEY REFERENCES conversations (id) ON DELETE CASCADE,
    holder          TEXT    NOT NULL,
    token           TEXT    NOT NULL,
    held_until      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
