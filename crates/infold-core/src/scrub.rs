//! Takes secrets out of text, and is the only way to make [`Scrubbed`] text.
//!
//! A secret becomes a placeholder that says what kind it was and, by a keyed hash, which one, so that a reader can tell
//! two secrets apart and recognise one that comes again. What leaves a branch or reaches the disk has the type
//! `Scrubbed`, so code that forgets to scrub does not compile.
//!
//! Invariants:
//! - Scrubbing fails closed. Text that cannot be scrubbed whole is an error, never a part.
//! - Scrubbing a scrubbed text changes nothing, and no rule ever matches inside a placeholder.
//!
//! Time limits and panics are the engine's to watch: nothing here knows a clock.

mod assignment;
mod decode;
mod find;
mod formats;
mod glued;
mod kubernetes;
mod look;
mod placeholder;
mod private_key;
mod rules;
mod tables;
mod text;

#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

pub use find::MatchVerdict;
use find::{Find, FoundInText, Wanted};
pub use rules::{KNOWN_BYTES_MIN, RuleSet, RulesBase, RulesError};
pub use text::Scrubbed;

/// The longest text that a scrubber takes when nobody has set a bound.
const BYTES_MAX_UNSET: usize = 16 << 20;

/// How often a text is searched. Taking a secret out can make something else one, because what was around it is gone;
/// what is still changing after so many rounds was made to waste time, and is taken out whole.
const ROUNDS_MAX: usize = 8;

/// How often what was decoded is decoded again.
const DECODED_DEPTH_MAX: usize = 3;
/// How many bytes are decoded in all, for each byte of the text.
const DECODED_FACTOR_MAX: usize = 16;

/// The rule's id in the placeholder of what was taken out whole because scrubbing it did not end.
const UNFINISHED: &str = "unfinished";

/// Why a text could not be scrubbed. Nothing of the text may be used then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScrubError {
    /// The text is longer than the scrubber takes.
    #[error(
        "text of {bytes} bytes is too long to scrub, the limit is {bytes_max}: send less, or raise scrub.max_bytes"
    )]
    TooLarge {
        /// Length of the text that was refused.
        bytes: usize,
        /// Longest text that is allowed, from settings.
        bytes_max: usize,
    },
    /// Scrubbing did not end in time. The engine, which has a clock, reports this.
    #[error("scrubbing took longer than {timeout_ms} ms: send less text, or raise scrub.timeout_ms")]
    Stalled {
        /// Time that is allowed, from settings.
        timeout_ms: u64,
    },
    /// So much of the text is encoded, and encoded again, that not all of it can be searched.
    #[error("too much of this text is encoded more than once, so it cannot be searched: send less of it at a time")]
    TooMuchCoded,
    /// The scrubber panicked, and the engine caught it.
    #[error("the scrubber broke down on this text, nothing was kept: send it in another form, and report it")]
    Panicked,
    /// There is no scrubber, or one of its rules is unusable.
    #[error("no working scrubber, so nothing can be taken: restart infold, and report it if that does not help")]
    Missing,
}

/// The placeholders in a text, in order.
pub fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    placeholder::find_all(text).map(|place| &text[place])
}

/// Takes secrets out of text. Cheap to make and to clone: the rules that are built in are read when first needed, and
/// each pattern is compiled when first needed, once for all scrubbers.
#[derive(Clone)]
pub struct Scrubber {
    key: [u8; 32],
    bytes_max: usize,
    /// `None`: those that are built in.
    rules: Option<Arc<RuleSet>>,
}

impl Scrubber {
    /// A scrubber whose placeholders are stable for `key`: the same secret always gets the same
    /// one, and nobody without the key can tell from it what the secret was.
    pub fn new(key: [u8; 32]) -> Self {
        Self { key, bytes_max: BYTES_MAX_UNSET, rules: None }
    }

    /// The scrubber that belongs to a database's secret: it gives the same placeholders everywhere and for ever.
    pub fn derive(secret: &[u8; 32]) -> Self {
        let key = blake3::Hasher::new_derive_key("infold 2026 placeholders").update(secret).finalize();
        Self::new(*key.as_bytes())
    }

