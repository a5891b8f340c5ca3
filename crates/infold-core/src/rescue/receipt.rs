//! What a rescue did, in figures and in words.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{Fate, Plan, RescuePart, RescuePiece, Speaks, Why};
use crate::transcript::ItemPosition;

/// Most tools that are named of what was left out.
const TOOLS_MAX: usize = 8;

/// Something that was moved out of the context, with a handle to read it by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// Which piece it is, as an index.
    pub piece: usize,
    /// The id of the call.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// What it took whole.
    pub tokens: u64,
    /// What stands for it takes.
    pub left_tokens: u64,
    /// How it is read back; empty until it is kept.
    pub handle: String,
}

/// An exchange that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Where it began in the original.
    pub first: ItemPosition,
    /// Where it ended.
    pub last: ItemPosition,
    /// The tools that were called in it, in order.
    pub tools: Vec<String>,
    /// What it took.
    pub tokens: u64,
}

impl LeftOut {
    fn beginning(first: ItemPosition) -> Self {
        Self { first, last: first, tools: Vec::new(), tokens: 0 }
    }
}

/// How many, and what they took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// How many there were.
    pub count: u64,
    /// What they took.
    pub tokens: u64,
}

impl Tally {
    fn add(&mut self, tokens: u64) {
        self.count += 1;
        self.tokens += tokens;
    }
}

/// What a rescue did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Receipt {
    /// What the context took before.
    pub before_tokens: u64,
    /// What it takes now, without the receipt itself.
    pub after_tokens: u64,
    /// Results that were offloaded, in order.
    pub offloaded: Vec<Moved>,
    /// Inputs of calls that were shortened, in order.
    pub shortened: Vec<Moved>,
    /// Exchanges that were left out, in order.
    pub left_out: Vec<LeftOut>,
    /// Reasoning that went.
    pub reasoning: Tally,
    /// Calls without a result and results without a call.
    pub unpaired: Tally,
    /// What the client had said on its own account, where there was no room for it.
    pub client_words: Tally,
    /// Lines of the original that could not be read, and of which nobody knows what they said.
    pub unread_lines: u64,
    /// Messages of the user that are here: what was typed, and answers to tools.
    pub user_messages: u64,
    /// Answers of the user that went, because the calls that they answer are not there.
    pub user_answers_lost: u64,
}

/// What a session is written anew for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To fit its window.
    Fitting,
    /// To be without its reasoning, which is bound to requests that only infold can repeat.
    WithoutReasoning,
}

/// What a receipt needs to say where things are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiptWords<'a> {
    /// What the session is written anew for.
    pub purpose: Purpose,
    /// How a handle is read, for example `infold result`; the handle goes after it.
    pub reader: &'a str,
    /// Where the original is.
    pub original: &'a str,
}

impl Receipt {
    /// What a plan does with the pieces that it was made for.
    pub fn of(pieces: &[RescuePiece], plan: &Plan) -> Self {
        let mut receipt =
            Self { before_tokens: plan.before_tokens, after_tokens: plan.after_tokens, ..Self::default() };
        for (at, (piece, fate)) in pieces.iter().zip(&plan.fates).enumerate() {
            receipt.count_user(pieces, at, *fate);
            match fate {
                Fate::Kept => {}
                Fate::Offloaded => receipt.offloaded.extend(moved(at, piece)),
                Fate::Shortened => receipt.shortened.extend(moved(at, piece)),
                Fate::Dropped(Why::Reasoning) => receipt.reasoning.add(piece.tokens),
                Fate::Dropped(Why::Unpaired) => receipt.unpaired.add(piece.tokens),
                Fate::Dropped(Why::Client) => receipt.client_words.add(piece.tokens),
                Fate::Dropped(Why::Exchange) => {
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

    /// The receipt as the agent and its user read it, with at most so many handles listed.
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
        self.write_moved(&mut text, listed_max);
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

    /// What is there of the user's messages, and what is not. What could not be read may have been one of them.
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

    fn write_moved(&self, text: &mut String, listed_max: usize) {
        let lists = [
            (&self.offloaded, "tool results moved out of the context, with a reference in place of each"),
            (&self.shortened, "inputs of tool calls shortened, each with a note where it is whole"),
        ];
        for (moved, what) in lists.into_iter().filter(|(moved, _)| !moved.is_empty()) {
            let tokens: u64 = moved.iter().map(|moved| moved.tokens).sum();
            let _ = writeln!(text, "- {what}: {} ({tokens} tokens)", moved.len());
            let mut largest: Vec<&Moved> = moved.iter().collect();
            largest.sort_by_key(|moved| (std::cmp::Reverse(moved.tokens), moved.piece));
            for moved in largest.iter().take(listed_max) {
                let Moved { tool, call, tokens, handle, .. } = moved;
                let _ = writeln!(text, "  - {tool} {call}: {tokens} tokens, {handle}");
            }
            if moved.len() > listed_max && listed_max > 0 {
                let _ = writeln!(text, "  - and {} more", moved.len() - listed_max);
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

fn moved(at: usize, piece: &RescuePiece) -> Option<Moved> {
    match &piece.part {
        RescuePart::Call { id, tool, .. } | RescuePart::Result { id, tool, .. } => Some(Moved {
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
