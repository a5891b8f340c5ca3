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

mod engine;
mod look;
mod placeholder;
mod private_key;
mod rules;
mod text;

#[cfg(test)]
mod tests;

use std::fmt;

pub use text::Scrubbed;

/// The longest text that a scrubber takes when nobody has set a bound.
const BYTES_MAX_UNSET: usize = 16 << 20;

/// How often a text is searched. Taking a secret out can reveal another, because what was glued to the first is then a
/// word of its own. One more round is enough for real text; text that takes more than this was made to waste time.
const ROUNDS_MAX: usize = 8;

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
    /// The text uncovered new secrets each time some were taken out.
    #[error("text still uncovered secrets after {rounds_max} rounds of scrubbing: send it in smaller parts")]
    NeverClean {
        /// How often a text is searched at most.
        rounds_max: usize,
    },
    /// Scrubbing did not end in time. The engine, which has a clock, reports this.
    #[error("scrubbing took longer than {timeout_ms} ms: send less text, or raise scrub.timeout_ms")]
    Stalled {
        /// Time that is allowed, from settings.
        timeout_ms: u64,
    },
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

/// Takes secrets out of text. Cheap to make and to clone: rules are compiled when first needed, once
/// for all scrubbers.
#[derive(Clone)]
pub struct Scrubber {
    key: [u8; 32],
    bytes_max: usize,
}

impl Scrubber {
    /// A scrubber whose placeholders are stable for `key`: the same secret always gets the same
    /// one, and nobody without the key can tell from it what the secret was.
    pub fn new(key: [u8; 32]) -> Self {
        Self { key, bytes_max: BYTES_MAX_UNSET }
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

    /// Takes every secret out of `text`.
    ///
    /// # Errors
    ///
    /// Where any of it could not be scrubbed. Nothing may then be used, not even a part.
    pub fn scrub(&self, text: &str) -> Result<Scrubbed, ScrubError> {
        if text.len() > self.bytes_max {
            return Err(ScrubError::TooLarge { bytes: text.len(), bytes_max: self.bytes_max });
        }
        let mut text = text.to_owned();
        let mut secrets = 0;
        for _ in 0..ROUNDS_MAX {
            match self.round(&text)? {
                ScrubRound::Clean => return Ok(Scrubbed::made(text, secrets)),
                ScrubRound::Replaced { text: next, secrets: found } => {
                    text = next;
                    secrets += found;
                }
            }
        }
        Err(ScrubError::NeverClean { rounds_max: ROUNDS_MAX })
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
        if text.len() > self.bytes_max {
            return Err(ScrubError::TooLarge { bytes: text.len(), bytes_max: self.bytes_max });
        }
        let mut found = Vec::new();
        let mut text = text.to_owned();
        for _ in 0..ROUNDS_MAX {
            let mut done = 0;
            for present in placeholder::find_all(&text) {
                self.find_secrets(&text[done..present.start], &mut found)?;
                done = present.end;
            }
            self.find_secrets(&text[done..], &mut found)?;
            match self.round(&text)? {
                ScrubRound::Clean => return Ok(found),
                ScrubRound::Replaced { text: next, .. } => text = next,
            }
        }
        Err(ScrubError::NeverClean { rounds_max: ROUNDS_MAX })
    }

    /// Adds the secrets of a text that holds no placeholder.
    fn find_secrets(&self, text: &str, found: &mut Vec<FoundSecret>) -> Result<(), ScrubError> {
        for secret in engine::find(text)? {
            let value = text[secret.span].to_owned();
            let mut placeholder = String::new();
            placeholder::write(&self.key, secret.rule, &value, &mut placeholder);
            found.push(FoundSecret { placeholder, value });
        }
        Ok(())
    }

    /// Searches a text once. What lies between placeholders is searched piece by piece, so that no rule can match into
    /// or across one.
    fn round(&self, text: &str) -> Result<ScrubRound, ScrubError> {
        let mut scrubbed = String::with_capacity(text.len());
        let mut secrets = 0;
        let mut done = 0;
        for present in placeholder::find_all(text) {
            secrets += self.replace(&text[done..present.start], &mut scrubbed)?;
            scrubbed.push_str(&text[present.clone()]);
            done = present.end;
        }
        secrets += self.replace(&text[done..], &mut scrubbed)?;
        Ok(if secrets == 0 { ScrubRound::Clean } else { ScrubRound::Replaced { text: scrubbed, secrets } })
    }

    /// Writes `text` to `scrubbed` with placeholders for its secrets. Returns how many there were.
    fn replace(&self, text: &str, scrubbed: &mut String) -> Result<u32, ScrubError> {
        let mut secrets = 0;
        let mut done = 0;
        for secret in engine::find(text)? {
            scrubbed.push_str(&text[done..secret.span.start]);
            placeholder::write(&self.key, secret.rule, &text[secret.span.clone()], scrubbed);
            secrets += 1;
            done = secret.span.end;
        }
        scrubbed.push_str(&text[done..]);
        Ok(secrets)
    }
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

/// What one search of a text led to.
enum ScrubRound {
    Clean,
    Replaced { text: String, secrets: u32 },
}

impl fmt::Debug for Scrubber {
    /// Leaves the key out, so that it does not end in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scrubber").field("bytes_max", &self.bytes_max).finish_non_exhaustive()
    }
}
