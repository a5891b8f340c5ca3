//! Carries a plan out: offloads texts, and writes the new recording.

use std::collections::{HashMap, HashSet};
use std::io::Write;

use anyhow::{Context, bail};
use infold_core::ToolResult;
use infold_core::rescue::{Fate, Plan, Receipt, ReceiptWords, RescuePart, RescuePiece, RescueRoom, shorten_input};
use infold_core::transcript::{Item, Kind};
use infold_wire::{LineEdit, NewLines, NewSession};

use super::offload::{LongText, Offloader};
use super::stand_in::Inputs;
use super::{Destination, RECEIPT_TOKENS_MAX, Rescue, destination, lines};
use crate::whole_file::{self, IfThere};

/// How often a plan is made again because stand-ins turn out longer than estimated.
const ROUNDS_MAX: usize = 8;
/// Most handles that a receipt lists.
const LISTED_MAX: usize = 20;

/// The result of writing a new recording.
#[derive(Debug)]
pub struct Written {
    /// What was offloaded, shortened and left out, with the handles.
    pub receipt: Receipt,
    /// Tokens of the receipt's own text.
    pub receipt_tokens: u64,
    /// Lines of the new recording, the receipt's among them.
    pub lines: u64,
}

/// The text in place of an offloaded piece, and the handle in it.
struct PieceStandIn {
    handle: String,
    text: String,
}

impl Rescue {
    /// Writes the new recording. There is no file of its name until all of it is on disk.
    pub fn write(mut self, room: RescueRoom, to: &Offloader<'_>, destination: &Destination) -> anyhow::Result<Written> {
        whole_file::write(&destination.path, IfThere::Refuse, |file| {
            let (plan, stand_ins) = self.plan_and_offload(room, to)?;
            let mut receipt = self.receipt(&plan);
            for moved in receipt.offloaded.iter_mut().chain(&mut receipt.shortened) {
                moved.handle = stand_ins.get(&moved.piece).map_or_else(String::new, |stand_in| stand_in.handle.clone());
            }
            let text = self.receipt_text(&receipt, room.tokens.saturating_sub(receipt.after_tokens));
            let edits = self.edits(&plan, &stand_ins);
            let lines = self.write_lines(file, &edits, &text, &destination.session)?;
            self.original.check_unchanged()?;
            Ok(Written { receipt, receipt_tokens: self.counter.count(&text), lines })
        })
    }

    /// Makes a plan and offloads its texts. The exact length of a stand-in is known only then, so the plan is made
    /// again until it offloads nothing more.
    fn plan_and_offload(
        &mut self,
        room: RescueRoom,
        to: &Offloader<'_>,
    ) -> anyhow::Result<(Plan, HashMap<usize, PieceStandIn>)> {
        let mut stand_ins = HashMap::new();
        for _ in 0..ROUNDS_MAX {
            let plan = self.plan(room)?;
            let is_moved = |at: &usize| matches!(plan.fates[*at], Fate::Offloaded | Fate::Shortened);
            let wanted: HashSet<usize> =
                (0..self.pieces.len()).filter(is_moved).filter(|at| !stand_ins.contains_key(at)).collect();
            if wanted.is_empty() {
                return Ok((plan, stand_ins));
            }
            // Nothing may be stored for a session that is still running.
            self.original.check_unchanged()?;
            for (at, stand_in) in self.offload(&wanted, to)? {
                self.set_short_tokens(at, &stand_in);
                stand_ins.insert(at, stand_in);
            }
        }
        bail!("no plan was found in {ROUNDS_MAX} rounds")
    }

    fn set_short_tokens(&mut self, at: usize, stand_in: &PieceStandIn) {
        let text = &stand_in.text;
        match &mut self.pieces[at].part {
            RescuePart::Result { short_tokens, .. } => *short_tokens = Some(self.counter.count(text)),
            RescuePart::Call { short_tokens, .. } => *short_tokens = Some(self.counter.count_call(text)),
            RescuePart::Person
            | RescuePart::Summary
            | RescuePart::Client
            | RescuePart::Model
            | RescuePart::Reasoning => {}
        }
    }

