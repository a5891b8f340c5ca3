-- What an agent of infold's own said and did in a session, in order: JSON, scrubbed, compressed where it is long. Nothing is ever
-- changed in it; a rewind is one more record.
CREATE TABLE agent_log (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    seq        INTEGER NOT NULL,                 -- from 1, without gaps
    at         INTEGER NOT NULL,
    payload    NOT NULL,
    PRIMARY KEY (session_id, seq)
) WITHOUT ROWID;
