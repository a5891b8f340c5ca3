//! The receipt of a rescue: what it did, in figures for programs and in words for the agent and its user.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::{DropReason, Fate, Plan, RescuePart, RescuePiece, Speaks};
use crate::transcript::ItemPosition;

/// How many tools a receipt names of the exchanges that were left out.
const TOOLS_MAX: usize = 8;

/// A result that was offloaded, or the input of a call that was shortened and is stored whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffloadedPiece {
    /// The index of the piece.
    pub piece: usize,
    /// The id of the call.
    pub call: String,
    /// The tool's name, as the client spells it.
    pub tool: String,
    /// Its size in the original.
    pub tokens: u64,
    /// The size of what replaces it.
    pub left_tokens: u64,
    /// The `ref_id` by which it can be read; empty until it is stored.
    pub handle: String,
}

/// An exchange that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its first item in the original.
    pub first: ItemPosition,
    /// Its last item in the original.
    pub last: ItemPosition,
    /// The tools that were called in it, in order, with repetitions.
    pub tools: Vec<String>,
    /// Its size in the original.
    pub tokens: u64,
}

impl LeftOut {
    fn beginning(first: ItemPosition) -> Self {
        Self { first, last: first, tools: Vec::new(), tokens: 0 }
    }
}

/// Pieces of one kind that were left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tally {
    /// The number of pieces.
    pub count: u64,
    /// Their size in all.
    pub tokens: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, tokens: u64) {
        self.count += 1;
        self.tokens += tokens;
    }
}

/// What a rescue did to a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Receipt {
    /// The size of the context before.
    pub before_tokens: u64,
    /// Its size now, without the receipt itself.
    pub after_tokens: u64,
    /// Results that were offloaded, in order.
    pub offloaded: Vec<OffloadedPiece>,
    /// Inputs of calls that were shortened, in order.
    pub shortened: Vec<OffloadedPiece>,
    /// Exchanges that were left out, in order.
    pub left_out: Vec<LeftOut>,
    /// Reasoning, which is always left out.
    pub reasoning: Tally,
    /// Calls without a result and results without a call, which are always left out.
    pub unpaired: Tally,
    /// Words of the client's own that there was no room for.
    pub client_words: Tally,
    /// Lines of the original that could not be read. The caller counts them.
    pub unread_lines: u64,
    /// Messages of the user that are still there: what was typed, and answers to tools.
    pub user_messages: u64,
    /// Answers of the user that were left out, because the original does not have the calls that they answer.
    pub user_answers_lost: u64,
}

/// Why a session is written again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// It has to fit its window.
    Fitting,
    /// It has to lose its reasoning, which is bound to requests that only infold can repeat.
    WithoutReasoning,
}

/// Words for the text of a receipt that only the caller knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiptWords<'a> {
    /// The receipt's first sentence says it.
    pub purpose: Purpose,
    /// The command that reads a handle, for example `infold result`; the handle follows it.
    pub reader: &'a str,
    /// The path of the original recording.
    pub original: &'a str,
}

impl Receipt {
    /// Sums up what a plan does with the pieces that it was made for.
    pub fn of(pieces: &[RescuePiece], plan: &Plan) -> Self {
        let mut receipt =
            Self { before_tokens: plan.before_tokens, after_tokens: plan.after_tokens, ..Self::default() };
        for (at, (piece, fate)) in pieces.iter().zip(&plan.fates).enumerate() {
            receipt.count_user(pieces, at, *fate);
            match fate {
                Fate::Kept => {}
                Fate::Offloaded => receipt.offloaded.extend(offloaded(at, piece)),
                Fate::Shortened => receipt.shortened.extend(offloaded(at, piece)),
                Fate::Dropped(DropReason::Reasoning) => receipt.reasoning.add(piece.tokens),
                Fate::Dropped(DropReason::Unpaired) => receipt.unpaired.add(piece.tokens),
                Fate::Dropped(DropReason::Client) => receipt.client_words.add(piece.tokens),
                Fate::Dropped(DropReason::Exchange) => {
                    let goes_on = at > 0 && plan.fates[at - 1] == *fate && plan.exchanges[at - 1] == plan.exchanges[at];
                    if !goes_on {
                        receipt.left_out.push(LeftOut::beginning(piece.place));
                    }
                    receipt.leave_out(piece);
                }
            }
        }
        receipt
    }

    /// Counts a message of the user once, however many pieces it is in.
    fn count_user(&mut self, pieces: &[RescuePiece], at: usize, fate: Fate) {
        let goes_on =
            || at > 0 && pieces[at - 1].part == RescuePart::Person && pieces[at - 1].message == pieces[at].message;
        match (&pieces[at].part, fate) {
            (RescuePart::Person, _) if !goes_on() => self.user_messages += 1,
            (RescuePart::Result { speaks: Speaks::Person, .. }, Fate::Dropped(_)) => self.user_answers_lost += 1,
            (RescuePart::Result { speaks: Speaks::Person, .. }, _) => self.user_messages += 1,
            _ => {}
        }
    }

