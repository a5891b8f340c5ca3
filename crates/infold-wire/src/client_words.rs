//! Telling a person's words from those that a client put in on its own account.
//!
//! Clients mark most of theirs (a flag, a role); what they send in a plain user message they wrap in tags of
//! their own, or begin with a sentence of their own. Those are data: `client_words.txt`.

use std::sync::LazyLock;

use infold_core::transcript::Voice;

/// What a client's words are, by how they begin.
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

/// What a text on the user's side is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordsOwner {
    /// A person's.
    Person,
    /// The client's own.
    Client,
    /// What the client shows of a file.
    Attached,
    /// What stands in front of a tool's images.
    Media,
}

/// How words of each kind begin.
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

/// What a text in a user message is. The whole text is needed only of slash commands, whose arguments are a
/// person's words and stand at their end.
pub(crate) fn words_of(text: &str) -> WordsOwner {
    let is = |sense| OPENINGS.fit(sense, text);
    match () {
        () if is(Sense::Attached) => WordsOwner::Attached,
        () if is(Sense::Client) && !has_arguments(text) => WordsOwner::Client,
        () if is(Sense::Media) => WordsOwner::Media,
        () => WordsOwner::Person,
    }
}

/// What goose's note begins and ends with: the time, the folder, how full the context is. It stands in a message of its
/// own in front of the model's latest call, and moves on with the next request.
const NOTE: (&str, &str) = ("<info-msg>", "</info-msg>");

/// Whether a text is a client's note and nothing else, by its JSON. In front of what the person asks for it stands in
/// one text with that.
pub(crate) fn is_note(json: &str) -> bool {
    let text = json.trim_matches('"');
    text.starts_with(NOTE.0) && text.ends_with(NOTE.1) && text.matches(NOTE.1).count() == 1
}

/// Whose words a text in a user message is, by how it begins.
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

/// Whether a text stands in front of a tool's images.
pub(crate) fn is_media(text: &str) -> bool {
    OPENINGS.fit(Sense::Media, text)
}

/// Whether a text is a summary that stands for what was said before.
pub(crate) fn is_summary(text: &str) -> bool {
    OPENINGS.fit(Sense::Summary, text)
}

/// Whether a text asks for a summary of the whole conversation.
pub(crate) fn asks_for_compaction(text: &str) -> bool {
    OPENINGS.fit(Sense::Compaction, text)
}

/// Whose words are inside of a reminder.
pub(crate) fn reminder_voice(inside: &str) -> Voice {
    if OPENINGS.fit(Sense::Typed, inside) { Voice::Person } else { Voice::Client }
}

/// Whether a result is one that the client gives when a person refuses a call, and the person said something.
pub(crate) fn is_refusal_with_words(text: &str) -> bool {
    OPENINGS.fit(Sense::Refusal, text) && text.contains("the user said:\n")
}

/// The figure that a reminder tells anew each time, by how it begins.
pub(crate) fn figure(inside: &str) -> Option<&'static str> {
    let figures = OPENINGS.0.iter().filter(|(sense, _)| *sense == Sense::Figure);
    figures.map(|(_, opening)| opening.as_str()).find(|opening| inside.trim_start().starts_with(opening))
}

#[cfg(test)]
mod tests;
