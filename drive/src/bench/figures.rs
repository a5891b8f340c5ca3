//! Latencies and the table that holds them against their targets.

use std::process::ExitCode;
use std::time::Duration;

#[cfg(test)]
mod tests;

/// Latencies of one kind of work, from which percentiles are read.
#[derive(Debug, Default)]
pub struct Latencies {
    sorted_ms: Vec<f64>,
}

impl Latencies {
    /// Takes latencies in any order.
    pub fn new(durations: impl IntoIterator<Item = Duration>) -> Self {
        let mut sorted_ms: Vec<f64> = durations.into_iter().map(|duration| duration.as_secs_f64() * 1_000.0).collect();
        sorted_ms.sort_by(f64::total_cmp);
        Self { sorted_ms }
    }

    pub fn count(&self) -> usize {
        self.sorted_ms.len()
    }

    /// The latency that `percent` of all stay at or below; NaN if there are none.
    pub fn percentile_ms(&self, percent: f64) -> f64 {
        let rank = (percent / 100.0 * self.sorted_ms.len() as f64).ceil() as usize;
        self.sorted_ms.get(rank.max(1) - 1).copied().unwrap_or(f64::NAN)
    }

    pub fn median_ms(&self) -> f64 {
        self.percentile_ms(50.0)
    }
}

/// A table of measurements, some of which have targets.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    name: String,
    value: String,
    target: String,
    verdict: &'static str,
}

impl Table {
    /// Adds a measurement that is there to be read.
    pub fn show(&mut self, name: &str, value: String) {
        self.rows.push(Row { name: name.to_owned(), value, target: String::new(), verdict: "" });
    }

    /// Adds a measurement that must not exceed its target. One that is not a number does not meet it.
    pub fn hold(&mut self, name: &str, value: f64, target_max: f64, unit: &str) {
        let verdict = if value <= target_max { "met" } else { "MISSED" };
        self.rows.push(Row {
            name: name.to_owned(),
            value: format!("{value:.2}{unit}"),
            target: format!("at most {target_max}{unit}"),
            verdict,
        });
    }

    /// The table in Markdown.
    pub fn markdown(&self) -> String {
        let mut text = "| what | measured | target | verdict |\n|---|---|---|---|\n".to_owned();
        for Row { name, value, target, verdict } in &self.rows {
            text.push_str(&format!("| {name} | {value} | {target} | {verdict} |\n"));
        }
        text
    }

    /// Prints the table, and fails if a target was missed.
    pub fn finish(&self) -> ExitCode {
        let name_width = self.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
        for Row { name, value, target, verdict } in &self.rows {
            let line = format!("{name:<name_width$}  {value:>12}  {target:<18} {verdict}");
            println!("{}", line.trim_end());
        }
        self.verdict()
    }

    /// Fails if a target was missed.
    pub fn verdict(&self) -> ExitCode {
        let missed = self.rows.iter().any(|row| row.verdict == "MISSED");
        if missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}
