//! The proxy of an old program beside that of a new one: what the same requests cost each.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

use super::load::{self, Size, Target};
use super::{FIRST_SIGHTS, KIB, LARGEST_BYTES, start};
use crate::bench::figures::Table;
use crate::bench::process::Process;
use crate::bench::turns::{Both, Ratios};
use crate::upstream::{Keep, Upstream};

/// Sessions that go on, so many that each size takes a second or so of processor time: the kernel counts in hundredths.
const SIZES: [Size; 3] = [
    Size { name: "2 KB", bytes: 2 * KIB, sessions: 60, turns: 30 },
    Size { name: "100 KB", bytes: 100 * KIB, sessions: 40, turns: 10 },
    Size { name: "500 KB", bytes: LARGEST_BYTES, sessions: 20, turns: 8 },
];

/// Measures, and fails when the new program uses more.
pub async fn run(old: &Path, new: &Path, pairs: usize) -> Result<ExitCode> {
    let upstream = Upstream::start(Keep::Nothing).await?;
    let mut ratios = Ratios::default();
    for pair in 1..=pairs.max(1) {
        let ((_one, old), (_other, new)) = (start(old, &upstream).await?, start(new, &upstream).await?);
        turn(Both { old, new }, &mut ratios).await?;
        eprintln!("pair {pair} of {pairs}: done");
    }
    let mut table = Table::default();
    ratios.hold(&mut table);
    Ok(table.finish())
}

async fn turn(both: Both<Target>, ratios: &mut Ratios) -> Result<()> {
    for size in SIZES {
        let old = load::going_on(&both.old, size).await?.cpu_ms;
        let new = load::going_on(&both.new, size).await?.cpu_ms;
        ratios.add(&format!("{}, processor time a request", size.name), Both { old, new });
    }
    let old = load::first_sight(&both.old, "first", LARGEST_BYTES, FIRST_SIGHTS).await?.cpu_ms;
    let new = load::first_sight(&both.new, "first", LARGEST_BYTES, FIRST_SIGHTS).await?.cpu_ms;
    ratios.add("500 KB seen for the first time, processor time", Both { old, new });
    let process = |target: &Target| target.process.unwrap_or(Process(0));
    ratios.add_memory(Both { old: process(&both.old), new: process(&both.new) })
}
