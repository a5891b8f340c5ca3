//! Sessions that learn, request by request, how their provider counts.
//!
//! Before each request a session foretells what came since the last one, and the whole prompt; then it learns from what
//! the provider reported. It counts with weights that its project had no part in. What every prompt has in front is not
//! recorded, and what a person said in between is left out; so each prompt goes on from the provider's count of the last.

use std::fmt;

use infold_core::SessionCalibration;

use super::fit::{self, FittedWeights};
use super::samples::Sample;

/// What is claimed of whole prompts in every session, and of what is new in them in nine of ten, in percent.
const BIAS_PERCENT_MAX: f64 = 5.0;
/// Sessions with fewer pieces say too little.
const PIECES_MIN: usize = 10;

/// By how much a session's counts were off in sum, in percent.
struct SessionBias {
    name: String,
    plain_percent: f64,
    new_percent: f64,
    prompts_percent: f64,
}

impl SessionBias {
    /// `None` for a session with too little to say.
    fn of(samples: &[Sample], weights: &FittedWeights) -> Option<Self> {
        let first = samples.first().filter(|_| samples.len() >= PIECES_MIN)?;
        let family = first.family();
        let mut learnt = SessionCalibration::starting_at(family, 1_000);
        let (mut plain, mut new, mut prompts) = (Sum::default(), Sum::default(), Sum::default());
        for sample in samples {
            let (before, after) = sample.prompts?;
            let new_tokens = fit::counted(weights, &fit::numbers(family, &sample.size())).max(0.0);
            learnt.go_on_from(before, before);
            let ours_tokens = before + new_tokens as u64;
            plain.add(new_tokens, sample.theirs_tokens);
            new.add(new_tokens * learnt.per_mille() as f64 / 1_000.0, sample.theirs_tokens);
            prompts.add(learnt.prompt_tokens(ours_tokens) as f64, after as f64);
            learnt.learn(ours_tokens, before + sample.theirs_tokens as u64);
        }
        Some(Self {
            name: format!("{}, {family}", first.source),
            plain_percent: plain.bias_percent(),
            new_percent: new.bias_percent(),
            prompts_percent: prompts.bias_percent(),
        })
    }
}

#[derive(Default)]
struct Sum {
    ours: f64,
    theirs: f64,
}

impl Sum {
    fn add(&mut self, ours: f64, theirs: f64) {
        self.ours += ours;
        self.theirs += theirs;
    }

    fn bias_percent(&self) -> f64 {
        (self.ours / self.theirs - 1.0) * 100.0
    }
}

/// How large biases are, whichever their direction.
struct BiasSizes {
    median: f64,
    nine_in_ten: f64,
    worst: f64,
}

impl BiasSizes {
    fn of(mut sizes: Vec<f64>) -> Self {
        sizes.sort_by(f64::total_cmp);
        let at = |percent: usize| sizes.get(sizes.len().saturating_sub(1) * percent / 100).copied().unwrap_or_default();
        Self { median: at(50), nine_in_ten: at(90), worst: at(100) }
    }
}

impl fmt::Display for BiasSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} ({:.1}; {:.1})", self.median, self.nine_in_ten, self.worst)
    }
}

/// The table of biases by source, with the claims that do not hold. `weights` are those for a session's samples.
pub(super) fn table(
    sessions: &[Vec<Sample>],
    mut weights: impl FnMut(&Sample) -> FittedWeights,
) -> (String, Vec<String>) {
    let mut bias = |samples: &Vec<Sample>| SessionBias::of(samples, &weights(samples.first()?));
    let biases: Vec<SessionBias> = sessions.iter().filter_map(&mut bias).collect();
    let mut text = "\n| bias over a session, %: median of its size (nine in ten; worst) | sessions | what is new, not \
                    calibrated | what is new, calibrated | whole prompts, calibrated |\n|---|---|---|---|---|\n"
        .to_owned();
    let every: Vec<&SessionBias> = biases.iter().collect();
    let mut parts = vec![("**all**".to_owned(), every.clone())];
    parts.extend(super::groups(&every, |bias| bias.name.clone()));
    for (name, biases) in &parts {
        let [plain, new, prompts] = sizes(biases);
        text.push_str(&format!("| {name} | {} | {plain} | {new} | {prompts} |\n", biases.len()));
    }
    let [_, new, prompts] = sizes(&every);
    let claims = [("what is new, in nine of ten", new.nine_in_ten), ("whole prompts, in any", prompts.worst)];
    let missed = claims.iter().filter(|(_, percent)| *percent > BIAS_PERCENT_MAX);
    (text, missed.map(|(what, percent)| format!("bias over a session, {what}: {percent:.1} %")).collect())
}

fn sizes(biases: &[&SessionBias]) -> [BiasSizes; 3] {
    let of = |percent: fn(&SessionBias) -> f64| BiasSizes::of(biases.iter().map(|bias| percent(bias).abs()).collect());
    [of(|bias| bias.plain_percent), of(|bias| bias.new_percent), of(|bias| bias.prompts_percent)]
}
