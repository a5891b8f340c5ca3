//! A chat in a real terminal while the model's words come in quickly: what a frame takes, whether a key is lost, whether
//! memory stays flat, and how that changes from a short session to one of thousands of messages.
//!
//! A frame is timed by the program itself, from the state of the chat to the terminal having taken the bytes, and read
//! from its log. Keys go through tmux as a person's would, one at a time.

mod session;
mod stream;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use infold_testkit::terminal::TmuxTerminal;
use serde_json::Value;
use tokio::process::Command;
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::figures::{Latencies, Table};
use super::process::{Process, resident_mb};
use session::ChatHome;
use stream::{StreamPace, StreamingModel};

/// What `cargo xtask bench chat` takes.
#[derive(Debug, clap::Args)]
pub struct ChatBenchArguments {
    /// How long the model's words come in, for each session.
    #[arg(long, default_value_t = 20)]
    seconds: u32,
    /// Pieces of the model's words a second.
    #[arg(long, default_value_t = 500)]
    rate: u32,
    /// Messages of the long session.
    #[arg(long, default_value_t = 5_000)]
    messages: u64,
}

/// Messages of the short session.
const SHORT_MESSAGES: u64 = 10;
/// Columns and rows of the terminal.
const SIZE: (u16, u16) = (120, 40);
/// Keys that are typed a second, and the part of the time in which they are.
const KEYS_PER_SECOND: u32 = 20;
const TYPING_PERCENT: u32 = 80;
/// How often the log is looked at for the first frame, and how long that may take.
const LOOK_EVERY: Duration = Duration::from_millis(2);
const WAIT_MAX: Duration = Duration::from_secs(30);

/// A frame at 60 a second.
const FRAME_MS_MAX: f64 = 16.0;
/// Memory at the end of the words over that after a quarter of them.
const GROWTH_MAX: f64 = 1.10;
/// The pace that is kept at least, in percent of the one that was asked for.
const PACE_PERCENT_MIN: f64 = 95.0;

/// What one chat took.
struct PlayedChat {
    first_frame_ms: f64,
    frames: Latencies,
    keys: usize,
    keys_wrong: usize,
    quarter_mb: f64,
    end_mb: f64,
    cpu_percent: f64,
    per_second: f64,
}

/// Makes all measurements; the exit code is a failure when a target is missed.
pub async fn run(program: &Path, arguments: &ChatBenchArguments) -> Result<ExitCode> {
    let pace = StreamPace { deltas: (arguments.rate * arguments.seconds) as usize, deltas_per_second: arguments.rate };
    let mut table = Table::default();
    let empty = ChatHome::with_messages(program, 0).await?;
    let opened = OpenedChat::open(program, &empty, pace, &[]).await?;
    table.show("first frame, a new session", format!("{:.0} ms", opened.first_frame_ms));
    drop(opened);

    let mut medians = Vec::new();
    for messages in [SHORT_MESSAGES, arguments.messages] {
        let home = ChatHome::with_messages(program, messages).await?;
        let chat = played(program, &home, pace).await?;
        table.show(&format!("first frame, {messages} messages"), format!("{:.0} ms", chat.first_frame_ms));
        show(&mut table, messages, &chat);
        ensure!(
            chat.per_second >= f64::from(pace.deltas_per_second) * PACE_PERCENT_MIN / 100.0,
            "the model was too slow"
        );
        medians.push((chat.frames.median_ms(), chat.frames.percentile_ms(99.0), chat.end_mb));
    }
    let ((short_p50, short_p99, short_mb), (long_p50, long_p99, long_mb)) = (medians[0], medians[1]);
    table.show(
        "long session over short: frame p50, p99, memory",
        format!("{:.2}×, {:.2}×, {:.2}×", long_p50 / short_p50, long_p99 / short_p99, long_mb / short_mb),
    );
    Ok(table.finish())
}

fn show(table: &mut Table, messages: u64, chat: &PlayedChat) {
    let of = format!("{messages} messages");
    table.show(&format!("words a second, {of}"), format!("{:.0} pieces", chat.per_second));
    table.show(&format!("frames, {of}"), chat.frames.count().to_string());
    table.show(
        &format!("a frame, p50 and the slowest, {of}"),
        format!("{:.2}, {:.2} ms", chat.frames.median_ms(), chat.frames.percentile_ms(100.0)),
    );
    table.hold(&format!("a frame, p99, {of}"), chat.frames.percentile_ms(99.0), FRAME_MS_MAX, " ms");
    table.hold(&format!("keys lost or doubled of {}, {of}", chat.keys), chat.keys_wrong as f64, 0.0, "");
    table.show(
        &format!("memory after a quarter and at the end, {of}"),
        format!("{:.1}, {:.1} MB", chat.quarter_mb, chat.end_mb),
    );
    table.hold(
        &format!("memory at the end over that after a quarter, {of}"),
        chat.end_mb / chat.quarter_mb,
        GROWTH_MAX,
        "×",
    );
    table.show(&format!("processor while words come in, {of}"), format!("{:.0} %", chat.cpu_percent));
}