    /// The same scrubber with another bound on the length of a text.
    #[must_use]
    pub fn with_max_bytes(self, bytes_max: usize) -> Self {
        Self { bytes_max, ..self }
    }

    /// The same scrubber with these rules in place of those that are built in.
    #[must_use]
    pub fn with_rules(self, rules: Arc<RuleSet>) -> Self {
        Self { rules: Some(rules), ..self }
    }

    /// Takes every secret out of `text`.
    ///
    /// # Errors
    ///
    /// Where any of it could not be scrubbed. Nothing may then be used, not even a part.
    pub fn scrub(&self, text: &str) -> Result<Scrubbed, ScrubError> {
        let masks = self.masks(text, &[])?;
        let mut scrubbed = String::with_capacity(text.len());
        let mut done = 0;
        for mask in &masks {
            scrubbed.push_str(&text[done..mask.span.start]);
            placeholder::write(&self.key, &mask.rule, &text[mask.span.clone()], &mut scrubbed);
            done = mask.span.end;
        }
        scrubbed.push_str(&text[done..]);
        Ok(Scrubbed::made(scrubbed, u32::try_from(masks.len()).unwrap_or(u32::MAX)))
    }

    /// Takes every secret out of parts that are shown one behind the other, also those that begin in one part and end in
    /// another: the placeholder is where the secret began.
    ///
    /// # Errors
    ///
    /// Where any of them could not be scrubbed. Nothing may then be used, not even a part.
    pub fn scrub_parts(&self, parts: &[&str]) -> Result<Vec<Scrubbed>, ScrubError> {
        let text = parts.concat();
        let ends = parts.iter().scan(0, |end, part| {
            *end += part.len();
            Some(*end)
        });
        let ends: Vec<usize> = ends.collect();
        let masks = self.masks(&text, &ends)?;
        let mut scrubbed = Vec::with_capacity(parts.len());
        let mut start = 0;
        for end in ends {
            let mut part = String::new();
            let mut secrets = 0;
            let mut done = start;
            let from = masks.partition_point(|mask| mask.span.end <= start);
            for mask in masks[from..].iter().take_while(|mask| mask.span.start < end) {
                if mask.span.start >= start {
                    part.push_str(&text[done..mask.span.start]);
                    placeholder::write(&self.key, &mask.rule, &text[mask.span.clone()], &mut part);
                    secrets += 1;
                }
                done = mask.span.end.min(end);
            }
            part.push_str(&text[done..end]);
            scrubbed.push(Scrubbed::made(part, secrets));
            start = end;
        }
        Ok(scrubbed)
    }

