//! The plainest fork, with which others are compared: the end of the transcript.
//!
//! It is formatted as a fork formats it: without reasoning, and with escaped line ends in arguments as real ones.
//! Otherwise lines inside arguments could not be found, and the comparison would not be fair.

use infold_core::Counter;
use infold_core::fork::{Message, format_messages_as_context};
use infold_core::transcript::{Item, Kind};

/// The text of each item as a context shows it; empty if the item is not shown.
#[derive(Debug)]
pub(super) struct Blocks(Vec<String>);

impl Blocks {
    pub fn of(items: &[Item]) -> Self {
        let block = |item: &Item| {
            let mut block = match &item.kind {
                Kind::Call { tool, input, .. } => {
                    format!("[Tool call]\n{tool}\n{}", infold_core::plain_arguments(input))
                }
                _ => format_messages_as_context(&[Message { items: vec![item.clone()] }]),
            };
            if !block.is_empty() {
                block.push('\n');
            }
            block
        };
        Self(items.iter().map(block).collect())
    }

    /// The tokens of everything before an item.
    pub fn tokens(&self, item: usize, counter: Counter) -> u64 {
        self.0[..item].iter().map(|block| counter.count(block)).sum()
    }

    /// The last `chars` characters before an item.
    pub fn tail_of_chars(&self, item: usize, chars: usize) -> String {
        let mut left = chars;
        let mut parts = Vec::new();
        for block in self.0[..item].iter().rev() {
            let tail = match left.checked_sub(1).and_then(|last| block.char_indices().nth_back(last)) {
                Some((start, _)) => &block[start..],
                None if left == 0 => break,
                None => block,
            };
            left -= tail.chars().count();
            parts.push(tail);
        }
        parts.reverse();
        parts.concat()
    }

    /// The last lines before an item, as many as fit into `tokens_max` tokens.
    pub fn tail_of_tokens(&self, item: usize, tokens_max: u64, counter: Counter) -> String {
        let mut left = tokens_max;
        let mut parts = Vec::new();
        for block in self.0[..item].iter().rev() {
            // The block is counted as a whole, because every count is rounded up.
            let tokens = counter.count(block);
            if tokens > left {
                parts.push(last_lines(block, left, counter));
                break;
            }
            left -= tokens;
            parts.push(block);
        }
        parts.reverse();
        parts.concat()
    }
}

/// The last lines of a text, as many as fit into `tokens_max` tokens.
fn last_lines(text: &str, tokens_max: u64, counter: Counter) -> &str {
    let ends = text.match_indices('\n').map(|(at, _)| at + 1);
    let starts: Vec<usize> = std::iter::once(0).chain(ends).collect();
    let first = starts.partition_point(|&start| counter.count(&text[start..]) > tokens_max);
    starts.get(first).map_or("", |&start| &text[start..])
}
