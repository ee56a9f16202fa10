-- A database of schema version 7, frozen.
PRAGMA journal_mode = WAL;
CREATE TABLE holdfast_schema (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    version_id INTEGER NOT NULL,
    is_applied INTEGER NOT NULL,
    tstamp     TIMESTAMP DEFAULT (datetime('now'))
);
INSERT INTO holdfast_schema (version_id, is_applied, tstamp) VALUES (0, 1, '2026-01-02 03:04:05');
INSERT INTO holdfast_schema (version_id, is_applied, tstamp) VALUES (1, 1, '2026-01-02 03:04:05');
INSERT INTO holdfast_schema (version_id, is_applied, tstamp) VALUES (2, 1, '2026-01-02 03:04:05');
INSERT INTO holdfast_schema (version_id, is_applied, tstamp) VALUES (3, 1, '2026-01-02 03:04:05');
INSERT INTO holdfast_schema (version_id, is_applied, tstamp) VALUES (4, 1, '2026-01-02 03:04:05');
INSERT INTO holdfast_schema (version_id, is_applied, tstamp) VALUES (5, 1, '2026-01-02 03:04:05');
INSERT INTO holdfast_schema (version_id, is_applied, tstamp) VALUES (6, 1, '2026-01-02 03:04:05');
INSERT INTO holdfast_schema (version_id, is_applied, tstamp) VALUES (7, 1, '2026-01-02 03:04:05');

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

CREATE TABLE keys (
    id          TEXT    NOT NULL PRIMARY KEY,
    principal   TEXT    NOT NULL,
    label       TEXT    NOT NULL,
    -- SHA-256 of the whole key, which itself is stored nowhere.
    digest      BLOB    NOT NULL,
    created_at  INTEGER NOT NULL,
    -- NULL: it has no end.
    revoked_at  INTEGER,
    -- No reference: a key outlives the one that took its place.
    replaced_by TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

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

-- Which revisions a person made, in the order in which they were written.
CREATE TABLE edits (
    seq       INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    branch_id TEXT    NOT NULL REFERENCES branches (id) ON DELETE CASCADE,
    revision  INTEGER NOT NULL,
    UNIQUE (branch_id, revision)
) STRICT;

INSERT INTO sessions VALUES ('s1', 'local', 'codex', 'run:work', 1767323045678901, 1767323046678901);
INSERT INTO branches VALUES ('b1', 's1', '', '', 0, 1, 1767323045678901, 1767323045678901, 'turn 3');
INSERT INTO branches VALUES ('b2', 's1', 'agent-7', 'b1', 1, 0, 1767323046678901, 1767323045678901, '');
INSERT INTO epochs VALUES ('b1', 0, x'00000000000000000000000000000000', 0, '', 1767323045678901);
INSERT INTO epochs VALUES ('b1', 1, x'ee000000000000000000000000000000', 1, 'a block
of two lines', 1767323045678901);
INSERT INTO anchors VALUES ('b1', 0, 0, x'a0000000000000000000000000000000', 1, 0);
INSERT INTO anchors VALUES ('b1', 0, 1, x'a1000000000000000000000000000000', 0, 1);
INSERT INTO revisions VALUES ('b1', 1, 0, 2, 'sha256:one', '{"schema_version":1,"revision":1}', 1767323045678901);
INSERT INTO boundaries VALUES ('c1', 'b1', 0, 'codex/local', 'committed', 1, x'ee000000000000000000000000000000', 'sha256:block', 1767323045678901);
INSERT INTO removals VALUES (3, 's0', 1767323045678901);
INSERT INTO conversations VALUES ('c1', 'local', 'a title', 'recorded', 'codex', 'b1', 'c0', 7, 1, 1, 1767323045678901, 1767323046678901, 2, 1, 35);
INSERT INTO events VALUES ('c1', 1, 'e1', 'turn', 1767323045678901, CAST('{"kind":"turn"}' AS BLOB));
INSERT INTO events VALUES ('c1', 2, 'e2', 'assistant', 1767323046678901, CAST('{"kind":"assistant"}' AS BLOB));
INSERT INTO leases VALUES ('c1', 'one', '1', 1767323046678901);
INSERT INTO keys VALUES ('abcdefgh', 'local', 'a label', x'a100000000000000000000000000000000000000000000000000000000000000', 1767323045678901, NULL, '');
INSERT INTO keys VALUES ('ijklmnop', 'work', '', x'b200000000000000000000000000000000000000000000000000000000000000', 1767323046678901, 1767323047678901, 'abcdefgh');
INSERT INTO attempts VALUES ('a1', 1767323045678901, 1767323046678901, 'work', 'a label', 's1', 'b1', 'c1', 'v1', 'j1', 'a0', 't1', 'codex', 'summary', 'u1', 'm1', 'chat', 1, 0, 3, 4, NULL, 10, 11, 12, 13, 6, 14, 15, 16, 529, 'broken');
INSERT INTO attempts VALUES ('a2', 1767323046678901, 1767323047678901, 'local', '', '', '', '', '', '', '', '', '', 'primary', 'u1', '', 'anthropic', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, 0, 'cancelled');
INSERT INTO audit VALUES (4, 1767323045678901, 'local', 's1', 'nightly', 'of ci', 'max_capsule_tokens', '2500', '1200');
INSERT INTO audit VALUES (7, 1767323046678901, 'work', 's0', '', '', 'enabled', 'false', 'true');
INSERT INTO claims VALUES ('b1', 'turn 4', 'one', 1767323046678901);
INSERT INTO secrets VALUES ('mark', x'0102');
INSERT INTO edits VALUES (3, 'b1', 1);
