//! `infold sessions --agent`: the sessions of infold's own agent, and those of them in which something was said.

use std::collections::BTreeMap;

use infold_agent::ThreadEntry;
use infold_agent::points::person_words;
use infold_agent::record::{Beginning, SessionRecord};
use infold_agent::session::{NumberedRecord, live};
use infold_core::{Principal, SessionId};
use infold_engine::{Engine, ListedLog};
use serde_json::{Value, json};

use super::{SessionsArgs, WORDS, WORDS_COLUMNS_MAX, WORDS_COLUMNS_MIN, now_ms};
use crate::agent::records;
use crate::commands::Invocation;
use crate::draw::{Align, Column, Style, Table, Tone, ago, fitted, one_line, thousands};
use crate::failure::tell;
use crate::output::Form;
use crate::parts::{self, command_error};
use crate::recognised::{short_folder, short_ids};
use crate::telemetry;

/// Records that one search reads, in all sessions together.
const SEARCHED_RECORDS_MAX: u64 = 200_000;
/// Columns that are left out where the terminal is narrow, in this order.
const MAY_GO: [&str; 3] = ["MODEL", "FOLDER", "TURNS"];

/// A session as it is listed.
struct AgentSessionRow {
    id: SessionId,
    beginning: Option<Beginning>,
    first_words: Option<String>,
    turns: u64,
    last_at_ms: u64,
}

/// What was found.
#[derive(Default)]
struct FoundSessions {
    rows: Vec<AgentSessionRow>,
    /// A short id for each session.
    short: BTreeMap<SessionId, String>,
    /// How many sessions were not searched, because the search had read enough.
    unsearched: usize,
}

/// Prints the sessions of infold's agent.
pub fn run(args: &SessionsArgs, invocation: &Invocation) -> anyhow::Result<()> {
    telemetry::log_only(&invocation.logging());
    let found = match invocation.data_folder_in_use()? {
        None => FoundSessions::default(),
        Some(folder) => {
            let engine = parts::engine(&folder, &invocation.in_force.settings)?;
            parts::asking_runtime()?.block_on(find(&engine, args))?
        }
    };
    if found.unsearched > 0 {
        tell("note", format_args!("the {} oldest sessions were not searched", found.unsearched));
    }
    let output = &invocation.output;
    match output.form {
        Form::Json => {
            let sessions: Vec<Value> = found.rows.iter().map(as_json).collect();
            output.json(&json!({ "sessions": sessions, "unsearched": found.unsearched }))
        }
        Form::Text if found.rows.is_empty() => {
            tell("note", "no sessions");
            Ok(())
        }
        Form::Text => {
            let table = table(&found, invocation.surroundings.text("HOME"), &output.style);
            let table = table.cut_to_fit(WORDS, WORDS_COLUMNS_MIN, &MAY_GO, &output.style);
            Ok(output.text(&table.draw(&output.style))?)
        }
    }
}

async fn find(engine: &Engine, args: &SessionsArgs) -> anyhow::Result<FoundSessions> {
    let who = Principal::local();
    let logs = engine.agent_logs(&who).await.map_err(command_error)?;
    let short = short_ids(&engine.listed_sessions(&who).await.map_err(command_error)?);
    let words: Vec<String> =
        args.search.iter().flat_map(|words| words.split_whitespace()).map(str::to_lowercase).collect();
    let mut found = FoundSessions { short, ..FoundSessions::default() };
    let mut read = 0;
    for (at, log) in logs.iter().enumerate() {
        if found.rows.len() >= args.limit as usize {
            break;
        }
        if !words.is_empty() && read >= SEARCHED_RECORDS_MAX {
            found.unsearched = logs.len() - at;
            break;
        }
        read += log.records;
        let records = live(records(engine.agent_log(&who, &log.session, 0).await.map_err(command_error)?)?);
        if says_all(&records, &words) {
            found.rows.push(row(log, &records));
        }
    }
    Ok(found)
}

