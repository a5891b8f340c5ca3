//! Makes a recorded transcript the same on every machine: paths, ids, times and the vendor's own long texts are
//! replaced; everything that the reader of a transcript must understand stays.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

#[cfg(test)]
mod tests;

/// The home and project that fixtures name.
const HOME: &str = "/home/dev";

/// Instant of the first event, in seconds. Later ones follow in steps of one.
const START_SECONDS: u64 = 1_767_225_600;

/// Hexadecimal words from this length on are ids.
const HEX_CHARS_MIN: usize = 24;

/// Letters and digits after a prefix such as `msg_`, from this length on, are an id.
const TAIL_CHARS_MIN: usize = 16;

/// A vendor's text that is longer than this is replaced by a note of its length.
const VENDOR_CHARS_MAX: usize = 120;

/// Replaces what differs from run to run. One is made for each transcript.
#[derive(Debug)]
pub struct Neutral {
    home: String,
    kernel: String,
    instants: Vec<Instant>,
    ids: HashMap<String, String>,
    /// The number of the first id. Each transcript has its own range, so that two of them share no id.
    first_id: usize,
}

/// A point in time, in one of the forms that transcripts write it in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Instant {
    /// In seconds since 1970.
    Seconds(u64),
    /// In milliseconds since 1970.
    Millis(u64),
    /// As `2026-01-01T00:00:00.000Z`.
    Text(String),
}

impl Neutral {
    /// Prepares for a transcript that was recorded in this home and holds these lines. Ids count from `first_id`.
    pub fn new(home: &str, lines: &[Value], first_id: usize) -> Self {
        let mut instants = BTreeSet::new();
        lines.iter().for_each(|line| collect_instants(line, &mut instants));
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Self {
            home: home.to_owned(),
            kernel: kernel.trim().to_owned(),
            instants: instants.into_iter().collect(),
            ids: HashMap::new(),
            first_id,
        }
    }

    /// A line with everything replaced that belongs to this machine or this run.
    pub fn line(&mut self, line: &Value) -> Value {
        match line {
            Value::String(text) => Value::String(self.text(text)),
            Value::Number(number) => match number.as_u64().and_then(instant_of_number) {
                Some(instant) => self.instant(&instant),
                None => line.clone(),
            },
            Value::Array(values) => values.iter().map(|value| self.line(value)).collect(),
            Value::Object(fields) => {
                let fields = fields.iter().map(|(name, value)| match name.as_str() {
                    "process_id" | "pid" => (name.clone(), Value::String("1".to_owned())),
                    _ => (self.text(name), self.line(value)),
                });
                Value::Object(fields.collect())
            }
            Value::Null | Value::Bool(_) => line.clone(),
        }
    }

    /// Text with paths, times and ids replaced.
    pub fn text(&mut self, text: &str) -> String {
        if instant_of_text(text).is_some() {
            let instant = self.instant(&Instant::Text(text.to_owned()));
            return instant.as_str().unwrap_or_default().to_owned();
        }
        let folder_name = |path: &str| path.replace(|sign: char| !sign.is_ascii_alphanumeric(), "-");
        let mut text = text.replace(&self.home, HOME).replace(&folder_name(&self.home), &folder_name(HOME));
        // Some clients write paths without the leading slash.
        text = text.replace(self.home.trim_start_matches('/'), HOME.trim_start_matches('/'));
        if !self.kernel.is_empty() {
            text = text.replace(&self.kernel, "6.1.0");
        }
        self.replace_ids(&text)
    }

    /// Replaces each word that is an id by one that says when it was first seen.
    fn replace_ids(&mut self, text: &str) -> String {
        let mut replaced = String::with_capacity(text.len());
        let mut word = String::new();
        for sign in text.chars().chain(std::iter::once('\0')) {
            if sign.is_ascii_alphanumeric() || sign == '-' || sign == '_' {
                word.push(sign);
                continue;
            }
            replaced += &self.word(&word);
            word.clear();
            replaced.push(sign);
        }
        replaced.pop();
        replaced
    }

