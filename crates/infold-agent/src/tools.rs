//! The agent's own tools: files, searches and commands, inside of a fence.
