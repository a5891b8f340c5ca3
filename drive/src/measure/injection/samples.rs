//! The texts that are tried: where each is from, what it is, and which others say nearly the same.
//!
//! Lessons are frames that requests were put into, each frame with each request. Whoever has seen a frame or a request knows
//! something of every lesson with it. So the two are parted here, and lessons are split by both.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, Result};
use infold_core::memory::suspicion::{WindowFeatures, windows};
use serde::Deserialize;

use crate::measure::parts::half_of;

/// Sources of which the texts are frames with requests in them.
const FRAMED: [&str; 3] = ["memory-lesson/", "memory-lesson-benign/", "AgentDojo/"];
/// How many texts begin alike if that is a frame, and how often a request is found at least.
const TIMES_MIN: usize = 3;
/// Texts that begin with the same so many words are taken for variants of one.
const BEGINNING_WORDS: usize = 6;

#[derive(Debug, Deserialize)]
struct LabelledText {
    src: String,
    label: u8,
    text: String,
}

/// A text that is tried.
pub(super) struct Sample {
    pub text: String,
    /// As `memory-lesson/tags`: the family and the part of it.
    pub source: String,
    pub is_attack: bool,
    pub windows: Vec<WindowFeatures>,
    /// The request in it, or how it begins: texts with the same belong together.
    pub unit: String,
    /// Where its frame and its request are in the lists of all, if it is a lesson.
    pub framed: Option<(usize, usize)>,
}

impl Sample {
    pub fn family(&self) -> &str {
        self.source.split('/').next().unwrap_or(&self.source)
    }

    /// Whether it is a lesson with an instruction hidden in it.
    pub fn is_hostile_lesson(&self) -> bool {
        self.is_attack && self.framed.is_some()
    }

    /// Which of so many parts it is in, by its unit. Unlike the standard library's hashes, this one never changes: the
    /// weights that infold comes with depend on it.
    pub fn part_of(&self, parts: u64) -> u64 {
        let hash = self
            .unit
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        (hash >> 32) % parts
    }

    /// The half that it is in; `None` for a lesson whose frame is in one half and its request in the other.
    pub fn half(&self) -> Option<u64> {
        match self.framed {
            Some((frame, request)) => (frame % 2 == request % 2).then_some(frame as u64 % 2),
            None => Some(half_of(&self.unit)),
        }
    }
}

/// Reads the texts; `None` if they are not there.
pub(super) fn read(data: &Path) -> Result<Option<Vec<Sample>>> {
    let path = data.join("injection/unified.jsonl.gz");
    if !path.exists() {
        return Ok(None);
    }
    let mut texts: Vec<LabelledText> = Vec::new();
    for line in BufReader::new(infold_wire::open(&path)?).lines() {
        texts.push(serde_json::from_str(&line?).context("a text is no JSON")?);
    }
    let requests = requests_of(&texts);
    let parted: Vec<Option<(String, String)>> = texts.iter().map(|text| part(text, &requests)).collect();
    let place = |key: fn(&(String, String)) -> &String, is_attack: Option<u8>| -> HashMap<String, usize> {
        let of = texts
            .iter()
            .zip(&parted)
            .filter(|(text, _)| is_lesson(text) && is_attack.is_none_or(|label| label == text.label));
        let all: BTreeSet<String> =
            of.filter_map(|(_, parted)| parted.as_ref()).map(|parted| key(parted).clone()).collect();
        all.into_iter().enumerate().map(|(at, key)| (key, at)).collect()
    };
    let frames = place(|parted| &parted.0, None);
    let requests = [place(|parted| &parted.1, Some(0)), place(|parted| &parted.1, Some(1))];
    let sample = |(text, parted): (LabelledText, Option<(String, String)>)| {
        let of_lesson = parted.as_ref().filter(|_| is_lesson(&text));
        let framed = of_lesson
            .and_then(|(frame, request)| Some((*frames.get(frame)?, *requests[usize::from(text.label)].get(request)?)));
        let unit = parted.map_or_else(|| beginning(&text.text), |(_, request)| request);
        let (is_attack, windows) = (text.label == 1, windows(&text.text));
        Sample { text: text.text, source: text.src, is_attack, windows, unit, framed }
    };
    Ok(Some(texts.into_iter().zip(parted).map(sample).collect()))
}

fn is_lesson(text: &LabelledText) -> bool {
    text.src.starts_with("memory-lesson")
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

fn beginning(text: &str) -> String {
    let words = words(text);
    if words.is_empty() { text.to_owned() } else { words[..words.len().min(BEGINNING_WORDS)].join(" ") }
}

/// The requests in framed texts, longest first: what differs between texts that begin with the same two words.
fn requests_of(texts: &[LabelledText]) -> Vec<String> {
    let mut alike: BTreeMap<(&str, String), Vec<Vec<String>>> = BTreeMap::new();
    for text in texts.iter().filter(|text| FRAMED.iter().any(|source| text.src.starts_with(source))) {
        let first = text.text.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
        alike.entry((&text.src, first)).or_default().push(words(&text.text));
    }
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for texts in alike.values().filter(|texts| texts.len() >= TIMES_MIN) {
        let before = same_words(texts, |text, at| text.get(at));
        let after = same_words(texts, |text, at| text[before..].iter().nth_back(at));
        for text in texts {
            *found.entry(text[before..text.len() - after].join(" ")).or_default() += 1;
        }
    }
    let mut requests: Vec<String> = found
        .into_iter()
        .filter(|(request, times)| *times >= TIMES_MIN && request.contains(' '))
        .map(|(request, _)| request)
        .collect();
    requests.sort_by_key(|request| std::cmp::Reverse(request.len()));
    requests
}

/// How many words all texts have in common, counted the way that `word` looks them up.
fn same_words(texts: &[Vec<String>], word: impl Fn(&[String], usize) -> Option<&String>) -> usize {
    let Some(first) = texts.first() else { return 0 };
    let is_same =
        |at: &usize| word(first, *at).is_some() && texts.iter().all(|text| word(text, *at) == word(first, *at));
    (0..).take_while(is_same).count()
}

/// A framed text's frame and request.
fn part(text: &LabelledText, requests: &[String]) -> Option<(String, String)> {
    if !FRAMED.iter().any(|source| text.src.starts_with(source)) {
        return None;
    }
    let plain = words(&text.text).join(" ");
    let request = requests.iter().find(|request| plain.contains(request.as_str()))?;
    // With the part of the source before it, so that the frames of each part are next to each other and go into both halves.
    let part = text.src.rsplit('/').next().unwrap_or_default();
    Some((format!("{part}: {}", plain.replace(request.as_str(), "@")), request.clone()))
}
