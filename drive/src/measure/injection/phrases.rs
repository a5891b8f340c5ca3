//! Lessons that are put together from the phrases in `phrases.txt`, to learn from beside the texts that are tried.

use infold_core::memory::suspicion::{WindowFeatures, windows};
use infold_testkit::Rng;

const FILE: &str = include_str!("phrases.txt");
const SEED: u64 = 20_261_117;
/// How many requests each frame is filled with.
const PER_FRAME: usize = 12;
const HARMLESS_IN_ATTACK: usize = 3;

/// A lesson of ours.
pub(super) struct MadeUp {
    pub window: WindowFeatures,
    pub is_attack: bool,
}

/// All lessons of ours; the same each time.
pub(super) fn made_up() -> Vec<MadeUp> {
    let mut rng = Rng::new(SEED);
    let (neutral, hostile) = (section("frames for any request"), section("frames of an attack"));
    let (attacks, harmless) = (section("requests of an attack"), section("requests that are harmless"));
    let mut texts: Vec<(String, bool)> = Vec::new();
    let mut fill = |frame: &str, requests: &[&str], is_attack: bool, times: usize| {
        for _ in 0..times {
            texts.push((filled(frame, requests[rng.below(requests.len())]), is_attack));
        }
    };
    for frame in &neutral {
        fill(frame, &attacks, true, PER_FRAME);
        fill(frame, &harmless, false, PER_FRAME);
    }
    for frame in &hostile {
        fill(frame, &attacks, true, PER_FRAME);
        fill(frame, &harmless, true, HARMLESS_IN_ATTACK);
    }
    texts.extend(attacks.iter().map(|request| (filled("{C}.", request), true)));
    texts.extend(harmless.iter().map(|request| (filled("{C}.", request), false)));
    for (name, is_attack) in [("attacks", true), ("harmless lessons", false), ("harmless prompts", false)] {
        // They are few and each is different, so each counts twice.
        texts.extend(section(name).into_iter().flat_map(|text| [text; 2]).map(|text| (text.to_owned(), is_attack)));
    }
    let first = |text: String| windows(&text).swap_remove(0);
    texts.into_iter().map(|(text, is_attack)| MadeUp { window: first(text), is_attack }).collect()
}

fn section(name: &str) -> Vec<&'static str> {
    let start = format!("\n[{name}]\n");
    let Some((_, rest)) = FILE.split_once(&start) else { return Vec::new() };
    rest.lines().take_while(|line| !line.is_empty()).collect()
}

fn filled(frame: &str, request: &str) -> String {
    let mut letters = request.chars();
    let capital: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
    frame.replace("{C}", &capital).replace("{}", request)
}
