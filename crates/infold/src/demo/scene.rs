//! What the agent is asked, what the scripted model does about it, and the files that it reads.

/// A file that the agent can read.
pub struct SourceFile {
    /// Its path in infold's source.
    pub path: &'static str,
    pub text: &'static str,
}

macro_rules! source {
    ($path:literal, $recorded:literal) => {
        SourceFile { path: $path, text: include_str!(concat!("files/", $recorded)) }
    };
}

/// The files, in the order in which they are read. They are recorded, so that the figures stay what they are while
/// infold's own source changes.
pub const FILES: [SourceFile; 13] = [
    source!("crates/infold-core/src/scrub.rs", "core-scrub.txt"),
    source!("crates/infold-core/src/scrub/engine.rs", "core-scrub-engine.txt"),
    source!("crates/infold-core/src/scrub/look.rs", "core-scrub-look.txt"),
    source!("crates/infold-core/src/scrub/placeholder.rs", "core-scrub-placeholder.txt"),
    source!("crates/infold-core/src/scrub/private_key.rs", "core-scrub-private_key.txt"),
    source!("crates/infold-core/src/scrub/rules.rs", "core-scrub-rules.txt"),
    source!("crates/infold-core/src/scrub/text.rs", "core-scrub-text.txt"),
    source!("crates/infold-engine/src/scrubbing.rs", "engine-scrubbing.txt"),
    source!("crates/infold-engine/src/fold.rs", "engine-fold.txt"),
    source!("crates/infold-engine/src/open.rs", "engine-open.txt"),
    source!("crates/infold-core/src/decide.rs", "core-decide.txt"),
    source!("crates/infold-core/src/decide/draft.rs", "core-decide-draft.txt"),
    source!("crates/infold-core/src/findings.rs", "core-findings.txt"),
];

/// One thing that a person asks for, and how the model goes about it.
pub struct Task {
    /// The person's words.
    pub prompt: &'static str,
    /// The model's answers, one for each request.
    pub answers: &'static [ScriptedAnswer],
}

/// One answer of the model.
pub struct ScriptedAnswer {
    /// Its words; empty if it only makes calls.
    pub says: &'static str,
    /// The calls after its words; none if the task is done.
    pub calls: &'static [Call],
}

/// A tool call of the scripted model.
pub enum Call {
    /// Opens a branch.
    Open {
        description: &'static str,
        /// The brief that the branch begins with.
        prompt: &'static str,
    },
    /// Reads the file at this index of [`FILES`].
    Read(usize),
    /// Folds the branch that was opened last.
    Return {
        /// What the parent gets.
        message: &'static str,
    },
    /// Writes a file.
    Write { path: &'static str, content: &'static str },
}

const fn says(says: &'static str) -> ScriptedAnswer {
    ScriptedAnswer { says, calls: &[] }
}

const fn calls(says: &'static str, calls: &'static [Call]) -> ScriptedAnswer {
    ScriptedAnswer { says, calls }
}

/// The tasks of the demonstration, in order.
pub const TASKS: [Task; 2] = [
    Task {
        prompt: "Where is it decided that nothing unscrubbed leaves a branch? Write the answer down in NOTES.md.",
        answers: &[
            calls(
                "That takes reading a good deal of code of which only the answer matters. A branch is the place for it.",
                &[Call::Open {
                    description: "Find where scrubbing fails closed",
                    prompt: "Read how secrets are taken out (infold-core, scrub) and who calls it (infold-engine). Say \
                             which type and which function make sure that nothing unscrubbed leaves a branch.",
                }],
            ),
            calls("The rules first.", &[Call::Read(0), Call::Read(1), Call::Read(2)]),
            calls("", &[Call::Read(3), Call::Read(4), Call::Read(5)]),
            calls("Now who calls it.", &[Call::Read(6), Call::Read(7)]),
            calls("", &[Call::Read(8), Call::Read(9)]),
            calls(
                "",
                &[Call::Return {
                    message: "Only the type `Scrubbed` can leave a branch, and only the scrubber makes one \
                              (infold-core/src/scrub/text.rs). `Scrubbing` in infold-engine/src/scrubbing.rs bounds it \
                              in time; if it fails, `fold_branch` (infold-engine/src/fold.rs) returns before anything is \
                              decided or stored.",
                }],
            ),
            calls(
                "",
                &[Call::Write {
                    path: "NOTES.md",
                    content: "Only `Scrubbed` text leaves a branch, and only the scrubber makes it. If scrubbing fails, \
                              `fold_branch` returns before anything is decided.\n",
                }],
            ),
            says("NOTES.md says it: the type `Scrubbed` is the gate, and `fold_branch` stops in front of it."),
        ],
    },
    Task {
        prompt: "And what does a parent get of a branch that ran out of budget?",
        answers: &[
            calls(
                "",
                &[Call::Open {
                    description: "Find what a parent gets of a branch without budget",
                    prompt: "Read how commands are decided and what a branch has found (infold-core). Say what text is \
                             made for the parent when a budget is used up, and of what.",
                }],
            ),
            calls("", &[Call::Read(10), Call::Read(11), Call::Read(12)]),
            calls(
                "",
                &[Call::Return {
                    message: "`partial_result` in infold-core/src/findings.rs: the agent's last words, tools called, files \
                              touched, the last call and its result, and where the item is that did not fit.",
                }],
            ),
            says(
                "A partial result, put together by `partial_result`: last words, tools, files, the last call and its result.",
            ),
        ],
    },
];
