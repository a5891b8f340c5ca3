//! Records: what happened in a session of the agent's, as its log keeps it. The log is only ever appended to; what a session
//! is follows from it (`session.rs`).
//!
//! What must hold: every record is a whole step, so that a session that broke off anywhere goes on from its last one; no
//! record is changed, a rewind is one more.

use infold_core::compaction::{CompactResult, CompactionReceipt, SummaryFacts};
use infold_core::record::Usage;
use infold_core::{BranchId, Thread};
use serde::{Deserialize, Serialize};

use crate::ThreadEntry;
use crate::image::{AttachedImage, ImageData};
use crate::tools::CommandRan;
use crate::tools::change::FileChange;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "happened", rename_all = "snake_case")]
pub enum SessionRecord {
    /// The session began.
    Began(Beginning),
    /// What the models of the session get before the conversation, from here on.
    Instructed(SystemPrompt),
    /// An image came in, in front of the words that it is sent with. Entries name it by its id.
    Image {
        /// Follows from its bytes.
        id: u64,
        /// What it is: the type by which its bytes pass scrubbing.
        media_type: String,
        /// Its bytes.
        data: ImageData,
    },
    /// Words were added on the user's side: a person's, or the agent's own.
    Said {
        /// The thread that they were added to.
        thread: Thread,
        /// The words.
        entries: Vec<ThreadEntry>,
    },
    /// A person spoke while the agent was at work. The words wait until the model can take them in.
    Waiting {
        /// The words.
        entries: Vec<ThreadEntry>,
    },
    /// Words that waited are over with waiting: they are said in the record behind this one.
    WaitingTaken {
        /// How many entries.
        count: usize,
    },
    /// Another model answers from here on.
    ModelChosen {
        /// The provider's name.
        provider: String,
        /// The model.
        model: String,
    },
    /// A model answered, to the end.
    Answered {
        /// The thread that was answered.
        thread: Thread,
        /// What the model said, thought and called, in order.
        entries: Vec<ThreadEntry>,
        /// What the provider reported for it.
        usage: Usage,
    },
    /// A model was interrupted in the middle of its answer.
    Interrupted {
        /// The thread that was being answered.
        thread: Thread,
        /// What it had said by then, without reasoning and calls.
        said: String,
    },
    /// A provider refused words for the images in them: they are the person's again, as if they had not been said.
    TakenBack {
        /// The thread that they were said in.
        thread: Thread,
        /// Their place among its entries.
        entry: usize,
    },
    /// A provider takes no images: those of a thread are left out from here on.
    ImagesLeftOut {
        /// The thread.
        thread: Thread,
    },
    /// A tool gave a result.
    Result {
        /// The thread that the call was made in.
        thread: Thread,
        /// The result.
        entry: ThreadEntry,
        /// Files that the call changed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<FileChange>,
        /// The command that the call ran.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<CommandRan>,
    },
    /// A call opened a branch.
    Opened {
        /// The thread that the call was made in.
        thread: Thread,
        /// The id of the call.
        call: String,
        /// The branch.
        branch: BranchId,
        /// What the branch's thread begins with.
        start: Vec<ThreadEntry>,
    },
    /// A branch is over. What its parent gets is the result of the call that opened it, in the record behind this one.
    Folded {
        /// The branch.
        branch: BranchId,
        /// How it ended, in a word.
        how: String,
    },
    /// A thread was started anew from what was kept of it.
    Compacted {
        /// The thread.
        thread: Thread,
        /// What it begins with now.
        start: Vec<ThreadEntry>,
        /// What the summary was made of, for the next compaction.
        facts: Box<SummaryFacts>,
        /// What went, where it is, and how to get it back.
        receipt: Box<CompactionReceipt>,
        /// The figures.
        result: CompactResult,
    },
    /// The notes were changed.
    Noted {
        /// All of them.
        text: String,
    },
    /// A skill was activated.
    SkillUsed {
        /// Its name.
        name: String,
        /// Where its instructions are.
        #[serde(default)]
        place: SkillPlace,
    },
    /// The session went back to an earlier record; those in between are no longer part of it.
    Rewound {
        /// The record that it went back to.
        to: u64,
    },
    /// A run of the agent ended.
    Finished {
        /// How, in a word.
        outcome: String,
    },
}

impl SessionRecord {
    /// The record of an image, if its bytes are at hand.
    pub(crate) fn of_image(image: &AttachedImage) -> Option<Self> {
        let data = image.data.clone()?;
        Some(Self::Image { id: image.id, media_type: image.media_type.clone(), data })
    }

    /// The ids of the calls that it adds to its session.
    pub(crate) fn calls(&self) -> Vec<String> {
        let entries: &[ThreadEntry] = match self {
            Self::Said { entries, .. } | Self::Answered { entries, .. } => entries,
            // What a branch or a thread begins with was said before.
            Self::Opened { .. }
            | Self::Compacted { .. }
            | Self::Began(_)
            | Self::Waiting { .. }
            | Self::WaitingTaken { .. }
            | Self::ModelChosen { .. }
            | Self::Instructed(_)
            | Self::Result { .. }
            | Self::Image { .. }
            | Self::Interrupted { .. }
            | Self::TakenBack { .. }
            | Self::ImagesLeftOut { .. }
            | Self::Folded { .. }
            | Self::Noted { .. }
            | Self::SkillUsed { .. }
            | Self::Rewound { .. }
            | Self::Finished { .. } => &[],
        };
        let id = |entry: &ThreadEntry| match entry {
            ThreadEntry::Call { id, .. } => Some(id.clone()),
            ThreadEntry::User { .. }
            | ThreadEntry::Assistant { .. }
            | ThreadEntry::Reasoning { .. }
            | ThreadEntry::Result { .. } => None,
        };
        entries.iter().filter_map(id).collect()
    }
}

/// Where the instructions of a skill are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkillPlace {
    /// In the prompt: a person activated it.
    #[default]
    InPrompt,
    /// In the conversation: the model activated it, and nothing in front of the conversation changes by that.
    InConversation,
}

/// What a session begins with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beginning {
    /// The folder that it works in.
    pub folder: String,
    /// The provider's name.
    pub provider: String,
    /// The model.
    pub model: String,
    /// The session or file that it was forked or taken over from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Memories that were found for it, quoted. They stay as long as it goes on, so that its prompt does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub memories: String,
}

/// What a model gets before the conversation. It is part of the log, because nothing in front of a conversation may
/// change while that goes on: files and memories that it was made of do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemPrompt {
    /// The text.
    pub text: String,
    /// Where parts end that are worth caching by themselves, as bytes of the text.
    pub breakpoints: Vec<usize>,
}
