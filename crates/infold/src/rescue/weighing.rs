//! What each piece of a session costs, and what it would cost made smaller.

use infold_core::rescue::{RescuePart, RescuePiece, Speaks, shorten_input};
use infold_core::transcript::{Item, Kind, Voice};
use infold_core::{Counter, ToolResult};
use infold_wire::{Entry, LineTraits, RescueClient};

use super::lines;
use super::stand_in::{EXAMPLE_HANDLE, Inputs, StandIns};

/// Results and inputs shorter than this stay: a reference would take as much.
const SHRINK_TOKENS_MIN: u64 = 200;

/// Weighs pieces.
#[derive(Debug)]
pub struct Scales<'a> {
    /// Whose session it is.
    pub client: RescueClient,
    /// Whose tokens are counted.
    pub counter: Counter,
    /// What would stand for what is moved out.
    pub stand_ins: &'a StandIns,
    /// What calls were made with.
    pub inputs: Inputs,
    /// The message that was weighed last: its number, and where it stands.
    pub last_message: Option<(u64, (u64, u32))>,
}

impl Scales<'_> {
    /// The pieces of a line. Their places name the line by `number`.
    pub fn weigh(&mut self, number: u64, entry: &Entry) -> Vec<RescuePiece> {
        let text = String::from_utf8_lossy(&entry.raw);
        let traits = LineTraits::of(self.client, &text);
        let mut pieces: Vec<RescuePiece> = Vec::new();
        for item in lines::flat(&entry.items) {
            let arguments = self.inputs.of(item);
            let mut piece = self.piece(item, &traits, &arguments);
            piece.place.entry = number;
            piece.message = self.message(&traits, &piece);
            if traits.stands_whole && is_said(&piece) {
                piece.place.part = 0;
            }
            match pieces.last_mut() {
                Some(before) if before.place == piece.place && go_together(before, &piece) => join(before, piece),
                _ => pieces.push(piece),
            }
        }
        pieces
    }

    /// A line is a message; in one of a compaction each part is.
    fn message(&mut self, traits: &LineTraits, piece: &RescuePiece) -> u64 {
        let place = if traits.holds_messages { (piece.place.entry, piece.place.part) } else { (piece.place.entry, 0) };
        if self.last_message.is_none_or(|(_, last)| last != place) {
            self.last_message = Some((self.last_message.map_or(0, |(number, _)| number + 1), place));
        }
        self.last_message.map_or(0, |(number, _)| number)
    }

    fn piece(&self, item: &Item, traits: &LineTraits, arguments: &str) -> RescuePiece {
        let tokens = self.tokens(item);
        let shrink = |short: &dyn Fn() -> Option<u64>| {
            let is_long = tokens >= SHRINK_TOKENS_MIN;
            if is_long && traits.is_editable(item.place.part) { short() } else { None }
        };
        let part = match &item.kind {
            // What the person typed while the agent was at work comes as a note of the client.
            Kind::User { .. } if traits.is_typed => RescuePart::Person,
            Kind::System { .. } | Kind::User { voice: Voice::Client, .. } | Kind::Clearing { .. } => RescuePart::Client,
            Kind::User { voice: Voice::Person, .. } => RescuePart::Person,
            Kind::Assistant { .. } => RescuePart::Model,
            Kind::Reasoning { .. } => RescuePart::Reasoning,
            Kind::Call { id, tool, input } => {
                let short = || {
                    let short = shorten_input(input, &self.stand_ins.where_whole(EXAMPLE_HANDLE))?;
                    Some(self.frame_tokens() + self.counter.count(&short))
                };
                RescuePart::Call { id: id.clone(), tool: tool.clone(), short_tokens: shrink(&short) }
            }
            Kind::Result { id, tool, text: result, .. } => {
                let sight = ToolResult { tool, arguments, text: result };
                let short = || Some(self.counter.count(&self.stand_ins.reference(&sight, EXAMPLE_HANDLE)));
                let (speaks, short_tokens) = match infold_wire::is_answered_by_person(tool, result) {
                    true => (Speaks::Person, None),
                    false => (Speaks::Tool, shrink(&short)),
                };
                RescuePart::Result { id: id.clone(), tool: tool.clone(), short_tokens, speaks }
            }
            Kind::Compaction { .. } => RescuePart::Summary,
            Kind::Other { .. } if traits.is_models => RescuePart::Model,
            // What a tool showed beside its text comes as a message that the client says is its own.
            Kind::Other { .. } if traits.is_clients => RescuePart::Client,
            Kind::Other { .. } => RescuePart::Person,
        };
        RescuePiece { place: item.place, message: 0, tokens, part }
    }

    /// What an item takes.
    fn tokens(&self, item: &Item) -> u64 {
        match &item.kind {
            Kind::Call { .. } => self.frame_tokens() + self.counter.count(item.text()),
            Kind::Reasoning { text, sealed_bytes } => self.counter.count_reasoning(text, *sealed_bytes),
            Kind::System { .. }
            | Kind::User { .. }
            | Kind::Assistant { .. }
            | Kind::Result { .. }
            | Kind::Compaction { .. }
            | Kind::Clearing { .. }
            | Kind::Other { .. } => self.counter.count_item(item),
        }
    }

    /// What a provider puts around a call and its result.
    fn frame_tokens(&self) -> u64 {
        self.counter.per_call_tokens()
    }
}

fn is_said(piece: &RescuePiece) -> bool {
    matches!(piece.part, RescuePart::Person | RescuePart::Client | RescuePart::Model)
}

/// Whether two pieces at the same place are one: paragraphs of a message, or a result and what it shows
/// beside its text.
fn go_together(before: &RescuePiece, piece: &RescuePiece) -> bool {
    is_said(piece) && (is_said(before) || matches!(before.part, RescuePart::Result { .. }))
}

/// Adds a piece to the one before it. The person's words make it the person's.
fn join(before: &mut RescuePiece, piece: RescuePiece) {
    before.tokens += piece.tokens;
    if is_said(before) && (piece.part == RescuePart::Person || before.part == RescuePart::Client) {
        before.part = piece.part;
    }
}
