//! How many errors can still be seen when the long result that they are in is offloaded, and how many of the others are found
//! by the pattern that the reference suggests.
//!
//! Errors of each half are planted in carriers of the same half, made up or recorded. Shaping was chosen on half 0 and is checked
//! on half 1, which has other carriers and other errors.

mod recorded;
mod tally;

use std::path::Path;

use anyhow::Result;
use infold_core::{Counter, Family, Mentions, Shape, ShapeRules, ToolResult, reference_text, shape};
use infold_testkit::Rng;
use infold_testkit::planted::{Carrier, PlantedError, PlantedText, TrialHalf, random_place};

use super::ClaimedTables;
use tally::PlantedCounts;

/// How often each error is planted in each carrier.
const PLACES: usize = 2;
const SEED: u64 = 20_260_301;
/// What is claimed of each half: this many of a hundred are visible, and of the others all are found.
const VISIBLE_PERCENT_MIN: f64 = 90.0;
const HANDLE: &str = "res_5b2438e4-96a7-43f7-b051-10a055bb0fbe";
/// What `read_result` answers with if nobody says how much, and at most.
const PAGE_BYTES: usize = 4_096;
const PAGE_BYTES_MAX: usize = 65_536;

/// What became of one error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlantedEnd {
    /// The reference shows it.
    Visible,
    /// The first page that the suggested pattern gives shows it.
    FoundAtOnce,
    /// A later page does.
    Found,
    Lost,
}

/// Plants, shapes and searches, in both halves.
pub(super) fn run(data: &Path) -> Result<ClaimedTables> {
    let (mut tables, mut missed) = (String::new(), Vec::new());
    for (half, name) in [(TrialHalf::Chosen, "half 0, chosen on"), (TrialHalf::Checked, "half 1, checked on")] {
        let tally = tally_of(half, data)?;
        tables.push_str(&tally.tables(name));
        let (visible_percent, lost) = (tally.visible_percent(), tally.lost());
        if visible_percent < VISIBLE_PERCENT_MIN {
            missed.push(format!("{name}: {visible_percent:.1} % are visible, {VISIBLE_PERCENT_MIN} are claimed"));
        }
        if lost > 0 {
            missed.push(format!("{name}: {lost} errors are neither visible nor found"));
        }
    }
    Ok(ClaimedTables { mark: "planted", tables, missed })
}

fn tally_of(half: TrialHalf, data: &Path) -> Result<PlantedCounts> {
    let (errors, mut rng) = (PlantedError::all(half), Rng::new(SEED));
    let mut tally = PlantedCounts::default();
    for carrier in Carrier::all(half) {
        for error in errors.iter().flat_map(|error| [error; PLACES]) {
            let place = random_place(&mut rng);
            let planted = carrier.plant(error, place, &mut rng);
            tally.add(carrier.name, error.name, outcome("query", &planted));
        }
    }
    for text in recorded::texts(half, data)? {
        for error in &errors {
            let place = random_place(&mut rng);
            let planted = infold_testkit::planted::plant_in_lines(&text.text, error, place, &mut rng);
            tally.add(&text.name, error.name, outcome(&text.tool, &planted));
        }
    }
    Ok(tally)
}

fn outcome(tool: &str, planted: &PlantedText) -> PlantedEnd {
    let PlantedText { text, fact } = planted;
    let result = ToolResult { tool, arguments: "{}", text };
    let counter = Counter::new(Family::Claude);
    let Shape::Offload { excerpt } = shape(&result, &Mentions::default(), &ShapeRules::USUAL, counter) else {
        return PlantedEnd::Visible;
    };
    let reference = reference_text(tool, text, HANDLE, &excerpt);
    if reference.contains(fact.as_str()) {
        return PlantedEnd::Visible;
    }
    let suggested = excerpt.lines().rev().find_map(|line| line.strip_prefix("Try pattern \"")?.rsplit_once('"'));
    let Some(pattern) = suggested.and_then(|(pattern, _)| regex::Regex::new(pattern).ok()) else {
        return PlantedEnd::Lost;
    };
    if infold_core::matches(text, &pattern, 1, 0, PAGE_BYTES).content.contains(fact.as_str()) {
        return PlantedEnd::FoundAtOnce;
    }
    let mut next = Some(1);
    while let Some(first) = next {
        let page = infold_core::matches(text, &pattern, first, 0, PAGE_BYTES_MAX);
        if page.content.contains(fact.as_str()) {
            return PlantedEnd::Found;
        }
        next = page.next_offset;
    }
    PlantedEnd::Lost
}
