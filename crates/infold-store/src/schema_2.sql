-- What was decided about a session's model requests: once, so that every request repeats the same. All of it
-- lapses with the session, and so do the blobs that it names.

CREATE TABLE proxied (
    session_id TEXT NOT NULL UNIQUE REFERENCES sessions (id) ON DELETE CASCADE,
    decisions  INTEGER NOT NULL,              -- appends so far: a copy in memory is compared with it
    has_folded INTEGER NOT NULL               -- whether its model was ever sent anything but what its client sent
);

-- What is sent in place of a result.
CREATE TABLE rewrites (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    call_id    TEXT NOT NULL,
    content    BLOB NOT NULL,                 -- a digest of the result that it was decided for
    sent       NOT NULL,                      -- a JSON value: text, or a blob where it is compressed
    reason     TEXT NOT NULL,
    UNIQUE (session_id, call_id)
);

-- Places where branches end without a call that ends them. One of the two columns for the place is set.
CREATE TABLE endings (
    session_id   TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    branch       TEXT NOT NULL,
    generation   INTEGER NOT NULL,
    after_call   TEXT,
    before_block BLOB,
    result       TEXT NOT NULL,
    UNIQUE (session_id, branch, generation)
);

CREATE TABLE notes (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    after_call TEXT NOT NULL,
    text       TEXT NOT NULL,
    UNIQUE (session_id, after_call, text)
);

-- Places where threads were restarted. One of the two columns for the place is set.
CREATE TABLE restarts (
    session_id   TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    root         TEXT,                        -- the thread that their views begin with; null: all threads
    from_call    TEXT,                        -- the first result that changed at the restart; null: all did
    after_call   TEXT,
    before_block BLOB
);
CREATE INDEX restarts_by_session ON restarts (session_id);

-- What infold's own tools answered to calls that changed branches: clients may clear the results.
CREATE TABLE answers (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    call       BLOB NOT NULL,                 -- a digest of the call
    answer     NOT NULL,                      -- text, or a blob where it is compressed
    UNIQUE (session_id, call)
);

-- Calls with results that were counted in a thread, so that none is counted twice.
CREATE TABLE counted (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    call       BLOB NOT NULL,                 -- a digest of the call's id
    content    BLOB NOT NULL,                 -- a digest of the result
    blob       TEXT,                          -- the blob, if the result was offloaded
    shown      TEXT,                          -- and the reference that is shown for it
    UNIQUE (session_id, call)
);

-- Prefixes of conversations, by which sessions of clients that give no ids are found.
CREATE TABLE chains (
    digest     BLOB NOT NULL UNIQUE,          -- of the owner and the prefix
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE
);
CREATE INDEX chains_by_session ON chains (session_id);
