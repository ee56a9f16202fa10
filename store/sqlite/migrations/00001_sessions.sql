-- Times are microseconds since 1970, UTC. Digests are their 16 bytes.

-- +goose Up
CREATE TABLE sessions (
    id         TEXT    NOT NULL PRIMARY KEY,
    principal  TEXT    NOT NULL,
    agent      TEXT    NOT NULL,
    agent_key  TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    used_at    INTEGER NOT NULL,
    UNIQUE (principal, agent, agent_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_used ON sessions (used_at);

CREATE TABLE branches (
    id              TEXT    NOT NULL PRIMARY KEY,
    session_id      TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    thread          TEXT    NOT NULL,
    -- No reference: a fork outlives the session that it came from.
    parent          TEXT    NOT NULL,
    parent_revision INTEGER NOT NULL,
    epoch           INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    used_at         INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX branches_session ON branches (session_id);

CREATE TABLE epochs (
    branch_id TEXT    NOT NULL REFERENCES branches (id) ON DELETE CASCADE,
    n         INTEGER NOT NULL,
    evidence  BLOB    NOT NULL,
    revision  INTEGER NOT NULL,
    block     TEXT    NOT NULL,
    opened_at INTEGER NOT NULL,
    PRIMARY KEY (branch_id, n)
) STRICT;

CREATE TABLE anchors (
    branch_id TEXT    NOT NULL REFERENCES branches (id) ON DELETE CASCADE,
    epoch     INTEGER NOT NULL,
    seq       INTEGER NOT NULL,
    digest    BLOB    NOT NULL,
    strong    INTEGER NOT NULL,
    revision  INTEGER NOT NULL,
    PRIMARY KEY (branch_id, epoch, seq)
) STRICT, WITHOUT ROWID;
-- The revision is there so that a look-up reads nothing but the index.
CREATE INDEX anchors_strong ON anchors (digest, revision) WHERE strong = 1;

CREATE TABLE revisions (
    branch_id  TEXT    NOT NULL REFERENCES branches (id) ON DELETE CASCADE,
    n          INTEGER NOT NULL,
    epoch      INTEGER NOT NULL,
    seq        INTEGER NOT NULL,
    digest     TEXT    NOT NULL,
    capsule    TEXT    NOT NULL,
    written_at INTEGER NOT NULL,
    PRIMARY KEY (branch_id, n)
) STRICT;

CREATE TABLE boundaries (
    id          TEXT    NOT NULL PRIMARY KEY,
    branch_id   TEXT    NOT NULL REFERENCES branches (id) ON DELETE CASCADE,
    epoch       INTEGER NOT NULL,
    agents_row  TEXT    NOT NULL,
    status      TEXT    NOT NULL,
    revision    INTEGER NOT NULL,
    summary     BLOB    NOT NULL,
    block       TEXT    NOT NULL,
    happened_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX boundaries_branch ON boundaries (branch_id);
CREATE INDEX boundaries_block ON boundaries (block) WHERE block <> '';

CREATE TABLE removals (
    seq        INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    session_id TEXT    NOT NULL UNIQUE,
    removed_at INTEGER NOT NULL
) STRICT;
