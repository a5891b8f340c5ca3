//! What a thread has said and shown, held from turn to turn. A view usually extends the one before it, so only what is
//! new in it is read. If it does not, for instance after a fold, all of it is read again.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use infold_core::view::{BlockKind, ViewPiece, ViewPlan};
use infold_core::{Mentions, ToolEffect, plain_arguments};
use infold_wire::request::Request;

/// What was read of a thread.
#[derive(Default)]
pub(super) struct Mentioned {
    /// Keys of the pieces that were read, in order.
    pieces: Vec<u64>,
    mentions: Arc<Mentions>,
}

impl Mentioned {
    /// Returns what the view has said and shown, without its results that the model has not seen.
    pub(super) fn in_view(&mut self, request: &Request<'_>, plan: &ViewPlan) -> Mentions {
        let is_unseen = |piece: &ViewPiece| matches!(piece, ViewPiece::Keep(at) if plan.unseen.contains(at));
        // What comes after the first unseen result will come after it in the next view too.
        let seen = plan.pieces.iter().position(is_unseen).unwrap_or(plan.pieces.len());
        let (seen, behind) = plan.pieces.split_at(seen);
        self.read(request, seen);
        let mut mentions = Mentions::above(Arc::clone(&self.mentions));
        behind.iter().filter(|piece| !is_unseen(piece)).for_each(|piece| note(&mut mentions, request, piece));
        mentions
    }

    /// Reads those of the pieces that were not read before.
    fn read(&mut self, request: &Request<'_>, pieces: &[ViewPiece]) {
        let keys: Vec<u64> = pieces.iter().map(|piece| key(request, piece)).collect();
        if !keys.starts_with(&self.pieces) {
            *self = Self::default();
        }
        // Nobody else holds it between two turns; if somebody did, it would be read again.
        let Some(mentions) = Arc::get_mut(&mut self.mentions) else {
            *self = Self::default();
            return self.read(request, pieces);
        };
        pieces[self.pieces.len()..].iter().for_each(|piece| note(mentions, request, piece));
        self.pieces = keys;
    }

    /// How much memory it takes, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.pieces.capacity() * size_of::<u64>() + self.mentions.bytes()
    }
}

/// A key that identifies a piece. What was decided for a result never changes, so its bytes need not be read.
fn key(request: &Request<'_>, piece: &ViewPiece) -> u64 {
    let mut hasher = DefaultHasher::new();
    match piece {
        ViewPiece::Keep(at) => (0, request.blocks()[*at].key).hash(&mut hasher),
        ViewPiece::Content { block, .. } => (1, request.blocks()[*block].key).hash(&mut hasher),
        ViewPiece::Text { block, text } => (2, request.blocks()[*block].key, text).hash(&mut hasher),
        ViewPiece::Words { block, .. } => (4, request.blocks()[*block].key).hash(&mut hasher),
        ViewPiece::Quote { block, .. } => (5, request.blocks()[*block].key).hash(&mut hasher),
        ViewPiece::Say { text, .. } => (3, text).hash(&mut hasher),
    }
    hasher.finish()
}

fn note(mentions: &mut Mentions, request: &Request<'_>, piece: &ViewPiece) {
    match piece {
        ViewPiece::Keep(at) => match &request.blocks()[*at].kind {
            BlockKind::User { .. } => mentions.ask(&request.words(*at)),
            BlockKind::Assistant => mentions.say(&request.words(*at)),
            BlockKind::Call(call) if ToolEffect::of(&call.tool).is_none() => {
                mentions.say_arguments(&request.arguments(*at).unwrap_or_default());
            }
            BlockKind::Attachment => mentions.show(&request.words(*at)),
            BlockKind::Result(result) => {
                let (tool, arguments) = request.call(&result.call);
                mentions.show_result(&tool, &arguments, &request.words(*at));
            }
            BlockKind::Call(_) | BlockKind::Instruction | BlockKind::Reasoning | BlockKind::Other { .. } => {}
        },
        // In JSON all lines would be one, with a letter for each line end.
        ViewPiece::Content { block, json, .. } => {
            let (tool, arguments) = match &request.blocks()[*block].kind {
                BlockKind::Result(result) => request.call(&result.call),
                _ => (String::new(), String::new()),
            };
            mentions.show_result(&tool, &arguments, &plain_arguments(&String::from_utf8_lossy(json)));
        }
        ViewPiece::Text { text, .. } => mentions.show(text),
        ViewPiece::Quote { block, json: None, .. } => mentions.show(&request.words(*block)),
        ViewPiece::Quote { json: Some(json), .. } => mentions.show(&plain_arguments(&String::from_utf8_lossy(json))),
        ViewPiece::Words { text, .. } | ViewPiece::Say { text, .. } => mentions.ask(text),
    }
}

#[cfg(test)]
mod tests;
