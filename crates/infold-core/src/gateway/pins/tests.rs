//! Pinned, new, changed and gone.

use proptest::prelude::*;

use super::*;
use crate::gateway::{OfferedTool, name_tools};

fn hashes(tools: &[(&str, &str)]) -> BTreeMap<String, DefinitionHash> {
    let hashed = tools.iter().map(|(tool, hash)| ((*tool).to_owned(), DefinitionHash::from_stored((*hash).to_owned())));
    hashed.collect()
}

fn decided(pinned: &[(&str, &str)], offered: &[(&str, &str)], new_tools: NewTools) -> String {
    let decided = decide_pins(&hashes(pinned), &hashes(offered), new_tools);
    let lines = decided.iter().map(|tool| match &tool.state {
        PinState::Changed { waiting } => format!("{} Changed to {}: {:?}", tool.tool, waiting.as_str(), tool.step),
        state => format!("{} {state:?}: {:?}", tool.tool, tool.step),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn what_a_new_server_offers_is_pinned() {
    assert_eq!(decided(&[], &[("b", "1"), ("a", "2")], NewTools::Withhold), "a New: Pin\nb New: Pin");
}

#[test]
fn changed_tools_are_withheld_and_gone_ones_keep_their_pin() {
    let pinned = [("same", "1"), ("other", "1"), ("gone", "1")];
    let offered = [("same", "1"), ("other", "2"), ("added", "1")];
    let expected = "added New: Withhold\ngone Gone: Leave\nother Changed to 2: Withhold\nsame Pinned: Keep";
    assert_eq!(decided(&pinned, &offered, NewTools::Withhold), expected);
    let expected = expected.replace("added New: Withhold", "added New: Pin");
    assert_eq!(decided(&pinned, &offered, NewTools::Pin), expected);
}

#[test]
fn a_refusal_says_what_to_run() {
    let server = ServerKey::new("github");
    let offered = [OfferedTool { server: &server, prefix: "github__", tool: "create_issue" }];
    let name = name_tools(&offered).remove(0).unwrap();
    assert_eq!(
        Withholding::Changed.refuse(&name, &server, "create_issue"),
        "github__create_issue was changed by its server since it was approved: \
         ask the user to run `infold approve github/create_issue`"
    );
}

proptest! {
    #[test]
    fn a_tool_with_a_pin_is_used_only_as_pinned(
        pinned in prop::collection::btree_map("[a-d]", "[12]", 0..4),
        offered in prop::collection::btree_map("[a-d]", "[12]", 0..4),
    ) {
        let stored = |hashes: BTreeMap<String, String>| -> BTreeMap<String, DefinitionHash> {
            hashes.into_iter().map(|(tool, hash)| (tool, DefinitionHash::from_stored(hash))).collect()
        };
        let (pinned, offered) = (stored(pinned), stored(offered));
        for tool in decide_pins(&pinned, &offered, NewTools::Pin) {
            let is_used = matches!(tool.step, PinStep::Keep | PinStep::Pin);
            let is_there = offered.contains_key(&tool.tool);
            let is_same = pinned.get(&tool.tool).is_none_or(|pin| offered.get(&tool.tool) == Some(pin));
            prop_assert_eq!(is_used, is_there && is_same);
        }
    }
}
