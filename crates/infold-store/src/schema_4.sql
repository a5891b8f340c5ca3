-- Words that an open branch heard and went on, though a person's would have ended it: what stands behind an answer
-- that broke off.
CREATE TABLE heard (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    place      BLOB NOT NULL,                 -- what tells the place of the words from others
    UNIQUE (session_id, place)
);
