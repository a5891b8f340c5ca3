//! Marks that steer Anthropic's cache (`cache_control`): where they stand once blocks are gone.
//!
//! The client's stay where they are. One that stood on a block that goes moves to the last block in front of it
//! that stays and may carry one. There are never more than four, and none on reasoning or on empty text.

use infold_core::view::{BlockKind, ViewPiece};

use super::super::json::At;
use super::super::keys::MARK;
use super::super::{Api, BlockForm, Request};
use super::block_of;

/// How many marks a request may have.
const MARKS_MAX: usize = 4;

/// What becomes of a piece's mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// It stays as it is, if there is one.
    AsItWas,
    /// It gets this one.
    Set(At),
    /// It loses the one it has.
    Removed,
}

/// What becomes of the marks of `pieces`, one for each.
pub(super) fn decide(request: &Request<'_>, pieces: &[&ViewPiece]) -> Vec<Mark> {
    let mut marks = vec![Mark::AsItWas; pieces.len()];
    if request.api != Api::Messages {
        return marks;
    }
    let mut is_kept = vec![false; request.blocks.len()];
    for (piece, mark) in pieces.iter().zip(&mut marks) {
        let Some(block) = block_of(piece) else { continue };
        is_kept[block] = true;
        // Marks inside of content that is replaced go with it.
        let seat = request.seats[block];
        let is_replaced = matches!(piece, ViewPiece::Content { .. } | ViewPiece::Text { .. });
        if let (true, None, Some(inside)) = (is_replaced, seat.mark, seat.mark_inside) {
            *mark = Mark::Set(inside);
        }
    }
    for (block, seat) in request.seats.iter().enumerate() {
        let Some(mark) = seat.mark.or(seat.mark_inside).filter(|_| !is_kept[block]) else { continue };
        let behind = pieces.iter().position(|piece| block_of(piece).is_some_and(|other| other > block));
        let in_front = &pieces[..behind.unwrap_or(pieces.len())];
        let Some(place) = in_front.iter().rposition(|piece| may_carry(request, piece)) else { continue };
        let has_one = block_of(pieces[place]).is_some_and(|block| request.seats[block].mark.is_some());
        if !has_one {
            marks[place] = Mark::Set(mark);
        }
    }
    within_bounds(request, pieces, &mut marks);
    marks
}

/// Whether a mark may stand on a piece. Text alone cannot carry one, and what is not known is not touched.
fn may_carry(request: &Request<'_>, piece: &ViewPiece) -> bool {
    let block = match piece {
        ViewPiece::Quote { .. } | ViewPiece::Say { .. } => return true,
        ViewPiece::Keep(block)
        | ViewPiece::Content { block, .. }
        | ViewPiece::Text { block, .. }
        | ViewPiece::Words { block, .. } => *block,
    };
    let BlockForm::Element(at) = request.seats[block].form else { return false };
    match request.blocks[block].kind {
        BlockKind::Reasoning | BlockKind::Other { .. } => false,
        BlockKind::Call(_) | BlockKind::Result(_) => true,
        BlockKind::Instruction | BlockKind::User { .. } | BlockKind::Attachment | BlockKind::Assistant => {
            request.document.text_field(at, "text").is_some_and(|text| !text.is_empty())
        }
    }
}

/// Takes marks away, the first in the conversation first, until there are no more than allowed. A plan that only
/// leaves things out never has more than its client had.
fn within_bounds(request: &Request<'_>, pieces: &[&ViewPiece], marks: &mut [Mark]) {
    let count_at = |index: usize, mark: Mark| {
        let seat = block_of(pieces[index]).map(|block| request.seats[block]);
        let is_kept = matches!(pieces[index], ViewPiece::Keep(_));
        let inside = usize::from(is_kept && seat.is_some_and(|seat| seat.mark_inside.is_some()));
        inside
            + match mark {
                Mark::AsItWas => usize::from(seat.is_some_and(|seat| seat.mark.is_some())),
                Mark::Set(_) => 1,
                Mark::Removed => 0,
            }
    };
    let mut count =
        around(request) + marks.iter().enumerate().map(|(index, mark)| count_at(index, *mark)).sum::<usize>();
    for (index, mark) in marks.iter_mut().enumerate() {
        let before = count_at(index, *mark);
        if count > MARKS_MAX && before > 0 {
            *mark = Mark::Removed;
            count -= before - count_at(index, Mark::Removed);
        }
    }
}

/// Marks on what stands around the conversation: the instructions, the tools, the request itself.
fn around(request: &Request<'_>) -> usize {
    let document = &request.document;
    let lists = ["system", "tools"].iter().filter_map(|key| document.field(0, key));
    let inside =
        lists.flat_map(|list| document.elements(list)).filter(|element| document.field(*element, MARK).is_some());
    inside.count() + usize::from(document.field(0, MARK).is_some())
}
