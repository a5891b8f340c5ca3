//! `infold settings`, with real files and variables.

use insta::assert_snapshot;
use serde_json::Value;

use super::home::Home;

#[test]
fn each_layer_is_read_from_where_it_lies() {
    let home = Home::new();
    home.write(".config/infold/settings.toml", "[folding]\nmax_depth = 5\nmax_budget = 16000\n");
    home.write("project/.infold.toml", "[folding]\nmax_depth = 2\n");
    let mut command = home.command(&["settings", "--set", "count.family=gpt"]);
    command.env("INFOLD_LISTEN", "127.0.0.1:0").env("INFOLD_STORE__READERS", "3");
    let ended = home.ended(command.output().unwrap());
    let lines: Vec<&str> = ended.stdout.lines().collect();
    let squeezed = |line: &&str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let changed: Vec<String> =
        lines.iter().filter(|line| !line.ends_with(" default")).map(squeezed).filter(|line| !line.is_empty()).collect();
    assert_snapshot!(changed.join("\n"), @r#"
    KEY VALUE FROM
    server.listen "127.0.0.1:0" INFOLD_LISTEN
    folding.max_budget 16000 HOME/.config/infold/settings.toml:3
    folding.max_depth 2 HOME/project/.infold.toml:2
    count.family "gpt" --set
    store.readers 3 INFOLD_STORE__READERS
    user file: HOME/.config/infold/settings.toml
    project file: HOME/project/.infold.toml
    "#);
    assert!(lines[1].starts_with("data "), "{}", lines[1]);
    assert!(lines[1].contains("HOME/.local/share/infold"), "{}", lines[1]);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
}

#[test]
fn json_names_key_value_layer_and_place() {
    let home = Home::new();
    let ended = home.run(&["settings", "--json", "--data", "elsewhere"]);
    let printed: Value = serde_json::from_str(&ended.stdout).unwrap();
    let find = |key: &str| printed["settings"].as_array().unwrap().iter().find(|entry| entry["key"] == key).unwrap();
    assert_eq!(find("folding.max_depth")["value"], 3);
    assert_eq!(find("folding.max_depth")["layer"], "default");
    assert_eq!(find("mcp.tools")["value"], serde_json::json!(["branch", "context", "memory"]));
    assert_eq!(find("data")["value"], "HOME/project/inner/elsewhere");
    assert_eq!(find("data")["from"], "--data");
}

#[test]
fn the_named_file_takes_the_place_of_the_usual_one() {
    let home = Home::new();
    home.write(".config/infold/settings.toml", "this is not read");
    home.write("other.toml", "[folding]\nmax_depth = 1\n");
    let with = |path: &str| {
        let mut command = home.command(&["settings"]);
        home.ended(command.env("INFOLD_CONFIG", home.join(path)).output().unwrap())
    };
    assert!(with("other.toml").stdout.contains("HOME/other.toml:2"));
    let absent = with("absent.toml");
    assert_eq!(absent.code, 3);
    assert_snapshot!(absent.stderr, @"
    error: INFOLD_CONFIG: no file HOME/absent.toml
      hint: create the file, or unset the variable
    ");
}

#[test]
fn where_this_projects_tests_find_their_data_is_no_setting() {
    let home = Home::new();
    let with = |name: &str| home.ended(home.command(&["settings"]).env(name, "/elsewhere").output().unwrap());
    assert_eq!(with("INFOLD_TEST_DATA").code, 0);
    assert_eq!(with("INFOLD_TEST_DATE").code, 3);
}

#[test]
fn every_problem_is_reported_at_once_with_its_place() {
    let home = Home::new();
    home.write(".config/infold/settings.toml", "[folding]\nmax_dept = 5\n");
    home.write("project/.infold.toml", "[server]\nlisten = '127.0.0.1:1'\n");
    let ended = home.run(&["sessions", "--set", "store.readers=0"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (3, ""));
    assert_snapshot!(ended.stderr, @"
    error: unknown key `folding.max_dept` in HOME/.config/infold/settings.toml:2
      hint: did you mean `folding.max_depth`?
    error: `server.listen` in HOME/project/.infold.toml:2 cannot be set by a project file: those may only lower limits
      hint: move it to your own settings; a project file may lower limits of [folding], [context] and [memory] and list fewer mcp.tools
    error: `store.readers` = 0 in --set is out of range
      hint: give a whole number from 1 to 64
    ");
}

#[test]
fn the_printed_defaults_are_a_settings_file_that_changes_nothing() {
    let home = Home::new();
    let defaults = home.run(&["settings", "--default"]).stdout;
    home.write(".config/infold/settings.toml", &defaults);
    let ended = home.run(&["settings"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
}

#[test]
fn settings_in_front_of_a_command_and_behind_it_all_count() {
    let home = Home::new();
    let arguments = ["--set", "folding.max_depth=2", "settings", "--json", "--set", "folding.max_budget=9000"];
    let printed: Value = serde_json::from_str(&home.run(&arguments).stdout).unwrap();
    let printed = printed.to_string();
    assert_eq!(printed.matches("\"--set\"").count(), 2, "{printed}");
}
