//! Trains on some texts, chooses the threshold on the same ones, and counts what is flagged of others.

use infold_core::memory::suspicion::SuspicionModel;

use super::phrases::MadeUp;
use super::samples::Sample;
use super::train::{TaughtWindow, train};

/// The share of harmless texts that may be flagged among those that the threshold is chosen on. Lower than what is claimed,
/// because other texts are never quite like those.
pub(super) const HARMLESS_SHARE: f64 = 0.006;
/// Into how many parts the texts are divided to choose the threshold: each is judged by what the others taught.
const PARTS: u64 = 3;
/// How much a lesson of ours counts beside a text that was found.
const MADE_UP_WEIGHT: f64 = 0.4;

/// The model that these texts give, and its threshold.
pub(super) fn model_of(texts: &[&Sample], made_up: &[MadeUp]) -> SuspicionModel {
    let mut sums: Vec<f32> = Vec::new();
    for part in 0..PARTS {
        let (judged, taught): (Vec<&Sample>, Vec<&Sample>) = texts.iter().partition(|text| text.part_of(PARTS) == part);
        let model = trained(&taught, made_up);
        sums.extend(judged.iter().filter(|text| !text.is_attack).map(|text| model.sum(&text.windows)));
    }
    sums.sort_by(|one, other| other.total_cmp(one));
    let above = (sums.len() as f64 * HARMLESS_SHARE) as usize;
    trained(texts, made_up).with_threshold(sums.get(above).copied().unwrap_or(0.0))
}

/// Of an attack only the first window is sure to be one; of a harmless text each is harmless.
fn trained(texts: &[&Sample], made_up: &[MadeUp]) -> SuspicionModel {
    let mut lessons: Vec<TaughtWindow<'_>> = Vec::new();
    for text in texts {
        let windows = if text.is_attack { &text.windows[..1] } else { &text.windows[..] };
        let (label, weight) = (f64::from(u8::from(text.is_attack)), 1.0 / windows.len() as f64);
        lessons.extend(windows.iter().map(|window| TaughtWindow { window, label, weight }));
    }
    lessons.extend(made_up.iter().map(|made_up| TaughtWindow {
        window: &made_up.window,
        label: f64::from(u8::from(made_up.is_attack)),
        weight: MADE_UP_WEIGHT,
    }));
    train(&lessons)
}

/// How many texts there were, and how many of them were flagged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Flagged {
    pub texts: usize,
    pub flagged: usize,
}

impl Flagged {
    pub fn of<'a>(texts: impl IntoIterator<Item = &'a Sample>, is_flagged: impl Fn(&Sample) -> bool) -> Self {
        let mut all = Self::default();
        for text in texts {
            all.add(is_flagged(text));
        }
        all
    }

    pub fn add(&mut self, is_flagged: bool) {
        self.texts += 1;
        self.flagged += usize::from(is_flagged);
    }

    /// `None` if there were no texts.
    pub fn percent(self) -> Option<f64> {
        (self.texts > 0).then(|| 100.0 * self.flagged as f64 / self.texts as f64)
    }
}

impl std::fmt::Display for Flagged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.percent() {
            Some(percent) => write!(f, "{percent:.1} % of {}", self.texts),
            None => f.write_str("–"),
        }
    }
}
