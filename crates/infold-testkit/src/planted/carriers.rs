//! Texts of the kinds that other servers' tools answer with, and how an error is written in each.
//!
//! They are not clean: pages speak of errors, searches find code that handles them, logs have warnings.

use super::{ErrorWords, PlantedError, PlantedText, TrialHalf};
use crate::Rng;

/// About how long a text is, in bytes.
const TEXT_BYTES: usize = 200_000;
const WORDS: [&str; 24] = [
    "ledger", "order", "shard", "cache", "index", "batch", "worker", "client", "report", "token", "queue", "region",
    "invoice", "store", "branch", "window", "folder", "reader", "writer", "signal", "record", "bucket", "server",
    "page",
];

/// A kind of long text: how its parts are written, how they are joined, and how an error is written among them.
#[derive(Clone, Copy)]
pub struct Carrier {
    /// What it is like.
    pub name: &'static str,
    part: fn(&mut Rng, usize) -> String,
    error: fn(&ErrorWords, usize) -> PlantedText,
    join: fn(&[String]) -> String,
}

impl Carrier {
    /// All carriers of a half.
    pub fn all(half: TrialHalf) -> Vec<Self> {
        match half {
            TrialHalf::Chosen => vec![
                Self { name: "build log", part: build_line, error: plain, join: lines },
                Self { name: "JSON records, pretty", part: pretty_record, error: pretty_error, join: pretty_list },
                Self { name: "JSON records, one line", part: record, error: record_error, join: one_line_list },
                Self { name: "log in a JSON string", part: build_line, error: plain, join: json_string },
                Self { name: "Markdown page", part: markdown, error: plain, join: lines },
                Self { name: "search hits", part: hit, error: hit_error, join: lines },
                Self { name: "CSV", part: csv_row, error: csv_error, join: lines },
                Self { name: "YAML", part: yaml_entry, error: yaml_error, join: lines },
            ],
            TrialHalf::Checked => vec![
                Self { name: "server log", part: log_line, error: plain, join: lines },
                Self { name: "nested JSON, pretty", part: nested_pretty, error: nested_error, join: pretty_object },
                Self { name: "nested JSON, one line", part: nested, error: spaced_error, join: one_line_object },
                Self { name: "JSON lines", part: spaced_record, error: spaced_error, join: lines },
                Self { name: "HTML page, one line", part: html, error: html_error, join: one_line },
                Self { name: "Markdown table", part: table_row, error: table_error, join: lines },
                Self { name: "SQL rows", part: sql_row, error: sql_error, join: lines },
                Self { name: "stack dump", part: stack, error: plain, join: lines },
                Self { name: "mixed", part: mixed, error: plain, join: lines },
            ],
        }
    }

    /// A text of this kind with an error at `place`, in parts of a thousand.
    pub fn plant(&self, error: &PlantedError, place: usize, rng: &mut Rng) -> PlantedText {
        let mut parts: Vec<String> = Vec::new();
        let mut bytes = 0;
        while bytes < TEXT_BYTES {
            let part = (self.part)(rng, parts.len());
            bytes += part.len() + 1;
            parts.push(part);
        }
        let at = (parts.len() * place / 1_000).max(5);
        let planted = (self.error)(&error.words(rng), at);
        parts.insert(at, planted.text);
        // Where the whole is one string of JSON, so is the error.
        let fact = if self.name.ends_with("JSON string") { escaped(&planted.fact) } else { planted.fact };
        PlantedText { text: (self.join)(&parts), fact }
    }
}

/// Plants an error in a text that was recorded, as a line of its own at `place`, in parts of a thousand.
pub fn plant_in_lines(text: &str, error: &PlantedError, place: usize, rng: &mut Rng) -> PlantedText {
    let mut all: Vec<&str> = text.lines().collect();
    let planted = plain(&error.words(rng), place);
    all.insert((all.len() * place / 1_000).max(5).min(all.len()), &planted.text);
    PlantedText { text: all.join("\n"), fact: planted.fact }
}

fn word(rng: &mut Rng) -> &'static str {
    rng.pick(&WORDS).copied().unwrap_or_default()
}

fn sentence(rng: &mut Rng) -> String {
    (0..9).map(|_| word(rng)).collect::<Vec<_>>().join(" ")
}

fn escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn lines(parts: &[String]) -> String {
    parts.join("\n")
}

fn one_line(parts: &[String]) -> String {
    parts.concat()
}

fn json_string(parts: &[String]) -> String {
    format!("{{\"job\":\"nightly\",\"log\":\"{}\",\"done\":true}}", escaped(&parts.join("\n")))
}

fn pretty_list(parts: &[String]) -> String {
    format!("[\n{}\n]", parts.join(",\n"))
}

fn pretty_object(parts: &[String]) -> String {
    format!("{{\n  \"jsonrpc\": \"2.0\",\n  \"result\": {{\n{}\n  }}\n}}", parts.join(",\n"))
}

fn one_line_list(parts: &[String]) -> String {
    format!("[{}]", parts.join(","))
}

