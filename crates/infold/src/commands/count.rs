//! `infold count`: says how many tokens files or standard input have, for each family of models.
//!
//! Text is read in pieces and counted as it comes, so a file may be longer than memory.

mod reading;

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use infold_core::{Counter, Family, StreamSize, TextSize, grouped};
use serde_json::{Value, json};

use super::Invocation;
use crate::draw::{Align, Column, Style, Table, Tone};
use crate::failure::Refused;
use crate::help;
use crate::output::Form;
use crate::telemetry;
use reading::Input;

/// Arguments of `count`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &[
        "GPT's tokens are counted with its own vocabulary. Claude's is not public, so its count is an estimate, made from \
         that vocabulary and from what the text consists of. ERROR is the median over recorded sessions of projects that \
         the estimate was not made from; a single short text can be further off. A model that infold does not know is \
         counted like GPT, and its error is unknown.",
        "Text is counted without what a provider puts around it. With --as call, the input is the arguments of a tool \
         call, and what is put around the call and its result counts too.",
    ],
    &[
        ("infold count src/main.rs README.md", ""),
        ("git diff | infold count --model claude-opus-4-6", ""),
        ("infold count --json prompt.txt | jq '.total[].tokens'", ""),
    ],
))]
pub struct CountArgs {
    /// Files to count; standard input if there are none, or for -
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    /// Count for this model, or family (gpt, claude, claude-new); can be repeated [default: all families]
    #[arg(long, value_name = "NAME")]
    pub model: Vec<String>,
    /// What the input is in a request
    #[arg(long = "as", value_name = "KIND", default_value = "text")]
    pub kind: CountedKind,
}

/// What an input is in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CountedKind {
    /// Text by itself, or what a tool printed.
    Text,
    /// A message, with what is put around it.
    Message,
    /// The arguments of a tool call, with what is put around the call and its result.
    Call,
}

/// Longest arguments of a call. They are read whole, because they are JSON.
const CALL_BYTES_MAX: u64 = 64 << 20;

/// Counts every input, and prints a table or JSON.
pub fn run(args: &CountArgs, invocation: &Invocation) -> anyhow::Result<()> {
    telemetry::log_only(&invocation.logging());
    let models: Vec<CountingModel> = match args.model.as_slice() {
        [] => Family::ALL.into_iter().map(CountingModel::of_family).collect(),
        names => names.iter().map(|name| CountingModel::named(name)).collect(),
    };
    let paths: Vec<Option<&Path>> =
        if args.files.is_empty() { vec![None] } else { args.files.iter().map(|file| Some(&**file)).collect() };
    let counted = paths.into_iter().map(|path| counted(Input::open(path)?, args.kind));
    let inputs: Vec<CountedInput> = counted.collect::<Result<_, Refused>>()?;

    match invocation.output.form {
        Form::Json => invocation.output.json(&as_json(&inputs, &models)),
        Form::Text => Ok(invocation.output.text(&as_text(&inputs, &models, &invocation.output.style))?),
    }
}

/// A model whose tokens are counted.
struct CountingModel {
    name: String,
    family: Family,
    /// How far off counts are; `None` for a model that nothing was measured of.
    error_per_mille: Option<u64>,
}

impl CountingModel {
    fn of_family(family: Family) -> Self {
        Self { name: family.as_str().to_owned(), family, error_per_mille: Some(family.error_per_mille()) }
    }

    fn named(name: &str) -> Self {
        let family = name.parse().unwrap_or_else(|_| Family::of_model(name));
        let error_per_mille = Family::is_known_model(name).then(|| family.error_per_mille());
        Self { name: name.to_owned(), family, error_per_mille }
    }

    /// Its name for people. Families say which models they are for.
    fn label(&self) -> String {
        let models = match self.name.parse() {
            Ok(Family::Claude) => " (up to 4.6)",
            Ok(Family::ClaudeNew) => " (since 4.7)",
            Ok(Family::Gpt) | Err(_) => "",
        };
        format!("{}{models}", self.name)
    }

    fn tokens(&self, size: &TextSize) -> u64 {
        Counter::new(self.family).tokens(size)
    }

    fn as_json(&self, size: &TextSize) -> Value {
        let error_percent = self.error_per_mille.map(|error| error as f64 / 10.0);
        json!({
            "model": self.name,
            "family": self.family.as_str(),
            "tokens": self.tokens(size),
            "error_percent": error_percent,
        })
    }

    fn error(&self) -> String {
        self.error_per_mille.map_or_else(|| "unknown".to_owned(), |error| format!("{}.{} %", error / 10, error % 10))
    }
}

/// An input, counted.
struct CountedInput {
    name: String,
    bytes: u64,
    size: TextSize,
}

fn counted(mut input: Input, kind: CountedKind) -> Result<CountedInput, Refused> {
    let mut bytes = 0;
    let size = match kind {
        CountedKind::Text | CountedKind::Message => {
            let mut stream = StreamSize::default();
            while let Some(text) = input.next_text()? {
                bytes += text.len() as u64;
                stream.push(text);
            }
            if kind == CountedKind::Message { stream.size().as_message() } else { stream.size() }
        }
        CountedKind::Call => {
            let mut arguments = String::new();
            while let Some(text) = input.next_text()? {
                bytes += text.len() as u64;
                if bytes > CALL_BYTES_MAX {
                    return Err(Refused::new(format!("{}: longer than any call's arguments", input.name()))
                        .hint("leave out --as call to count it as text"));
                }
                arguments.push_str(text);
            }
            TextSize::of_call(&arguments)
        }
    };
    Ok(CountedInput { name: input.name().to_owned(), bytes, size })
}

fn total(inputs: &[CountedInput]) -> CountedInput {
    CountedInput {
        name: "total".to_owned(),
        bytes: inputs.iter().map(|input| input.bytes).sum(),
        size: inputs.iter().map(|input| input.size).sum(),
    }
}

fn as_json(inputs: &[CountedInput], models: &[CountingModel]) -> Value {
    let counts = |size: &TextSize| models.iter().map(|model| model.as_json(size)).collect::<Vec<Value>>();
    let inputs_json: Vec<Value> = inputs
        .iter()
        .map(|input| json!({"name": input.name, "bytes": input.bytes, "counts": counts(&input.size)}))
        .collect();
    json!({"inputs": inputs_json, "total": counts(&total(inputs).size)})
}

fn as_text(inputs: &[CountedInput], models: &[CountingModel], style: &Style) -> String {
    let left = |heading| Column { heading, align: Align::Left };
    let right = |heading| Column { heading, align: Align::Right };
    let mut table = Table::new(vec![right("TOKENS"), left("MODEL"), right("ERROR"), right("BYTES"), left("INPUT")]);
    let total = (inputs.len() > 1).then(|| total(inputs));
    let rows = inputs.iter().map(|input| (Tone::Plain, input)).chain(total.iter().map(|total| (Tone::Strong, total)));
    for (tone, input) in rows {
        for model in models {
            let tokens = grouped(model.tokens(&input.size));
            let cells = [tokens, model.label(), model.error(), grouped(input.bytes), input.name.clone()];
            table.row(cells.map(|cell| (tone, cell)).into());
        }
    }
    table.draw(style)
}
