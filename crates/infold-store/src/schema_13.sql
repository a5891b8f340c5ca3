-- Where this database is a machine's index of a log that several machines share: which log, up to where it has been read,
-- and a hash over all entries up to there. One row, or none.
CREATE TABLE cluster (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    name    TEXT NOT NULL,                    -- random, made with the log
    applied INTEGER NOT NULL,                 -- the sequence of the last entry that is in this database
    chain   BLOB NOT NULL
);
