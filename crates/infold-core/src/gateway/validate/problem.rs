//! What is wrong with an argument, in words. Names and values come from anybody, so they are cleaned and cut.

use std::fmt;

use serde_json::{Map, Value};

use crate::strip_hostile;

/// Characters of a value that are shown.
const VALUE_CHARS_MAX: usize = 60;

/// Characters of a pointer that are shown.
const POINTER_CHARS_MAX: usize = 200;

/// Choices and names that are shown.
const SHOWN_MAX: usize = 10;

/// Problems that are said in one text.
const SAID_MAX: usize = 20;

/// What was found in place of what was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundArgument {
    /// This value, or its kind if it is long.
    Value(String),
    /// This many.
    Count(usize),
}

impl FoundArgument {
    /// A value as it is shown.
    pub fn of(value: &Value) -> Self {
        Self::Value(shown_value(value))
    }
}

impl fmt::Display for FoundArgument {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => formatter.write_str(value),
            Self::Count(count) => write!(formatter, "{count}"),
        }
    }
}

/// In which way an argument is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArgumentWrong {
    /// It is not there.
    Missing {
        /// What it should be.
        expected: Option<String>,
    },
    /// It is of another type.
    Kind {
        /// Types that it may be of, as words.
        kinds: Vec<&'static str>,
        /// What it is.
        found: FoundArgument,
    },
    /// It is none of the values that it may be.
    Choice {
        /// The values, as JSON.
        choices: Vec<String>,
        /// What it is.
        found: FoundArgument,
    },
    /// It breaks another rule.
    Rule {
        /// What it must do, beginning with a verb.
        expected: String,
        /// What it is.
        found: FoundArgument,
    },
    /// There is no such argument.
    Unknown {
        /// Those that there are.
        known: Vec<String>,
    },
    /// It must not be there.
    Unwanted,
    /// It fits none of several forms; what follows is about the nearest.
    Forms {
        /// How many there are.
        forms: usize,
        /// Which of them is the nearest, from 1 on.
        nearest: usize,
    },
}

/// What is wrong with one argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentProblem {
    /// Where it is, as a JSON pointer; empty for all of the arguments.
    pub pointer: String,
    /// What is wrong.
    pub wrong: ArgumentWrong,
}

impl fmt::Display for ArgumentProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer = match self.pointer.as_str() {
            "" => "the arguments".to_owned(),
            pointer => cut(pointer, POINTER_CHARS_MAX),
        };
        match &self.wrong {
            ArgumentWrong::Missing { expected: Some(expected) } => {
                write!(formatter, "{pointer} is missing ({expected})")
            }
            ArgumentWrong::Missing { expected: None } => write!(formatter, "{pointer} is missing"),
            ArgumentWrong::Kind { kinds, found } => {
                write!(formatter, "{pointer} must be {}, not {found}", kinds.join(" or "))
            }
            ArgumentWrong::Choice { choices, found } => {
                write!(formatter, "{pointer} must be {}, not {found}", one_of(choices))
            }
            ArgumentWrong::Rule { expected, found } => write!(formatter, "{pointer} must {expected}, not {found}"),
            ArgumentWrong::Unknown { known } if known.is_empty() => write!(formatter, "{pointer} is not known"),
            ArgumentWrong::Unknown { known } => {
                let known: Vec<String> = known.iter().map(|name| cut(name, VALUE_CHARS_MAX)).collect();
                write!(formatter, "{pointer} is not known (known: {})", listing(&known))
            }
            ArgumentWrong::Unwanted => write!(formatter, "{pointer} must not be given"),
            ArgumentWrong::Forms { forms, nearest } => {
                write!(formatter, "{pointer} fits none of {forms} forms, of which the {} is nearest", ordinal(*nearest))
            }
        }
    }
}

/// What a caller reads whose arguments are wrong.
pub fn refuse_arguments(name: &str, problems: &[ArgumentProblem]) -> String {
    let mut said: Vec<String> = problems.iter().take(SAID_MAX).map(ToString::to_string).collect();
    if problems.len() > SAID_MAX {
        said.push(format!("and {} more", problems.len() - SAID_MAX));
    }
    format!("{name}: {}", said.join("; "))
}

