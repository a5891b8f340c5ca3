//! What memories are compared with: plain BM25 over their words, and the newest first.
//!
//! BM25 gets the same stems as infold's own ranking, k1 1.2 and b 0.75, and all words of the query: what it lacks are
//! files, fields and times.

use std::collections::{BTreeMap, HashMap};

const SATURATION: f64 = 1.2;
const BY_LENGTH: f64 = 0.75;
/// A word that is said more often in a query counts no more than this.
const TIMES_MAX: u32 = 2;

/// Texts by the words that are in them.
pub(super) struct PlainTexts<'a> {
    /// Each word with the texts that have it, and how often.
    words: HashMap<&'a str, BTreeMap<usize, u32>>,
    lengths: Vec<f64>,
}

impl<'a> PlainTexts<'a> {
    /// An index of texts, each in parts that are stems with blanks between them.
    pub fn of<'p>(texts: impl Iterator<Item = Vec<&'a str>> + 'p) -> Self
    where
        'a: 'p,
    {
        let (mut words, mut lengths) = (HashMap::<&str, BTreeMap<usize, u32>>::new(), Vec::new());
        for (position, parts) in texts.enumerate() {
            let mut length = 0;
            for stem in parts.into_iter().flat_map(str::split_ascii_whitespace) {
                length += 1;
                *words.entry(stem).or_default().entry(position).or_default() += 1;
            }
            lengths.push(f64::from(length));
        }
        Self { words, lengths }
    }

    /// How many texts have a word.
    pub fn having(&self, stem: &str) -> usize {
        self.words.get(stem).map_or(0, BTreeMap::len)
    }

    /// How well each text matches these stems.
    pub fn scores<'q>(&self, stems: impl Iterator<Item = &'q str>) -> Vec<f64> {
        let mut wanted = BTreeMap::<&str, u32>::new();
        stems.for_each(|stem| *wanted.entry(stem).or_default() += 1);
        let all = self.lengths.len() as f64;
        let mean = (self.lengths.iter().sum::<f64>() / all.max(1.0)).max(1.0);
        let mut scores = vec![0.0; self.lengths.len()];
        for (stem, times_wanted) in wanted {
            let Some(texts) = self.words.get(stem) else { continue };
            let having = texts.len() as f64;
            let worth = f64::from(times_wanted.min(TIMES_MAX)) * (1.0 + (all - having + 0.5) / (having + 0.5)).ln();
            for (text, times) in texts {
                let length = 1.0 - BY_LENGTH + BY_LENGTH * self.lengths[*text] / mean;
                let times = f64::from(*times);
                scores[*text] += worth * times * (SATURATION + 1.0) / (times + SATURATION * length);
            }
        }
        scores
    }
}
