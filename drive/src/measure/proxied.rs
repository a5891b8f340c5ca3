//! Plays recorded sessions through a running daemon, and measures what really reached the provider.
//!
//! Three times, each with a daemon of its own: with shaping off, where nothing may change; with shaping on; and
//! with recorded sub-tasks as branches. The figures of the first two are taken as `infold-replay` takes them.

mod broken;
pub(crate) mod client;
pub(crate) mod folding;
mod received;
mod session;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, bail};
use infold_core::transcript::Transcript;
use infold_testkit::{Daemon, DaemonSetup, Era, McpHttp};
use tokio::task::JoinSet;

use super::parts::{self, RecordedSession, SessionGroup};
use super::{claims, tables};
use crate::upstream::{RecordingUpstream, Retention};
use folding::Folded;
use session::{PlayWay, Seen};

/// With shaping off, one session in this many is played.
const PLAIN_STEP: usize = 4;
/// How many more cache writes there may be where nothing but secrets is replaced.
const PLAIN_WRITES_MAX_PERCENT: f64 = 0.01;
/// Sessions that are played at once.
const WORKERS: usize = 2;
/// What folding saves at least, in percent of the bill.
const FOLDING_SAVES_PERCENT_MIN: f64 = 34.3;
/// By how many points the figures of what reached the provider may differ from those of the replay.
const REPLAY_DIFFERS_MAX: f64 = 1.5;

/// What the three runs measured.
#[derive(Debug)]
pub struct Proxied {
    plain: Group,
    shaped: Group,
    /// What shaping did in each part of the sessions.
    parts: Vec<SessionGroup>,
    folded: Folded,
}

/// What was seen of several sessions, together and of each.
#[derive(Debug, Default)]
struct Group {
    all: Seen,
    each: Vec<Seen>,
}

impl Group {
    fn add(&mut self, seen: Seen) {
        self.all.add(&seen);
        self.each.push(seen);
    }
}

pub type Sessions = Vec<Arc<RecordedSession>>;

/// Plays the sessions through daemons of this program.
pub fn run(program: &Path, sessions: &Sessions) -> Result<Proxied> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        eprintln!("through the proxy, shaping off");
        let some = sessions.iter().step_by(PLAIN_STEP).cloned().collect();
        let plain = group(MeasureStage::start(program, &[("proxy.shape", "false")]).await?, some).await?;
        eprintln!("through the proxy, shaping on");
        let shaped = group(MeasureStage::start(program, &[("proxy.shape", "true")]).await?, sessions.clone()).await?;
        eprintln!("through the proxy, sub-tasks as branches");
        let stage = MeasureStage::start(program, &[("proxy.shape", "false")]).await?;
        let folded = each(stage, sessions.clone(), Job::Fold).await?;
        let mut sum = Folded::default();
        folded.into_iter().for_each(|done| match done {
            Done::Folded(folded) => sum.add(&folded),
            Done::Seen(_) | Done::Nothing => {}
        });
        let recordings: Vec<&RecordedSession> = sessions.iter().map(|session| &**session).collect();
        let came_to = |name: &str| {
            let seen = shaped.each.iter().find(|seen| seen.name == name)?;
            Some((seen.was.clone(), seen.now.clone()))
        };
        let parts = parts::parts(&recordings, came_to);
        Ok(Proxied { plain, shaped, parts, folded: sum })
    })
}

/// A daemon, the provider behind it, and clients of the daemon for HTTP and MCP.
struct MeasureStage {
    daemon: Daemon,
    upstream: RecordingUpstream,
    http: reqwest::Client,
    mcp: McpHttp,
}

impl MeasureStage {
    async fn start(program: &Path, settings: &[(&str, &str)]) -> Result<Self> {
        let upstream = RecordingUpstream::start(Retention::Last).await?;
        let url = upstream.base_url();
        // No limit may rescue, fold or refuse anything, so that only shaping and folding change what is measured.
        let always = [
            ("proxy.anthropic.upstream", url.as_str()),
            ("proxy.openai.upstream", url.as_str()),
            ("windows.models", "[[\"*\", 1000000000]]"),
            ("folding.default_budget", "100000000"),
            ("folding.max_budget", "100000000"),
            ("folding.default_timeout_seconds", "86400"),
            ("folding.max_timeout_seconds", "86400"),
            ("folding.max_concurrent_per_session", "100"),
            ("folding.max_concurrent_per_instance", "1000"),
            ("folding.max_branches_per_minute", "100000"),
            ("store.synchronous", "normal"),
        ];
        let setup =
            always.iter().chain(settings).fold(DaemonSetup::new(program), |setup, (key, value)| setup.set(key, value));
        let daemon = setup.start().await?;
        let http = reqwest::Client::builder().no_proxy().build()?;
        let mcp = McpHttp::connect_with(http.clone(), daemon.base_url(), Era::Modern).await?;
        Ok(Self { daemon, upstream, http, mcp })
    }

    async fn play(&self, name: &str, transcript: &Transcript, job: Job) -> Result<Done> {
        let way = PlayWay { http: &self.http, daemon_url: self.daemon.base_url(), upstream: &self.upstream };
        Ok(match job {
            Job::Play => Done::Seen(Box::new(session::play(name, transcript, &way, &self.mcp).await?)),
            Job::Fold => folding::play(name, transcript, &way, &self.mcp).await?.map_or(Done::Nothing, Done::Folded),
        })
    }
}

/// What is done with each session.
#[derive(Debug, Clone, Copy)]
enum Job {
    Play,
    Fold,
}

enum Done {
    Seen(Box<Seen>),
    Folded(Folded),
    Nothing,
}

