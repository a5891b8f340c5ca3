//! Draws what was played: every request as the agent sent it and as the model got it, and the bill.

use infold_core::record::Usage;
use infold_core::{Counter, Price};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::bill::Bill;
use super::model::Got;
use crate::draw::{Style, Tone, columns, fitted, money, one_line, thousands};

/// Most columns of a bar, and fewest.
const BAR_CELLS_MAX: usize = 24;
const BAR_CELLS_MIN: usize = 4;
/// Columns of the count beside a bar, with a space in front.
const COUNT_COLUMNS: usize = 9;
/// Columns of a row's name.
const NAME_COLUMNS: usize = 26;
/// Columns of a side in the comparison of one request.
const SIDE_COLUMNS_MAX: usize = 58;

/// One request, as the agent sent it and as the model got it.
#[derive(Debug, Serialize)]
pub struct Row {
    /// The thread that it belongs to: `main` or `branch`.
    pub thread: &'static str,
    /// What the agent had done since the previous request.
    pub after: String,
    /// What it would have cost as the agent sent it.
    pub without: Cost,
    /// What it cost as the model got it.
    pub with: Cost,
}

/// What one request, or all of them, cost.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Cost {
    /// Tokens of the prompt.
    pub prompt_tokens: u64,
    /// Of these, read from the provider's cache.
    pub cache_read_tokens: u64,
    /// Millionths of a dollar for the prompt and the answer.
    #[serde(rename = "cost_usd", serialize_with = "dollars")]
    pub cost_micros: u64,
}

/// Writes dollars, the unit of all costs in infold's JSON.
fn dollars<S: Serializer>(micros: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(*micros as f64 / 1_000_000.0)
}

/// The whole demonstration: each request, and what all of them cost.
#[derive(Debug, Serialize)]
pub struct Story {
    /// The requests, in order.
    pub requests: Vec<Row>,
    /// All of them as the agent sent them.
    pub without: Cost,
    /// All of them as the model got them.
    pub with: Cost,
}

/// Counts what each request costs as the agent sent it and as the model got it.
pub fn story(sent: &[Value], got: &[Got], counter: Counter, price: &Price) -> Story {
    let mut bill = Bill::new(counter);
    let mut requests = Vec::new();
    for (sent, got) in sent.iter().zip(got) {
        let mut without = bill.ask(sent);
        // The same answers were given on both sides.
        without.output_tokens = got.usage.output_tokens;
        requests.push(Row {
            thread: if first_words(sent) == first_words(&got.body) { "main" } else { "branch" },
            after: last_calls(sent),
            without: cost(&without, price),
            with: cost(&got.usage, price),
        });
    }
    let (without, with) = (sum(requests.iter().map(|row| row.without)), sum(requests.iter().map(|row| row.with)));
    Story { requests, without, with }
}

fn cost(usage: &Usage, price: &Price) -> Cost {
    Cost {
        prompt_tokens: usage.prompt_tokens(),
        cache_read_tokens: usage.cache_read_tokens,
        cost_micros: price.cost_micros(usage),
    }
}

fn sum(costs: impl Iterator<Item = Cost>) -> Cost {
    costs.fold(Cost::default(), |sum, cost| Cost {
        prompt_tokens: sum.prompt_tokens + cost.prompt_tokens,
        cache_read_tokens: sum.cache_read_tokens + cost.cache_read_tokens,
        cost_micros: sum.cost_micros + cost.cost_micros,
    })
}

/// Draws the requests as bars, one of them in full, and the bill.
pub fn draw(story: &Story, sent: &[Value], got: &[Got], style: &Style) -> String {
    let mut out = bars(story, style);
    if let Some(at) = most_folded(story) {
        out.push_str(&sides(at, &sent[at], &got[at].body, style));
    }
    out.push_str(&totals(story, style));
    out
}

fn bars(story: &Story, style: &Style) -> String {
    let most = story.requests.iter().map(|row| row.without.prompt_tokens).max().unwrap_or(0);
    let room = style.width.saturating_sub(NAME_COLUMNS + 6 + 2 * COUNT_COLUMNS) / 2;
    let cells = room.clamp(BAR_CELLS_MIN, BAR_CELLS_MAX);
    let bar_columns = cells + COUNT_COLUMNS;
    let head = format!(
        "{:NAME_COLUMNS$}    {:bar_columns$}  {}",
        "Tokens in each request",
        fitted("sent by the agent", bar_columns, style),
        fitted("received by the model", bar_columns, style)
    );
    let mut out = format!("{}\n", style.tone(Tone::Strong, &head));
    for (at, row) in story.requests.iter().enumerate() {
        let name = fitted(&format!("{:>3}  {:<7} {}", at + 1, row.thread, row.after), NAME_COLUMNS, style);
        let side = |tone: Tone, tokens: u64| {
            let bar = style.bar(tokens, most, cells as u64);
            format!("{} {:>8}", style.tone(tone, &bar), thousands(tokens))
        };
        let without = side(Tone::Faint, row.without.prompt_tokens);
        let with = side(Tone::Good, row.with.prompt_tokens);
        out.push_str(&format!("{name:NAME_COLUMNS$}    {without}  {with}\n"));
    }
    out.push('\n');
    out
}

