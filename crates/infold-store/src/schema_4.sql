-- Words that an open branch received after an answer that broke off. The branch went on, though words of a person's
-- would otherwise have ended it.
CREATE TABLE heard (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    place      BLOB NOT NULL,                 -- a digest that identifies the place of the words
    UNIQUE (session_id, place)
);
