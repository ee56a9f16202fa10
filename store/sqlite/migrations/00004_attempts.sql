-- Times are microseconds since 1970, UTC. Prices are in millionths of a US dollar
-- per million tokens, the cost in millionths of one. NULL is what nobody told.

-- +goose Up
CREATE TABLE attempts (
    id          TEXT    NOT NULL PRIMARY KEY,
    began_at    INTEGER NOT NULL,
    ended_at    INTEGER NOT NULL,
    principal   TEXT    NOT NULL,
    label       TEXT    NOT NULL,
    -- No references: what removes a session or a conversation leaves its costs.
    session_id  TEXT    NOT NULL,
    branch_id   TEXT    NOT NULL,
    boundary_id TEXT    NOT NULL,
    conversation_id TEXT NOT NULL,
    job         TEXT    NOT NULL,
    parent      TEXT    NOT NULL,
    trace       TEXT    NOT NULL,
    agent       TEXT    NOT NULL,
    role        TEXT    NOT NULL,
    upstream    TEXT    NOT NULL,
    model       TEXT    NOT NULL,
    protocol    TEXT    NOT NULL,
    input       INTEGER,
    cache_read  INTEGER,
    cache_write INTEGER,
    output      INTEGER,
    reasoning   INTEGER,
    input_price       INTEGER,
    cache_read_price  INTEGER,
    cache_write_price INTEGER,
    output_price      INTEGER,
    cost        INTEGER,
    sent        INTEGER NOT NULL,
    received    INTEGER NOT NULL,
    estimate    INTEGER,
    status      INTEGER NOT NULL,
    outcome     TEXT    NOT NULL
) STRICT;
-- The others are there so that a sum reads nothing but the index.
CREATE INDEX attempts_began ON attempts (began_at, principal, label, cost, estimate);
