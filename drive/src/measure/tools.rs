//! How well tools are found by a query, beside plain BM25 in the same run, and how long it takes.
//!
//! R@k is the mean share of a query's gold groups that have a tool among the first k. The queries of each set are split by
//! a hash: figures of the search were chosen on half 0 and checked on half 1.

mod plain;
mod sample;

use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use infold_core::gateway::{SearchedTool, ToolIndex};

use super::ClaimedTables;
use super::parts::half_of;
use super::resample::ResampledMean;
use plain::PlainIndex;
use sample::{ToolQuery, ToolSet};

/// A set of tools, and what is claimed of R@5 on it.
struct SetClaim {
    file: &'static str,
    name: &'static str,
    recall_at_5_min: f64,
}

const SETS: [SetClaim; 4] = [
    SetClaim { file: "LiveMCPBench_step_tool", name: "LiveMCPBench, steps", recall_at_5_min: 0.70 },
    SetClaim {
        file: "LiveMCPBench_step_tool_2_8k_MCP_Zero_distractors",
        name: "the same among those of MCP-Zero",
        recall_at_5_min: 0.64,
    },
    SetClaim { file: "Seal_Tools_test_in_domain", name: "Seal-Tools, in domain", recall_at_5_min: 0.90 },
    SetClaim { file: "BFCL_v4_pooled", name: "BFCL v4, pooled", recall_at_5_min: 0.0 },
];

/// The ks of R@k.
const FIRST: [usize; 3] = [1, 5, 10];
/// What is claimed of the slowest set: milliseconds that 99 of 100 queries take at most.
const QUERY_MS_MAX: f64 = 2.0;
/// How often each query is timed. On a machine that has other work to do, a single run may have to wait for a processor.
const PASSES: usize = 5;
const HOSTILE_BYTES: usize = 1 << 20;

/// Measures the search; `None` where there are no sets of tools.
pub(super) fn run(data: &Path) -> Result<Option<ClaimedTables>> {
    let mut recalls = format!(
        "| R@1, R@5, R@10 | tools | queries | plain BM25 | infold | infold more by (95 % of resamples) |\n{}",
        "|---|---|---|---|---|---|\n"
    );
    let mut times =
        "| ms a query | tools | median | 99 of 100 below | slowest run | 1 MB of words | making the index |\n\
                     |---|---|---|---|---|---|---|\n"
            .to_owned();
    let mut missed = Vec::new();
    for claim in &SETS {
        let Some(set) = ToolSet::read(&data.join("tools").join(format!("{}.json.gz", claim.file)))? else {
            return Ok(None);
        };
        let run = SetRun::of(&set);
        recalls.push_str(&run.rows(claim.name, &set));
        writeln!(times, "| {} | {} | {} |", claim.name, set.tools.len(), run.times)?;
        missed.extend(run.missed(claim));
    }
    Ok(Some(ClaimedTables { mark: "tools", tables: format!("{recalls}\n{times}"), missed }))
}

/// What one set gave.
struct SetRun {
    /// For each query and each k, the share of its gold groups that plain BM25 found, and that infold found.
    shares: Vec<[(f64, f64); FIRST.len()]>,
    times: QueryTimes,
}

impl SetRun {
    fn of(set: &ToolSet) -> Self {
        let began = Instant::now();
        let index = ToolIndex::of(set.tools.iter().map(|tool| SearchedTool {
            name: &tool.name,
            server: &tool.server,
            description: &tool.desc,
            schema: &tool.schema,
        }));
        let making = began.elapsed();
        let plain = PlainIndex::of(&set.tools);
        let most = FIRST[FIRST.len() - 1];

        let shares = set.queries.iter().map(|query| {
            let ours: Vec<usize> = index.find(&query.q, most).iter().map(|hit| hit.tool).collect();
            let theirs = plain.find(&query.q, most);
            FIRST.map(|first| (query.share(&theirs, first), query.share(&ours, first)))
        });
        let shares = shares.collect();
        Self { shares, times: QueryTimes::new(taken(&index, set), hostile(&index, set), making) }
    }

    /// The rows of all queries and of each half.
    fn rows(&self, name: &str, set: &ToolSet) -> String {
        let row = |name: &str, tools: &str, of: &dyn Fn(&ToolQuery) -> bool| {
            let queries = set.queries.iter().zip(&self.shares).filter(|(query, _)| of(query));
            let shares: Vec<_> = queries.map(|(_, shares)| *shares).collect();
            let means: Vec<(f64, f64)> = (0..FIRST.len()).map(|at| means(&shares, at)).collect();
            let theirs: Vec<String> = means.iter().map(|(theirs, _)| format!("{theirs:.3}")).collect();
            let ours: Vec<String> = means.iter().map(|(_, ours)| format!("{ours:.3}")).collect();
            let gains: Vec<String> = (0..FIRST.len()).map(|at| gain(&shares, at)).collect();
            format!(
                "| {name} | {tools} | {} | {} | {} | {} |\n",
                shares.len(),
                theirs.join(", "),
                ours.join(", "),
                gains.join(", ")
            )
        };
        let half = |half: u64| row(&format!("– half {half}"), "", &|query| half_of(&query.q) == half);
        row(&format!("**{name}**"), &set.tools.len().to_string(), &|_| true) + &half(0) + &half(1)
    }