    fn word(&mut self, word: &str) -> String {
        // A session's id may be the end of a longer word, such as the name of its file.
        let split = word.len().checked_sub(UUID_CHARS).filter(|at| *at > 0 && word.is_char_boundary(*at));
        if let Some((head, tail)) = split.map(|at| word.split_at(at))
            && is_uuid(tail)
        {
            return format!("{head}{}", self.word(tail));
        }
        let next = self.first_id + self.ids.len();
        let Some(replacement) = id_like(word, next) else { return word.to_owned() };
        self.ids.entry(word.to_owned()).or_insert(replacement).clone()
    }

    fn instant(&self, instant: &Instant) -> Value {
        // Each kind of time is ranked by itself: readers depend on the order within a kind, and on nothing else.
        let same_kind = |known: &&Instant| std::mem::discriminant(*known) == std::mem::discriminant(instant);
        let rank = self.instants.iter().filter(same_kind).position(|known| known == instant).unwrap_or(0);
        let seconds = START_SECONDS + rank as u64;
        match instant {
            Instant::Seconds(_) => Value::from(seconds),
            Instant::Millis(_) => Value::from(seconds * 1_000),
            Instant::Text(_) => Value::String(iso(rank as u64)),
        }
    }
}

/// The rank as a time on the first of January 2026, in seconds after midnight.
fn iso(rank: u64) -> String {
    format!("2026-01-01T{:02}:{:02}:{:02}.000Z", rank / 3_600, rank / 60 % 60, rank % 60)
}

fn collect_instants(value: &Value, found: &mut BTreeSet<Instant>) {
    match value {
        Value::String(text) => found.extend(instant_of_text(text)),
        Value::Number(number) => found.extend(number.as_u64().and_then(instant_of_number)),
        Value::Array(values) => values.iter().for_each(|value| collect_instants(value, found)),
        Value::Object(fields) => fields.values().for_each(|value| collect_instants(value, found)),
        Value::Null | Value::Bool(_) => {}
    }
}

/// Reads a number that is so large that it can only be a time of these years.
fn instant_of_number(number: u64) -> Option<Instant> {
    match number {
        1_500_000_000..=2_500_000_000 => Some(Instant::Seconds(number)),
        1_500_000_000_000..=2_500_000_000_000 => Some(Instant::Millis(number)),
        _ => None,
    }
}

fn instant_of_text(text: &str) -> Option<Instant> {
    let shape: String = text.chars().map(|sign| if sign.is_ascii_digit() { '0' } else { sign }).collect();
    let is_instant = shape == "0000-00-00T00:00:00.000Z" || shape == "0000-00-00T00:00:00Z";
    is_instant.then(|| Instant::Text(text.to_owned()))
}

const UUID_CHARS: usize = 36;

fn is_uuid(word: &str) -> bool {
    let parts: Vec<&str> = word.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    lengths == [8, 4, 4, 4, 12] && parts.iter().all(|part| is_hex(part))
}

fn is_hex(word: &str) -> bool {
    word.chars().all(|sign| sign.is_ascii_hexdigit())
}

/// The neutral form of a word that is an id: of the same kind and length, with a number in it.
fn id_like(word: &str, number: usize) -> Option<String> {
    if is_uuid(word) {
        return Some(format!("00000000-0000-4000-8000-{number:012x}"));
    }
    if word.len() >= HEX_CHARS_MIN && is_hex(word) {
        return Some(format!("{number:0width$x}", width = word.len()));
    }
    let (prefix, tail) = word.split_once('_')?;
    let short_prefix = (2..=8).contains(&prefix.len()) && prefix.chars().all(|sign| sign.is_ascii_lowercase());
    let is_tail = tail.len() >= TAIL_CHARS_MIN && tail.chars().all(|sign| sign.is_ascii_alphanumeric());
    let mixed = tail.chars().any(|sign| sign.is_ascii_digit());
    (short_prefix && is_tail && mixed).then(|| format!("{prefix}_{number:0width$}", width = tail.len()))
}

/// Replaces long texts below `value` by a note of their length: they are the vendor's.
pub fn blank(value: &mut Value) {
    match value {
        Value::String(text) if text.chars().count() > VENDOR_CHARS_MAX => {
            *text = format!("(vendor's text, {} characters)", text.chars().count());
        }
        Value::Array(values) => values.iter_mut().for_each(blank),
        Value::Object(fields) => fields.values_mut().for_each(blank),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
