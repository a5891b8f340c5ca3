//! Results in which a person speaks: clients hand a person's words to the model as what a tool gave, where a call was
//! refused with a reason or a tool asked the person something.

/// Tools that ask the person.
const ASKING: [&str; 3] = ["AskUserQuestion", "request_user_input", "question"];
/// How the result of a call begins that the person refused, and what stands in front of the reason.
const REFUSED: &str = "The user doesn't want to ";
const REASON: &str = "the user said:";

/// Whether a result of `tool` holds words of a person.
pub fn is_answered_by_person(tool: &str, text: &str) -> bool {
    ASKING.contains(&tool) || (text.trim_start().starts_with(REFUSED) && text.contains(REASON))
}