/// A chat that can be typed in.
struct OpenedChat {
    model: StreamingModel,
    terminal: TmuxTerminal,
    log: FrameLog,
    first_frame_ms: f64,
}

impl OpenedChat {
    async fn open(program: &Path, home: &ChatHome, pace: StreamPace, arguments: &[&str]) -> Result<Self> {
        let model = StreamingModel::start(pace).await?;
        let log = FrameLog { path: home.path().join("log") };
        // A terminal gives its program no other standard error than itself.
        let mut command = Command::new("sh");
        command.arg("-c").arg("log=$1; shift; exec \"$@\" 2> \"$log\"").arg("sh").arg(&log.path);
        command.arg(program).args(["-v", "chat"]).args(arguments);
        home.surround(&mut command, &model.base_url());

        let started = Instant::now();
        let mut terminal = TmuxTerminal::start(home.path(), &command, SIZE).await?;
        while log.frames()?.is_empty() {
            ensure!(started.elapsed() < WAIT_MAX, "there is no frame: {}", terminal.screen().await?);
            sleep(LOOK_EVERY).await;
        }
        let first_frame_ms = started.elapsed().as_secs_f64() * 1_000.0;
        terminal.until("the input", |screen| screen.contains("\n>")).await?;
        Ok(Self { model, terminal, log, first_frame_ms })
    }
}

/// The log of a chat, in which it says what each frame took.
struct FrameLog {
    path: PathBuf,
}

impl FrameLog {
    fn frames(&self) -> Result<Vec<Duration>> {
        let text = std::fs::read_to_string(&self.path).unwrap_or_default();
        let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n') && line.contains("\"frame\""));
        let micros = |line: &str| -> Result<Duration> {
            let line: Value = serde_json::from_str(line)?;
            Ok(Duration::from_micros(line["micros"].as_u64().context("a frame without its time")?))
        };
        lines.map(micros).collect()
    }
}

/// Goes on with the session of a home folder, and types while the model speaks.
async fn played(program: &Path, home: &ChatHome, pace: StreamPace) -> Result<PlayedChat> {
    let mut chat = OpenedChat::open(program, home, pace, &["--continue"]).await?;
    let pid = u32::try_from(chat.terminal.process().await?)?;
    chat.terminal.say("Tell me all of it").await?;
    chat.model.until_sent(1).await?;
    let (began, frames_before, cpu_before_ms) = (Instant::now(), chat.log.frames()?.len(), Process(pid).cpu_ms()?);

    let keys = KEYS_PER_SECOND as usize * pace.deltas / pace.deltas_per_second as usize * TYPING_PERCENT as usize / 100;
    let words = typed_words(keys);
    let readings = async {
        chat.model.until_sent(pace.deltas / 4).await?;
        let quarter_mb = resident_mb(pid)?;
        chat.model.until_sent(pace.deltas).await?;
        anyhow::Ok((quarter_mb, resident_mb(pid)?, began.elapsed()))
    };
    let ((quarter_mb, end_mb, took), ()) = tokio::try_join!(readings, type_slowly(&chat.terminal, &words))?;
    let cpu_ms = Process(pid).cpu_ms()? - cpu_before_ms;
    let frames = chat.log.frames()?.split_off(frames_before);
    let keys_wrong = keys_wrong(home, &words).await?;
    Ok(PlayedChat {
        first_frame_ms: chat.first_frame_ms,
        frames: Latencies::new(frames),
        keys,
        keys_wrong,
        quarter_mb,
        end_mb,
        cpu_percent: cpu_ms / took.as_secs_f64() / 10.0,
        per_second: pace.deltas as f64 / took.as_secs_f64(),
    })
}

/// Words in which no two places look the same, so that none can be lost or doubled without being seen.
fn typed_words(chars: usize) -> String {
    (1..).flat_map(|number| format!("word{number} ").chars().collect::<Vec<_>>()).take(chars - 1).chain(['.']).collect()
}

async fn type_slowly(terminal: &TmuxTerminal, words: &str) -> Result<()> {
    let mut ticks = interval(Duration::from_secs(1) / KEYS_PER_SECOND);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    for key in words.chars() {
        ticks.tick().await;
        terminal.type_in(key.encode_utf8(&mut [0; 4])).await?;
    }
    Ok(())
}

/// Keys that are missing in the draft, or too many, once it is kept; one if it holds as many as were pressed, but others.
async fn keys_wrong(home: &ChatHome, words: &str) -> Result<usize> {
    let since = Instant::now();
    let mut draft = home.draft()?;
    while draft != words && since.elapsed() < Duration::from_secs(5) {
        sleep(LOOK_EVERY).await;
        draft = home.draft()?;
    }
    if draft == words {
        return Ok(0);
    }
    eprintln!("typed: {words}\nkept:  {draft}");
    Ok(draft.chars().count().abs_diff(words.chars().count()).max(1))
}
