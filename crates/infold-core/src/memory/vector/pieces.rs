//! Takes a text apart into a model's tokens, as the model's `tokenizer.json` says: by the longest known pieces (WordPiece), by
//! merging pairs (BPE), or by the most likely pieces (Unigram).
//!
//! How a text is split before that is read from the tokens and not from the file: where they begin with a mark for a space,
//! at spaces; elsewhere also at signs. So the tokens are those of the model's own tokenizer for words, and may differ from it
//! at digits, signs and line ends, which a sum of vectors hardly notices.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use super::file::NotAModel;

/// The longest piece of a text that is taken apart at once, in characters.
const WORD_CHARS_MAX: usize = 100;
/// The most tokens of a model.
const TOKENS_MAX: usize = 2_000_000;
/// What is written for a space in front of a word: in models of SentencePiece, and in those that work on bytes.
const SPACE_MARK: &str = "▁";
const BYTE_SPACE_MARK: &str = "Ġ";

/// How texts are taken apart.
pub(super) struct TextPieces {
    ids: HashMap<String, usize>,
    method: PieceMethod,
    /// What is written in front of a word.
    before_word: &'static str,
    is_lower_case: bool,
    tokens: usize,
}

enum PieceMethod {
    /// From the left the longest that is known; what comes behind the first begins with this.
    Longest { behind: String },
    /// Pairs are merged, the one first that is first in the list.
    Merging { ranks: HashMap<(String, String), usize> },
    /// The pieces whose weights add up to the most.
    Likeliest { weights: HashMap<String, f64> },
}

/// `tokenizer.json`, as far as it is read.
#[derive(Deserialize)]
struct TokenizerFile {
    model: TokenModel,
    #[serde(default)]
    normalizer: Value,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum TokenModel {
    WordPiece {
        vocab: HashMap<String, usize>,
        #[serde(default = "hashes")]
        continuing_subword_prefix: String,
    },
    #[serde(rename = "BPE")]
    Bpe {
        vocab: HashMap<String, usize>,
        merges: Vec<Merge>,
    },
    Unigram {
        vocab: Vec<(String, f64)>,
    },
}

/// What the format means where it says nothing.
fn hashes() -> String {
    "##".to_owned()
}

/// A pair, in the older or the newer way of writing.
#[derive(Deserialize)]
#[serde(untagged)]
enum Merge {
    Text(String),
    Pair(String, String),
}

impl TextPieces {
    pub(super) fn read(tokenizer: &[u8]) -> Result<Self, NotAModel> {
        let unknown = "is broken, or of a kind that is not known here: it must be WordPiece, BPE or Unigram";
        let file: TokenizerFile = serde_json::from_slice(tokenizer).map_err(|_| NotAModel::Tokens(unknown))?;
        let is_lower_case = file.normalizer.to_string().to_lowercase().contains("\"lowercase\":true")
            || file.normalizer.to_string().contains("\"Lowercase\"");
        let (ids, method) = match file.model {
            TokenModel::WordPiece { vocab, continuing_subword_prefix: behind } => {
                (vocab, PieceMethod::Longest { behind })
            }
            TokenModel::Bpe { vocab, merges } => {
                let ranks = merges.into_iter().enumerate().filter_map(|(rank, merge)| Some((merge.pair()?, rank)));
                (vocab, PieceMethod::Merging { ranks: ranks.collect() })
            }
            TokenModel::Unigram { vocab } => {
                let ids = vocab.iter().enumerate().map(|(id, (token, _))| (token.clone(), id)).collect();
                (ids, PieceMethod::Likeliest { weights: vocab.into_iter().collect() })
            }
        };
        let tokens = ids.values().max().map_or(0, |largest| largest.saturating_add(1));
        if tokens == 0 || tokens > TOKENS_MAX {
            return Err(NotAModel::Tokens("has no tokens, or numbers that are none"));
        }
        let begins_with = |mark: &str| ids.keys().any(|token| token.len() > mark.len() && token.starts_with(mark));
        let before_word = match method {
            PieceMethod::Longest { .. } => "",
            _ if begins_with(SPACE_MARK) => SPACE_MARK,
            _ if begins_with(BYTE_SPACE_MARK) => BYTE_SPACE_MARK,
            _ => "",
        };
        Ok(Self { ids, method, before_word, is_lower_case, tokens })
    }