fn one_line_object(parts: &[String]) -> String {
    format!("{{\"jsonrpc\": \"2.0\", \"result\": {{\"structuredContent\": {{\"items\": [{}]}}}}}}", parts.join(", "))
}

/// An error as lines of its own; a field as a line of JSON.
fn plain(error: &ErrorWords, at: usize) -> PlantedText {
    match error {
        ErrorWords::Said { lines, fact } => PlantedText { text: lines.clone(), fact: fact.clone() },
        ErrorWords::Field { key, value } => {
            let fact = format!("\"{key}\":{value}");
            PlantedText { text: format!("{{\"id\":{at},{fact},\"worker\":7}}"), fact }
        }
    }
}

/// An error as a field of a record: the field's text, and what must be visible of it.
fn as_field(error: &ErrorWords, colon: &str) -> PlantedText {
    match error {
        ErrorWords::Said { lines, fact } => {
            PlantedText { text: format!("\"message\"{colon}\"{}\"", escaped(lines)), fact: escaped(fact) }
        }
        ErrorWords::Field { key, value } => {
            let text = format!("\"{key}\"{colon}{value}");
            PlantedText { fact: text.clone(), text }
        }
    }
}

/// An error as a cell of a table.
fn as_cell(error: &ErrorWords) -> PlantedText {
    match error {
        ErrorWords::Said { lines, fact } => PlantedText { text: lines.replace('\n', " "), fact: fact.clone() },
        ErrorWords::Field { key, value } => {
            let text = format!("{key}={}", value.trim_matches('"'));
            PlantedText { fact: text.clone(), text }
        }
    }
}

fn within(before: &str, planted: PlantedText, after: &str) -> PlantedText {
    PlantedText { text: format!("{before}{}{after}", planted.text), fact: planted.fact }
}

fn build_line(rng: &mut Rng, at: usize) -> String {
    match rng.below(150) {
        0 => format!("warning: unused variable: `{}` in step {at}", word(rng)),
        1 => format!("  retrying {} after a timeout, attempt 2", word(rng)),
        _ => format!("   Compiling {}-{}-{at} v0.{}.{}", word(rng), word(rng), at % 9, at % 5),
    }
}

fn log_line(rng: &mut Rng, at: usize) -> String {
    let level = if rng.below(60) == 0 { "WARN slow" } else { "INFO" };
    let (minute, second, ms) = (at / 60 % 60, at % 60, rng.below(400));
    format!("2026-03-01T10:{minute:02}:{second:02}Z {level} request path=/api/{} status=200 ms={ms}", word(rng))
}

fn record(rng: &mut Rng, at: usize) -> String {
    format!(
        "{{\"id\":{at},\"name\":\"{}_{}\",\"status\":\"done\",\"ok\":true,\"error\":null,\"ms\":{}}}",
        word(rng),
        word(rng),
        rng.below(900)
    )
}

fn record_error(error: &ErrorWords, at: usize) -> PlantedText {
    within(&format!("{{\"id\":{at},\"name\":\"ledger_page\","), as_field(error, ":"), ",\"ms\":12}")
}

fn pretty_record(rng: &mut Rng, at: usize) -> String {
    format!(
        "  {{\n    \"id\": {at},\n    \"name\": \"{}_{}\",\n    \"status\": \"done\",\n    \"ok\": true,\n    \"error\": null\n  }}",
        word(rng),
        word(rng)
    )
}

fn pretty_error(error: &ErrorWords, at: usize) -> PlantedText {
    let before = format!("  {{\n    \"id\": {at},\n    \"name\": \"ledger_page\",\n    ");
    within(&before, as_field(error, ": "), "\n  }")
}

fn spaced_record(rng: &mut Rng, at: usize) -> String {
    format!(
        "{{\"seq\": {at}, \"who\": \"{}\", \"severity\": \"INFO\", \"errors\": [], \"text\": \"{}\"}}",
        word(rng),
        sentence(rng)
    )
}

fn spaced_error(error: &ErrorWords, at: usize) -> PlantedText {
    within(&format!("{{\"seq\": {at}, \"who\": \"page\", "), as_field(error, ": "), ", \"text\": \"ledger\"}")
}

fn nested(rng: &mut Rng, at: usize) -> String {
    format!(
        "{{\"seq\": {at}, \"run\": {{\"owner\": {{\"name\": \"{}\", \"team\": \"{}\"}}, \"steps\": [{{\"kind\": \"{}\", \"passed\": true}}, {{\"kind\": \"{}\", \"passed\": true}}]}}}}",
        word(rng),
        word(rng),
        word(rng),
        word(rng)
    )
}

fn nested_pretty(rng: &mut Rng, at: usize) -> String {
    format!(
        "    \"{}_{at}\": {{\n      \"owner\": {{\n        \"name\": \"{}\",\n        \"health\": \"fine\"\n      }},\n      \"steps\": [\n        \"{}\",\n        \"{}\"\n      ]\n    }}",
        word(rng),
        word(rng),
        word(rng),
        word(rng)
    )
}

