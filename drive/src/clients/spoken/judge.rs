//! What must hold of the requests of a person's session at the terminal: which words, rules and results are in which.

use anyhow::anyhow;
use infold_testkit::model::Received;

use super::{
    ASKED, BESIDE, BRIEF, COMPACTED, FOUND, INTERRUPTED, NESTED_RULE, QUEUED, RESUMED, REWOUND, RULE, SECOND_BRIEF,
    SECOND_FOUND, WordsPlace, pasted,
};
use crate::clients::findings::RunFindings;

/// What infold tells every client of itself. Claude Code says it with the first result of the session.
const INSTRUCTIONS: &str = "do noisy sub-tasks in a branch";
/// What a command prints in a branch; it is built from two parts so that the command itself does not hold it.
const WORK_PRINTED: &str = "went-through-the-second-gate";
/// A line of a long log that shaping takes out.
const LOG_LINE: &str = "row 000900 of the log";
const ENVIRONMENT: &str = "Primary working directory";

/// Checks words in a branch, and what of it reaches the parent.
pub fn branch(turns: &[Received], findings: &mut RunFindings) {
    let first_with = |text: &str| turns.iter().find(|turn| turn.holds(text));
    let said = [INTERRUPTED, QUEUED];
    let in_branch = first_with(INTERRUPTED);
    findings.request("words after an interrupt reach the branch", in_branch, &[BRIEF], &[ASKED]);
    findings.request(
        "words typed while a tool runs reach the branch",
        first_with(QUEUED),
        &[BRIEF, INTERRUPTED],
        &[ASKED],
    );
    findings.request("the branch gets the rules of a folder", first_with(NESTED_RULE), &[BRIEF], &[ASKED]);
    let parent = turns.iter().find(|turn| turn.holds(FOUND) && turn.holds(ASKED));
    findings.request("the parent gets infold's own instructions", parent, &[INSTRUCTIONS], &[]);
    findings.request("the parent gets the words, and not the work", parent, &said, &[WORK_PRINTED]);
    findings.request("the parent gets the rules of the folder", parent, &[NESTED_RULE], &[]);
    findings.request("the parent gets what was called beside the return", parent, &[BESIDE], &[]);
    let repeated =
        said.iter().chain(&[NESTED_RULE]).find(|words| parent.is_some_and(|turn| turn.shows_times(words) > 1));
    findings
        .add("the parent gets everything once", repeated.map_or(Ok(()), |words| Err(anyhow!("sent twice: {words}"))));
    let last = turns.iter().rfind(|turn| turn.holds(FOUND) && turn.holds(ASKED));
    findings.request("the words stay in the parent", last, &said, &[WORK_PRINTED]);
}

/// Checks words beside or inside a result that is long enough to be shaped.
pub fn log(turns: &[Received], findings: &mut RunFindings) {
    let pasted = pasted();
    let lines: Vec<&str> = pasted.lines().collect();
    let request = turns.iter().find(|turn| turn.holds(lines[19]));
    findings.request("twenty pasted lines stand beside a shaped result", request, &lines, &[LOG_LINE]);
}

/// Checks the requests after a resume and a rewind.
pub fn returns(turns: &[Received], findings: &mut RunFindings) {
    let first_with = |text: &str| turns.iter().find(|turn| turn.holds(text));
    let kept = [ASKED, INTERRUPTED, QUEUED, FOUND, NESTED_RULE, RULE];
    findings.request("after a resume all words are there", first_with(RESUMED), &kept, &[WORK_PRINTED]);
    let undone = [WORK_PRINTED, RESUMED, "wish 01"];
    findings.request("after a rewind all words before it are there", first_with(REWOUND), &kept, &undone);
}

/// Checks the requests after a compaction.
pub fn compaction(turns: &[Received], kind: WordsPlace, secret: &str, findings: &mut RunFindings) {
    let first_with = |text: &str| turns.iter().find(|turn| turn.holds(text));
    let attached = ["@tokens.env", "[SECRET:"];
    findings.request("a secret in an attached file is scrubbed", first_with(COMPACTED), &attached, &[secret]);
    let mut given = vec![RULE, ENVIRONMENT, INSTRUCTIONS, "The following deferred tools"];
    match kind {
        WordsPlace::Beside => given.push("Available agent types"),
        WordsPlace::Inside => given.extend(["Available agent types", "The following skills are available"]),
    }
    findings.request("after a compaction main has what the client gives", first_with(COMPACTED), &given, &[]);
    let branch = turns
        .iter()
        .find(|turn| turn.holds(SECOND_BRIEF) && turn.spelled("branch_return").is_some() && !turn.holds(COMPACTED));
    findings.request("after a compaction a branch has what the client gives", branch, &given, &[secret]);
    let after = turns.iter().find(|turn| turn.holds(SECOND_FOUND) && turn.holds(COMPACTED));
    findings.request("after a compaction a branch folds", after, &[COMPACTED], &[]);
}
