//! Plain BM25, to compare with: one text of each tool's name, description and parameters, names split into their words,
//! everything in lower case; k1 1.2, b 0.75. No fields, no stems, no words left out.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use super::sample::SetTool;

const SATURATION: f64 = 1.2;
const BY_LENGTH: f64 = 0.75;

/// Tools by the words that are in them.
pub(super) struct PlainIndex {
    /// Each word with the tools that have it, and how often.
    words: HashMap<String, Vec<(usize, f64)>>,
    lengths: Vec<f64>,
}

impl PlainIndex {
    pub fn of(tools: &[SetTool]) -> Self {
        let (mut words, mut lengths) = (HashMap::<String, Vec<(usize, f64)>>::new(), Vec::new());
        for (position, tool) in tools.iter().enumerate() {
            let mut text = format!("{} {}", tool.name, tool.desc);
            add_parameters(&tool.schema, &mut text);
            let all = words_of(&text);
            lengths.push(all.len() as f64);
            for word in all {
                let tools = words.entry(word).or_default();
                match tools.last_mut() {
                    Some((last, times)) if *last == position => *times += 1.0,
                    _ => tools.push((position, 1.0)),
                }
            }
        }
        Self { words, lengths }
    }

    pub fn find(&self, query: &str, limit: usize) -> Vec<usize> {
        let all = self.lengths.len() as f64;
        let mean = self.lengths.iter().sum::<f64>() / all.max(1.0);
        let mut scores = vec![0.0; self.lengths.len()];
        let wanted: BTreeSet<String> = words_of(query).into_iter().collect();
        for tools in wanted.iter().filter_map(|word| self.words.get(word)) {
            let having = tools.len() as f64;
            let rarity = (1.0 + (all - having + 0.5) / (having + 0.5)).ln();
            for (tool, times) in tools {
                let length = 1.0 - BY_LENGTH + BY_LENGTH * self.lengths[*tool] / mean;
                scores[*tool] += rarity * times * (SATURATION + 1.0) / (times + SATURATION * length);
            }
        }
        let mut found: Vec<usize> = (0..scores.len()).filter(|tool| scores[*tool] > 0.0).collect();
        found.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
        found.truncate(limit);
        found
    }
}

/// Adds the names, descriptions and values of all parameters.
fn add_parameters(schema: &Value, text: &mut String) {
    let parameters = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    for (name, parameter) in parameters {
        let mut add = |part: &str| {
            text.push(' ');
            text.push_str(part);
        };
        add(name);
        parameter.get("description").and_then(Value::as_str).into_iter().for_each(&mut add);
        let values = parameter.get("enum").and_then(Value::as_array).into_iter().flatten();
        values.filter_map(Value::as_str).for_each(add);
        add_parameters(parameter, text);
        parameter.get("items").into_iter().for_each(|items| add_parameters(items, text));
    }
}

/// Words in lower case, split at signs, before capitals and around digits.
fn words_of(text: &str) -> Vec<String> {
    let (mut words, mut word, mut before) = (Vec::new(), String::new(), ' ');
    for c in text.chars().chain([' ']) {
        let is_new = c.is_uppercase() && !before.is_uppercase() || c.is_numeric() != before.is_numeric();
        if (is_new || !c.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words
}
