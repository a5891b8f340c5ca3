//! Exchanges: which pieces stay or go together. An exchange is a step of the model, its calls and what they gave.
//!
//! An exchange begins when the model speaks and nothing is unanswered, and lasts until the person or
//! the model speaks again with every call answered. So leaving one out parts no call from its result.

use std::collections::{HashMap, HashSet};

use super::{RescuePart, RescuePiece, Speaks};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Exchanges {
    /// For each piece its exchange, counted from 0; `None` for the person's turns and what is beside them.
    pub of_piece: Vec<Option<usize>>,
    pub count: usize,
    /// Calls without a result, and results without a call.
    pub unpaired: Vec<usize>,
    /// Exchanges in which a person answers a tool: they always stay.
    pub with_person: HashSet<usize>,
}

impl Exchanges {
    pub fn is_last(&self, piece: usize) -> bool {
        self.of_piece[piece].is_some_and(|exchange| exchange + 1 == self.count)
    }

    /// Whether a piece belongs to an exchange in which a person answers a tool.
    pub fn is_answered_by_person(&self, piece: usize) -> bool {
        self.of_piece[piece].is_some_and(|exchange| self.with_person.contains(&exchange))
    }

    /// For each exchange, the indices of its pieces.
    pub fn members(&self) -> Vec<Vec<usize>> {
        let mut members = vec![Vec::new(); self.count];
        for (at, exchange) in self.of_piece.iter().enumerate() {
            if let Some(exchange) = exchange {
                members[*exchange].push(at);
            }
        }
        members
    }
}

pub(super) fn find(pieces: &[RescuePiece]) -> Exchanges {
    let unpaired = unpaired(pieces);
    let is_unpaired = |at: usize| unpaired.binary_search(&at).is_ok();
    let mut of_piece = vec![None; pieces.len()];
    let mut count = 0;
    let mut current: Option<usize> = None;
    let mut unanswered = 0_usize;
    let mut model_speaks = false;

    for (at, piece) in pieces.iter().enumerate() {
        if is_unpaired(at) {
            continue;
        }
        match piece.part {
            RescuePart::Person | RescuePart::Summary => {
                model_speaks = false;
                if unanswered == 0 {
                    current = None;
                }
            }
            RescuePart::Client => {
                model_speaks = false;
                of_piece[at] = current;
            }
            RescuePart::Model | RescuePart::Reasoning | RescuePart::Call { .. } => {
                if unanswered == 0 && !model_speaks {
                    current = Some(count);
                    count += 1;
                }
                model_speaks = true;
                of_piece[at] = current;
                unanswered += usize::from(matches!(piece.part, RescuePart::Call { .. }));
            }
            RescuePart::Result { .. } => {
                model_speaks = false;
                of_piece[at] = current;
                unanswered = unanswered.saturating_sub(1);
            }
        }
    }
    let speaks = |at: &usize| matches!(pieces[*at].part, RescuePart::Result { speaks: Speaks::Person, .. });
    let with_person = (0..pieces.len()).filter(speaks).filter_map(|at| of_piece[at]).collect();
    Exchanges { of_piece, count, unpaired, with_person }
}

/// Calls that nothing answers and results that answer nothing, in order. An id can be used again after
/// a compaction, so a result answers the latest call of its id that has no result yet.
fn unpaired(pieces: &[RescuePiece]) -> Vec<usize> {
    let mut open: HashMap<&str, usize> = HashMap::new();
    let mut unpaired = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        match &piece.part {
            RescuePart::Call { id, .. } => unpaired.extend(open.insert(id, at)),
            RescuePart::Result { id, .. } => {
                if open.remove(id.as_str()).is_none() {
                    unpaired.push(at);
                }
            }
            RescuePart::Person
            | RescuePart::Summary
            | RescuePart::Client
            | RescuePart::Model
            | RescuePart::Reasoning => {}
        }
    }
    unpaired.extend(open.into_values());
    unpaired.sort_unstable();
    unpaired
}
