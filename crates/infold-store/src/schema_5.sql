-- Calls of infold's own tools that scripts made: no transcript shows them.

CREATE TABLE scripted (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    run_by     TEXT NOT NULL,                 -- the id of the call that ran the script
    tool       TEXT NOT NULL,
    arguments  NOT NULL,                      -- text, or a blob where it is compressed
    answer     NOT NULL                       -- the same
);
CREATE INDEX scripted_by_session ON scripted (session_id);
