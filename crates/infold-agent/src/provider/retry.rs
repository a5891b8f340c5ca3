//! What to do after a request that had no answer: try again and when, or give up and what a person can do about it.
//!
//! Nothing is decided by a clock or by chance: how often was tried and how waits are spread are arguments. A request is
//! tried again as it was; a fault never becomes part of it.

use infold_wire::ProviderRefusal;
use infold_wire::answer::{AnswerError, AnswerReader, Delivery};
use infold_wire::request::Api;

use super::answer::AnswerFault;
use super::send::SendFault;

/// What a request is tried with.
#[derive(Debug, Clone, Copy)]
pub struct RetryLimits<'a> {
    /// How often a request is sent, the first time included.
    pub attempts_max: u32,
    /// The wait before the second attempt; it doubles with each further one.
    pub first_wait_ms: u64,
    /// The longest wait, if the provider does not ask for another one.
    pub wait_ms_max: u64,
    /// The longest wait that a provider may ask for.
    pub retry_after_ms_max: u64,
    /// The name of the environment variable that holds the key, for messages; empty if none is needed.
    pub key_variable: &'a str,
}

/// Why a request had no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// It could not be sent, or its answer did not come to its end.
    Sending(SendFault),
    /// The provider refused it with a status.
    Status {
        /// The HTTP status.
        status: u16,
        /// How long the provider asks to wait.
        retry_after_ms: Option<u64>,
        /// What the provider says, if that can be read.
        said: AnswerError,
    },
    /// The answer had begun, and is none.
    Answer(AnswerFault),
}

/// What comes after a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextAttempt {
    /// The same request is sent again after this wait.
    Retry {
        /// How long to wait.
        after_ms: u64,
    },
    /// The request does not fit the model's window: a shorter one may be answered.
    TooLong {
        /// The size of the window, if the provider says it.
        window_tokens: Option<u64>,
    },
    /// The provider does not take the reasoning in the request: one without it may be answered.
    WithoutReasoning,
    /// The provider does not take the images in the request, if there are any: one without them may be answered.
    WithoutImages {
        /// What the provider says.
        why: String,
    },
    /// Sending it again would not help.
    GiveUp {
        /// What went wrong.
        why: String,
        /// What a person can do about it.
        advice: String,
    },
}

impl Fault {
    /// The fault of a request that was answered with another status than 200, from the beginning of the body.
    pub fn of_status(status: u16, retry_after_ms: Option<u64>, body: &[u8]) -> Self {
        // An error has one form in all APIs, and some servers of Chat Completions have their own.
        let mut reader = AnswerReader::new(Api::Chat, Delivery::Whole);
        reader.push(body);
        Self::Status { status, retry_after_ms, said: reader.finish().error.unwrap_or_default() }
    }
}

impl From<SendFault> for Fault {
    fn from(fault: SendFault) -> Self {
        Self::Sending(fault)
    }
}

impl From<AnswerFault> for Fault {
    fn from(fault: AnswerFault) -> Self {
        Self::Answer(fault)
    }
}

/// Whether a fault may be gone a moment later.
enum Outlook {
    MayPass { why: String, asked_wait_ms: Option<u64> },
    Stays { why: String, advice: String },
    Refused(ProviderRefusal),
    NoImages { why: String },
}

/// Decides what comes after a fault. `attempt` is how often the request was sent, and `jitter_permille` (0 to 1000, by
/// chance) spreads the waits of several agents.
pub fn next_attempt(attempt: u32, fault: &Fault, limits: &RetryLimits<'_>, jitter_permille: u64) -> NextAttempt {
    let (why, asked_wait_ms) = match outlook(fault, limits) {
        Outlook::Refused(ProviderRefusal::TooLong { window_tokens }) => return NextAttempt::TooLong { window_tokens },
        Outlook::Refused(ProviderRefusal::Reasoning) => return NextAttempt::WithoutReasoning,
        Outlook::NoImages { why } => return NextAttempt::WithoutImages { why },
        Outlook::Stays { why, advice } => return NextAttempt::GiveUp { why, advice },
        Outlook::MayPass { why, asked_wait_ms } => (why, asked_wait_ms),
    };
    if attempt >= limits.attempts_max {
        let advice = "wait a while, then continue: nothing of the thread is lost".to_owned();
        return NextAttempt::GiveUp { why: format!("{why} ({attempt} attempts)"), advice };
    }
    match asked_wait_ms {
        // Trying earlier than the provider asks for would be in vain.
        Some(asked_ms) if asked_ms > limits.retry_after_ms_max => NextAttempt::GiveUp {
            why: format!("{why}, and asks to wait for {} s", asked_ms / 1_000),
            advice: "continue then: nothing of the thread is lost".to_owned(),
        },
        Some(asked_ms) => NextAttempt::Retry { after_ms: asked_ms.max(wait_ms(attempt, limits, jitter_permille)) },
        None => NextAttempt::Retry { after_ms: wait_ms(attempt, limits, jitter_permille) },
    }
}

