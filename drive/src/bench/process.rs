//! What a process and its children use: time on a processor, and memory.

use std::collections::HashMap;
use std::fs;

use anyhow::{Context, Result};

/// The kernel counts processor time in hundredths of a second, whatever the machine.
const TICKS_PER_SECOND: f64 = 100.0;

/// A process by its id. What its children use counts as its own.
#[derive(Debug, Clone, Copy)]
pub struct Process(pub u32);

impl Process {
    /// Processor time so far, in milliseconds: user and system, with that of all its descendants.
    pub fn cpu_ms(self) -> Result<f64> {
        let ticks: u64 = self.family()?.into_iter().filter_map(|pid| ticks(pid).ok()).sum();
        Ok(ticks as f64 / TICKS_PER_SECOND * 1_000.0)
    }

    /// The memory that is in RAM, in units of 1,048,576 bytes, with that of its children.
    pub fn resident_mb(self) -> Result<f64> {
        Ok(self.family()?.into_iter().filter_map(|pid| resident_mb(pid).ok()).sum())
    }

    /// The most memory that was in RAM at any time, in units of 1,048,576 bytes, with the most of each of its children.
    pub fn peak_mb(self) -> Result<f64> {
        Ok(self.family()?.into_iter().filter_map(|pid| memory_mb(pid, "VmHWM:").ok()).sum())
    }

    fn family(self) -> Result<Vec<u32>> {
        let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
        for entry in fs::read_dir("/proc")? {
            let name = entry?.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
            // A process that ended since it was listed is left out.
            if let Ok(fields) = stat(pid) {
                let parent = fields.get(1).and_then(|parent| parent.parse().ok()).unwrap_or(0);
                children.entry(parent).or_default().push(pid);
            }
        }
        let mut family = vec![self.0];
        let mut at = 0;
        while let Some(pid) = family.get(at) {
            family.extend(children.remove(pid).unwrap_or_default());
            at += 1;
        }
        Ok(family)
    }
}

/// The fields of `/proc/PID/stat` from the third on: the second, the name, may hold anything.
fn stat(pid: u32) -> Result<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (_, fields) = stat.rsplit_once(") ").context("an odd /proc")?;
    Ok(fields.split(' ').map(str::to_owned).collect())
}

fn ticks(pid: u32) -> Result<u64> {
    let fields = stat(pid)?;
    let field = |at: usize| -> Result<u64> { Ok(fields.get(at).context("an odd /proc")?.parse()?) };
    Ok(field(11)? + field(12)?)
}

/// The memory of one process that is in RAM, in units of 1,048,576 bytes.
pub fn resident_mb(pid: u32) -> Result<f64> {
    memory_mb(pid, "VmRSS:")
}

fn memory_mb(pid: u32, field: &str) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|line| line.trim().split(' ').next()).with_context(|| format!("no {field} in /proc"))?;
    Ok(kib.parse::<f64>()? / 1024.0)
}
