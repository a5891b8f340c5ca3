//! Tells a person's words from words that a client adds on its own.
//!
//! Clients mark most of their own words with a flag or a role. What they put into a plain user message they wrap in
//! tags, or begin with a fixed sentence. These beginnings are data, in `client_words.txt`. What follows from a text
//! being a client's is decided elsewhere.

use std::sync::LazyLock;

use infold_core::transcript::Voice;

/// The meaning of a beginning: the first word on its line of `client_words.txt`, which explains each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sense {
    Client,
    Attached,
    Media,
    Typed,
    Refusal,
    Figure,
    Summary,
    Compaction,
}

/// Who a text on the user's side comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordsOwner {
    Person,
    /// The client: reminders, rules, notices.
    Client,
    /// The client, to show a file; it counts as a tool's result.
    Attached,
    /// The client, to introduce images that a tool made.
    Media,
}

/// The known beginnings, each with its meaning.
struct Openings(Vec<(Sense, String)>);

static OPENINGS: LazyLock<Openings> = LazyLock::new(|| Openings::read(include_str!("client_words.txt")));

impl Openings {
    fn read(data: &str) -> Self {
        let lines = data.lines().filter(|line| !line.starts_with('#'));
        let entry = |line: &str| {
            let (word, opening) = line.split_once(' ')?;
            let sense = match word {
                "client" => Sense::Client,
                "attached" => Sense::Attached,
                "media" => Sense::Media,
                "typed" => Sense::Typed,
                "refusal" => Sense::Refusal,
                "figure" => Sense::Figure,
                "summary" => Sense::Summary,
                "compaction" => Sense::Compaction,
                _ => return None,
            };
            Some((sense, opening.replace("\\n", "\n")))
        };
        Self(lines.filter_map(entry).collect())
    }

    fn fit(&self, sense: Sense, text: &str) -> bool {
        let start = text.trim_start();
        self.0.iter().any(|(other, opening)| *other == sense && start.starts_with(opening.as_str()))
    }
}

/// Who a text in a user message comes from. Its beginning is enough to know, except for slash commands: their arguments
/// are a person's words and come at the end.
pub(crate) fn words_of(text: &str) -> WordsOwner {
    let is = |sense| OPENINGS.fit(sense, text);
    match () {
        () if is(Sense::Attached) => WordsOwner::Attached,
        () if is(Sense::Client) && !has_arguments(text) => WordsOwner::Client,
        () if is(Sense::Media) => WordsOwner::Media,
        () => WordsOwner::Person,
    }
}

/// The tags around goose's note on the time, the folder, and how full the context is. The note is a message of its own
/// before the model's latest call, and moves to another place with the next request.
const NOTE: (&str, &str) = ("<info-msg>", "</info-msg>");

/// Whether a text, given as JSON, is such a note and nothing else. Before a person's question, goose puts the note and
/// the question into one text; that text is the person's.
pub(crate) fn is_note(json: &str) -> bool {
    let text = json.trim_matches('"');
    text.starts_with(NOTE.0) && text.ends_with(NOTE.1) && text.matches(NOTE.1).count() == 1
}

/// The voice of a text in a user message, by its beginning.
pub(crate) fn voice_of(text: &str) -> Voice {
    match words_of(text) {
        WordsOwner::Person => Voice::Person,
        WordsOwner::Client | WordsOwner::Attached | WordsOwner::Media => Voice::Client,
    }
}

/// Whether a text may be a slash command, so that its end matters.
pub(crate) fn is_command(text: &str) -> bool {
    text.trim_start().starts_with("<command-")
}

/// Whether a text is a slash command that a person gave arguments.
fn has_arguments(text: &str) -> bool {
    let inside = || text.split_once("<command-args>")?.1.split_once("</command-args>").map(|(inside, _)| inside);
    is_command(text) && inside().is_some_and(|inside| !inside.trim().is_empty())
}

/// Whether a text introduces images that a tool made.
pub(crate) fn is_media(text: &str) -> bool {
    OPENINGS.fit(Sense::Media, text)
}

/// Whether a text is a summary that replaces what was said before it.
pub(crate) fn is_summary(text: &str) -> bool {
    OPENINGS.fit(Sense::Summary, text)
}

/// Whether a text asks the model for a summary of the whole conversation.
pub(crate) fn asks_for_compaction(text: &str) -> bool {
    OPENINGS.fit(Sense::Compaction, text)
}

/// The voice of the words inside a reminder: clients also wrap what a person typed while the model worked.
pub(crate) fn reminder_voice(inside: &str) -> Voice {
    if OPENINGS.fit(Sense::Typed, inside) { Voice::Person } else { Voice::Client }
}

/// Whether a result says that a person refused the call and gave a reason.
pub(crate) fn is_refusal_with_words(text: &str) -> bool {
    OPENINGS.fit(Sense::Refusal, text) && text.contains("the user said:\n")
}

/// The beginning of a reminder that repeats a figure with a new value each time; `None` for any other reminder.
pub(crate) fn figure(inside: &str) -> Option<&'static str> {
    let figures = OPENINGS.0.iter().filter(|(sense, _)| *sense == Sense::Figure);
    figures.map(|(_, opening)| opening.as_str()).find(|opening| inside.trim_start().starts_with(opening))
}

#[cfg(test)]
mod tests;
