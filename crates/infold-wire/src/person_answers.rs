//! Recognises results that hold a person's words. Clients give them to the model as the result of a call that the
//! person refused with a reason, or of a tool that asks the person something.

/// The tools of several clients that ask the person a question.
const ASKING: [&str; 3] = ["AskUserQuestion", "request_user_input", "question"];
/// The beginning of the result of a refused call (Claude Code), and the words before the person's reason in it.
const REFUSED: &str = "The user doesn't want to ";
const REASON: &str = "the user said:";

/// Whether a result of `tool` with this text holds words of a person, which must not be hidden as a tool's output may
/// be.
pub fn is_answered_by_person(tool: &str, text: &str) -> bool {
    ASKING.contains(&tool) || (text.trim_start().starts_with(REFUSED) && text.contains(REASON))
}
