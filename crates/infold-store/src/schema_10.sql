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
