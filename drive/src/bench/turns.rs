//! An old program and a new one take turns with the same work, so that whatever else the machine does affects both.
//!
//! Compared are processor time and memory of the programs themselves, as ratios of new to old. Each pair of turns has a
//! ratio; the one in the middle counts, and the spread says how much it is worth.

use anyhow::Result;

use super::figures::Table;
use super::process::Process;

#[cfg(test)]
mod tests;

/// The new program may use this many times what the old one uses.
const RATIO_MAX: f64 = 1.05;

/// The arguments that compare two programs, for every measurement that can.
#[derive(Debug, clap::Args)]
pub struct TurnArguments {
    /// Measure nothing but this older program and the new one, taking turns, and compare them.
    #[arg(long, value_name = "PATH")]
    pub before: Option<std::path::PathBuf>,
    /// With --before: how many turns each of them has.
    #[arg(long, default_value_t = 7, value_name = "TURNS")]
    pub pairs: usize,
}

/// One value for each of the two programs.
#[derive(Debug, Clone, Copy)]
pub struct Both<T> {
    pub old: T,
    pub new: T,
}

/// The ratios of all pairs of turns, by what was measured.
#[derive(Debug, Default)]
pub struct Ratios {
    rows: Vec<(String, Vec<f64>)>,
}

impl Ratios {
    /// Adds what both programs used in a pair of turns.
    pub fn add(&mut self, what: &str, used: Both<f64>) {
        let ratio = used.new / used.old;
        match self.rows.iter_mut().find(|(name, _)| name == what) {
            Some((_, ratios)) => ratios.push(ratio),
            None => self.rows.push((what.to_owned(), vec![ratio])),
        }
    }

    /// Adds the memory that both have in RAM now.
    pub fn add_memory(&mut self, processes: Both<Process>) -> Result<()> {
        let used = Both { old: processes.old.resident_mb()?, new: processes.new.resident_mb()? };
        self.add("memory (RSS) at the end", used);
        Ok(())
    }

    /// Adds the median ratio of everything measured to the table, with what is allowed.
    pub fn hold(self, table: &mut Table) {
        for (what, mut ratios) in self.rows {
            ratios.sort_by(f64::total_cmp);
            let middle = ratios.len() / 2;
            let median = match ratios.len() % 2 {
                0 => (ratios[middle - 1] + ratios[middle]) / 2.0,
                _ => ratios[middle],
            };
            let (least, most) = (ratios[0], ratios[ratios.len() - 1]);
            let name = format!("{what}, new / old ({least:.2} to {most:.2} in {} pairs)", ratios.len());
            table.hold(&name, median, RATIO_MAX, "×");
        }
    }
}
