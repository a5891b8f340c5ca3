//! Refuses calls that would write a placeholder into a file, where it would replace the secret that it hides.

use infold_core::writes::{Means, writing_of};
use infold_core::{Scrubber, placeholders};
use serde_json::json;

use super::LocalCall;

/// Why a call may not run; `None` if it writes no placeholder.
pub(super) fn refusal(call: &LocalCall, scrubber: Option<&Scrubber>) -> Option<String> {
    let writing = match call {
        LocalCall::Write(call) => writing_of("write", &json!({ "content": call.content })),
        // A text to be replaced that holds a placeholder is in no file, so the answer helps there as well.
        LocalCall::Edit(call) => writing_of("edit", &json!({ "old": call.old, "new": call.new })),
        LocalCall::Shell(call) => writing_of("shell", &json!({ "command": call.command })),
        LocalCall::Read(_) | LocalCall::List(_) | LocalCall::Search(_) => None,
    }?;
    let first = |text: &String| match scrubber {
        Some(scrubber) => scrubber.own_placeholders(text).next().map(str::to_owned),
        None => placeholders(text).next().map(str::to_owned),
    };
    let placeholder = writing.texts.iter().find_map(first)?;
    let what = match writing.means {
        Means::Editor => "this change",
        Means::Shell => "this command, which can write files",
    };
    Some(format!(
        "refused {what}: it holds {placeholder}, which hides a secret. Writing it would put the placeholder in the \
         secret's place. Leave that line as it is and change only the lines around it; to use the secret, refer to an \
         environment variable or read it from its file in the same command; or ask the user to write it."
    ))
}
