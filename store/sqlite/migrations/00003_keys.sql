-- Times are microseconds since 1970, UTC.

-- +goose Up
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
