//! How many texts that try to instruct an agent are found, and how many harmless ones are taken for such.
//!
//! What is found is counted on texts that the model was not trained on. Lessons are split so that the halves share neither
//! frames nor requests. Then each source is left out in turn, and groups of frames and requests together. The same
//! training, on all texts, makes the weights that infold comes with.

mod phrases;
mod plain;
mod samples;
#[cfg(test)]
mod tests;
mod train;
mod trial;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use anyhow::Result;
use infold_core::memory::suspicion::SuspicionModel;

use super::ClaimedTables;
use phrases::MadeUp;
use samples::Sample;
use trial::{Flagged, model_of};

/// What is claimed of each half that was checked.
const HARMLESS_PERCENT_MAX: f64 = 1.0;
const LESSONS_PERCENT_MIN: f64 = 70.0;
const ATTACKS_PERCENT_MIN: f64 = 70.0;
/// Into how many groups frames and requests are divided, to leave out one of each.
const GROUPS: usize = 3;
/// Where the weights are kept.
pub(super) const WEIGHTS: &str = "crates/infold-core/src/memory/suspicion/weights.bin";

/// What is done with the weights that infold comes with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShippedWeights {
    /// They are compared with what the training gives.
    Check,
    /// What the training gives is written.
    Write,
}

/// Trains and tries; `None` where there are no texts.
pub(super) fn run(data: &Path, root: &Path, shipped: ShippedWeights) -> Result<Option<ClaimedTables>> {
    let Some(texts) = samples::read(data)? else { return Ok(None) };
    let made_up = phrases::made_up();
    let mut missed = Vec::new();
    let tables =
        [halves(&texts, &made_up, &mut missed)?, left_out(&texts, &made_up), lessons_left_out(&texts, &made_up)];
    missed.extend(weights(&texts, &made_up, root, shipped)?);
    Ok(Some(ClaimedTables { mark: "injection", tables: tables.join("\n"), missed }))
}

/// What was flagged of some texts.
#[derive(Default)]
struct TrialFound {
    harmless: Flagged,
    attacks: Flagged,
    lessons: Flagged,
}

impl TrialFound {
    fn of(texts: &[&Sample], is_flagged: impl Fn(&Sample) -> bool) -> Self {
        let mut found = Self::default();
        for text in texts {
            let is_flagged = is_flagged(text);
            if text.is_attack {
                found.attacks.add(is_flagged)
            } else {
                found.harmless.add(is_flagged)
            }
            if text.is_hostile_lesson() {
                found.lessons.add(is_flagged);
            }
        }
        found
    }

    fn row(&self, name: &str) -> String {
        format!("| {name} | {} | {} | {} |\n", self.harmless, self.attacks, self.lessons)
    }

    fn missed(&self, name: &str) -> Vec<String> {
        let percent = |flagged: Flagged| flagged.percent().unwrap_or(0.0);
        let (harmless, attacks, lessons) = (percent(self.harmless), percent(self.attacks), percent(self.lessons));
        let mut missed = Vec::new();
        if harmless > HARMLESS_PERCENT_MAX {
            missed.push(format!(
                "{name}: {harmless:.2} % of harmless texts are flagged, at most {HARMLESS_PERCENT_MAX} are claimed"
            ));
        }
        for (what, is, claimed) in
            [("attacks", attacks, ATTACKS_PERCENT_MIN), ("lessons", lessons, LESSONS_PERCENT_MIN)]
        {
            if is < claimed {
                missed.push(format!("{name}: {is:.1} % of {what} are found, {claimed} are claimed"));
            }
        }
        missed
    }
}