    /// The placeholders in a text that were made with this scrubber's key, in order. Others only look like one.
    pub fn own_placeholders<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        placeholders(text).filter(|placeholder| placeholder::is_made_with(&self.key, placeholder))
    }

    /// The secrets of a text, each with the placeholder that scrubbing gives it. This is for putting a secret back
    /// where its placeholder was written, and for nothing that is shown, stored or sent.
    ///
    /// # Errors
    ///
    /// Where any of the text could not be scrubbed.
    pub fn secrets_in(&self, text: &str) -> Result<Vec<FoundSecret>, ScrubError> {
        let masks = self.masks(text, &[])?;
        let found = masks.into_iter().map(|mask| {
            let value = text[mask.span].to_owned();
            let mut placeholder = String::new();
            placeholder::write(&self.key, &mask.rule, &value, &mut placeholder);
            FoundSecret { placeholder, value }
        });
        Ok(found.collect())
    }

    /// Where the secrets of a text are, in order: what a report says of them.
    ///
    /// # Errors
    ///
    /// Where any of the text could not be scrubbed.
    pub fn report(&self, text: &str) -> Result<Vec<Mask>, ScrubError> {
        self.masks(text, &[])
    }

    /// Everything that a rule's pattern matched in a text, in order, with what that rule says of it and what scrubbing
    /// does with it.
    ///
    /// # Errors
    ///
    /// Where the text is too long, or no rules can be used.
    pub fn explain(&self, text: &str) -> Result<Vec<ExplainedMatch>, ScrubError> {
        let rules = self.rules()?;
        let mut finds = Vec::new();
        let masks = self.masks_in_rounds(text, &[], Wanted::Everything, |find| finds.push(find.clone()))?;

        // A later round finds what is left again, and may judge otherwise: what was taken once is taken.
        let is_left = |find: &Find| find.verdict != MatchVerdict::Taken;
        finds.sort_by_key(|find| (find.span.start, find.span.end, find.rule, is_left(find)));
        finds.dedup_by_key(|find| (find.span.clone(), find.rule));

        let found = finds.into_iter().map(|find| {
            let taken_as = mask_over(&masks, &find.span).map(|mask| mask.rule.clone());
            let mask = Mask { span: find.span, rule: rules.rule(find.rule).id.clone() };
            ExplainedMatch { mask, verdict: find.verdict, taken_as }
        });
        let unfinished = masks.iter().filter(|mask| mask.rule == UNFINISHED).map(|mask| ExplainedMatch {
            mask: mask.clone(),
            verdict: MatchVerdict::Taken,
            taken_as: Some(mask.rule.clone()),
        });
        let mut explained: Vec<ExplainedMatch> = found.chain(unfinished).collect();
        explained.sort_by_key(|explained| explained.mask.span.start);
        Ok(explained)
    }

    fn rules(&self) -> Result<Arc<RuleSet>, ScrubError> {
        self.rules.clone().or_else(RuleSet::built_in).ok_or(ScrubError::Missing)
    }

    fn check_length(&self, text: &str) -> Result<(), ScrubError> {
        if text.len() > self.bytes_max {
            return Err(ScrubError::TooLarge { bytes: text.len(), bytes_max: self.bytes_max });
        }
        Ok(())
    }

    /// What has to be taken out of a text, in order, none overlapping. `cuts` are places at which it is shown in parts.
    fn masks(&self, text: &str, cuts: &[usize]) -> Result<Vec<Mask>, ScrubError> {
        self.masks_in_rounds(text, cuts, Wanted::Secrets, |_| ())
    }

    /// The masks of a text. `each` gets every find of every round.
    ///
    /// What is between placeholders is searched piece by piece, so that no rule can match into or across one, and a
    /// piece in which something was found is searched again without it, until nothing more is found.
    fn masks_in_rounds(
        &self,
        text: &str,
        cuts: &[usize],
        wanted: Wanted,
        mut each: impl FnMut(&Find),
    ) -> Result<Vec<Mask>, ScrubError> {
        self.check_length(text)?;
        let rules = self.rules()?;
        let mut masks = Vec::new();
        let mut pieces = gaps(0..text.len(), placeholder::find_all(text));
        for _ in 0..ROUNDS_MAX {
            let mut left = Vec::new();
            for piece in pieces {
                let mut finds = search_piece(&rules, text, &piece, cuts, wanted)?;
                finds.iter().for_each(&mut each);
                finds.retain(|find| find.verdict == MatchVerdict::Taken);
                if finds.is_empty() {
                    continue;
                }
                let finds = find::merge(finds);
                left.extend(gaps(piece, finds.iter().map(|find| find.span.clone())));
                masks.extend(
                    finds.into_iter().map(|find| Mask { span: find.span, rule: rules.rule(find.rule).id.clone() }),
                );
            }
            pieces = left;
        }
        masks.extend(pieces.into_iter().map(|span| Mask { span, rule: UNFINISHED.to_owned() }));
        masks.sort_by_key(|mask| mask.span.start);
        Ok(masks)
    }
}

/// What a rule's pattern matched, and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedMatch {
    /// Where it is, and the rule.
    pub mask: Mask,
    /// What this rule says of it.
    pub verdict: MatchVerdict,
    /// The rule in whose name scrubbing takes all of it out, if it does; the first if there are several.
    pub taken_as: Option<String>,
}

/// Something that is taken out of a text: where it is, and the rule that says so. It does not hold the secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mask {
    /// Its bytes in the text.
    pub span: Range<usize>,
    /// The id of the rule.
    pub rule: String,
}

