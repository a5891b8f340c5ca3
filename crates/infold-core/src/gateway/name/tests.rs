//! Names of tools: cleaned, short, never two alike, and the same every time.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// Tools as (server, prefix, tool), named one line each.
fn named(tools: &[(&str, &str, &str)]) -> String {
    let keys: Vec<ServerKey> = tools.iter().map(|(server, _, _)| ServerKey::new(*server)).collect();
    let offered: Vec<OfferedTool<'_>> =
        tools.iter().zip(&keys).map(|((_, prefix, tool), server)| OfferedTool { server, prefix, tool }).collect();
    let lines = name_tools(&offered).into_iter().map(|name| match name {
        Ok(name) => name.to_string(),
        Err(why) => format!("withheld: {why}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn names_are_prefixed_and_cleaned() {
    insta::assert_snapshot!(named(&[
        ("github", "github__", "create_issue"),
        ("memory", "", "read-graph"),
        ("odd", "odd__", "läuft/jetzt.v2"),
        ("odd", "odd__", " "),
    ]), @"
    github__create_issue
    read-graph
    odd__l_uft_jetzt_v2
    withheld: it has no name
    ");
}

#[test]
fn what_is_too_long_or_taken_gets_a_part_of_its_own() {
    let long = "a".repeat(200);
    let names = named(&[
        ("a", "a__", &long),
        ("a", "a__", &format!("{long}b")),
        ("a", "a__", "x.y"),
        ("a", "a__", "x_y"),
        ("b", "a__", "x_y"),
        ("a", "a__", "x_y"),
    ]);
    insta::assert_snapshot!(names, @"
    a__aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa_4203e955
    a__aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa_a0afe708
    a__x_y_bd050a45
    a__x_y
    a__x_y_57a46002
    withheld: its server has another tool of this name
    ");
}

#[test]
fn names_of_infolds_own_are_withheld_and_what_looks_like_one_is_marked() {
    let names = named(&[
        ("evil", "", "branch_create"),
        ("evil", "", "tool_call"),
        ("evil", "", "tool.search"),
        ("git", "git__", "branch_create"),
        ("ok", "ok__", "tool_call"),
    ]);
    insta::assert_snapshot!(names, @"
    withheld: it has the name of infold's own tool branch_create: give its server another prefix
    withheld: it has the name of infold's own tool tool_call: give its server another prefix
    withheld: it has the name of infold's own tool tool_search: give its server another prefix
    git__branch_create_2d95d8d0
    ok__tool_call_2aa0a75e
    ");
}

fn tools() -> impl Strategy<Value = Vec<(String, String)>> {
    let tool = prop_oneof![
        4 => "[a-c_.]{1,3}",
        1 => "[a-z.]{40,60}",
        2 => "a{42}[._]{1,2}",
        1 => "\\PC{0,8}",
        1 => Just("branch_return".to_owned()),
    ];
    prop::collection::vec(("[ab.]{1,2}", tool), 0..40)
}

fn name_all(tools: &[(String, String)]) -> Vec<Result<ToolName, Unnamed>> {
    let keys: Vec<(ServerKey, String)> =
        tools.iter().map(|(server, _)| (ServerKey::new(server.as_str()), format!("{}__", clean(server)))).collect();
    let offered: Vec<OfferedTool<'_>> =
        tools.iter().zip(&keys).map(|((_, tool), (server, prefix))| OfferedTool { server, prefix, tool }).collect();
    name_tools(&offered)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn names_are_unique_short_plain_and_nobody_elses(tools in tools()) {
        let named = name_all(&tools);
        let names: Vec<&str> = named.iter().flatten().map(ToolName::as_str).collect();
        let unique: BTreeSet<&str> = names.iter().copied().collect();
        prop_assert_eq!(unique.len(), names.len());
        for name in names {
            prop_assert!(name.len() <= NAME_CHARS_MAX && !name.is_empty() && clean(name) == name);
            prop_assert!(OwnTool::spelled(name).is_none());
        }
        // Every tool with a name has one in the list, once.
        let distinct: BTreeSet<_> = tools.iter().filter(|(_, tool)| !tool.trim().is_empty()).collect();
        prop_assert_eq!(distinct.len(), unique.len());
    }

    #[test]
    fn names_do_not_depend_on_a_servers_order_nor_on_servers_that_come_later(
        tools in tools(), more in tools(), rotation in 0..40_usize,
    ) {
        let name_of = |tools: &[(String, String)]| -> BTreeSet<(String, String, String)> {
            let named = name_all(tools);
            let pairs = tools.iter().zip(named).filter_map(|(tool, name)| Some((tool, name.ok()?)));
            pairs.map(|((server, tool), name)| (server.clone(), tool.clone(), name.to_string())).collect()
        };
        let mut by_server = tools.clone();
        by_server.sort_by(|one, other| one.0.cmp(&other.0));
        let first = name_of(&by_server);
        let mut turned = by_server.clone();
        let front = turned.iter().take_while(|(server, _)| *server == by_server[0].0).count();
        if front > 0 {
            turned[..front].rotate_left(rotation % front);
        }
        prop_assert_eq!(&name_of(&turned), &first);
        let later = more.into_iter().map(|(server, tool)| (format!("{server}+"), tool));
        let with_more = name_of(&by_server.into_iter().chain(later).collect::<Vec<_>>());
        prop_assert!(first.is_subset(&with_more));
    }
}
