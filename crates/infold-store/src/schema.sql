-- The database. Times are milliseconds since 1970 except where a table says otherwise.
-- A session's key is `owner/name`; neither part contains a slash.

CREATE TABLE instance (
    id            INTEGER PRIMARY KEY CHECK (id = 1),
    secret        BLOB NOT NULL,              -- keys for ids and placeholders are derived from it
    open_branches INTEGER NOT NULL,           -- in the whole database, kept by every append
    touched       INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE sessions (
    id         TEXT PRIMARY KEY,
    owner      TEXT NOT NULL,
    name       TEXT NOT NULL,
    project    TEXT,
    version    INTEGER NOT NULL,              -- events so far; an append names the one it was decided on
    active_at  INTEGER NOT NULL,
    ended_at   INTEGER,
    state      TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX sessions_by_owner ON sessions (owner, active_at);
CREATE INDEX sessions_by_activity ON sessions (active_at);

-- The session that a project's calls mean when they name none.
CREATE TABLE projects (
    owner      TEXT NOT NULL,
    project    TEXT NOT NULL,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    PRIMARY KEY (owner, project)
) WITHOUT ROWID;
CREATE INDEX projects_by_session ON projects (session_id);

CREATE TABLE branches (
    id         TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    ordinal    INTEGER NOT NULL,
    open       INTEGER NOT NULL,
    opened_at  INTEGER NOT NULL,
    deadline   INTEGER NOT NULL,
    state      TEXT NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX branches_by_ordinal ON branches (session_id, ordinal);
CREATE INDEX branches_open ON branches (session_id) WHERE open = 1;
CREATE INDEX branches_due ON branches (deadline) WHERE open = 1;

-- Text payloads are JSON; blobs are the same, compressed.
CREATE TABLE events (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    version    INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    branch     TEXT,
    payload    NOT NULL
);
CREATE UNIQUE INDEX events_by_session ON events (session_id, version);
CREATE INDEX events_by_branch ON events (branch) WHERE branch IS NOT NULL;

-- What was answered to a call with an idempotency key.
CREATE TABLE replies (
    session_id  TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    key         TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    answer      TEXT NOT NULL,
    PRIMARY KEY (session_id, key)
) WITHOUT ROWID;

CREATE TABLE blob_contents (
    hash    BLOB PRIMARY KEY,
    content BLOB NOT NULL                     -- compressed
) WITHOUT ROWID;

CREATE TABLE tool_result_blobs (
    id         TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    tool_name  TEXT NOT NULL,
    content    BLOB NOT NULL REFERENCES blob_contents (hash),
    byte_size  INTEGER NOT NULL,
    created_at DATETIME NOT NULL DEFAULT (datetime('now')),
    branch     TEXT                           -- the branch it was seen in; none is the main thread
);
CREATE INDEX idx_blobs_session ON tool_result_blobs (session_id);
CREATE INDEX blobs_by_content ON tool_result_blobs (content);

CREATE TABLE session_snapshots (
    session_id  TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    messages    TEXT NOT NULL,
    token_count INTEGER NOT NULL,
    created_at  DATETIME NOT NULL DEFAULT (datetime('now'))
);

-- Ended branches outlive their session's live state. Until that lapses, the trajectory is in `events`.
CREATE TABLE archive (
    branch     TEXT NOT NULL,
    generation INTEGER NOT NULL,
    owner      TEXT NOT NULL,
    session    TEXT NOT NULL,
    ended_at   INTEGER NOT NULL,
    summary    TEXT NOT NULL,
    state      TEXT NOT NULL,
    trajectory BLOB,                          -- compressed, once the session has lapsed
    PRIMARY KEY (branch, generation)
) WITHOUT ROWID;
CREATE INDEX archive_by_owner ON archive (owner, ended_at);
CREATE INDEX archive_by_end ON archive (ended_at);

-- Ended branches that wait to be learnt from.
CREATE TABLE outbox (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    branch     TEXT NOT NULL,
    generation INTEGER NOT NULL,
    status     TEXT NOT NULL
);