/// The first request of the main thread that saved more than half of the largest saving.
fn most_folded(story: &Story) -> Option<usize> {
    let rows = story.requests.iter().enumerate().filter(|(_, row)| row.thread == "main");
    let saved = |row: &Row| row.without.prompt_tokens.saturating_sub(row.with.prompt_tokens);
    // Several may save about as much. The first one comes right after the fold, so it shows it best.
    let best = rows.clone().map(|(_, row)| saved(row)).max().filter(|saved| *saved > 0)?;
    rows.clone().find(|(_, row)| saved(row) * 10 > best * 5).map(|(at, _)| at)
}

fn sides(at: usize, sent: &Value, got: &Value, style: &Style) -> String {
    let side_columns = (style.width.saturating_sub(3) / 2).min(SIDE_COLUMNS_MAX);
    let (left, right) = (shapes(sent), shapes(got));
    let pad = |text: &str| {
        let text = fitted(text, side_columns, style);
        let missing = side_columns.saturating_sub(columns(&text));
        format!("{text}{}", " ".repeat(missing))
    };
    let mut out = format!("{}\n", style.tone(Tone::Strong, &format!("Request {} in full", at + 1)));
    let middle = style.either("│", "|");
    for row in 0..left.len().max(right.len()) {
        let cell = |side: &[String]| side.get(row).map_or(String::new(), String::clone);
        let line = format!("{} {middle} {}", pad(&cell(&left)), fitted(&cell(&right), side_columns, style));
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out.push('\n');
    out
}

/// The conversation of a request, a line for each block.
fn shapes(body: &Value) -> Vec<String> {
    let mut shapes = Vec::new();
    for message in body["messages"].as_array().into_iter().flatten() {
        let role = message["role"].as_str().unwrap_or_default();
        for block in message["content"].as_array().into_iter().flatten() {
            shapes.push(match block["type"].as_str().unwrap_or_default() {
                "tool_use" => format!("call {}", call_shape(block)),
                "tool_result" => format!("  -> {}", result_shape(&block["content"])),
                _ => format!("{role}: {}", one_line(block["text"].as_str().unwrap_or_default())),
            });
        }
    }
    shapes
}

fn call_shape(block: &Value) -> String {
    let tool = plain_name(block["name"].as_str().unwrap_or_default());
    let input = &block["input"];
    let about = ["description", "file_path", "message"].iter().find_map(|field| input[*field].as_str());
    format!("{tool} {}", one_line(about.unwrap_or_default()))
}

fn result_shape(content: &Value) -> String {
    let text = match content {
        Value::String(text) => text,
        other => other[0]["text"].as_str().unwrap_or_default(),
    };
    match text.lines().count() {
        0..=4 => one_line(text),
        lines => format!("{lines} lines"),
    }
}

fn totals(story: &Story, style: &Style) -> String {
    let less = |without: f64, with: f64| {
        if without > 0.0 { format!("{:.0} % less", 100.0 * (1.0 - with / without)) } else { String::new() }
    };
    let largest = |side: fn(&Row) -> &Cost| story.requests.iter().map(|row| side(row).prompt_tokens).max().unwrap_or(0);
    let rows = [
        ("Largest request, tokens", largest(|row| &row.without) as f64, largest(|row| &row.with) as f64),
        ("All requests, tokens", story.without.prompt_tokens as f64, story.with.prompt_tokens as f64),
    ];
    let mut out = String::new();
    for (name, without, with) in rows {
        let (left, right) = (thousands(without as u64), thousands(with as u64));
        out.push_str(&format!("{name:NAME_COLUMNS$}  {left:>10}  {right:>10}  {}\n", less(without, with)));
    }
    let (without, with) = (story.without.cost_micros, story.with.cost_micros);
    let (left, right) = (money(without), money(with));
    let less = less(without as f64, with as f64);
    let line = format!("{:NAME_COLUMNS$}  {left:>10}  {right:>10}  {less}", "Cost, with a prompt cache");
    out.push_str(&format!("{}\n", style.tone(Tone::Strong, &line)));
    out
}

/// What the agent did last, in a few words: the tools that it called, or a new prompt.
fn last_calls(body: &Value) -> String {
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let asked = messages.last().is_some_and(|message| message["content"][0]["type"] == "text");
    if asked {
        return "prompt".to_owned();
    }
    let last = messages.iter().rev().find(|message| message["role"] == "assistant");
    let blocks = last.and_then(|message| message["content"].as_array()).map(Vec::as_slice).unwrap_or_default();
    let calls: Vec<&str> = blocks.iter().filter_map(|block| block["name"].as_str()).map(plain_name).collect();
    match calls.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first, ..] => format!("{first} x{}", calls.len()),
    }
}

fn plain_name(tool: &str) -> &str {
    tool.rsplit("__").next().unwrap_or(tool)
}

fn first_words(body: &Value) -> &str {
    body["messages"][0]["content"][0]["text"].as_str().unwrap_or_default()
}
