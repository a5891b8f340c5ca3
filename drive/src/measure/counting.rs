//! How far infold's token counts are from the providers', on recorded sessions.
//!
//! Three things are measured. The weights that the program has, through the program. Weights that are fitted without the
//! project (for GPT: the session) that they are tried on, which is what the program's would do elsewhere. And a session
//! that learns from what its provider reports, request by request.

mod fit;
mod online;
mod program;
mod samples;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use anyhow::Result;
use infold_core::Family;

use super::ClaimedTables;
use fit::FittedWeights;
use samples::Sample;

/// What is claimed: the median error of counts by weights that were fitted elsewhere, in percent.
const ERROR_PERCENT_MAX: [(Family, f64); 3] = [(Family::Gpt, 1.0), (Family::Claude, 7.0), (Family::ClaudeNew, 5.0)];

/// Measures counting; `None` where there are no recorded pieces.
pub(super) fn run(data: &Path, program: &Path) -> Result<Option<ClaimedTables>> {
    let Some(mut samples) = samples::of_claude(data)? else { return Ok(None) };
    let sessions = samples::of_sessions(data)?;
    let gpt = sessions.iter().flatten().filter(|sample| sample.family() == Family::Gpt);
    samples.extend(gpt.cloned());
    let counted = program::counted(program, &samples)?;
    let measured: Vec<Measured<'_>> = samples.iter().zip(counted).map(Measured::new).collect();

    let mut tables =
        "| median error, % (nine in ten below; bias of the sum) | pieces | as the program counts | fitted \
                      without it |\n|---|---|---|---|\n"
            .to_owned();
    let mut missed = Vec::new();
    for (family, percent_max) in ERROR_PERCENT_MAX {
        let (rows, error_percent) = family_rows(family, &measured);
        tables.push_str(&rows);
        if error_percent > percent_max {
            missed.push(format!("{family}: the median error is {error_percent:.1} %, not at most {percent_max}"));
        }
    }
    let weights = |sample: &Sample| fitted(sample.family(), &measured, |other| !is_left_out(other, sample));
    let (biases, more_missed) = online::table(&sessions, weights);
    missed.extend(more_missed);
    tables.push_str(&biases);
    tables.push_str(&weights_table(&measured));
    Ok(Some(ClaimedTables { mark: "counting", tables, missed }))
}

/// A sample with what is fitted to, and what the program counts in it.
struct Measured<'a> {
    sample: &'a Sample,
    numbers: Vec<f64>,
    counted: f64,
}

impl<'a> Measured<'a> {
    fn new((sample, counted): (&'a Sample, f64)) -> Self {
        Self { sample, numbers: fit::numbers(sample.family(), &sample.size()), counted }
    }
}

/// Whether a sample has no part in the fit that another is tried on: that of its project, or of its session where all
/// sessions are of one project.
fn is_left_out(sample: &Sample, tried: &Sample) -> bool {
    match tried.family() {
        Family::Gpt => sample.session == tried.session,
        Family::Claude | Family::ClaudeNew => sample.source == tried.source,
    }
}

fn fitted(family: Family, all: &[Measured<'_>], is_part: impl Fn(&Sample) -> bool) -> FittedWeights {
    let part = all.iter().filter(|one| one.sample.family() == family && is_part(one.sample));
    let rows: Vec<(&[f64], f64)> = part.map(|one| (one.numbers.as_slice(), one.sample.theirs_tokens)).collect();
    fit::fit(family, &rows)
}

/// The rows of one family, and the median error of weights that were fitted elsewhere.
fn family_rows(family: Family, all: &[Measured<'_>]) -> (String, f64) {
    let of_family: Vec<&Measured<'_>> = all.iter().filter(|one| one.sample.family() == family).collect();
    let mut tried: Vec<(&Measured<'_>, f64)> = Vec::new();
    let folds = groups(&of_family, |one| match family {
        Family::Gpt => one.sample.session.clone(),
        Family::Claude | Family::ClaudeNew => Some(one.sample.source.clone()),
    });
    for part in folds.values() {
        let Some(first) = part.first() else { continue };
        let weights = fitted(family, all, |other| !is_left_out(other, first.sample));
        tried.extend(part.iter().map(|one| (*one, fit::counted(&weights, &one.numbers))));
    }
    let row = |name: &str, tried: &[(&Measured<'_>, f64)]| {
        let program = Errors::of(tried.iter().map(|(one, _)| (one.counted, one.sample.theirs_tokens)));
        let elsewhere = Errors::of(tried.iter().map(|(one, counted)| (*counted, one.sample.theirs_tokens)));
        (format!("| {name} | {} | {program} | {elsewhere} |\n", tried.len()), elsewhere.median_percent)
    };
    let (mut rows, error_percent) = row(&format!("**{family}**"), &tried);
    for (name, tried) in groups(&tried, |(one, _)| format!("{}, {}", one.sample.source, one.sample.model)) {
        rows.push_str(&row(&name, &tried).0);
    }
    (rows, error_percent)
}

/// Groups by name, in the order of names.
fn groups<K: Ord, T: Clone>(all: &[T], name: impl Fn(&T) -> K) -> BTreeMap<K, Vec<T>> {
    let mut groups: BTreeMap<K, Vec<T>> = BTreeMap::new();
    for one in all {
        groups.entry(name(one)).or_default().push(one.clone());
    }
    groups
}

/// The weights fitted to all samples, as the program should have them.
fn weights_table(all: &[Measured<'_>]) -> String {
    let mut text = "\n| fitted to all pieces | thousandths of a token |\n|---|---|\n".to_owned();
    for family in Family::ALL {
        let weights = fitted(family, all, |_| true);
        let weights = fit::names(family).iter().zip(weights);
        let named: Vec<String> = weights.map(|(name, weight)| format!("{name} {:.0}", weight * 1_000.0)).collect();
        text.push_str(&format!("| {family} | {} |\n", named.join(", ")));
    }
    text
}

/// How far counts are off, in percent.
#[derive(Debug, Clone, Copy)]
struct Errors {
    median_percent: f64,
    nine_in_ten_percent: f64,
    /// By how much the sum of all counts is off.
    bias_percent: f64,
}

impl Errors {
    fn of(counts: impl Iterator<Item = (f64, f64)>) -> Self {
        let (mut off, mut ours_sum, mut theirs_sum) = (Vec::new(), 0.0, 0.0);
        for (ours, theirs) in counts {
            off.push((ours / theirs - 1.0).abs() * 100.0);
            ours_sum += ours;
            theirs_sum += theirs;
        }
        off.sort_by(f64::total_cmp);
        let at = |share: f64| off.get((off.len() as f64 * share) as usize).copied().unwrap_or_default();
        let bias_percent = (ours_sum / theirs_sum - 1.0) * 100.0;
        Self { median_percent: at(0.5), nine_in_ten_percent: at(0.9), bias_percent }
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} ({:.0}; {:+.1})", self.median_percent, self.nine_in_ten_percent, self.bias_percent)
    }
}
