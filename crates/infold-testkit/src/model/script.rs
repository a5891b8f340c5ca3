//! What the fake model says: a list of steps that every session goes through from the start, and
//! answers to requests that are no turn of the work, such as a client's own compaction.
//!
//! A step is said as it stands, or is made from the request that it answers: only the request shows what
//! a client calls a tool, and which branch the model works in.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::fault::Fault;
use super::received::Received;

/// What a side call is answered with where the script names nothing: a request without tools is one,
/// and asks for the title of a session.
const SIDE_TEXT: &str = "A scripted session";

/// What the model says once a session has used up its steps.
const END_TEXT: &str = "The script is over.";

/// Everything that the model will say.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The turns, in order. Each session plays them from the first.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// Answers to requests whose last message holds a certain text. They use up no step.
    #[serde(default)]
    pub asides: Vec<Aside>,
    /// How many tokens the model takes. A request that is longer is refused as the provider would.
    #[serde(default)]
    pub window_tokens: Option<u64>,
    /// How it refuses such a request.
    #[serde(default)]
    pub refusing: Refusing,
    /// Whether answers say what they took.
    #[serde(default)]
    pub counting: Counting,
}

/// How a model refuses a request that is too long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusing {
    /// With a status.
    #[default]
    WithStatus,
    /// With 200 and a stream that says so, if the request asks for a stream.
    InStream,
}

/// Whether a model says what its answers took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counting {
    /// It does.
    #[default]
    Told,
    /// It does not, as some servers that are like a provider's.
    Untold,
}

/// Why an answer ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stopping {
    /// All is said.
    #[default]
    Finished,
    /// It is as long as an answer may be.
    AtLimit,
}

/// An answer to whoever asks in certain words.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Aside {
    /// Text that the last message must hold.
    pub when: String,
    /// The answer.
    pub say: Step,
}

/// One answer of the model.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Reasoning that comes first. It is sealed: it may only come back after what it was said after.
    #[serde(default)]
    pub reasoning: Option<String>,
    /// What the model says.
    #[serde(default)]
    pub text: Option<String>,
    /// The tools that it calls, all at once.
    #[serde(default)]
    pub calls: Vec<Call>,
    /// What the usage says that the request held, where the script wants another figure than the true one.
    #[serde(default)]
    pub input_tokens: Option<u64>,
    /// Why the answer ends.
    #[serde(default)]
    pub stopping: Stopping,
    /// What goes wrong on the way.
    #[serde(default)]
    pub fault: Option<Fault>,
    /// What makes the answer from the request; everything above is then taken from what it makes.
    #[serde(skip)]
    pub(crate) decide: Option<Decide>,
}

/// A call of a tool.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The tool's name, as the request spells it; a namespace stands in front, with two underscores between.
    pub tool: String,
    /// Its arguments. A plain string makes it a custom tool call where the provider has such.
    pub input: Value,
}

/// What a step that looks at its request comes to.
#[derive(Debug, Clone)]
pub enum Decision {
    /// This is said.
    Say(Step),
    /// Nothing is to be said here: the next step answers the request.
    Skip,
    /// The script cannot go on, for this reason. It counts as a broken rule.
    Stuck(String),
}

/// A function from a request to what is said.
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
    /// A script that says `steps` one after another.
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { steps: steps.into_iter().collect(), ..Self::default() }
    }

    /// Adds steps at the end.
    pub fn then(mut self, steps: impl IntoIterator<Item = Step>) -> Self {
        self.steps.extend(steps);
        self
    }

    /// Adds an answer to requests whose last message holds `when`.
    pub fn aside(mut self, when: &str, say: Step) -> Self {
        self.asides.push(Aside { when: when.to_owned(), say });
        self
    }

    /// Refuses requests of more than `window_tokens`.
    pub fn window_tokens(mut self, window_tokens: u64) -> Self {
        self.window_tokens = Some(window_tokens);
        self
    }

    /// Says inside a stream that a request is too long.
    pub fn refusing_in_stream(mut self) -> Self {
        self.refusing = Refusing::InStream;
        self
    }

    /// Says of no answer what it took.
    pub fn without_usage(mut self) -> Self {
        self.counting = Counting::Untold;
        self
    }

    /// The answer to a request that is no turn of the work, if it is none.
    pub(crate) fn aside_for(&self, last_text: &str, tool_count: usize) -> Option<Step> {
        let named = self.asides.iter().find(|aside| last_text.contains(&aside.when));
        let named = named.map(|aside| aside.say.clone());
        named.or_else(|| (tool_count == 0).then(|| Step::text(SIDE_TEXT)))
    }

    /// The step with this number, or the words that close the session.
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

    /// An answer that says `text` and calls a tool, whose name was found in the request.
    pub fn calling_one(text: &str, tool: String, input: Value) -> Self {
        Self { calls: vec![Call { tool, input }], ..Self::text(text) }
    }

    /// An answer that is made from the request.
    pub fn seeing(decide: impl Fn(&Received) -> Decision + Send + Sync + 'static) -> Self {
        Self { decide: Some(Decide(Arc::new(decide))), ..Self::default() }
    }

    /// What the step comes to for a request.
    pub fn decision(&self, received: &Received) -> Decision {
        match &self.decide {
            None => Decision::Say(self.clone()),
            Some(decide) => decide.decide(received),
        }
    }

    /// An answer that does not come, or does not come whole.
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

    /// The same answer, ended because it is as long as an answer may be.
    pub fn at_limit(mut self) -> Self {
        self.stopping = Stopping::AtLimit;
        self
    }

    /// The same answer, with something that goes wrong on its way.
    pub fn fault(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        self
    }
}
