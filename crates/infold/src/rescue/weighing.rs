//! Counts what each piece of a session costs, and what it would cost if it were offloaded or shortened.

use infold_core::rescue::{RescuePart, RescuePiece, Speaks, shorten_input};
use infold_core::transcript::{Item, Kind, Voice};
use infold_core::{Counter, ToolResult};
use infold_wire::{Entry, LineTraits, RescueClient};

use super::lines;
use super::stand_in::{EXAMPLE_HANDLE, Inputs, StandIns};

/// Results and inputs shorter than this stay: a reference would take as much.
const SHRINK_TOKENS_MIN: u64 = 200;

/// Counts the tokens of pieces, line by line.
#[derive(Debug)]
pub struct Scales<'a> {
    /// The client that recorded the session.
    pub client: RescueClient,
    /// Counts as the session's model does.
    pub counter: Counter,
    /// Makes the stand-ins, to count what they would cost.
    pub stand_ins: &'a StandIns,
    /// The inputs of calls that have no result yet.
    pub inputs: Inputs,
    /// The message that was weighed last: its number, and its line and part.
    pub last_message: Option<(u64, (u64, u32))>,
}

impl Scales<'_> {
    /// Counts the pieces of a line. Their places refer to the line by `number`.
    pub fn weigh(&mut self, number: u64, entry: &Entry) -> Vec<RescuePiece> {
        let text = String::from_utf8_lossy(&entry.raw);
        let traits = LineTraits::of(self.client, &text);
        let mut pieces: Vec<RescuePiece> = Vec::new();
        for item in lines::flat(&entry.items) {
            let arguments = self.inputs.of(item);
            let mut piece = self.piece(item, &traits, &arguments);
            piece.place.entry = number;
            piece.message = self.message(&traits, &piece);
            if traits.is_indivisible && is_speech(&piece) {
                piece.place.part = 0;
            }
            match pieces.last_mut() {
                Some(before) if before.place == piece.place && go_together(before, &piece) => join(before, piece),
                _ => pieces.push(piece),
            }
        }
        pieces
    }

    /// The number of a piece's message. A line is one message, but in the line of a compaction each part is one.
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
            // The client records what a person types while the agent is at work as a note of its own.
            Kind::User { .. } if traits.is_typed => RescuePart::Person,
            Kind::System { .. } | Kind::User { voice: Voice::Client, .. } | Kind::Clearing { .. } => RescuePart::Client,
            Kind::User { voice: Voice::Person, .. } => RescuePart::Person,
            Kind::Assistant { .. } => RescuePart::Model,
            Kind::Reasoning { .. } => RescuePart::Reasoning,
            Kind::Call { id, tool, input } => {
                let short = || {
                    let short = shorten_input(input, &self.stand_ins.where_whole(EXAMPLE_HANDLE))?;
                    Some(self.counter.count_call(&short))
                };
                RescuePart::Call { id: id.clone(), tool: tool.clone(), short_tokens: shrink(&short) }
            }
            Kind::Result { id, tool, text, .. } => {
                let result = ToolResult { tool, arguments, text };
                let short = || Some(self.counter.count(&self.stand_ins.reference(&result, EXAMPLE_HANDLE)));
                let (speaks, short_tokens) = match infold_wire::is_answered_by_person(tool, text) {
                    true => (Speaks::Person, None),
                    false => (Speaks::Tool, shrink(&short)),
                };
                RescuePart::Result { id: id.clone(), tool: tool.clone(), short_tokens, speaks }
            }
            Kind::Compaction { .. } => RescuePart::Summary,
            Kind::Other { .. } if traits.is_models => RescuePart::Model,
            // What a tool showed beside its text, such as an image, is in a message that the client marks as its own.
            Kind::Other { .. } if traits.is_clients => RescuePart::Client,
            Kind::Other { .. } => RescuePart::Person,
        };
        RescuePiece { place: item.place, message: 0, tokens, part }
    }

    /// Tokens of an item as it is.
    fn tokens(&self, item: &Item) -> u64 {
        match &item.kind {
            Kind::Call { input, .. } => self.counter.count_call(input),
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
}

/// Whether a piece is words of the person, the client or the model.
fn is_speech(piece: &RescuePiece) -> bool {
    matches!(piece.part, RescuePart::Person | RescuePart::Client | RescuePart::Model)
}

/// Whether two pieces at the same place are one: paragraphs of a message, or a result and what the tool showed
/// beside its text.
fn go_together(before: &RescuePiece, piece: &RescuePiece) -> bool {
    is_speech(piece) && (is_speech(before) || matches!(before.part, RescuePart::Result { .. }))
}

/// Adds a piece to the one before it. If either holds the person's words, both together count as the person's.
fn join(before: &mut RescuePiece, piece: RescuePiece) {
    before.tokens += piece.tokens;
    if is_speech(before) && (piece.part == RescuePart::Person || before.part == RescuePart::Client) {
        before.part = piece.part;
    }
}
