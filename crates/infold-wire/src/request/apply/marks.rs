//! Decides where the marks go that steer Anthropic's cache (`cache_control`) when blocks are left out.
//!
//! The client's marks stay where they are. A mark on a block that goes moves to the nearest block before it that stays
//! and may carry one. There are never more than four marks, and none on reasoning or on empty text, because the
//! provider refuses that.

use infold_core::view::{BlockKind, ViewPiece};

use super::super::json::At;
use super::super::keys::MARK;
use super::super::{Api, BlockForm, Request};
use super::block_of;

/// How many marks Anthropic allows in a request.
const MARKS_MAX: usize = 4;

/// What becomes of the mark on a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// The mark stays as it is, if there is one.
    AsItWas,
    /// The piece gets the mark at this place in the body.
    Set(At),
    /// The piece loses its mark.
    Removed,
}

/// Decides for each of `pieces` what becomes of its mark.
pub(super) fn decide(request: &Request<'_>, pieces: &[&ViewPiece]) -> Vec<Mark> {
    let mut marks = vec![Mark::AsItWas; pieces.len()];
    if request.api != Api::Messages {
        return marks;
    }
    let mut is_kept = vec![false; request.blocks.len()];
    for (piece, mark) in pieces.iter().zip(&mut marks) {
        let Some(block) = block_of(piece) else { continue };
        is_kept[block] = true;
        // Marks inside content that is replaced go with it, so one of them is put on the block instead.
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

/// Whether a piece may carry a mark. Plain text cannot, and blocks of unknown kinds are not touched.
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

/// Removes marks, from the beginning of the conversation on, until no more are left than allowed. A plan that only
/// leaves blocks out never has more marks than its client sent.
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

/// How many marks lie outside the conversation: on the instructions, the tools, and the request itself.
fn around(request: &Request<'_>) -> usize {
    let document = &request.document;
    let lists = ["system", "tools"].iter().filter_map(|key| document.field(0, key));
    let inside =
        lists.flat_map(|list| document.elements(list)).filter(|element| document.field(*element, MARK).is_some());
    inside.count() + usize::from(document.field(0, MARK).is_some())
}
