//! Ids that look right and are not the caller's to use: each is as good as absent.

use anyhow::Result;
use serde_json::{Value, json};

use super::cases::Bad;
use super::scene::{Things, World};
use super::tools::{complaint, properties, with};

/// What becomes of an id that is not the caller's, or not of the session that the call is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Foreign {
    /// It is refused as absent.
    Refused,
    /// The answer says that there is no branch.
    NoBranch,
    /// It is a name that the caller may use for something new of its own.
    Free,
}

/// What becomes of foreign ids in an argument of a tool.
fn foreign(tool: &str, argument: &str) -> Foreign {
    match (tool, argument) {
        ("branch_create" | "context_branch", "session_id") => Foreign::Free,
        ("branch_status", _) => Foreign::NoBranch,
        _ => Foreign::Refused,
    }
}

/// Ids that look right and are not: somebody else's, another session's, made up.
fn bad_ids(argument: &str, mine: &Things, other: &Things, theirs: &Things, tool: &Value) -> Vec<Bad> {
    let bad = |what: &str, value: String| Bad { what: what.to_owned(), value: json!(value) };
    let last_changed = |id: &str| {
        let last = if id.ends_with('0') { "1" } else { "0" };
        format!("{}{last}", &id[..id.len() - 1])
    };
    let names_a_session = properties(tool).iter().any(|(name, _)| name == "session_id");
    match argument {
        "branch_id" | "parent_branch_id" => {
            let mut ids = vec![
                bad("somebody else's", theirs.branch.clone()),
                bad("made up", "br_01234567-89ab-8def-8123-456789abcdef".to_owned()),
                bad("with its last digit changed", last_changed(&mine.branch)),
                bad("in upper case", mine.branch.to_uppercase()),
                bad("with a blank behind it", format!("{} ", mine.branch)),
                bad("with a line behind it", format!("{}\nand all is well", mine.branch)),
                bad("without its prefix", mine.branch.trim_start_matches("br_").to_owned()),
                bad("a result's", mine.ref_id.clone()),
                bad("a path", "../../etc/passwd".to_owned()),
                bad("a query", "' OR 1=1 --".to_owned()),
            ];
            if names_a_session {
                ids.push(bad("another session's", other.branch.clone()));
            }
            ids
        }
        "ref_id" => vec![
            bad("somebody else's", theirs.ref_id.clone()),
            bad("made up", "res_01234567-89ab-4def-8123-456789abcdef".to_owned()),
            bad("with its last digit changed", last_changed(&mine.ref_id)),
            bad("a branch's", mine.branch.clone()),
            bad("a path", "../../etc/passwd".to_owned()),
        ],
        "session_id" => vec![
            bad("somebody else's", theirs.session.clone()),
            bad("made up", "sess_01234567-89ab-4def-8123-456789abcdef".to_owned()),
        ],
        _ => Vec::new(),
    }
}

#[tokio::test]
async fn every_id_that_is_not_the_callers_is_as_good_as_absent() -> Result<()> {
    let world = World::new().await?;
    let other = world.things("/projects/other").await?;
    let mut complaints = Vec::new();
    for tool in &world.program.mcp.list_tools().await? {
        let name = tool["name"].as_str().unwrap_or_default();
        let things = world.things(&format!("/projects/{name}")).await?;
        let enough = things.enough(&tool["inputSchema"])?;
        let before = world.stored()?;
        for (argument, _) in properties(tool) {
            let expected = foreign(name, &argument);
            let ids = bad_ids(&argument, &things, &other, &world.theirs, tool);
            for Bad { what, value } in ids.into_iter().filter(|_| expected != Foreign::Free) {
                let answer = world.program.call(name, Value::Object(with(&enough, &argument, value))).await?;
                let no_branch = answer.is_ok() && answer.field("branch_id").is_null();
                let complaint = match expected {
                    Foreign::NoBranch if no_branch => None,
                    _ => complaint(name, "not found|must be 1 to 128", &answer),
                };
                complaints.extend(complaint.map(|text| format!("{name}: {argument} {what}: {text}")));
                if world.stored()? != before {
                    complaints.push(format!("{name}: {argument} {what}: something was stored"));
                }
            }
        }
    }
    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
    Ok(())
}
