//! `infold sessions`: lists all sessions, the latest first, or those of infold's own agent.

mod of_agent;

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use infold_control::ContextRoom;
use infold_core::{Principal, SessionId};
use infold_engine::ListedSession;
use serde_json::{Value, json};

use super::Invocation;
use super::show::state;
use crate::draw::{Align, Column, Style, Table, Tone, ago, fitted, money, one_line, packed, signed, thousands};
use crate::failure::tell;
use crate::help;
use crate::output::Form;
use crate::parts;
use crate::recognised::{short_folder, short_ids};
use crate::telemetry;

/// Columns that are left out where the terminal is narrow, in this order.
const MAY_GO: [&str; 7] = ["REQUESTS", "BRANCHES", "FOLDER", "STATE", "COST", "MAIN", "SAVED"];
/// The heading of the column that is shortened before another one is left out.
const WORDS: &str = "FIRST WORDS";
/// If the first words would get fewer columns than this, another column is left out instead.
const WORDS_COLUMNS_MIN: usize = 24;
/// Most columns of the first words.
const WORDS_COLUMNS_MAX: usize = 60;
/// Fewest columns for a table; with fewer, each session gets a few lines instead.
const TABLE_COLUMNS_MIN: usize = 72;

/// Arguments of `sessions`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &[
        "SESSION is as much of the id as you have to type in other commands; --json prints whole ids. MAIN is the size \
         of the main thread in tokens, SAVED is what infold removed from the session's prompts.",
        "`recorded` means that only the session's requests are stored: it has been idle for longer than \
         store.live_hours, or its model never answered.",
    ],
    &[
        ("infold sessions", ""),
        ("infold sessions --limit 5", ""),
        ("infold sessions --agent --search 'parser panic'", "find a session of infold's own agent"),
        ("infold sessions --json | jq -r '.sessions[].session_id'", ""),
    ],
))]
pub struct SessionsArgs {
    /// List at most this many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub limit: u32,
    /// List only sessions of infold's own agent, with their models and turns
    #[arg(long)]
    pub agent: bool,
    /// List only sessions of infold's agent in which all these words were said, called or printed
    #[arg(long, value_name = "WORDS", requires = "agent")]
    pub search: Option<String>,
}

/// The sessions to list, and what is needed to draw them.
struct List<'a> {
    sessions: &'a [ListedSession],
    short: BTreeMap<SessionId, String>,
    room: ContextRoom,
    home: Option<&'a str>,
    now_ms: u64,
}

/// Prints the list as a table or as JSON.
pub fn run(args: &SessionsArgs, invocation: &Invocation) -> anyhow::Result<()> {
    if args.agent {
        return of_agent::run(args, invocation);
    }
    let all = load(invocation)?;
    let sessions = &all[..all.len().min(args.limit as usize)];
    let room = parts::room(&invocation.in_force.settings);
    let output = &invocation.output;
    match output.form {
        Form::Json => {
            let sessions: Vec<Value> =
                sessions.iter().map(|known| infold_control::session_json(known, &room)).collect();
            output.json(&json!({ "sessions": sessions }))
        }
        Form::Text if sessions.is_empty() => {
            tell("note", "no sessions yet");
            Ok(())
        }
        Form::Text => {
            let home = invocation.surroundings.text("HOME");
            let list = List { sessions, short: short_ids(&all), room, home, now_ms: now_ms() };
            Ok(output.text(&list.text(&output.style))?)
        }
    }
}

/// Loads all sessions, the latest first.
fn load(invocation: &Invocation) -> anyhow::Result<Vec<ListedSession>> {
    telemetry::log_only(&invocation.logging());
    let Some(folder) = invocation.data_folder_in_use()? else { return Ok(Vec::new()) };
    let engine = parts::engine(&folder, &invocation.in_force.settings)?;
    parts::asking_runtime()?.block_on(engine.listed_sessions(&Principal::local())).map_err(parts::command_error)
}

/// Milliseconds since 1970, by this machine's clock.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn is_open(known: &ListedSession) -> bool {
    known.live.as_ref().is_some_and(|row| row.session.ended_at_ms.is_none())
}

/// What a session cost; `None` if none of its requests has a price.
fn cost(known: &ListedSession) -> Option<String> {
    known.totals.filter(|totals| totals.priced > 0).map(|totals| money(totals.cost_micros))
}