/// Of several forms that do not fit, what to say: types and choices together, or the problems of the nearest form.
pub fn nearest(tried: Vec<Vec<ArgumentProblem>>, pointer: &str) -> Vec<ArgumentProblem> {
    let forms = tried.len();
    if let Some(wrong) = merged(&tried, pointer) {
        return vec![ArgumentProblem { pointer: pointer.to_owned(), wrong }];
    }
    let is_of_kind = |problems: &[ArgumentProblem]| {
        !problems.iter().any(|one| one.pointer == pointer && matches!(one.wrong, ArgumentWrong::Kind { .. }))
    };
    let fitting = tried.iter().filter(|problems| is_of_kind(problems)).count();
    // A form with a wrong constant is another form: `{"kind": "circle"}` is no square with a wrong kind.
    let distance = |problems: &[ArgumentProblem]| {
        let constants = problems.iter().filter(|one| matches!(one.wrong, ArgumentWrong::Choice { .. })).count();
        (!is_of_kind(problems), constants, problems.len())
    };
    let best = tried.into_iter().enumerate().min_by_key(|(at, problems)| (distance(problems), *at));
    let Some((at, problems)) = best else { return Vec::new() };
    let head = ArgumentProblem { pointer: pointer.to_owned(), wrong: ArgumentWrong::Forms { forms, nearest: at + 1 } };
    let says_which = fitting != 1;
    says_which.then_some(head).into_iter().chain(problems).collect()
}

/// All forms as one, if each fails by its type alone, or each by its choices alone.
fn merged(tried: &[Vec<ArgumentProblem>], pointer: &str) -> Option<ArgumentWrong> {
    let mut all_kinds: Vec<&'static str> = Vec::new();
    let mut all_choices: Vec<String> = Vec::new();
    let mut last = None;
    for problems in tried {
        let [problem] = problems.as_slice() else { return None };
        if problem.pointer != pointer {
            return None;
        }
        match &problem.wrong {
            ArgumentWrong::Kind { kinds, found } => {
                all_kinds.extend(kinds);
                last = Some(found);
            }
            ArgumentWrong::Choice { choices, found } => {
                all_choices.extend(choices.iter().cloned());
                last = Some(found);
            }
            _ => return None,
        }
    }
    let found = last?.clone();
    match (all_kinds.is_empty(), all_choices.is_empty()) {
        (false, true) => {
            let mut kinds = Vec::new();
            for kind in all_kinds {
                if !kinds.contains(&kind) {
                    kinds.push(kind);
                }
            }
            Some(ArgumentWrong::Kind { kinds, found })
        }
        (true, false) => Some(ArgumentWrong::Choice { choices: all_choices, found }),
        _ => None,
    }
}

/// What an argument with these keywords should be, if they say so.
pub fn expected_words(fields: &Map<String, Value>) -> Option<String> {
    if let Some(constant) = fields.get("const") {
        return Some(shown_value(constant));
    }
    if let Some(choices) = fields.get("enum").and_then(Value::as_array).filter(|choices| !choices.is_empty()) {
        return Some(one_of(&choices.iter().take(SHOWN_MAX + 1).map(shown_value).collect::<Vec<_>>()));
    }
    match fields.get("type")? {
        Value::String(kind) => kind_words(kind).map(str::to_owned),
        Value::Array(kinds) => {
            let words: Option<Vec<&str>> = kinds.iter().map(|kind| kind_words(kind.as_str()?)).collect();
            words.filter(|words| !words.is_empty()).map(|words| words.join(" or "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// A type as words; `None` if it is none.
pub fn kind_words(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "string" => "a string",
        "number" => "a number",
        "integer" => "an integer",
        "boolean" => "true or false",
        "object" => "an object",
        "array" => "a list",
        "null" => "null",
        _ => return None,
    })
}

/// The type of a value, as schemas call it.
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A value as it is shown: lists and objects by their kind, long texts cut.
pub fn shown_value(value: &Value) -> String {
    match value {
        Value::String(text) => Value::from(cut(text, VALUE_CHARS_MAX)).to_string(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

fn one_of(choices: &[String]) -> String {
    match choices {
        [only] => only.clone(),
        choices => format!("one of {}", listing(choices)),
    }
}

fn listing(items: &[String]) -> String {
    let shown = items.iter().take(SHOWN_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    if items.len() > SHOWN_MAX { format!("{shown}, …") } else { shown }
}

/// A text without what cannot be seen, cut to this many characters.
fn cut(text: &str, chars_max: usize) -> String {
    // Only so much is cleaned as can be shown: a text may have megabytes.
    let front: String = text.chars().take(chars_max + 1).collect();
    let clean = strip_hostile(&front).replace(['\n', '\t'], " ");
    if front.chars().count() > chars_max {
        format!("{}…", clean.chars().take(chars_max).collect::<String>())
    } else {
        clean
    }
}

fn ordinal(number: usize) -> String {
    match number {
        1 => "first".to_owned(),
        2 => "second".to_owned(),
        3 => "third".to_owned(),
        number => format!("{number}th"),
    }
}
