-- What the proxy has decided about a session's requests: made once, and sent the same for ever. All of it
-- lapses with the session, and so do the blobs that it names.

CREATE TABLE proxied (
    session_id TEXT NOT NULL UNIQUE REFERENCES sessions (id) ON DELETE CASCADE,
    decisions  INTEGER NOT NULL,              -- stored so far: whoever holds them in memory looks here for news
    has_folded INTEGER NOT NULL               -- whether its model was ever sent something else than came in
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

-- Where the thread of a branch ends that no call ends. One of the two places is there.
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

-- Where threads were started anew. One of the two places is there.
CREATE TABLE restarts (
    session_id   TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    root         TEXT,                        -- the thread that their views begin with; none: all threads
    from_call    TEXT,                        -- the first result that is shown otherwise since; none: all is
    after_call   TEXT,
    before_block BLOB
);
CREATE INDEX restarts_by_session ON restarts (session_id);

-- What our own tools answered to calls that opened, folded or went back to branches: clients clear results.
CREATE TABLE answers (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    call       BLOB NOT NULL,                 -- a digest of the call
    answer     NOT NULL,                      -- text, or a blob where it is compressed
    UNIQUE (session_id, call)
);

-- Calls whose results were counted in a thread.
CREATE TABLE counted (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    call       BLOB NOT NULL,                 -- a digest of the call's id
    content    BLOB NOT NULL,                 -- a digest of the result
    blob       TEXT,                          -- where it is kept, if it is kept elsewhere
    shown      TEXT,                          -- and what is shown of it then
    UNIQUE (session_id, call)
);

-- How the conversations begin of clients that give no ids.
CREATE TABLE chains (
    digest     BLOB NOT NULL UNIQUE,          -- of the owner and the conversation's beginning
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE
);
CREATE INDEX chains_by_session ON chains (session_id);