fn row(log: &ListedLog, records: &[NumberedRecord]) -> AgentSessionRow {
    let mut row = AgentSessionRow {
        id: log.session.clone(),
        beginning: None,
        first_words: None,
        turns: 0,
        last_at_ms: log.last_at_ms,
    };
    for (_, record) in records {
        match record {
            SessionRecord::Began(beginning) => row.beginning = Some(beginning.clone()),
            SessionRecord::Said { entries, .. } if row.first_words.is_none() => row.first_words = person_words(entries),
            SessionRecord::Answered { .. } => row.turns += 1,
            SessionRecord::Said { .. }
            | SessionRecord::Instructed(_)
            | SessionRecord::Waiting { .. }
            | SessionRecord::WaitingTaken { .. }
            | SessionRecord::ModelChosen { .. }
            | SessionRecord::Result { .. }
            | SessionRecord::Opened { .. }
            | SessionRecord::Folded { .. }
            | SessionRecord::Compacted { .. }
            | SessionRecord::Noted { .. }
            | SessionRecord::Image { .. }
            | SessionRecord::Interrupted { .. }
            | SessionRecord::TakenBack { .. }
            | SessionRecord::ImagesLeftOut { .. }
            | SessionRecord::SkillUsed { .. }
            | SessionRecord::Rewound { .. }
            | SessionRecord::Finished { .. } => {}
        }
    }
    row
}

/// Whether each of these words occurs somewhere in what was said, called and printed.
fn says_all(records: &[NumberedRecord], words: &[String]) -> bool {
    let mut missing: Vec<&String> = words.iter().collect();
    for (_, record) in records {
        let entries: &[ThreadEntry] = match record {
            SessionRecord::Said { entries, .. } | SessionRecord::Answered { entries, .. } => entries,
            SessionRecord::Result { entry, .. } => std::slice::from_ref(entry),
            SessionRecord::Opened { start, .. } => start.last().map(std::slice::from_ref).unwrap_or_default(),
            SessionRecord::Began(_)
            | SessionRecord::Instructed(_)
            | SessionRecord::Waiting { .. }
            | SessionRecord::WaitingTaken { .. }
            | SessionRecord::ModelChosen { .. }
            | SessionRecord::Folded { .. }
            | SessionRecord::Compacted { .. }
            | SessionRecord::Noted { .. }
            | SessionRecord::Image { .. }
            | SessionRecord::Interrupted { .. }
            | SessionRecord::TakenBack { .. }
            | SessionRecord::ImagesLeftOut { .. }
            | SessionRecord::SkillUsed { .. }
            | SessionRecord::Rewound { .. }
            | SessionRecord::Finished { .. } => &[],
        };
        for entry in entries {
            if missing.is_empty() {
                return true;
            }
            let text = text_of(entry).to_lowercase();
            missing.retain(|word| !text.contains(word.as_str()));
        }
    }
    missing.is_empty()
}

fn text_of(entry: &ThreadEntry) -> String {
    match entry {
        ThreadEntry::User { text, .. } | ThreadEntry::Assistant { text } | ThreadEntry::Result { text, .. } => {
            text.clone()
        }
        ThreadEntry::Call { tool, arguments, .. } => format!("{tool} {arguments}"),
        ThreadEntry::Reasoning { .. } => String::new(),
    }
}

fn as_json(row: &AgentSessionRow) -> Value {
    let beginning = row.beginning.as_ref();
    json!({
        "session_id": row.id,
        "folder": beginning.map(|beginning| &beginning.folder),
        "provider": beginning.map(|beginning| &beginning.provider),
        "model": beginning.map(|beginning| &beginning.model),
        "from": beginning.and_then(|beginning| beginning.from.as_ref()),
        "first_words": row.first_words,
        "turns": row.turns,
        "last_active_at": infold_control::moment_text(row.last_at_ms),
    })
}

fn table(found: &FoundSessions, home: Option<&str>, style: &Style) -> Table {
    let left = |heading| Column { heading, align: Align::Left };
    let mut table = Table::new(vec![
        left("SESSION"),
        left("FOLDER"),
        left("MODEL"),
        Column { heading: "TURNS", align: Align::Right },
        left("LAST ACTIVE"),
        left(WORDS),
    ]);
    let dash = || "-".to_owned();
    let now_ms = now_ms();
    for row in &found.rows {
        let beginning = row.beginning.as_ref();
        let id = found.short.get(&row.id).cloned().unwrap_or_else(|| row.id.to_string());
        let words = row.first_words.as_ref().map(|words| fitted(&one_line(words), WORDS_COLUMNS_MAX, style));
        table.row(vec![
            (Tone::Strong, id),
            (Tone::Faint, beginning.map_or_else(dash, |beginning| short_folder(&beginning.folder, home, style))),
            (Tone::Plain, beginning.map_or_else(dash, |beginning| one_line(&beginning.model))),
            (Tone::Plain, thousands(row.turns)),
            (Tone::Faint, ago(now_ms, row.last_at_ms)),
            (Tone::Plain, words.unwrap_or_else(dash)),
        ]);
    }
    table
}
