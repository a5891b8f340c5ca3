//! Where results go: standard output, as text or JSON, through one locked writer.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use crate::cli::{ColorWhen, Globals};
use crate::draw::{Charset, Paint, Style};
use crate::settings::Surroundings;

/// Columns if standard output is not a terminal and COLUMNS is not set.
const WIDTH_WITHOUT_TERMINAL: usize = 160;
/// Fewest columns that are drawn for, even if the terminal has less.
const WIDTH_MIN: usize = 40;

/// The form in which results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Text, for people.
    Text,
    /// One JSON value, for programs.
    Json,
}

/// Prints results to standard output.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    pub form: Form,
    /// How tables and trees are drawn; JSON does not use it.
    pub style: Style,
}

impl Output {
    /// Chooses form, colour, characters and width by the flags, the environment and the terminal.
    pub fn new(globals: &Globals, surroundings: &Surroundings) -> Self {
        let form = if globals.json { Form::Json } else { Form::Text };
        let paint = paint(globals.color, surroundings, &io::stdout());
        Self { form, style: Style { paint, charset: charset(surroundings), width: width(surroundings) } }
    }

    /// Prints a text as it is.
    pub fn text(&self, text: &str) -> io::Result<()> {
        self.bytes(text.as_bytes())
    }

    /// Prints bytes as they are.
    pub fn bytes(&self, bytes: &[u8]) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes)?;
        stdout.flush()
    }

    /// Prints a value as JSON, indented.
    pub fn json(&self, value: &impl Serialize) -> anyhow::Result<()> {
        let mut text = serde_json::to_string_pretty(value)?;
        text.push('\n');
        Ok(self.text(&text)?)
    }

    /// Prints a value as JSON, in one line.
    pub fn json_line(&self, value: &impl Serialize) -> anyhow::Result<()> {
        let mut text = serde_json::to_string(value)?;
        text.push('\n');
        Ok(self.text(&text)?)
    }
}

/// Decides whether the text for a stream is coloured.
pub fn paint(when: ColorWhen, surroundings: &Surroundings, stream: &impl IsTerminal) -> Paint {
    let dumb = surroundings.text("TERM") == Some("dumb");
    match when {
        ColorWhen::Always => Paint::Colour,
        ColorWhen::Never => Paint::Plain,
        ColorWhen::Auto if stream.is_terminal() && !dumb && surroundings.text("NO_COLOR").is_none() => Paint::Colour,
        ColorWhen::Auto => Paint::Plain,
    }
}

fn charset(surroundings: &Surroundings) -> Charset {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| surroundings.text(name));
    let locale = locale.unwrap_or_default().to_ascii_lowercase();
    if locale.contains("utf-8") || locale.contains("utf8") { Charset::Utf8 } else { Charset::Ascii }
}

fn width(surroundings: &Surroundings) -> usize {
    let of_variable = surroundings.text("COLUMNS").and_then(|text| text.parse().ok());
    let of_terminal = || terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
    of_variable.or_else(of_terminal).unwrap_or(WIDTH_WITHOUT_TERMINAL).max(WIDTH_MIN)
}
