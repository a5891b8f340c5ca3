-- Threads whose agents have asked for space, until a request of the thread was planned that has it.
CREATE TABLE to_lighten (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    thread     TEXT NOT NULL,                 -- a branch's id, or main
    UNIQUE (session_id, thread)
);
