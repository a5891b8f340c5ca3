-- Servers of one name may be different ones: pins are of a name and of the server that has it. And who noted how a server is,
-- so that the note of a process that was killed is not believed.

ALTER TABLE gateway_servers ADD COLUMN process TEXT;   -- its number and when it began; null where nobody knows

CREATE TABLE definitions_8 (
    server       TEXT NOT NULL,
    target       TEXT NOT NULL,                  -- a hash of the program or the address; empty until it was learnt again
    tool         TEXT NOT NULL,
    hash         TEXT,                           -- of the pinned definition
    definition,                                  -- JSON: text, or a blob where it is compressed
    tokens       INTEGER,
    pinned_at    INTEGER,
    offered_hash TEXT,                           -- of the definition that waits
    offered,                                     -- like `definition`
    gone_at      INTEGER,                        -- when its server had it no longer
    PRIMARY KEY (server, target, tool)
) WITHOUT ROWID;

INSERT INTO definitions_8
SELECT server, '', tool, hash, definition, tokens, pinned_at, offered_hash, offered, gone_at FROM gateway_definitions;
DROP TABLE gateway_definitions;
ALTER TABLE definitions_8 RENAME TO gateway_definitions;