/// The pieces of `whole` that are between `spans`, which are in order.
fn gaps(whole: Range<usize>, spans: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut at = whole.start;
    for span in spans {
        if span.start > at {
            pieces.push(at..span.start);
        }
        at = span.end;
    }
    if whole.end > at {
        pieces.push(at..whole.end);
    }
    pieces
}

/// The mask that covers a span, or the first of several that do without a gap. `masks` are in order, none overlapping.
fn mask_over<'m>(masks: &'m [Mask], span: &Range<usize>) -> Option<&'m Mask> {
    let from = masks.partition_point(|mask| mask.span.end <= span.start);
    let mut covered = span.start;
    for mask in masks[from..].iter().take_while(|mask| mask.span.start < span.end) {
        if mask.span.start <= covered {
            covered = mask.span.end;
        }
    }
    masks.get(from).filter(|_| span.start < span.end && span.end <= covered)
}

/// The finds in one piece of a text, which may overlap and are in no order. A piece that is shown in parts is searched as
/// a whole and part by part: a word may be one only by the end of a part.
fn search_piece(
    rules: &RuleSet,
    text: &str,
    piece: &Range<usize>,
    cuts: &[usize],
    wanted: Wanted,
) -> Result<Vec<Find>, ScrubError> {
    let mut finds = Vec::new();
    let mut search_span = |span: Range<usize>| {
        for mut find in search(rules, &text.as_bytes()[span.clone()], wanted)? {
            find.span = widened(text, &(find.span.start + span.start..find.span.end + span.start));
            finds.push(find);
        }
        Ok(())
    };
    search_span(piece.clone())?;
    let within = cuts.iter().copied().filter(|cut| piece.start < *cut && *cut < piece.end);
    let cuts: Vec<Range<usize>> = within.map(|cut| cut..cut).collect();
    if !cuts.is_empty() {
        for part in gaps(piece.clone(), cuts.into_iter()) {
            search_span(part)?;
        }
    }
    Ok(finds)
}

/// The finds in a text and in what it reads as when it is decoded. They may overlap, and are in no order.
fn search(rules: &RuleSet, text: &[u8], wanted: Wanted) -> Result<Vec<Find>, ScrubError> {
    let mut bytes_left = text.len().saturating_mul(DECODED_FACTOR_MAX);
    search_decoded(rules, text, wanted, DECODED_DEPTH_MAX, &mut bytes_left)
}

fn search_decoded(
    rules: &RuleSet,
    text: &[u8],
    wanted: Wanted,
    depth_left: usize,
    bytes_left: &mut usize,
) -> Result<Vec<Find>, ScrubError> {
    let FoundInText { finds: plain, lines_words } = find::find(rules, text, wanted)?;
    if depth_left == 0 {
        return Ok(plain);
    }
    // What was left does not say that a secret ends here.
    let taken: Vec<Find> = plain.iter().filter(|find| find.verdict == MatchVerdict::Taken).cloned().collect();
    let mut finds = Vec::new();
    decode::each_reading(text, &lines_words, |reading| {
        *bytes_left = bytes_left.checked_sub(reading.bytes().len()).ok_or(ScrubError::TooMuchCoded)?;
        let found = search_decoded(rules, reading.bytes(), wanted, depth_left - 1, bytes_left)?;
        finds.extend(found.into_iter().filter_map(|find| reading.in_text(find, &taken)));
        Ok(())
    })?;
    finds.extend(plain);
    Ok(finds)
}

/// A span of bytes, widened to whole characters.
fn widened(text: &str, span: &Range<usize>) -> Range<usize> {
    text.floor_char_boundary(span.start)..text.ceil_char_boundary(span.end)
}

/// A secret and its placeholder. Its `Debug` leaves the secret out, so that it is not logged by mistake.
#[derive(Clone, PartialEq, Eq)]
pub struct FoundSecret {
    /// The placeholder that scrubbing writes for it.
    pub placeholder: String,
    /// The secret itself, in the clear.
    pub value: String,
}

impl fmt::Debug for FoundSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FoundSecret").field("placeholder", &self.placeholder).finish_non_exhaustive()
    }
}

impl fmt::Debug for Scrubber {
    /// Leaves the key out, so that it does not end in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scrubber").field("bytes_max", &self.bytes_max).finish_non_exhaustive()
    }
}