    fn leave_out(&mut self, piece: &RescuePiece) {
        let Some(left_out) = self.left_out.last_mut() else { return };
        left_out.last = piece.place;
        left_out.tokens += piece.tokens;
        if let RescuePart::Call { tool, .. } = &piece.part {
            left_out.tools.push(tool.clone());
        }
    }

    /// Writes the receipt as the agent and its user read it. Each of its lists has at most `listed_max` handles.
    pub fn text(&self, words: ReceiptWords<'_>, listed_max: usize) -> String {
        let why = match words.purpose {
            Purpose::Fitting => format!(
                "This session no longer fitted its context window, so infold made this shorter copy of it: {} tokens \
                 became {}.",
                self.before_tokens, self.after_tokens
            ),
            Purpose::WithoutReasoning => {
                "This session was begun through infold and goes on without it, so infold made \
                                          this copy of it without its reasoning."
                    .to_owned()
            }
        };
        let mut text = format!("[infold rescue: receipt]\n{why} {}\n", self.of_the_user());
        self.write_offloaded(&mut text, listed_max);
        self.write_dropped(&mut text);
        if !self.offloaded.is_empty() || !self.shortened.is_empty() {
            let _ = writeln!(
                text,
                "To read what was moved: call infold's tool read_result with the ref_id, or run `{} REF` in a shell \
                 (--lines A-B, --grep RE for a part).",
                words.reader
            );
        }
        let _ = write!(text, "The original is unchanged: {}", words.original);
        text
    }

    /// Says how many messages of the user are there, and which may be missing: a line that could not be read may have
    /// held one.
    fn of_the_user(&self) -> String {
        let mut text = match self.user_messages {
            0 => "It held no message of the user.".to_owned(),
            1 => "The one message of the user that it still held is here, word for word.".to_owned(),
            count => format!("All {count} messages of the user that it still held are here, word for word."),
        };
        if self.user_answers_lost > 0 {
            let answers = counted(self.user_answers_lost, "answer");
            let _ = write!(text, " {answers} of the user to tools went with calls that are not in the original.");
        }
        if self.unread_lines > 0 {
            let lines = counted(self.unread_lines, "line");
            let _ = write!(text, " {lines} of the original could not be read and may have held more of them.");
        }
        text
    }

    fn write_offloaded(&self, text: &mut String, listed_max: usize) {
        let lists = [
            (&self.offloaded, "tool results moved out of the context, with a reference in place of each"),
            (&self.shortened, "inputs of tool calls shortened, each with a note where it is whole"),
        ];
        for (list, what) in lists.into_iter().filter(|(list, _)| !list.is_empty()) {
            let tokens: u64 = list.iter().map(|one| one.tokens).sum();
            let _ = writeln!(text, "- {what}: {} ({tokens} tokens)", list.len());
            let mut largest: Vec<&OffloadedPiece> = list.iter().collect();
            largest.sort_by_key(|one| (std::cmp::Reverse(one.tokens), one.piece));
            for one in largest.iter().take(listed_max) {
                let OffloadedPiece { tool, call, tokens, handle, .. } = one;
                let _ = writeln!(text, "  - {tool} {call}: {tokens} tokens, {handle}");
            }
            if list.len() > listed_max && listed_max > 0 {
                let _ = writeln!(text, "  - and {} more", list.len() - listed_max);
            }
        }
    }

    fn write_dropped(&self, text: &mut String) {
        if !self.left_out.is_empty() {
            let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
            let all = self.left_out.iter().flat_map(|left_out| &left_out.tools);
            all.for_each(|tool| *counts.entry(tool).or_default() += 1);
            let mut counts: Vec<(&str, u64)> = counts.into_iter().collect();
            counts.sort_by_key(|(tool, count)| (std::cmp::Reverse(*count), *tool));
            let tools: Vec<String> =
                counts.iter().take(TOOLS_MAX).map(|(tool, count)| format!("{tool} x{count}")).collect();
            let tokens: u64 = self.left_out.iter().map(|left_out| left_out.tokens).sum();
            let count = self.left_out.len();
            let _ = writeln!(text, "- oldest exchanges left out: {count} ({tokens} tokens; {})", tools.join(", "));
        }
        let rest = [
            (self.reasoning, "blocks of reasoning removed"),
            (self.unpaired, "calls without a result or results without a call removed"),
            (self.client_words, "notes of the client left out"),
        ];
        for (tally, what) in rest.into_iter().filter(|(tally, _)| tally.count > 0) {
            let _ = writeln!(text, "- {what}: {} ({} tokens)", tally.count, tally.tokens);
        }
    }
}

fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn offloaded(at: usize, piece: &RescuePiece) -> Option<OffloadedPiece> {
    match &piece.part {
        RescuePart::Call { id, tool, .. } | RescuePart::Result { id, tool, .. } => Some(OffloadedPiece {
            piece: at,
            call: id.clone(),
            tool: tool.clone(),
            tokens: piece.tokens,
            left_tokens: piece.least_tokens(),
            handle: String::new(),
        }),
        RescuePart::Person | RescuePart::Summary | RescuePart::Client | RescuePart::Model | RescuePart::Reasoning => {
            None
        }
    }
}
