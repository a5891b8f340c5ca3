-- The flight recorder: one row for each request that went to a model, with no text of any conversation, and
-- what the rows of a session add up to. Sums outlive the rows of a session that has very many.

CREATE TABLE requests (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,   -- a reader goes on from it, so none is used twice
    owner   TEXT NOT NULL,
    session TEXT NOT NULL,
    at      INTEGER NOT NULL,
    payload NOT NULL                             -- JSON, compressed where it is long
);
CREATE INDEX requests_by_session ON requests (owner, session, id);
CREATE INDEX requests_by_time ON requests (at);

CREATE TABLE request_totals (
    owner   TEXT NOT NULL,
    session TEXT NOT NULL,
    last_at INTEGER NOT NULL,
    totals  TEXT NOT NULL,
    PRIMARY KEY (owner, session)
) WITHOUT ROWID;

-- How providers count tokens, compared with infold.
CREATE TABLE calibration (
    family    TEXT PRIMARY KEY,
    per_mille INTEGER NOT NULL,                  -- the provider's tokens for each thousand of infold's
    samples   INTEGER NOT NULL,
    at        INTEGER NOT NULL
) WITHOUT ROWID;
