//! The script of the fake model: a list of steps that every session goes through from the start, and
//! answers to requests that are no turn of an agent, such as a client's own compaction.
//!
//! A step is either fixed or made from the request that it answers: only the request shows the client's
//! names of the tools, and the branch that the model works in.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::fault::Fault;
use super::received::Received;

/// The answer to a side call for which the script has none. A request without tools is a side call; it usually
/// asks for the title of a session.
const SIDE_TEXT: &str = "A scripted session";

/// The answer after a session has used up all steps.
const END_TEXT: &str = "The script is over.";

/// Everything that the model will answer, and how.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The answers to an agent's turns, in order. Each session starts at the first.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// Answers to requests whose last message contains a certain text. They use up no step.
    #[serde(default)]
    pub asides: Vec<Aside>,
    /// The model's window. A longer request is refused as the provider would refuse it.
    #[serde(default)]
    pub window_tokens: Option<u64>,
    /// How a request that is too long is refused.
    #[serde(default)]
    pub refusing: Refusing,
    /// Whether answers report their usage.
    #[serde(default)]
    pub counting: Counting,
}

/// How a model refuses a request that is too long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusing {
    /// With an HTTP error status.
    #[default]
    WithStatus,
    /// With status 200 and an error event, if the request asks for a stream.
    InStream,
}

/// Whether a model reports the usage of its answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counting {
    /// Every answer has its usage.
    #[default]
    Reported,
    /// No answer has its usage, as with some servers that imitate a provider.
    Unreported,
}

/// Why an answer ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stopping {
    /// The model has said everything.
    #[default]
    Finished,
    /// The answer has reached the token limit.
    AtLimit,
}

/// An answer to requests with certain words.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Aside {
    /// Text that the last message must contain.
    pub when: String,
    /// What such a request is answered with.
    pub say: Step,
}

/// One answer of the model.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Reasoning that comes first. It is sealed: a client may send it back only after the content it was made on.
    #[serde(default)]
    pub reasoning: Option<String>,
    /// The model's words; `None` if it only calls tools.
    #[serde(default)]
    pub text: Option<String>,
    /// The tools that it calls, all at once.
    #[serde(default)]
    pub calls: Vec<Call>,
    /// The input tokens that the usage reports, if not the true ones.
    #[serde(default)]
    pub input_tokens: Option<u64>,
    /// Why the answer ends.
    #[serde(default)]
    pub stopping: Stopping,
    /// The fault of the answer, if it is to have one.
    #[serde(default)]
    pub fault: Option<Fault>,
    /// Makes the answer from the request; the fields above are then ignored.
    #[serde(skip)]
    pub(crate) decide: Option<Decide>,
}

/// A call of a tool.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The tool's name, as the request spells it; a namespace comes first, followed by two underscores.
    pub tool: String,
    /// The call's arguments. A plain string makes it a custom tool call, if the provider has such calls.
    pub input: Value,
}

/// What a step decides after looking at its request.
#[derive(Debug, Clone)]
pub enum Decision {
    /// The request is answered with this step.
    Say(Step),
    /// This step is left out, and the next one answers the request.
    Skip,
    /// The script cannot go on, for this reason, which counts as a broken rule.
    Stuck(String),
}

/// A function that makes a decision from a request.
#[derive(Clone)]
pub(crate) struct Decide(Arc<dyn Fn(&Received) -> Decision + Send + Sync>);

impl Decide {
    pub(crate) fn decide(&self, received: &Received) -> Decision {
        (self.0)(received)
    }
}

impl fmt::Debug for Decide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Decide")
    }
}

impl Script {
    /// A script with these steps, one after another.
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { steps: steps.into_iter().collect(), ..Self::default() }
    }

    /// Adds steps at the end.
    pub fn then(mut self, steps: impl IntoIterator<Item = Step>) -> Self {
        self.steps.extend(steps);
        self
    }

    /// Adds an answer to requests whose last message contains `when`.
    pub fn aside(mut self, when: &str, say: Step) -> Self {
        self.asides.push(Aside { when: when.to_owned(), say });
        self
    }

    /// Refuses requests of more than `window_tokens`.
    pub fn window_tokens(mut self, window_tokens: u64) -> Self {
        self.window_tokens = Some(window_tokens);
        self
    }

    /// Refuses requests that are too long inside a stream, after status 200.
    pub fn refusing_in_stream(mut self) -> Self {
        self.refusing = Refusing::InStream;
        self
    }

    /// Leaves the usage out of all answers.
    pub fn without_usage(mut self) -> Self {
        self.counting = Counting::Unreported;
        self
    }

    /// The answer to a request that is no turn of an agent; `None` if it is a turn.
    pub(crate) fn aside_for(&self, last_text: &str, tool_count: usize) -> Option<Step> {
        let named = self.asides.iter().find(|aside| last_text.contains(&aside.when));
        let named = named.map(|aside| aside.say.clone());
        named.or_else(|| (tool_count == 0).then(|| Step::text(SIDE_TEXT)))
    }

    /// The step with this number; after the last one, a step that says that the script is over.
    pub(crate) fn step(&self, number: usize) -> Step {
        self.steps.get(number).cloned().unwrap_or_else(|| Step::text(END_TEXT))
    }
}

impl Step {
    /// An answer of text alone.
    pub fn text(text: &str) -> Self {
        Self { text: Some(text.to_owned()), ..Self::default() }
    }

    /// An answer that says `text` and calls tools.
    pub fn calling(text: &str, calls: impl IntoIterator<Item = (&'static str, Value)>) -> Self {
        let calls = calls.into_iter().map(|(tool, input)| Call { tool: tool.to_owned(), input }).collect();
        Self { calls, ..Self::text(text) }
    }

    /// An answer that says `text` and calls one tool, whose name was found in the request.
    pub fn calling_one(text: &str, tool: String, input: Value) -> Self {
        Self { calls: vec![Call { tool, input }], ..Self::text(text) }
    }

    /// An answer that is made from the request.
    pub fn seeing(decide: impl Fn(&Received) -> Decision + Send + Sync + 'static) -> Self {
        Self { decide: Some(Decide(Arc::new(decide))), ..Self::default() }
    }

    /// What the step decides for a request; a fixed step is always said.
    pub fn decision(&self, received: &Received) -> Decision {
        match &self.decide {
            None => Decision::Say(self.clone()),
            Some(decide) => decide.decide(received),
        }
    }

    /// An answer with a fault and fixed words.
    pub fn failing(fault: Fault) -> Self {
        Self { fault: Some(fault), ..Self::text("This answer has a fault.") }
    }

    /// The same answer after some reasoning.
    pub fn reasoning(mut self, reasoning: &str) -> Self {
        self.reasoning = Some(reasoning.to_owned());
        self
    }

    /// The same answer with a usage that names this many tokens of input.
    pub fn input_tokens(mut self, input_tokens: u64) -> Self {
        self.input_tokens = Some(input_tokens);
        self
    }

    /// The same answer, ended by the token limit.
    pub fn at_limit(mut self) -> Self {
        self.stopping = Stopping::AtLimit;
        self
    }

    /// The same answer, with a fault.
    pub fn fault(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        self
    }
}