async fn group(stage: MeasureStage, sessions: Sessions) -> Result<Group> {
    let mut group = Group::default();
    for done in each(stage, sessions, Job::Play).await? {
        match done {
            Done::Seen(seen) => group.add(*seen),
            Done::Folded(_) | Done::Nothing => {}
        }
    }
    Ok(group)
}

/// Does the job for every session, a few at once.
async fn each(stage: MeasureStage, sessions: Sessions, job: Job) -> Result<Vec<Done>> {
    let stage = Arc::new(stage);
    let queue = Arc::new(Mutex::new(VecDeque::from(sessions)));
    let mut workers = JoinSet::new();
    for _ in 0..WORKERS {
        let (stage, queue) = (Arc::clone(&stage), Arc::clone(&queue));
        workers.spawn(async move {
            let mut done = Vec::new();
            loop {
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                let Some(session) = next else { return anyhow::Ok(done) };
                done.push(stage.play(&session.name, &session.transcript, job).await?);
            }
        });
    }
    let mut all = Vec::new();
    while let Some(done) = workers.join_next().await {
        all.extend(done??);
    }
    if all.is_empty() {
        bail!("no session was played");
    }
    Ok(all)
}

impl Proxied {
    /// What was measured, as Markdown.
    pub fn tables(&self) -> String {
        let mut text = tables::parts("through the running proxy, % of what the clients sent", &self.parts);
        let (plain, shaped, folded) = (&self.plain.all, &self.shaped.all, &self.folded);
        text.push_str(&format!(
            "- Shaping off, {} sessions: {} of {} requests reached the provider byte for byte (one with a secret in it would not), {:+.2} % cache writes, invalid reasoning {}.\n",
            self.plain.each.len(), plain.identical, plain.requests, more_writes(plain), plain.invalid_reasoning,
        ));
        text.push_str(&format!(
            "- Shaping on: {} results offloaded, {} of them read back whole with `read_result`, page by page.\n",
            shaped.offloaded, shaped.recalled
        ));
        let broken = &shaped.broken;
        text.push_str(&format!(
            "- Of what was seen for the first time, {} files of at most 32 KiB that were asked for by name and {} outputs of at most 8 KiB were not shown whole; {} references took a third or more of what they stand for, or a tenth or more above 64 KiB, in bytes or tokens.\n",
            broken.files, broken.outputs, broken.dear
        ));
        text.push_str(&format!(
            "- {} recorded sub-tasks of {} sessions as branches, {} requests: {:.1} % less than the same work in one thread ({:.1} % if the parent's cache were gone at every return), largest requests {:.1} % smaller, invalid reasoning {}.\n",
            folded.branches,
            folded.sessions,
            folded.requests,
            100.0 - percent(folded.folded, folded.inline),
            100.0 - percent(folded.folded_cold, folded.inline),
            100.0 - percent(folded.peak_folded as f64, folded.peak_inline as f64),
            folded.invalid_reasoning,
        ));
        text
    }

    /// Claims that do not hold. `paper` is what the replay says of the same sessions.
    pub(super) fn missed(&self, paper: Option<&SessionGroup>) -> Vec<String> {
        let mut missed = self.missed_in_sample();
        missed.extend(claims::of_shaping(claims::ShapingMeasured::ThroughProxy, &self.parts));
        let folded = &self.folded;
        let saved = 100.0 - percent(folded.folded, folded.inline);
        if saved < FOLDING_SAVES_PERCENT_MIN {
            missed.push(format!("folding saves {saved:.1} %, {FOLDING_SAVES_PERCENT_MIN} are claimed"));
        }
        if let (Some(said), Some(real)) = (paper, self.parts.first())
            && real.adjusted.sum > said.adjusted.sum + REPLAY_DIFFERS_MAX
        {
            let (real, said) = (real.adjusted.sum, said.adjusted.sum);
            missed.push(format!("through the proxy the adjusted bill is {real:.1} %, the replay says {said:.1}"));
        }
        missed
    }

    /// Problems with what must hold however few sessions were played.
    pub fn missed_in_sample(&self) -> Vec<String> {
        let mut missed = Vec::new();
        let (plain, shaped, folded) = (&self.plain.all, &self.shaped.all, &self.folded);
        for (what, invalid) in [
            ("plain", plain.invalid_reasoning),
            ("shaped", shaped.invalid_reasoning),
            ("folded", folded.invalid_reasoning),
        ] {
            if invalid > 0 {
                missed.push(format!("through the proxy, {what}: {invalid} reasoning blocks stand behind something else than they were made on"));
            }
        }
        // A placeholder is a few tokens longer or shorter than its secret.
        if more_writes(plain) > PLAIN_WRITES_MAX_PERCENT {
            missed.push(format!("through the proxy, nothing shaped: {:+.2} % cache writes", more_writes(plain)));
        }
        if shaped.recalled != shaped.offloaded {
            missed.push(format!(
                "{} of {} results could not be read back",
                shaped.offloaded - shaped.recalled,
                shaped.offloaded
            ));
        }
        let broken = &shaped.broken;
        for (what, count) in [
            ("files that were asked for by name were not shown whole", broken.files),
            ("short outputs were not shown whole", broken.outputs),
            ("references cost too much", broken.dear),
        ] {
            if count > 0 {
                missed.push(format!("through the proxy, {count} {what}"));
            }
        }
        missed
    }
}

fn more_writes(seen: &Seen) -> f64 {
    percent(seen.now.cache_write_tokens as f64, seen.was.cache_write_tokens as f64) - 100.0
}

fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part * 100.0 / whole } else { 0.0 }
}
