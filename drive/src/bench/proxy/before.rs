//! Compares the proxy of an old program with that of a new one: what the same requests cost each of them.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};

use super::load::{LoadWay, Size, Target};
use super::talk::Talk;
use super::{FIRST_REQUESTS, KIB, LARGEST_BYTES, start};
use crate::bench::figures::Table;
use crate::bench::process::Process;
use crate::bench::turns::{Both, Ratios};
use crate::upstream::{RecordingUpstream, Retention};

/// So many sessions that each size takes a second or so of processor time: the kernel counts in hundredths.
const SIZES: [Size; 3] = [
    Size { name: "2 KB", bytes: 2 * KIB, sessions: 100, turns: 20 },
    Size { name: "100 KB", bytes: 100 * KIB, sessions: 50, turns: 10 },
    Size { name: "500 KB", bytes: LARGEST_BYTES, sessions: 20, turns: 10 },
];

/// Measures both programs; the exit code is a failure when the new one uses more than it may.
pub async fn run(old: &Path, new: &Path, pairs: usize) -> Result<ExitCode> {
    let upstream = RecordingUpstream::start(Retention::None).await?;
    let mut ratios = Ratios::default();
    for pair in 1..=pairs.max(1) {
        let ((_one, old), (_other, new)) = (start(old, &upstream).await?, start(new, &upstream).await?);
        turns(&Both { old, new }, &mut ratios).await?;
        eprintln!("pair {pair} of {pairs}: done");
    }
    let mut table = Table::default();
    ratios.hold(&mut table);
    Ok(table.finish())
}

async fn turns(both: &Both<Target>, ratios: &mut Ratios) -> Result<()> {
    for size in SIZES {
        let mut old = ProxySide::start(&both.old, size).await?;
        let mut new = ProxySide::start(&both.new, size).await?;
        let mut used_ms = Both { old: 0.0, new: 0.0 };
        for turn in 0..size.turns {
            // Whoever comes second may find a busier machine than the first did, so they take turns in that, too.
            if turn % 2 == 0 {
                used_ms.old += old.turn().await?;
                used_ms.new += new.turn().await?;
            } else {
                used_ms.new += new.turn().await?;
                used_ms.old += old.turn().await?;
            }
        }
        ratios.add(&format!("{}, processor time a request", size.name), used_ms);
    }
    let old = first_requests(&both.old).await?;
    let new = first_requests(&both.new).await?;
    ratios.add("500 KB seen for the first time, processor time", Both { old, new });
    ratios.add_memory(Both { old: process(&both.old)?, new: process(&both.new)? })
}

/// Sessions that go through one of the two programs.
struct ProxySide {
    way: LoadWay,
    process: Process,
    talks: Vec<Talk>,
}

impl ProxySide {
    /// Starts the sessions and sends the first request of each, which is not measured.
    async fn start(target: &Target, size: Size) -> Result<Self> {
        let way = LoadWay::new(target)?;
        let mut talks = Vec::new();
        for number in 0..size.sessions {
            let talk = Talk::of_bytes(format!("turn-{}-{number}", size.bytes), size.bytes);
            way.send(&talk).await?;
            talks.push(talk);
        }
        Ok(Self { way, process: process(target)?, talks })
    }

    /// Sends the next request of every session, and returns the processor time in milliseconds that it took.
    async fn turn(&mut self) -> Result<f64> {
        let before_ms = self.process.cpu_ms()?;
        for talk in &mut self.talks {
            talk.turn();
            self.way.send(talk).await?;
        }
        Ok(self.process.cpu_ms()? - before_ms)
    }
}

async fn first_requests(target: &Target) -> Result<f64> {
    Ok(super::load::first_requests(target, "first", LARGEST_BYTES, FIRST_REQUESTS).await?.cpu_ms)
}

fn process(target: &Target) -> Result<Process> {
    target.process.context("a program has a process")
}
