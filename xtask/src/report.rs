//! Stages with headings and times, and the closing line that counts what they found.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;

/// How many checks passed, failed or were skipped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Checks that hold.
    pub passed: usize,
    /// Checks that do not hold.
    pub failed: usize,
    /// Checks that could not be made here.
    pub skipped: usize,
}

impl Totals {
    /// The totals of a single check that holds.
    pub fn one_passed() -> Self {
        Self { passed: 1, ..Self::default() }
    }

    /// The totals of a single check that does not.
    pub fn one_failed() -> Self {
        Self { failed: 1, ..Self::default() }
    }

    /// Adds the counts of another part.
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

/// The counts of all stages so far, and what failed or was left out.
#[derive(Debug, Default)]
pub struct Report {
    totals: Totals,
    failures: Vec<String>,
    skips: Vec<String>,
}

impl Report {
    /// Runs a stage under its heading. A stage that cannot be run counts as one failure, and the
    /// next stage still runs, so that one run shows everything that is wrong.
    pub fn stage(&mut self, name: &str, stage: impl FnOnce() -> Result<Totals>) {
        println!("\n==> {name}");
        let started = Instant::now();
        let totals = stage().unwrap_or_else(|error| {
            println!("error: {error:#}");
            Totals::one_failed()
        });
        let seconds = started.elapsed().as_secs_f64();
        let Totals { passed, failed, skipped } = totals;
        println!("--> {name}: {passed} passed, {failed} failed, {skipped} skipped in {seconds:.1} s");
        if failed > 0 {
            self.failures.push(name.to_owned());
        }
        self.totals.add(totals);
    }

    /// Leaves a stage out, and says why.
    pub fn skip(&mut self, name: &str, why: &str) {
        println!("\n==> {name}\nskipped: {why}");
        self.skips.push(format!("{name}: {why}"));
        self.totals.skipped += 1;
    }

    /// Names at the end what a stage has left out, and counted itself.
    pub fn name_skips(&mut self, skips: Vec<String>) {
        self.skips.extend(skips);
    }

    /// Names what failed and what was left out, and closes with the line that counts.
    pub fn finish(self) -> ExitCode {
        println!();
        for skip in &self.skips {
            println!("skipped {skip}");
        }
        for failure in &self.failures {
            println!("failed in {failure}");
        }
        let Totals { passed, failed, skipped } = self.totals;
        println!("{passed} passed, {failed} failed, {skipped} skipped");
        if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// Reads the counts out of a line that cargo's test harness closes a test binary with.
pub fn harness_totals(line: &str) -> Option<Totals> {
    let counts = line.strip_prefix("test result: ")?;
    let count = |label: &str| -> usize {
        let words: Vec<&str> = counts.split([' ', ';', '.']).filter(|word| !word.is_empty()).collect();
        let at = words.iter().position(|word| *word == label);
        at.and_then(|at| words.get(at.checked_sub(1)?)?.parse().ok()).unwrap_or(0)
    };
    Some(Totals { passed: count("passed"), failed: count("failed"), skipped: count("ignored") })
}

/// Reads the line that a report closes with: `3 passed, 0 failed, 1 skipped`.
pub fn closing_totals(line: &str) -> Option<Totals> {
    let parts = ["passed", "failed", "skipped"].into_iter().zip(line.split(", "));
    let mut counts = parts.map(|(label, part)| part.strip_suffix(label)?.trim().parse().ok());
    Some(Totals { passed: counts.next()??, failed: counts.next()??, skipped: counts.next()?? })
}

/// Reads one line of a client script: `ok NAME`, or `not ok NAME: why`.
pub fn script_totals(line: &str) -> Totals {
    if line.starts_with("ok ") {
        Totals::one_passed()
    } else if line.starts_with("not ok ") {
        Totals::one_failed()
    } else {
        Totals::default()
    }
}

#[cfg(test)]
mod tests;