/// Between half of the doubled wait and all of it.
fn wait_ms(attempt: u32, limits: &RetryLimits<'_>, jitter_permille: u64) -> u64 {
    let doubled = 1_u64.checked_shl(attempt.saturating_sub(1)).unwrap_or(u64::MAX);
    let whole = limits.first_wait_ms.saturating_mul(doubled).min(limits.wait_ms_max);
    let half = whole / 2;
    half + (whole - half).saturating_mul(jitter_permille.min(1_000)) / 1_000
}

fn outlook(fault: &Fault, limits: &RetryLimits<'_>) -> Outlook {
    let may_pass = |why: &str| Outlook::MayPass { why: why.to_owned(), asked_wait_ms: None };
    match fault {
        Fault::Sending(SendFault::Unusable(problem)) => {
            stays(problem, "see the settings that it names, then continue".to_owned())
        }
        Fault::Sending(SendFault::Unreached(problem) | SendFault::BrokeOff(problem)) => may_pass(problem),
        Fault::Answer(fault @ AnswerFault::BrokeOff) => may_pass(&fault.to_string()),
        Fault::Answer(fault @ AnswerFault::Unreadable(_)) => {
            stays(&fault.to_string(), "check that the address in the settings is one of this API".to_owned())
        }
        Fault::Answer(AnswerFault::Reported { kind, message }) => {
            let said = AnswerError { kind: kind.clone(), message: message.clone() };
            of_report(&said)
        }
        Fault::Status { status, retry_after_ms, said } => of_status(*status, *retry_after_ms, said, limits),
    }
}

fn stays(why: &str, advice: String) -> Outlook {
    Outlook::Stays { why: why.to_owned(), advice }
}

/// Codes with which providers report, inside of an answer, what is over a moment later.
const PASSING: [&str; 7] = [
    "overloaded_error",
    "api_error",
    "rate_limit_error",
    "timeout_error",
    "server_error",
    "rate_limit_exceeded",
    "server_is_overloaded",
];
/// Codes of an account that has nothing left, which come with a status that usually passes.
const SPENT: [&str; 2] = ["insufficient_quota", "billing_hard_limit_reached"];

fn of_report(said: &AnswerError) -> Outlook {
    let kind = said.kind.as_deref().unwrap_or_default();
    if let Some(refusal) = ProviderRefusal::of(kind, &said.message) {
        return Outlook::Refused(refusal);
    }
    let why = format!("the provider reports an error: {}", in_words(said));
    if PASSING.contains(&kind) {
        return Outlook::MayPass { why, asked_wait_ms: None };
    }
    stays(&why, "see what the provider says; the request is refused as it is".to_owned())
}

fn of_status(status: u16, asked_wait_ms: Option<u64>, said: &AnswerError, limits: &RetryLimits<'_>) -> Outlook {
    let kind = said.kind.as_deref().unwrap_or_default();
    if ProviderRefusal::may_come_with(status)
        && let Some(refusal) = ProviderRefusal::of(kind, &said.message)
    {
        return Outlook::Refused(refusal);
    }
    let why = format!("the provider answered with status {status} {}", in_words(said)).trim_end().to_owned();
    match status {
        400 | 415 | 422 | 500 if speaks_of_images(&said.message) => Outlook::NoImages { why },
        // What the provider says of a key may be part of the key.
        401 | 403 => {
            let why = format!("the provider refuses the key (status {status})");
            let advice = match limits.key_variable {
                "" => "name the variable with a key in the settings".to_owned(),
                variable => format!("put a valid key into the variable {variable}, and start infold again"),
            };
            Outlook::Stays { why, advice }
        }
        _ if SPENT.contains(&kind) || status == 402 => {
            stays(&why, "see the account at the provider, then continue".to_owned())
        }
        404 => stays(&why, "check the name of the model and the address in the settings".to_owned()),
        413 => Outlook::Refused(ProviderRefusal::TooLong { window_tokens: None }),
        408 | 429 | 500 | 502 | 503 | 504 | 529 => Outlook::MayPass { why, asked_wait_ms },
        _ => stays(&why, "see what the provider says; the request is refused as it is".to_owned()),
    }
}

/// Whether a refusal is about images: that the model takes none, or not this one.
fn speaks_of_images(message: &str) -> bool {
    let lower = message.to_lowercase();
    ["image", "vision", "multimodal"].iter().any(|word| lower.contains(word))
}

fn in_words(said: &AnswerError) -> String {
    match &said.kind {
        Some(kind) => format!("({kind}) {}", said.message),
        None => said.message.clone(),
    }
}

#[cfg(test)]
mod tests;