fn nested_error(error: &ErrorWords, at: usize) -> PlantedText {
    let before = format!("    \"ledger_{at}\": {{\n      \"owner\": {{\n        \"name\": \"page\",\n        ");
    within(&before, as_field(error, ": "), "\n      },\n      \"steps\": []\n    }")
}

fn markdown(rng: &mut Rng, at: usize) -> String {
    match rng.below(24) {
        0 => format!("## {} {at}", word(rng)),
        1 => "Errors are returned as JSON, and a request that failed may be sent again.".to_owned(),
        2 => "```".to_owned(),
        3 => format!("- If the {} cannot be found, `{}` throws an error.", word(rng), word(rng)),
        _ => format!("The {} of the {}, with {}.", word(rng), word(rng), sentence(rng)),
    }
}

fn html(rng: &mut Rng, at: usize) -> String {
    match rng.below(20) {
        0 => format!("<h2 id=\"part-{at}\">{}</h2>", word(rng)),
        1 => "<p>What to do when an operation fails: see the list of error codes.</p>".to_owned(),
        _ => format!("<li class=\"row\"><a href=\"/{}/{at}\">{}</a></li>", word(rng), sentence(rng)),
    }
}

fn html_error(error: &ErrorWords, at: usize) -> PlantedText {
    within(&format!("<li class=\"row\" id=\"r{at}\">"), as_cell(error), "</li>")
}

fn hit(rng: &mut Rng, at: usize) -> String {
    let (file, line) = (format!("src/{}/{}.go", word(rng), word(rng)), 1 + at % 900);
    match rng.below(6) {
        0 => format!("{file}:{line}:\tif err != nil {{"),
        1 => format!("{file}:{line}:\t\treturn fmt.Errorf(\"{}: %w\", err)", word(rng)),
        _ => format!("{file}:{line}:\t{} := new{}({}, {at})", word(rng), word(rng), word(rng)),
    }
}

fn hit_error(error: &ErrorWords, at: usize) -> PlantedText {
    let planted = plain(error, at);
    let before = format!("logs/nightly.log:{at}:");
    PlantedText { text: format!("{before}{}", planted.text.replace('\n', &format!("\n{before}"))), fact: planted.fact }
}

fn csv_row(rng: &mut Rng, at: usize) -> String {
    format!("{at},{}_{},{},done,{}", word(rng), word(rng), word(rng), rng.below(900))
}

fn csv_error(error: &ErrorWords, at: usize) -> PlantedText {
    let planted = as_cell(error);
    let cell = planted.text.replace('"', "\"\"");
    PlantedText { text: format!("{at},ledger_page,shard,\"{cell}\",12"), fact: planted.fact.replace('"', "\"\"") }
}

fn yaml_entry(rng: &mut Rng, at: usize) -> String {
    format!(
        "- id: {at}\n  name: {}-{}\n  status: done\n  ok: true\n  labels: [{}, {}]",
        word(rng),
        word(rng),
        word(rng),
        word(rng)
    )
}

fn yaml_error(error: &ErrorWords, at: usize) -> PlantedText {
    let before = format!("- id: {at}\n  name: ledger-page\n  ");
    match error {
        ErrorWords::Said { .. } => within(&format!("{before}message: "), as_field_value(error), ""),
        ErrorWords::Field { key, value } => {
            let fact = format!("{key}: {}", value.trim_matches('"'));
            PlantedText { text: format!("{before}{fact}"), fact }
        }
    }
}

fn as_field_value(error: &ErrorWords) -> PlantedText {
    let PlantedText { text, fact } = as_field(error, ":");
    PlantedText { text: text.trim_start_matches("\"message\":").to_owned(), fact }
}

fn table_row(rng: &mut Rng, at: usize) -> String {
    format!("| {at} | {} | {} {} | passing | {} |", word(rng), word(rng), word(rng), rng.below(900))
}

fn table_error(error: &ErrorWords, at: usize) -> PlantedText {
    within(&format!("| {at} | ledger | "), as_cell(error), " | 12 |")
}

fn sql_row(rng: &mut Rng, at: usize) -> String {
    format!(" {at:>6} | {:<10} | {:<12} | {:<60} | {:>5}", word(rng), word(rng), sentence(rng), rng.below(900))
}

fn sql_error(error: &ErrorWords, at: usize) -> PlantedText {
    within(&format!(" {at:>6} | ledger     | page         | "), as_cell(error), " |    12")
}

fn stack(rng: &mut Rng, at: usize) -> String {
    match at % 12 {
        0 => {
            format!("\"{}-{at}\" #{at} daemon prio=5 tid=0x{:08x} waiting on condition", word(rng), rng.below(1 << 30))
        }
        11 => String::new(),
        _ => format!("    at com.acme.{}.{}Reader.next({}.java:{})", word(rng), word(rng), word(rng), rng.below(900)),
    }
}

fn mixed(rng: &mut Rng, at: usize) -> String {
    let sorts: [fn(&mut Rng, usize) -> String; 5] = [log_line, spaced_record, table_row, stack, markdown];
    sorts[at / 40 % sorts.len()](rng, at)
}