/// Each half judged by what the other taught: all of it, and each source.
fn halves(texts: &[Sample], made_up: &[MadeUp], missed: &mut Vec<String>) -> Result<String> {
    let expressions = plain::expressions()?;
    let mut table = "| flagged | harmless texts | all attacks | of these lessons |\n|---|---|---|---|\n".to_owned();
    let mut by_source: Vec<Vec<Flagged>> = Vec::new();
    let sources: BTreeSet<(bool, &str)> = texts.iter().map(|text| (!text.is_attack, text.source.as_str())).collect();
    for checked in [1, 0] {
        let in_half = |half: u64| texts.iter().filter(|text| text.half() == Some(half)).collect::<Vec<&Sample>>();
        let judged = in_half(checked);
        let name = format!("trained on half {}, checked on half {checked}", 1 - checked);
        eprintln!("injection: {name}");
        let model = model_of(&in_half(1 - checked), made_up);
        let is_flagged = |text: &Sample| model.judge(&text.windows).is_suspicious();
        let found = TrialFound::of(&judged, is_flagged);
        table.push_str(&found.row(&format!("**{name}**")));
        table.push_str(&TrialFound::of(&judged, |text| expressions.is_match(&text.text)).row("– fourteen expressions"));
        missed.extend(found.missed(&name));
        let of_source = |(harmless, source): &(bool, &str)| {
            Flagged::of(
                judged.iter().copied().filter(|text| text.source == *source && text.is_attack != *harmless),
                is_flagged,
            )
        };
        by_source.push(sources.iter().map(of_source).collect());
    }
    table.push_str("\n| flagged, by source | half 1 | half 0 |\n|---|---|---|\n");
    for (at, (harmless, source)) in sources.iter().enumerate() {
        let what = if *harmless { "harmless" } else { "attack" };
        writeln!(table, "| {what}: {source} | {} | {} |", by_source[0][at], by_source[1][at])?;
    }
    Ok(table)
}

/// Each family of sources judged by what all others taught.
fn left_out(texts: &[Sample], made_up: &[MadeUp]) -> String {
    let mut table =
        "| flagged, each source left out of the training | attacks | harmless texts |\n|---|---|---|\n".to_owned();
    for family in texts.iter().map(Sample::family).collect::<BTreeSet<&str>>() {
        eprintln!("injection: without {family}");
        let (judged, taught): (Vec<&Sample>, Vec<&Sample>) = texts.iter().partition(|text| text.family() == family);
        let model = model_of(&taught, made_up);
        let found = TrialFound::of(&judged, |text| model.judge(&text.windows).is_suspicious());
        table.push_str(&format!("| {family} | {} | {} |\n", found.attacks, found.harmless));
    }
    table
}

/// Lessons judged by a training that saw neither their frames nor their requests.
fn lessons_left_out(texts: &[Sample], made_up: &[MadeUp]) -> String {
    let sources: BTreeSet<&str> =
        texts.iter().filter(|text| text.framed.is_some()).map(|text| text.source.as_str()).collect();
    let mut judged: Vec<(&Sample, bool)> = Vec::new();
    for (frames, requests) in (0..GROUPS).flat_map(|frames| (0..GROUPS).map(move |requests| (frames, requests))) {
        eprintln!("injection: without frames {frames} and requests {requests}");
        let is_of = |text: &&Sample| {
            text.framed.map(|(frame, request)| (frame % GROUPS == frames, request % GROUPS == requests))
        };
        let taught: Vec<&Sample> =
            texts.iter().filter(|text| is_of(text).is_none_or(|is_of| is_of == (false, false))).collect();
        let model = model_of(&taught, made_up);
        let left_out = texts.iter().filter(|text| is_of(text) == Some((true, true)));
        judged.extend(left_out.map(|text| (text, model.judge(&text.windows).is_suspicious())));
    }
    let of = |is_of: &dyn Fn(&Sample) -> bool| {
        let mut flagged = Flagged::default();
        judged.iter().filter(|(text, _)| is_of(text)).for_each(|(_, is_flagged)| flagged.add(*is_flagged));
        flagged
    };
    let mut table = "| flagged, frame and request both left out | lessons |\n|---|---|\n".to_owned();
    table.push_str(&format!("| **with a hidden instruction** | {} |\n", of(&|text| text.is_attack)));
    table.push_str(&format!("| **harmless** | {} |\n", of(&|text| !text.is_attack)));
    for source in sources {
        table.push_str(&format!("| {source} | {} |\n", of(&|text| text.source == source)));
    }
    table
}

/// Trains on all texts and compares the result with what is committed, or writes it.
fn weights(texts: &[Sample], made_up: &[MadeUp], root: &Path, shipped: ShippedWeights) -> Result<Option<String>> {
    eprintln!("injection: on all texts");
    let made = model_of(&texts.iter().collect::<Vec<_>>(), made_up).to_bytes();
    match shipped {
        ShippedWeights::Write => {
            std::fs::write(root.join(WEIGHTS), made)?;
            Ok(None)
        }
        ShippedWeights::Check if made == SuspicionModel::SHIPPED_BYTES => Ok(None),
        ShippedWeights::Check => {
            Ok(Some(format!("{WEIGHTS} is not what the training gives: run with --write-weights")))
        }
    }
}
