//! Carries a plan out: keeps what is moved out, and writes the new recording.

use std::collections::{HashMap, HashSet};
use std::io::Write;

use anyhow::{Context, bail};
use infold_core::ToolResult;
use infold_core::rescue::{Fate, Plan, Receipt, ReceiptWords, RescuePart, RescuePiece, RescueRoom, shorten_input};
use infold_core::transcript::{Item, Kind};
use infold_wire::{LineEdit, NewLines, NewSession};

use super::keeping::{Keep, Keeper};
use super::stand_in::Inputs;
use super::{Destination, RECEIPT_TOKENS_MAX, Rescue, destination, lines};
use crate::whole_file::{self, IfThere};

/// How often a plan is made again because what stands for moved texts is longer than it was thought.
const ROUNDS_MAX: usize = 8;
/// Most handles that a receipt lists.
const LISTED_MAX: usize = 20;

/// What was written.
#[derive(Debug)]
pub struct Written {
    /// What was done.
    pub receipt: Receipt,
    /// What the receipt itself takes.
    pub receipt_tokens: u64,
    /// How many lines there are.
    pub lines: u64,
}

/// What stands for a piece that was moved out.
struct StandIn {
    handle: String,
    text: String,
}

impl Rescue {
    /// Writes the new recording. Nothing is there under its name until all of it is.
    pub fn write(
        mut self,
        room: RescueRoom,
        keeper: &Keeper<'_>,
        destination: &Destination,
    ) -> anyhow::Result<Written> {
        whole_file::write(&destination.path, IfThere::Refuse, |file| {
            let (plan, stand_ins) = self.settle(room, keeper)?;
            let mut receipt = self.receipt(&plan);
            for moved in receipt.offloaded.iter_mut().chain(&mut receipt.shortened) {
                moved.handle = stand_ins.get(&moved.piece).map_or_else(String::new, |kept| kept.handle.clone());
            }
            let text = self.receipt_text(&receipt, room.tokens.saturating_sub(receipt.after_tokens));
            let edits = self.edits(&plan, &stand_ins);
            let lines = self.write_lines(file, &edits, &text, &destination.session)?;
            self.original.check_unchanged()?;
            Ok(Written { receipt, receipt_tokens: self.counter.count(&text), lines })
        })
    }

    /// Keeps what the plan moves out. What stands for it is exact only then, so the plan is made
    /// again until it fits.
    fn settle(&mut self, room: RescueRoom, keeper: &Keeper<'_>) -> anyhow::Result<(Plan, HashMap<usize, StandIn>)> {
        let mut stand_ins = HashMap::new();
        for _ in 0..ROUNDS_MAX {
            let plan = self.plan(room)?;
            let is_moved = |at: &usize| matches!(plan.fates[*at], Fate::Offloaded | Fate::Shortened);
            let wanted: HashSet<usize> =
                (0..self.pieces.len()).filter(is_moved).filter(|at| !stand_ins.contains_key(at)).collect();
            if wanted.is_empty() {
                return Ok((plan, stand_ins));
            }
            // A session that is still running must leave nothing in the store.
            self.original.check_unchanged()?;
            for (at, stand_in) in self.keep(&wanted, keeper)? {
                self.set_short_tokens(at, &stand_in);
                stand_ins.insert(at, stand_in);
            }
        }
        bail!("no plan could be settled on in {ROUNDS_MAX} rounds")
    }

    fn set_short_tokens(&mut self, at: usize, stand_in: &StandIn) {
        let tokens = self.counter.count(&stand_in.text);
        match &mut self.pieces[at].part {
            RescuePart::Result { short_tokens, .. } => *short_tokens = Some(tokens),
            RescuePart::Call { short_tokens, .. } => *short_tokens = Some(tokens + self.counter.per_call_tokens()),
            RescuePart::Person
            | RescuePart::Summary
            | RescuePart::Client
            | RescuePart::Model
            | RescuePart::Reasoning => {}
        }
    }

    /// Keeps the texts of some pieces, and says what stands for each.
    fn keep(&self, wanted: &HashSet<usize>, keeper: &Keeper<'_>) -> anyhow::Result<Vec<(usize, StandIn)>> {
        let by_place: HashMap<(u64, u32), usize> = wanted.iter().map(|at| (place(&self.pieces[*at]), *at)).collect();
        let mut kept = Vec::new();
        let mut inputs = Inputs::default();
        lines::each_entry(&self.original, self.client, &self.session.lines, |line, entry| {
            for item in lines::flat(&entry.items) {
                let arguments = inputs.of(item);
                let Some(at) = by_place.get(&(line.number, item.place.part)) else { continue };
                if is_of(&self.pieces[*at], item) {
                    kept.extend(self.keep_item(item, &arguments, keeper)?.map(|stand_in| (*at, stand_in)));
                }
            }
            Ok(())
        })?;
        Ok(kept)
    }

    fn keep_item(&self, item: &Item, arguments: &str, keeper: &Keeper<'_>) -> anyhow::Result<Option<StandIn>> {
        match &item.kind {
            Kind::Result { id, tool, text, .. } => {
                let kept = keeper.keep(Keep { tool, call: id, content: text.clone() })?;
                let sight = ToolResult { tool, arguments, text: kept.content.as_str() };
                let text = self.stand_ins.reference(&sight, &kept.handle);
                Ok(Some(StandIn { handle: kept.handle, text }))
            }
            Kind::Call { id, tool, input } => {
                let kept = keeper.keep(Keep { tool, call: id, content: input.clone() })?;
                let short = shorten_input(input, &self.stand_ins.where_whole(&kept.handle));
                let text = short.context("an input that was to be shortened cannot be")?;
                Ok(Some(StandIn { handle: kept.handle, text }))
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

    /// What changes in which line.
    fn edits(&self, plan: &Plan, stand_ins: &HashMap<usize, StandIn>) -> HashMap<u64, Vec<(u32, LineEdit)>> {
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
