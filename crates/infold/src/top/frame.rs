//! One frame of `infold top`, as lines of text with tones.

use infold_core::SessionId;
use infold_core::record::RequestRecord;
use infold_engine::MemoryCounts;

use super::{SessionLine, TopView, servers};
use crate::draw::{
    Align, Column, RequestScope, Spans, Style, Table, Tone, ago, fitted, money, one_line, request_lines, short,
};

/// Most columns of a session's name.
const SESSION_COLUMNS: usize = 36;
/// Most columns of a session's first words.
const WORDS_COLUMNS: usize = 40;
/// On a wide terminal, another column is left out if the first words would get fewer columns than this.
const WORDS_COLUMNS_MIN: usize = 16;
/// Columns of a terminal that counts as wide.
const WORDS_FROM_COLUMNS: usize = 120;
/// The heading of the column with the first words.
const WORDS: &str = "FIRST WORDS";
const BAR_CELLS: u64 = 8;
const NAME: &str = "infold top";
/// Columns that are left out where the terminal is narrow, in this order.
const MAY_GO: [&str; 11] =
    [WORDS, "OUTPUT", "INPUT", "CACHED", "REQUESTS", "PER MIN", "LAST ACTIVE", "AGENT", "SAVED", "OPEN", "COST"];
/// If a session's name would get fewer columns than this, another column is left out instead.
const SESSION_COLUMNS_MIN: usize = 20;

/// The room for a frame on the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameSize {
    /// How many columns there are.
    pub width: usize,
    /// How many lines there are.
    pub height: usize,
}

/// Whether the block with servers is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerBlock {
    /// It is, if there are servers.
    Shown,
    /// It is not.
    Hidden,
}

impl ServerBlock {
    /// The other one of the two.
    pub fn other(self) -> Self {
        match self {
            Self::Shown => Self::Hidden,
            Self::Hidden => Self::Shown,
        }
    }
}

/// What the user chose by keys.
#[derive(Debug, Clone)]
pub struct FrameChoice {
    /// The session whose requests alone are shown.
    pub session: Option<SessionId>,
    /// Whether servers are shown.
    pub servers: ServerBlock,
}

impl FrameChoice {
    /// What is shown before any key was pressed.
    pub fn first() -> Self {
        Self { session: None, servers: ServerBlock::Shown }
    }
}

/// Draws a frame as text for scripts, without a chosen session and the line of keys.
pub fn once(view: &TopView, size: FrameSize, style: &Style) -> String {
    let lines = frame(view, &FrameChoice::first(), size, style);
    lines.iter().map(|line| style.line(line) + "\n").collect()
}

/// Draws a frame. If a session is chosen, only its requests are shown.
pub fn frame(view: &TopView, choice: &FrameChoice, size: FrameSize, style: &Style) -> Vec<Spans> {
    let chosen = choice.session.as_ref();
    let style = Style { width: size.width, ..*style };
    let mut lines = head(view, &style);
    lines.push(Vec::new());
    let servers = match choice.servers {
        ServerBlock::Shown if !view.servers.is_empty() => servers::lines(&view.servers, &style),
        ServerBlock::Shown | ServerBlock::Hidden => Vec::new(),
    };
    if view.sessions.is_empty() && view.requests.is_empty() {
        lines
            .push(vec![(Tone::Faint, fitted("no sessions yet: start an agent with `infold run`", size.width, &style))]);
        add_below(&mut lines, servers, size.height);
        return lines;
    }
    // Sessions get at most half of the room, because the latest requests are below them.
    let sessions = sessions(view, chosen, &style);
    let room = (size.height.saturating_sub(lines.len() + 2) / 2).max(2);
    lines.extend(within(sessions, room));
    // Servers get at most half of the rest.
    let half = lines.len() + size.height.saturating_sub(lines.len()) / 2;
    add_below(&mut lines, servers, half);

    let records: Vec<&RequestRecord> = view
        .requests
        .iter()
        .map(|row| &row.record)
        .filter(|record| chosen.is_none_or(|chosen| record.session == *chosen))
        .take(size.height)
        .collect();
    if !records.is_empty() {
        lines.push(Vec::new());
        let room = size.height.saturating_sub(lines.len());
        lines.extend(request_lines(&records, RequestScope::Several, view.now_ms, &style).into_iter().take(room));
    }
    lines
}

/// Adds a block below others, up to this height; with no room for a head, a line and a gap it is left out.
fn add_below(lines: &mut Vec<Spans>, block: Vec<Spans>, height: usize) {
    let room = height.saturating_sub(lines.len() + 1);
    if !block.is_empty() && room >= 2 {
        lines.push(Vec::new());
        lines.extend(within(block, room));
    }
}

/// As many lines as there is room for; the last one says how many are left out.
fn within(mut lines: Vec<Spans>, room: usize) -> Vec<Spans> {
    if lines.len() > room {
        let more = lines.len() - room.saturating_sub(1);
        lines.truncate(room.saturating_sub(1));
        lines.push(vec![(Tone::Faint, format!("{more} more"))]);
    }
    lines
}

