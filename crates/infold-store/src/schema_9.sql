-- Memories: what branches have learnt, kept for those that come after them. They belong to an owner and to no session:
-- they outlive the sessions that they were learnt in. Every table with text of a memory is one that `forget` clears.

CREATE TABLE memories (
    rowid       INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    owner       TEXT NOT NULL,
    project     TEXT,                            -- null: it counts everywhere
    git_branch  TEXT,
    kind        TEXT NOT NULL,
    state       TEXT NOT NULL,
    replaced_by TEXT,
    source      TEXT NOT NULL,
    trust       TEXT NOT NULL,
    label       TEXT,                            -- the name of an import or of a tool
    session     TEXT,
    branch      TEXT,
    generation  INTEGER,
    ordinal     INTEGER,                         -- which lesson of its branch's end
    for_it      REAL NOT NULL,
    against     REAL NOT NULL,
    suspicion   REAL NOT NULL,
    replaces    TEXT,
    made_at     INTEGER NOT NULL,
    evidence_at INTEGER NOT NULL,
    shown       INTEGER NOT NULL DEFAULT 0,
    used        INTEGER NOT NULL DEFAULT 0,
    shown_at    INTEGER,
    content     NOT NULL                         -- JSON of the lesson: text, or a blob where it is compressed
);
CREATE UNIQUE INDEX memories_by_end ON memories (branch, generation, ordinal) WHERE branch IS NOT NULL;
CREATE INDEX memories_by_owner ON memories (owner, project, state);

-- Stems of each memory, in rows of the same number as in `memories`. Each stem has the code of its owner and project in
-- front, so that how often a word occurs is never counted over the walls between them.
CREATE VIRTUAL TABLE memory_words USING fts5 (
    title, lesson, edited, read, commands, git, tokenize = 'ascii'
);
INSERT INTO memory_words (memory_words, rank) VALUES ('secure-delete', 1);
CREATE VIRTUAL TABLE memory_vocabulary USING fts5vocab (memory_words, 'row');

CREATE TABLE memory_vectors (
    memory TEXT PRIMARY KEY REFERENCES memories (id) ON DELETE CASCADE,
    model  TEXT NOT NULL,
    vector BLOB NOT NULL
) WITHOUT ROWID;

-- Lines of files that a memory is about, by which it is known whether the code has changed since.
CREATE TABLE memory_marks (
    memory  TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    file    TEXT NOT NULL,
    lines   BLOB NOT NULL,                       -- hashes
    changed INTEGER NOT NULL DEFAULT 0,
    at      INTEGER NOT NULL,
    PRIMARY KEY (memory, file)
) WITHOUT ROWID;

-- What has spoken for memories and against them, without any text. Rows of forgotten memories stay.
CREATE TABLE memory_evidence (
    id          INTEGER PRIMARY KEY,
    owner       TEXT NOT NULL,
    memory      TEXT NOT NULL,
    what        TEXT NOT NULL,
    for_it      REAL NOT NULL,                   -- by how much each of the two grew
    against     REAL NOT NULL,
    session     TEXT,
    branch      TEXT,
    generation  INTEGER,
    from_memory TEXT,                            -- the memory that it was derived from
    at          INTEGER NOT NULL
);
CREATE INDEX memory_evidence_by_memory ON memory_evidence (memory);
CREATE INDEX memory_evidence_by_derived ON memory_evidence (from_memory) WHERE from_memory IS NOT NULL;

-- What the openings of branches were given, as names and figures without text, and where the branches work.
CREATE TABLE memory_shown (
    branch     TEXT PRIMARY KEY,
    owner      TEXT NOT NULL,
    session    TEXT NOT NULL,
    project    TEXT,
    git_branch TEXT,
    memories   TEXT NOT NULL,                    -- a JSON list
    tokens     INTEGER NOT NULL,                 -- of the text that it was given
    counted    INTEGER NOT NULL DEFAULT 0,       -- whether `memories.shown` has counted it
    at         INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX memory_shown_by_owner ON memory_shown (owner, at);

-- What branches said about lessons when they ended, until it has been learnt.
CREATE TABLE memory_lessons (
    branch     TEXT NOT NULL,
    generation INTEGER NOT NULL,
    session    TEXT NOT NULL,                    -- its key
    content    NOT NULL,                         -- JSON: text, or a blob where it is compressed
    PRIMARY KEY (branch, generation)
) WITHOUT ROWID;

-- Ends that could not be learnt from.
CREATE TABLE memory_failures (
    event    INTEGER PRIMARY KEY,
    attempts INTEGER NOT NULL,
    problem  TEXT NOT NULL
);

-- Changes that can be undone. Those that were made together have one number.
CREATE TABLE memory_changes (
    number INTEGER NOT NULL,
    owner  TEXT NOT NULL,
    memory TEXT NOT NULL,
    what   TEXT NOT NULL,
    before,                                      -- JSON; null: it was not there
    undone INTEGER NOT NULL DEFAULT 0,
    at     INTEGER NOT NULL,
    PRIMARY KEY (owner, number, memory)
) WITHOUT ROWID;
CREATE INDEX memory_changes_by_memory ON memory_changes (memory);

-- Where memories that were forgotten had come from, and a keyed hash of their words, so that they are not learnt again.
CREATE TABLE memory_forgotten (
    memory     TEXT NOT NULL,
    owner      TEXT NOT NULL,
    source     TEXT NOT NULL,
    session    TEXT,
    branch     TEXT,
    generation INTEGER,
    hash       BLOB NOT NULL,
    made_at    INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (owner, hash, memory)
) WITHOUT ROWID;

-- Names of projects that mean the same project.
CREATE TABLE memory_projects (
    owner   TEXT NOT NULL,
    alias   TEXT NOT NULL,
    project TEXT NOT NULL,
    label   TEXT,                                -- what people call it
    PRIMARY KEY (owner, alias)
) WITHOUT ROWID;

-- Sessions and projects that nothing is learnt from and nothing is shown to.
CREATE TABLE memory_silence (
    owner TEXT NOT NULL,
    scope TEXT NOT NULL,
    at    INTEGER NOT NULL,
    PRIMARY KEY (owner, scope)
) WITHOUT ROWID;