/// A session's first words on one line, shortened.
fn first_words(known: &ListedSession, style: &Style) -> Option<String> {
    let words = one_line(known.overview.first_words.as_ref()?.as_str());
    Some(fitted(&words, WORDS_COLUMNS_MAX, style))
}

impl List<'_> {
    /// Draws a table; where it does not fit, each session gets a few lines instead. An id is there to be typed, so it
    /// is never cut.
    fn text(&self, style: &Style) -> String {
        let table = self.table(style);
        let table = table.cut_to_fit(WORDS, WORDS_COLUMNS_MIN, &MAY_GO, style);
        if style.width >= TABLE_COLUMNS_MIN && table.columns_wide() <= style.width {
            return table.draw(style);
        }
        self.sessions.iter().map(|known| self.stacked(known, style)).collect()
    }

    fn table(&self, style: &Style) -> Table {
        let left = |heading| Column { heading, align: Align::Left };
        let right = |heading| Column { heading, align: Align::Right };
        let mut table = Table::new(vec![
            left("SESSION"),
            left("AGENT"),
            left("FOLDER"),
            left("STATE"),
            right("BRANCHES"),
            right("MAIN"),
            right("SAVED"),
            right("REQUESTS"),
            right("COST"),
            left("LAST ACTIVE"),
            left(WORDS),
        ]);
        let dash = || "-".to_owned();
        for known in self.sessions {
            let (live, overview) = (known.live.as_ref(), &known.overview);
            let open = is_open(known);
            table.row(vec![
                (if open { Tone::Strong } else { Tone::Plain }, self.id(known)),
                (Tone::Plain, overview.client.as_ref().map_or_else(dash, |client| one_line(client.as_str()))),
                (Tone::Faint, self.folder(known, style).unwrap_or_else(dash)),
                (if open { Tone::Busy } else { Tone::Faint }, state(known).to_owned()),
                (Tone::Plain, live.map_or_else(dash, |row| format!("{}/{}", row.open, row.session.opened))),
                (Tone::Plain, self.main_tokens(known).map_or_else(dash, thousands)),
                (Tone::Plain, known.totals.map_or_else(dash, |totals| signed(totals.saved_tokens()))),
                (Tone::Plain, known.totals.map_or_else(dash, |totals| thousands(totals.requests))),
                (Tone::Plain, cost(known).unwrap_or_else(dash)),
                (Tone::Faint, ago(self.now_ms, known.active_at_ms())),
                (Tone::Plain, first_words(known, style).unwrap_or_else(dash)),
            ]);
        }
        table
    }

    fn id(&self, known: &ListedSession) -> String {
        self.short.get(&known.id).cloned().unwrap_or_else(|| known.id.to_string())
    }

    fn folder(&self, known: &ListedSession, style: &Style) -> Option<String> {
        Some(short_folder(known.overview.folder.as_ref()?.as_str(), self.home, style))
    }

    /// Tokens of the main thread: those of its latest request, or else what infold's tools have counted.
    fn main_tokens(&self, known: &ListedSession) -> Option<u64> {
        let proxied = known.main(&self.room.windows).map(|main| main.tokens);
        proxied.or_else(|| known.live.as_ref().map(|row| row.session.main_tokens))
    }

    /// A session's id, and below it what is known of it.
    fn stacked(&self, known: &ListedSession, style: &Style) -> String {
        let mut about = vec![state(known).to_owned()];
        about.extend(known.overview.client.as_ref().map(|client| one_line(client.as_str())));
        about.extend(self.folder(known, style));
        about.extend(known.live.as_ref().map(|row| format!("{} of {} branches open", row.open, row.session.opened)));
        about.extend(known.totals.map(|totals| {
            format!("{} {}", thousands(totals.requests), if totals.requests == 1 { "request" } else { "requests" })
        }));
        about.extend(cost(known));
        about.push(ago(self.now_ms, known.active_at_ms()));
        about.extend(first_words(known, style));
        let id = style.tone(if is_open(known) { Tone::Strong } else { Tone::Plain }, &self.id(known));
        let lines = packed(&about, style.either(" · ", ", "), style.width.saturating_sub(2));
        let below: String = lines.iter().map(|line| style.tone(Tone::Faint, &format!("  {line}")) + "\n").collect();
        format!("{id}\n{below}")
    }
}