fn head(view: &TopView, style: &Style) -> Vec<Spans> {
    let dot = style.either(" · ", ", ");
    let count = |count: u64, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    let going = view.sessions.iter().filter(|line| line.is_active()).count() as u64;
    let open = view.sessions.iter().map(SessionLine::open).sum();
    let now = [
        count(going, "session", "sessions"),
        count(open, "open branch", "open branches"),
        format!("{:.1} requests/min", view.rates.requests),
        format!(
            "{} input and {} output tokens/min",
            short(whole(view.rates.prompt_tokens)),
            short(whole(view.rates.output_tokens))
        ),
    ];
    let room = style.width.saturating_sub(NAME.len() + 2);
    let now = fitted(&now.join(dot), room, style);
    let title = vec![(Tone::Strong, NAME.to_owned()), (Tone::Plain, format!("  {now}"))];
    let totals = &view.totals;
    let mut all = vec![format!("{} in all", count(totals.requests, "request", "requests"))];
    all.extend(totals.cache_hit_percent().map(|percent| format!("{percent} % cached")));
    let saved_tokens = u64::try_from(totals.saved_tokens()).unwrap_or(0);
    all.extend(
        (saved_tokens > 0)
            .then(|| format!("infold removed {} of {} input tokens", short(saved_tokens), short(totals.wanted_tokens))),
    );
    if totals.priced > 0 {
        all.push(format!("cost {}", money(totals.cost_micros)));
        let saved = u64::try_from(totals.saved_micros()).unwrap_or(0);
        all.extend((saved > 0).then(|| format!("saved about {}", money(saved))));
    }
    all.extend((totals.warnings > 0).then(|| count(totals.warnings, "warning", "warnings")));
    all.extend(memories(&view.memories));
    vec![title, vec![(Tone::Faint, fitted(&all.join(dot), style.width, style))]]
}

/// Memories in a few words, if there are any; those that wait for the user are said rather than what was given.
fn memories(counts: &MemoryCounts) -> Option<String> {
    let known = counts.live + counts.waiting;
    let memories = if known == 1 { "memory" } else { "memories" };
    match counts {
        MemoryCounts { live: 0, waiting: 0, .. } => None,
        MemoryCounts { waiting: 1, .. } => Some(format!("{known} {memories}, 1 waits for you")),
        MemoryCounts { waiting: 2.., .. } => Some(format!("{known} {memories}, {} wait for you", counts.waiting)),
        MemoryCounts { given: 0, .. } => Some(format!("{known} {memories}")),
        MemoryCounts { given, .. } => Some(format!("{known} {memories}, given {given} times in a day")),
    }
}

fn short_signed(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", short(number.unsigned_abs()))
}

fn whole(number: f64) -> u64 {
    number.round().max(0.0) as u64
}

fn sessions(view: &TopView, chosen: Option<&SessionId>, style: &Style) -> Vec<Spans> {
    let left = |heading| Column { heading, align: Align::Left };
    let right = |heading| Column { heading, align: Align::Right };
    let mut table = Table::new(vec![
        left("SESSION"),
        left("AGENT"),
        right("OPEN"),
        left("MAIN"),
        right("REQUESTS"),
        right("PER MIN"),
        right("INPUT"),
        right("OUTPUT"),
        right("CACHED"),
        right("COST"),
        right("SAVED"),
        right("LAST ACTIVE"),
        left(WORDS),
    ]);
    for line in &view.sessions {
        table.row(cells(line, chosen, view.now_ms, style));
    }
    if style.width >= WORDS_FROM_COLUMNS {
        table = table.cut_to_fit(WORDS, WORDS_COLUMNS_MIN, &["OUTPUT", "INPUT", "CACHED"], style);
    }
    table.cut_to_fit("SESSION", SESSION_COLUMNS_MIN, &MAY_GO, style).lines()
}

fn cells(line: &SessionLine, chosen: Option<&SessionId>, now_ms: u64, style: &Style) -> Spans {
    let is_chosen = chosen == Some(&line.known.id);
    let dash = || "-".to_owned();
    let (overview, totals) = (&line.known.overview, line.known.totals.unwrap_or_default());
    let has_requests = totals.requests > 0;
    let known = |text: String| if has_requests { text } else { dash() };
    let mark = if is_chosen { style.either("› ", "> ") } else { "" };
    let name = format!("{mark}{}", fitted(&line.short_id, SESSION_COLUMNS, style));
    let tone = match (is_chosen, line.is_active()) {
        (true, _) => Tone::Busy,
        (false, true) => Tone::Strong,
        (false, false) => Tone::Faint,
    };
    let is_priced = totals.priced > 0;
    let words = overview.first_words.as_ref().map(|words| fitted(&one_line(words.as_str()), WORDS_COLUMNS, style));
    let used = totals.usage.plus(&totals.estimated);
    // What providers did not report is an estimate.
    let counted = |tokens: u64| format!("{}{}", if totals.unreported > 0 { "~" } else { "" }, short(tokens));
    vec![
        (tone, name),
        (Tone::Plain, overview.client.as_ref().map_or_else(dash, |client| one_line(client.as_str()))),
        (if line.open() > 0 { Tone::Busy } else { Tone::Faint }, line.open().to_string()),
        fill(line, style),
        (Tone::Plain, known(short(totals.requests))),
        (Tone::Plain, known(format!("{:.1}", line.rates.requests))),
        (Tone::Plain, known(counted(used.prompt_tokens()))),
        (Tone::Plain, known(counted(used.output_tokens))),
        (Tone::Plain, totals.cache_hit_percent().map_or_else(dash, |percent| format!("{percent} %"))),
        (Tone::Plain, if is_priced { money(totals.cost_micros) } else { dash() }),
        (Tone::Good, known(short_signed(totals.saved_tokens()))),
        (Tone::Faint, ago(now_ms, line.known.active_at_ms())),
        (Tone::Plain, words.unwrap_or_else(dash)),
    ]
}

fn fill(line: &SessionLine, style: &Style) -> (Tone, String) {
    let percent = (line.context_tokens * 100).checked_div(line.window_tokens).unwrap_or(0);
    let tone = match percent {
        0..50 => Tone::Good,
        50..70 => Tone::Warn,
        70.. => Tone::Bad,
    };
    let bar = style.bar(line.context_tokens, line.window_tokens, BAR_CELLS);
    (tone, format!("{bar} {:>5} {percent:>3} %", short(line.context_tokens)))
}