    /// Offloads the texts of the wanted pieces, and makes a stand-in for each.
    fn offload(&self, wanted: &HashSet<usize>, to: &Offloader<'_>) -> anyhow::Result<Vec<(usize, PieceStandIn)>> {
        let by_place: HashMap<(u64, u32), usize> = wanted.iter().map(|at| (place(&self.pieces[*at]), *at)).collect();
        let mut made = Vec::new();
        let mut inputs = Inputs::default();
        lines::each_entry(&self.original, self.client, &self.session.lines, |line, entry| {
            for item in lines::flat(&entry.items) {
                let arguments = inputs.of(item);
                let Some(at) = by_place.get(&(line.number, item.place.part)) else { continue };
                if is_of(&self.pieces[*at], item) {
                    made.extend(self.offload_item(item, &arguments, to)?.map(|stand_in| (*at, stand_in)));
                }
            }
            Ok(())
        })?;
        Ok(made)
    }

    fn offload_item(&self, item: &Item, arguments: &str, to: &Offloader<'_>) -> anyhow::Result<Option<PieceStandIn>> {
        match &item.kind {
            Kind::Result { id, tool, text, .. } => {
                let stored = to.offload(LongText { tool, call: id, content: text.clone() })?;
                let result = ToolResult { tool, arguments, text: stored.content.as_str() };
                let text = self.stand_ins.reference(&result, &stored.handle);
                Ok(Some(PieceStandIn { handle: stored.handle, text }))
            }
            Kind::Call { id, tool, input } => {
                let stored = to.offload(LongText { tool, call: id, content: input.clone() })?;
                let short = shorten_input(input, &self.stand_ins.where_whole(&stored.handle));
                let text = short.context("an input that was to be shortened cannot be")?;
                Ok(Some(PieceStandIn { handle: stored.handle, text }))
            }
            _ => Ok(None),
        }
    }

    /// The receipt, with as many handles as there is room for.
    pub(super) fn receipt_text(&self, receipt: &Receipt, tokens_max: u64) -> String {
        let original = std::path::absolute(self.original.path()).unwrap_or_else(|_| self.original.path().to_owned());
        let original = original.display().to_string();
        let words = ReceiptWords { purpose: self.purpose, reader: &self.stand_ins.reader, original: &original };
        let mut listed = LISTED_MAX;
        loop {
            let text = receipt.text(words, listed);
            if listed == 0 || self.counter.count(&text) <= tokens_max.min(RECEIPT_TOKENS_MAX) {
                return text;
            }
            listed /= 2;
        }
    }

    /// The edits of each line that stays, by the line's number and then by part.
    fn edits(&self, plan: &Plan, stand_ins: &HashMap<usize, PieceStandIn>) -> HashMap<u64, Vec<(u32, LineEdit)>> {
        let mut edits: HashMap<u64, Vec<(u32, LineEdit)>> = HashMap::new();
        for (at, piece) in self.pieces.iter().enumerate() {
            let text = || stand_ins.get(&at).map(|stand_in| stand_in.text.clone()).unwrap_or_default();
            let edit = match plan.fates[at] {
                Fate::Kept => None,
                Fate::Offloaded => Some(LineEdit::Result(text())),
                Fate::Shortened => Some(LineEdit::Input(text())),
                Fate::Dropped(_) => Some(LineEdit::Drop),
            };
            edits.entry(piece.place.entry).or_default().extend(edit.map(|edit| (piece.place.part, edit)));
        }
        edits
    }

    fn write_lines(
        &self,
        file: &mut dyn Write,
        edits: &HashMap<u64, Vec<(u32, LineEdit)>>,
        receipt: &str,
        session: &NewSession,
    ) -> anyhow::Result<u64> {
        let receipt_ids = [destination::random_id()?, destination::random_id()?];
        let mut new_lines = NewLines::new(self.client, session, receipt, receipt_ids);
        let mut count = 0;
        for line in &self.session.lines {
            let edits = edits.get(&line.number).map(Vec::as_slice);
            for new in new_lines.next(self.original.line(*line)?, edits) {
                put(file, &new)?;
                count += 1;
            }
        }
        put(file, &new_lines.last())?;
        Ok(count + 1)
    }
}

fn put(file: &mut dyn Write, line: &str) -> anyhow::Result<()> {
    writeln!(file, "{line}").context("the new recording cannot be written")
}

fn place(piece: &RescuePiece) -> (u64, u32) {
    (piece.place.entry, piece.place.part)
}

/// Whether an item is the call or the result that a piece was made of.
fn is_of(piece: &RescuePiece, item: &Item) -> bool {
    match (&piece.part, &item.kind) {
        (RescuePart::Call { id, .. }, Kind::Call { id: own, .. })
        | (RescuePart::Result { id, .. }, Kind::Result { id: own, .. }) => id == own,
        _ => false,
    }
}
