-- Ended branches that a model of the user's is to be asked about, until it was or cannot be. There is no text of a branch in
-- it: what the model is sent is read from the branch when its turn comes.
CREATE TABLE memory_asks (
    branch     TEXT NOT NULL,
    generation INTEGER NOT NULL,
    event      INTEGER NOT NULL,                 -- the place of its end in the feed: the oldest is asked about first
    owner      TEXT NOT NULL,
    session    TEXT NOT NULL,                    -- its name
    at         INTEGER NOT NULL,                 -- when it ended
    attempts   INTEGER NOT NULL DEFAULT 0,
    not_before INTEGER NOT NULL DEFAULT 0,
    process    TEXT,                             -- who asks just now
    PRIMARY KEY (branch, generation)
) WITHOUT ROWID;
CREATE INDEX memory_asks_by_event ON memory_asks (event);

-- What asking that model took, day by day.
CREATE TABLE memory_spending (
    day      INTEGER PRIMARY KEY,                -- since 1970
    requests INTEGER NOT NULL DEFAULT 0,
    tokens   INTEGER NOT NULL DEFAULT 0,         -- as its provider reports them; before that, and without that, as estimated
    problem  TEXT                                -- why it could not be asked the last time; null if it could
);

-- A memory may have a vector of the built-in model and one of the user's.
CREATE TABLE vectors_10 (
    memory TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    model  TEXT NOT NULL,
    vector BLOB NOT NULL,                        -- empty: its text means nothing to the model
    PRIMARY KEY (memory, model)
) WITHOUT ROWID;
INSERT INTO vectors_10 SELECT memory, model, vector FROM memory_vectors;
DROP TABLE memory_vectors;
ALTER TABLE vectors_10 RENAME TO memory_vectors;
CREATE INDEX memory_vectors_by_model ON memory_vectors (model);

ALTER TABLE memory_shown ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0;  -- of the text that the branch was given

-- Where the repositories of projects are, and which of their git branches have reached the trunk.

ALTER TABLE memory_projects ADD COLUMN git_folder TEXT;  -- what the worktrees of its repository share; null: not known
ALTER TABLE memory_projects ADD COLUMN remote TEXT;      -- a keyed hash of where its origin is; empty: it has none

ALTER TABLE memories ADD COLUMN merged_at INTEGER;       -- when the work of its git branch was seen to be in the trunk

-- Git branches of memories whose work was seen to be ahead of the trunk, with their last commit.
CREATE TABLE memory_git_branches (
    owner   TEXT NOT NULL,
    project TEXT NOT NULL,
    name    TEXT NOT NULL,
    tip     TEXT NOT NULL,
    PRIMARY KEY (owner, project, name)
) WITHOUT ROWID;