    /// One more than the largest number of a token.
    pub(super) fn tokens(&self) -> usize {
        self.tokens
    }

    /// Calls `see` with every token of a text that is known.
    pub(super) fn each_token(&self, text: &str, mut see: impl FnMut(usize)) {
        let lower = if self.is_lower_case { text.to_lowercase() } else { text.to_owned() };
        for spaced in lower.split_whitespace() {
            let mut mark = self.before_word;
            for word in self.words(spaced) {
                let letters: Vec<char> = mark.chars().chain(word.chars()).collect();
                let runs = letters.chunks(WORD_CHARS_MAX);
                runs.flat_map(|run| self.taken_apart(run))
                    .filter_map(|piece| self.ids.get(&piece))
                    .for_each(|id| see(*id));
                mark = "";
            }
        }
    }

    /// What is taken apart for itself, of a text without spaces.
    fn words<'a>(&self, text: &'a str) -> Vec<&'a str> {
        if self.before_word == SPACE_MARK {
            return vec![text];
        }
        // Letters and digits stay together, each sign is for itself.
        text.split_inclusive(|c: char| !c.is_alphanumeric())
            .flat_map(|run| match run.char_indices().next_back() {
                Some((at, last)) if !last.is_alphanumeric() => [&run[..at], &run[at..]],
                Some(_) | None => [run, ""],
            })
            .filter(|word| !word.is_empty())
            .collect()
    }

    fn taken_apart(&self, letters: &[char]) -> Vec<String> {
        match &self.method {
            PieceMethod::Longest { behind } => self.longest(letters, behind),
            PieceMethod::Merging { ranks } => merged(letters, ranks),
            PieceMethod::Likeliest { weights } => likeliest(letters, weights),
        }
    }

    /// A word of which a part is unknown has no token at all.
    fn longest(&self, letters: &[char], behind: &str) -> Vec<String> {
        let (mut pieces, mut at) = (Vec::new(), 0);
        while at < letters.len() {
            let mark = if at == 0 { "" } else { behind };
            let spelled = |to: usize| mark.chars().chain(letters[at..to].iter().copied()).collect::<String>();
            let known = (at + 1..=letters.len()).rev().map(|to| (to, spelled(to)));
            let Some((to, piece)) = known.into_iter().find(|(_, piece)| self.ids.contains_key(piece)) else {
                return Vec::new();
            };
            pieces.push(piece);
            at = to;
        }
        pieces
    }
}

impl Merge {
    fn pair(self) -> Option<(String, String)> {
        match self {
            Self::Text(text) => text.split_once(' ').map(|(one, other)| (one.to_owned(), other.to_owned())),
            Self::Pair(one, other) => Some((one, other)),
        }
    }
}

fn merged(letters: &[char], ranks: &HashMap<(String, String), usize>) -> Vec<String> {
    let mut pieces: Vec<String> = letters.iter().map(char::to_string).collect();
    // Each round leaves one piece less.
    while pieces.len() > 1 {
        let rank = |at: usize| ranks.get(&(pieces[at].clone(), pieces[at + 1].clone())).copied();
        let first = (0..pieces.len() - 1).filter_map(|at| Some((rank(at)?, at))).min();
        let Some((_, at)) = first else { break };
        let behind = pieces.remove(at + 1);
        pieces[at].push_str(&behind);
    }
    pieces
}

fn likeliest(letters: &[char], weights: &HashMap<String, f64>) -> Vec<String> {
    // For each place the best weight up to it, and where its last piece begins. A letter that is unknown costs much.
    let unknown = -100.0;
    let mut best: Vec<(f64, usize)> = vec![(0.0, 0)];
    for to in 1..=letters.len() {
        let ways = (0..to).map(|from| {
            let piece: String = letters[from..to].iter().collect();
            let weight = weights.get(&piece).copied().unwrap_or(unknown * (to - from) as f64);
            (best[from].0 + weight, from)
        });
        let way = ways.max_by(|one, other| one.0.total_cmp(&other.0)).unwrap_or((unknown, to - 1));
        best.push(way);
    }
    let (mut pieces, mut to) = (Vec::new(), letters.len());
    while to > 0 {
        let from = best[to].1;
        pieces.push(letters[from..to].iter().collect());
        to = from;
    }
    pieces.reverse();
    pieces
}
