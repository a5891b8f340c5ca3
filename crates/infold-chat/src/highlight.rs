//! Tones for code: a parser of many languages says what each word is, and this file says in which tone.
//!
//! What must hold: one line at a time, in the time that its length takes; lines that are too long for that stay plain.
//! The first line of a language takes up to half a second, while its grammar is compiled, so a thread of its own does that
//! when there is code of the language for the first time, and until then the code is plain. Who needs the same result
//! each time uses [`Highlighter::loaded`] or [`Highlighter::none`].

mod background;

use std::fmt;
use std::sync::{Arc, LazyLock};

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxSet};

use crate::tones::Tone;
use background::Background;

/// Lines with more bytes stay plain: no person wrote them.
const LINE_BYTES_MAX: usize = 2_000;

/// Lines of a block that have tones; what comes after them is plain.
const LINES_MAX: usize = 2_000;

/// What words of a grammar mean. The first one that fits counts, so what is more particular comes first.
const MEANINGS: [(&str, Tone); 18] = [
    ("comment", Tone::Comment),
    ("constant.numeric", Tone::Number),
    ("constant.character.escape", Tone::Text),
    ("constant", Tone::Number),
    ("string", Tone::Text),
    ("keyword.operator.word", Tone::Keyword),
    ("keyword.operator", Tone::Plain),
    ("keyword", Tone::Keyword),
    ("storage", Tone::Keyword),
    ("variable.language", Tone::Keyword),
    ("variable.function", Tone::Name),
    ("entity", Tone::Name),
    ("support", Tone::Name),
    ("markup.inserted", Tone::Added),
    ("markup.deleted", Tone::Removed),
    ("markup.heading", Tone::Heading),
    ("meta.diff.header", Tone::Faint),
    ("meta.diff.range", Tone::Faint),
];

static SCOPES: LazyLock<Vec<(Scope, Tone)>> = LazyLock::new(|| {
    let known = MEANINGS.iter().filter_map(|(name, tone)| Some((Scope::new(name).ok()?, *tone)));
    known.collect()
});

/// Names of languages that people use and the grammars do not.
const OTHER_NAMES: [(&str, &str); 9] = [
    ("console", "sh"),
    ("shell", "sh"),
    ("shell-session", "sh"),
    ("golang", "go"),
    ("jsonc", "json"),
    ("json5", "json"),
    ("csharp", "cs"),
    ("patch", "diff"),
    ("jsx", "js"),
];

/// Knows languages, or will. A copy shares what is loaded.
#[derive(Clone)]
pub struct Highlighter {
    grammars: Arc<Grammars>,
}

enum Grammars {
    None,
    Loaded(SyntaxSet),
    InBackground(Background),
}

impl fmt::Debug for Highlighter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Highlighter").finish_non_exhaustive()
    }
}

impl Highlighter {
    /// Leaves all code plain.
    pub fn none() -> Self {
        Self { grammars: Arc::new(Grammars::None) }
    }

    /// Has everything loaded.
    pub fn loaded() -> Self {
        Self { grammars: Arc::new(Grammars::Loaded(load())) }
    }

    /// Makes a language ready when there is code of it for the first time, without anyone waiting for it.
    pub fn in_background() -> Self {
        Self { grammars: Arc::new(Grammars::InBackground(Background::default())) }
    }

    /// Begins with the code of one block.
    pub fn begin(&self, language: &str) -> HighlightedCode {
        let language = language.to_ascii_lowercase();
        let other = OTHER_NAMES.iter().find(|(name, _)| *name == language);
        let language = other.map_or(language.clone(), |(_, known)| (*known).to_owned());
        let state = if language.is_empty() { CodeState::Plain } else { CodeState::Waiting };
        HighlightedCode { highlighter: self.clone(), language, lines: 0, state }
    }

    /// The grammars, if a language is ready. Begins to make it ready if nobody has.
    fn grammars_for(&self, language: &str) -> Option<&SyntaxSet> {
        match &*self.grammars {
            Grammars::None => None,
            Grammars::Loaded(grammars) => Some(grammars),
            Grammars::InBackground(background) => background.grammars_for(language),
        }
    }
}

fn load() -> SyntaxSet {
    two_face::syntax::extra_newlines()
}

/// The code of one block, as far as it has been read.
#[derive(Debug, Clone)]
pub struct HighlightedCode {
    highlighter: Highlighter,
    language: String,
    /// How many lines were read.
    lines: usize,
    state: CodeState,
}

#[derive(Debug, Clone)]
enum CodeState {
    /// Nobody knows the language.
    Plain,
    /// The grammars may still come.
    Waiting,
    Known(Box<(ParseState, ScopeStack)>),
}

impl HighlightedCode {
    /// The next line in pieces, each with its tone. The line is without its end.
    pub fn line(&mut self, line: &str) -> Vec<(Tone, String)> {
        let plain = || vec![(Tone::Plain, line.to_owned())];
        let highlighter = self.highlighter.clone();
        self.lines += 1;
        let is_too_much = line.len() > LINE_BYTES_MAX || self.lines > LINES_MAX;
        if is_too_much || matches!(self.state, CodeState::Plain) {
            return plain();
        }
        let Some(grammars) = highlighter.grammars_for(&self.language) else { return plain() };
        if matches!(self.state, CodeState::Waiting) {
            self.state = match grammars.find_syntax_by_token(&self.language) {
                Some(syntax) => CodeState::Known(Box::new((ParseState::new(syntax), ScopeStack::new()))),
                None => CodeState::Plain,
            };
        }
        let CodeState::Known(state) = &mut self.state else { return plain() };
        let (parser, scopes) = &mut **state;
        toned(line, parser, scopes, grammars).unwrap_or_else(|| {
            self.state = CodeState::Plain;
            plain()
        })
    }
}

fn toned(
    line: &str,
    parser: &mut ParseState,
    scopes: &mut ScopeStack,
    grammars: &SyntaxSet,
) -> Option<Vec<(Tone, String)>> {
    let changes = parser.parse_line(&format!("{line}\n"), grammars).ok()?;
    let mut pieces: Vec<(Tone, String)> = Vec::new();
    let mut from = 0;
    for (at, change) in changes.iter().map(|(at, change)| (*at, Some(change))).chain([(line.len(), None)]) {
        let at = at.min(line.len());
        if at > from {
            add(&mut pieces, tone(scopes), line.get(from..at)?);
            from = at;
        }
        if let Some(change) = change {
            scopes.apply(change).ok()?;
        }
    }
    Some(pieces)
}

fn add(pieces: &mut Vec<(Tone, String)>, tone: Tone, text: &str) {
    match pieces.last_mut() {
        Some((last, words)) if *last == tone => words.push_str(text),
        Some(_) | None => pieces.push((tone, text.to_owned())),
    }
}

/// The tone of what is innermost and means something.
fn tone(scopes: &ScopeStack) -> Tone {
    let meanings = scopes.as_slice().iter().rev().filter_map(|scope| {
        let found = SCOPES.iter().find(|(known, _)| known.is_prefix_of(*scope));
        found.map(|(_, tone)| *tone)
    });
    meanings.into_iter().next().unwrap_or(Tone::Plain)
}

#[cfg(test)]
mod tests;