    fn missed(&self, claim: &SetClaim) -> Vec<String> {
        let SetClaim { name, recall_at_5_min, .. } = claim;
        let mut missed = Vec::new();
        for (at, first) in FIRST.iter().enumerate() {
            let (theirs, ours) = means(&self.shares, at);
            if ours <= theirs {
                missed.push(format!("{name}: R@{first} is {ours:.3}, plain BM25 has {theirs:.3}"));
            }
            if *first == 5 && ours < *recall_at_5_min {
                missed.push(format!("{name}: R@5 is {ours:.3}, {recall_at_5_min} are claimed"));
            }
        }
        if self.times.nearly_all_ms >= QUERY_MS_MAX {
            let taken_ms = self.times.nearly_all_ms;
            missed.push(format!("{name}: a query takes {taken_ms:.2} ms, less than {QUERY_MS_MAX} are claimed"));
        }
        missed
    }
}

/// The mean shares of plain BM25 and of infold.
fn means(shares: &[[(f64, f64); FIRST.len()]], at: usize) -> (f64, f64) {
    let count = shares.len().max(1) as f64;
    let sum = |of: fn(&(f64, f64)) -> f64| shares.iter().map(|shares| of(&shares[at])).sum::<f64>() / count;
    (sum(|(theirs, _)| *theirs), sum(|(_, ours)| *ours))
}

/// By how much infold finds more, with the range that 95 of 100 resamples of the queries give.
fn gain(shares: &[[(f64, f64); FIRST.len()]], at: usize) -> String {
    let gains: Vec<f64> = shares.iter().map(|shares| shares[at].1 - shares[at].0).collect();
    let ResampledMean { mean, low, high } = ResampledMean::of(&gains);
    format!("{mean:+.3} ({low:+.2} to {high:+.2})")
}

/// What each query takes in each pass. A pass goes over all queries, so that none finds its own words at hand.
fn taken(index: &ToolIndex, set: &ToolSet) -> Vec<[Duration; PASSES]> {
    let mut taken = vec![[Duration::ZERO; PASSES]; set.queries.len()];
    for pass in 0..PASSES {
        for (query, taken) in set.queries.iter().zip(&mut taken) {
            let began = Instant::now();
            std::hint::black_box(index.find(&query.q, FIRST[FIRST.len() - 1]));
            taken[pass] = began.elapsed();
        }
    }
    taken
}

/// What a query of 1 MB takes that is made of the words of all queries.
fn hostile(index: &ToolIndex, set: &ToolSet) -> Duration {
    let mut query = String::new();
    for one in set.queries.iter().cycle().take_while(|_| !set.queries.is_empty()) {
        if query.len() >= HOSTILE_BYTES {
            break;
        }
        query.push_str(&one.q);
        query.push(' ');
    }
    let began = Instant::now();
    std::hint::black_box(index.find(&query, 10));
    began.elapsed()
}

/// How long queries took, in milliseconds.
struct QueryTimes {
    /// Of each query's median over the passes: what half of the queries, and what 99 of 100, take at most.
    median_ms: f64,
    nearly_all_ms: f64,
    /// The slowest single run, waiting for a processor and all.
    slowest_ms: f64,
    hostile_ms: f64,
    making_ms: f64,
}

impl QueryTimes {
    fn new(mut taken: Vec<[Duration; PASSES]>, hostile: Duration, making: Duration) -> Self {
        let ms = |taken: Duration| taken.as_secs_f64() * 1_000.0;
        let slowest = taken.iter().flatten().max().copied().unwrap_or_default();
        taken.iter_mut().for_each(|passes| passes.sort_unstable());
        let mut medians: Vec<Duration> = taken.iter().map(|passes| passes[PASSES / 2]).collect();
        medians.sort_unstable();
        let at = |percent: usize| medians.get(medians.len() * percent / 100).copied().map_or(0.0, ms);
        let (median_ms, nearly_all_ms) = (at(50), at(99));
        Self { median_ms, nearly_all_ms, slowest_ms: ms(slowest), hostile_ms: ms(hostile), making_ms: ms(making) }
    }
}

impl std::fmt::Display for QueryTimes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { median_ms, nearly_all_ms, slowest_ms, hostile_ms, making_ms } = self;
        write!(f, "{median_ms:.2} | {nearly_all_ms:.2} | {slowest_ms:.2} | {hostile_ms:.2} | {making_ms:.0}")
    }
}

#[cfg(test)]
mod tests;
