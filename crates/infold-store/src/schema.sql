-- The database. Times are milliseconds since 1970 except where a table says otherwise.
-- A session's key is `owner/name`; neither part contains a slash.
--
-- Every append pays for each page that it touches, so indexes are few: what is asked seldom is found
-- by looking through a session's rows.

CREATE TABLE instance (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    secret  BLOB NOT NULL,                    -- keys for ids and placeholders are derived from it
    learnt  INTEGER NOT NULL DEFAULT 0,       -- the last event whose branch has been learnt from
    floor   INTEGER NOT NULL DEFAULT 0,       -- the newest event that was ever deleted
    touched INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE sessions (
    id        TEXT NOT NULL UNIQUE,
    owner     TEXT NOT NULL,
    name      TEXT NOT NULL,
    project   TEXT,
    version   INTEGER NOT NULL,               -- events so far; an append names the one it was decided on
    active_at INTEGER NOT NULL,
    ended_at  INTEGER,
    state     TEXT NOT NULL
);

-- The session that is used for a project's calls that name none.
CREATE TABLE projects (
    owner      TEXT NOT NULL,
    project    TEXT NOT NULL,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    PRIMARY KEY (owner, project)
) WITHOUT ROWID;
CREATE INDEX projects_by_session ON projects (session_id);

CREATE TABLE branches (
    id         TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    ordinal    INTEGER NOT NULL,
    open       INTEGER NOT NULL,
    opened_at  INTEGER NOT NULL,
    deadline   INTEGER NOT NULL,
    state      TEXT NOT NULL
);
CREATE UNIQUE INDEX branches_by_ordinal ON branches (session_id, ordinal);
CREATE INDEX branches_open ON branches (session_id, deadline) WHERE open = 1;

-- Text payloads are JSON; blobs are the same, compressed. Ids only grow: see `next_event`.
CREATE TABLE events (
    id         INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    version    INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    branch     TEXT,
    generation INTEGER,                       -- if the branch ended here: which opening of it
    status     TEXT,                          -- and how, if something can be learnt from it
    payload    NOT NULL
);
CREATE UNIQUE INDEX events_by_session ON events (session_id, version);

CREATE VIEW next_event AS
    SELECT 1 + max((SELECT floor FROM instance), coalesce((SELECT max(id) FROM events), 0)) AS id;

-- Ended branches that wait to be learnt from.
CREATE VIEW outbox AS
    SELECT id, branch, generation, status FROM events
    WHERE status IS NOT NULL AND id > (SELECT learnt FROM instance);

-- Answers to calls with an idempotency key, for calls that are repeated.
CREATE TABLE replies (
    session_id  TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    key         TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    answer      TEXT NOT NULL,
    UNIQUE (session_id, key)
);

CREATE TABLE blob_contents (
    hash    BLOB NOT NULL UNIQUE,
    content BLOB NOT NULL                     -- compressed
);

CREATE TABLE tool_result_blobs (
    id         TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    tool_name  TEXT NOT NULL,
    content    BLOB NOT NULL REFERENCES blob_contents (hash),
    byte_size  INTEGER NOT NULL,
    created_at DATETIME NOT NULL DEFAULT (datetime('now')),
    branch     TEXT                           -- the branch that it was seen in; null: the main thread
);
CREATE INDEX idx_blobs_session ON tool_result_blobs (session_id);
CREATE INDEX blobs_by_content ON tool_result_blobs (content);

CREATE TABLE session_snapshots (
    session_id  TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    messages    TEXT NOT NULL,
    token_count INTEGER NOT NULL,
    created_at  DATETIME NOT NULL DEFAULT (datetime('now'))
);

-- Ended branches outlive their session's live state. A row is made when that lapses; until then the
-- session's own rows hold the same.
CREATE TABLE archive (
    branch     TEXT NOT NULL,
    generation INTEGER NOT NULL,
    owner      TEXT NOT NULL,
    session    TEXT NOT NULL,
    ended_at   INTEGER NOT NULL,
    summary    TEXT NOT NULL,
    state      TEXT NOT NULL,
    trajectory BLOB NOT NULL,                 -- compressed
    UNIQUE (branch, generation)
);
CREATE INDEX archive_by_owner ON archive (owner, ended_at);
CREATE INDEX archive_by_end ON archive (ended_at);
