//! The texts of a transcript's items: what may hold a secret, and what tells two transcripts apart.

use std::io::Write;

use infold_core::transcript::{Item, Kind};

/// The texts of an item of which a part may be cut off, and which must be scrubbed before that.
pub(super) fn texts_of(item: &mut Item) -> Vec<&mut String> {
    match &mut item.kind {
        Kind::System { text } | Kind::User { text, .. } | Kind::Assistant { text } | Kind::Reasoning { text, .. } => {
            vec![text]
        }
        Kind::Result { text, tool, .. } => vec![text, tool],
        Kind::Call { input, tool, .. } => vec![input, tool],
        Kind::Compaction { summary, kept } => summary.iter_mut().chain(kept.iter_mut().flat_map(texts_of)).collect(),
        Kind::Clearing { .. } => Vec::new(),
        Kind::Other { json, name } => vec![json, name],
    }
}

/// A hash of a transcript.
pub(super) fn digest(items: &[Item]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    for item in items {
        // Writing to a hasher cannot fail.
        let _ = writeln!(hasher, "{item:?}");
    }
    hasher.finalize().into()
}
