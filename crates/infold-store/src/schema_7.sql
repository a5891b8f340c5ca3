-- The gateway: servers of others, their tools as they were pinned, projects' entries that the user approved, and
-- figures of calls. No session owns any of it.

CREATE TABLE gateway_servers (
    key    TEXT PRIMARY KEY,
    state  TEXT NOT NULL,
    detail TEXT,
    era    TEXT,                                 -- how it was spoken to last; outlives other notes
    at     INTEGER NOT NULL
) WITHOUT ROWID;

-- A tool has a pin, or an offer that waits for approval, or both.
CREATE TABLE gateway_definitions (
    server       TEXT NOT NULL,
    tool         TEXT NOT NULL,
    hash         TEXT,                           -- of the pinned definition
    definition,                                  -- JSON: text, or a blob where it is compressed
    tokens       INTEGER,
    pinned_at    INTEGER,
    offered_hash TEXT,                           -- of the definition that waits
    offered,                                     -- like `definition`
    gone_at      INTEGER,                        -- when its server had it no longer
    PRIMARY KEY (server, tool)
) WITHOUT ROWID;

CREATE TABLE gateway_approvals (
    project TEXT NOT NULL,                       -- a hash of the project's path
    server  TEXT NOT NULL,
    hash    TEXT NOT NULL,                       -- of how the server is reached
    at      INTEGER NOT NULL,
    PRIMARY KEY (project, server, hash)
) WITHOUT ROWID;

CREATE TABLE gateway_calls (
    owner      TEXT NOT NULL,
    server     TEXT NOT NULL,
    tool       TEXT NOT NULL,
    calls      INTEGER NOT NULL,
    errors     INTEGER NOT NULL,
    tokens_in  INTEGER NOT NULL,
    tokens_out INTEGER NOT NULL,
    bytes      INTEGER NOT NULL,
    offloaded  INTEGER NOT NULL,
    latencies  TEXT NOT NULL,                    -- a JSON list: how many calls took up to 2^n microseconds
    last_at    INTEGER NOT NULL,
    PRIMARY KEY (owner, server, tool)
) WITHOUT ROWID;
