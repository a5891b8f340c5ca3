//! The command `memory`: everything that people do with memories, through the program.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::home::{Ended, Home};

/// A token of a known form that was never anyone's. Put together here, so that no file holds it.
fn made_up_token() -> String {
    format!("{}_{}", "ghp", "Q7rT2mXv9LkB4nZc8JpW3sHd6FgY1aEu5oRi")
}

fn json_of(ended: &Ended) -> Value {
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    serde_json::from_str(&ended.stdout).unwrap()
}

fn add(home: &Home, title: &str, text: &str) -> String {
    let added = json_of(&home.run(&["memory", "add", "--json", "--title", title, text]));
    added["memory_id"].as_str().unwrap().to_owned()
}

fn titles(home: &Home, arguments: &[&str]) -> Vec<String> {
    let arguments: Vec<&str> = ["memory"].into_iter().chain(arguments.iter().copied()).chain(["--json"]).collect();
    let list = json_of(&home.run(&arguments));
    list["memories"].as_array().unwrap().iter().map(|memory| memory["title"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn looking_for_memories_makes_nothing() {
    let home = Home::new();
    let ended = home.run(&["memory"]);
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (0, "", "note: no memories yet\n"));
    assert_eq!(titles(&home, &["list", "--all"]), [""; 0]);
    assert_eq!(home.run(&["memory", "review"]).stderr, "note: no memory waits for you\n");
    let ended = home.run(&["memory", "show", "mem_0123456789"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (3, "error: Memory not found: mem_0123456789\n"));
    assert!(!home.data().exists());
}

#[test]
fn a_memory_is_written_found_shown_changed_and_put_back() {
    let home = Home::new();
    let kept =
        home.run(&["memory", "add", "--title", "Rebuild fixtures", "--kind", "works", "run `just fixtures` first"]);
    let id = kept.stdout.split_whitespace().nth(1).unwrap().to_owned();
    assert_snapshot!(kept.stdout.replace(&id, "MEMORY"), @"kept MEMORY  Rebuild fixtures");
    add(&home, "Use tabs", "always");

    let table = home.run(&["memory"]).stdout;
    let words = |line: usize| table.lines().nth(line).unwrap().split_whitespace().take(7).collect::<Vec<_>>();
    assert_eq!(words(0), ["MEMORY", "KIND", "SURE", "STATE", "FROM", "SHOWN", "USED"]);
    assert_eq!(words(1), [id.as_str(), "works", "0.90", "live", "hand", "0", "0"]);
    assert!(!table.contains('\u{1b}'), "colours are off where there is no terminal");
    assert!(home.run(&["memory", "--color", "always"]).stdout.contains('\u{1b}'));
    assert_eq!(titles(&home, &["search", "the fixtures are old"]), ["Rebuild fixtures"]);
    assert_eq!(titles(&home, &["list", "--kind", "fact"]), ["Use tabs"]);
    assert_eq!(titles(&home, &["list", "--project", "/somewhere/else"]), [""; 0]);

    let edited = home.run(&["memory", "edit", &id, "--title", "Rebuild snapshots", "--everywhere"]);
    assert_eq!(edited.code, 0, "{}", edited.stderr);
    assert_eq!(titles(&home, &["list", "--project", "/somewhere/else"]), ["Rebuild snapshots"]);
    let shown = home.run(&["memory", "show", &id]).stdout;
    for part in ["Rebuild snapshots", "run `just fixtures` first", "every project", "evidence     made, "] {
        assert!(shown.contains(part), "{shown}");
    }
    let undone = home.run(&["memory", "undo"]);
    assert_eq!(undone.stdout, format!("undone: change 3 (edited) of {id}\n"));
    assert_eq!(titles(&home, &["list", "--project", "/somewhere/else"]), [""; 0]);
    assert_eq!(home.run(&["memory", "undo", "3"]).code, 3);
    assert!(home.run(&["memory", "undo", "--list"]).stdout.contains("edited (undone)"));
    let nothing = home.run(&["memory", "edit", &id]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (3, ""));
}

#[test]
fn what_is_written_is_cleaned_and_scrubbed_before_it_is_stored() {
    let home = Home::new();
    let token = made_up_token();
    let text = format!("export GITHUB_TOKEN={token}\u{1b}[31m, then\u{202e} run it");
    let ended = home.run_with_input(&["memory", "add", "--title", "Log in", "-"], text.as_bytes());
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let listed = home.run(&["memory", "--json"]).stdout;
    assert!(!listed.contains(&token) && listed.contains("[SECRET:"), "{listed}");
    assert!(!listed.contains("\\u001b") && !listed.contains('\u{202e}'), "{listed}");
    for file in std::fs::read_dir(home.data()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(token.len()).any(|window| window == token.as_bytes()));
    }
    for arguments in [["--title", "Log in", &token], ["--title", "", "text"], ["--title", "t", ""]] {
        let ended = home.run(&["memory", "add", arguments[0], arguments[1], arguments[2]]);
        assert_eq!((ended.code, ended.stdout.as_str()), (3, ""), "{}", ended.stderr);
    }
    assert_eq!(titles(&home, &["list"]), ["Log in"]);
}

#[test]
fn memories_are_taken_along_and_an_import_is_forgotten_by_its_name() {
    let home = Home::new();
    add(&home, "Rebuild fixtures", "first");
    let exported = home.run(&["memory", "export"]);
    home.write("team.jsonl", &exported.stdout);
    let file = home.join("team.jsonl").to_str().unwrap().to_owned();

    let other = Home::new();
    let dry = other.run(&["memory", "import", &file, "--dry-run"]);
    assert_eq!(dry.stdout, "1 memories are good; nothing was kept\n");
    assert_eq!(titles(&other, &["list"]), [""; 0]);
    assert_eq!(other.run(&["memory", "import", &file]).stdout, "1 of 1 memories are new, as import:team\n");
    assert_eq!(other.run(&["memory", "import", &file]).stdout, "0 of 1 memories are new, as import:team\n");
    let listed = json_of(&other.run(&["memory", "--json"]));
    assert_eq!(listed["memories"][0]["trust"], "outside");
    assert!(listed["memories"][0]["confidence"].as_f64().unwrap() < 0.7, "{listed}");

    let preview = other.run(&["memory", "forget", "--from", "import:team"]);
    assert!(preview.stdout.starts_with("would go: mem_"), "{}", preview.stdout);
    assert!(preview.stderr.contains("--yes"), "{}", preview.stderr);
    assert_eq!(titles(&other, &["list"]).len(), 1);
    let forgotten = other.run(&["memory", "forget", "--from", "import:team", "--yes"]);
    assert!(forgotten.stdout.starts_with("forgotten: mem_"), "{}", forgotten.stdout);
    assert_eq!(titles(&other, &["list"]), [""; 0]);
    let nothing = other.run(&["memory", "forget", "--from", "import:team", "--yes"]);
    assert_eq!(nothing.code, 3);
    for file in std::fs::read_dir(other.data()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(7).any(|window| window == b"Rebuild" || window == b"rebuild"));
    }
}

#[test]
fn a_bad_import_keeps_nothing_and_names_the_line() {
    let home = Home::new();
    let good = json!({ "title": "a", "lesson": "b" });
    home.write("bad.jsonl", &format!("{good}\n{{\"title\":\"a\"}}\n"));
    let file = home.join("bad.jsonl").to_str().unwrap().to_owned();
    let ended = home.run(&["memory", "import", &file]);
    assert_eq!((ended.code, ended.stdout.as_str()), (3, ""));
    assert!(ended.stderr.contains("line 2") && ended.stderr.contains("lesson"), "{}", ended.stderr);
    let latin = home.run_with_input(&["memory", "import", "-"], b"{\"title\":\"\xe9\",\"lesson\":\"b\"}");
    assert!(latin.code == 3 && latin.stderr.contains("UTF-8"), "{}", latin.stderr);
    let huge = home.run_with_input(&["memory", "import", "-"], &vec![b'x'; (16 << 20) + 10]);
    assert!(huge.code == 3 && huge.stderr.contains("16777216"), "{}", huge.stderr);
    assert_eq!(home.run(&["memory", "import", "/not/there.jsonl"]).code, 3);
    assert_eq!(titles(&home, &["list", "--all"]), [""; 0]);
}

#[test]
fn what_waits_is_reviewed() {
    let home = Home::new();
    let lines = "{\"title\":\"one\",\"lesson\":\"b\"}\n{\"title\":\"two\",\"lesson\":\"b\"}\n";
    let import = ["memory", "import", "-", "--set", "memory.review=all"];
    assert_eq!(home.run_with_input(&import, lines.as_bytes()).code, 0);
    let waiting = json_of(&home.run(&["memory", "review", "--json"]));
    let ids: Vec<&str> =
        waiting["memories"].as_array().unwrap().iter().map(|memory| memory["memory_id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 2);
    assert!(home.run(&["memory"]).stderr.contains("2 wait for you"));
    assert_eq!(home.run(&["memory", "review", ids[0]]).code, 3, "it has to be said what to do");
    assert_eq!(home.run(&["memory", "review", ids[0], "--reject"]).code, 0);
    assert_eq!(home.run(&["memory", "review", "--accept-all"]).stdout, "1 accepted\n");
    let listed = json_of(&home.run(&["memory", "--json"]));
    let mut states: Vec<&str> =
        listed["memories"].as_array().unwrap().iter().map(|memory| memory["state"].as_str().unwrap()).collect();
    states.sort_unstable();
    assert_eq!(states, ["live", "rejected"]);
    assert_eq!(home.run(&["memory", "review", "--json"]).stdout.trim(), "{\n  \"memories\": []\n}");
}

#[test]
fn projects_are_listed_joined_and_left_alone() {
    let home = Home::new();
    let (one, two) = (home.join("one"), home.join("two"));
    std::fs::create_dir(&one).unwrap();
    std::fs::create_dir(&two).unwrap();
    let (one, two) = (one.to_str().unwrap(), two.to_str().unwrap());
    for project in [one, two] {
        assert_eq!(home.run(&["memory", "add", "--title", "t", "--project", project, "text"]).code, 0);
    }
    let projects = json_of(&home.run(&["memory", "projects", "--json"]));
    assert_eq!(projects["projects"].as_array().unwrap().len(), 2);
    assert_eq!(home.run(&["memory", "projects", "--join", one, two]).stdout, "1 memories were moved\n");
    assert_eq!(titles(&home, &["list", "--project", one]).len(), 2);
    assert_eq!(home.run(&["memory", "projects", "--join", one, one]).code, 3);

    let silent = home.run(&["memory", "silence", "session:work"]);
    assert_eq!(silent.stdout, "session:work: nothing is learnt there, and nothing is shown\n");
    assert!(home.run(&["memory", "projects"]).stdout.contains("left alone: session:work"));
    assert_eq!(home.run(&["memory", "silence", "session:work", "--off"]).code, 0);
    assert!(!home.run(&["memory", "projects"]).stdout.contains("left alone"));
    assert_eq!(home.run(&["memory", "silence", "everything"]).code, 3);
    let why = home.run(&["memory", "why", "br_01234567-89ab-8def-8123-456789abcdef"]);
    assert_eq!((why.code, why.stdout.as_str()), (3, ""));
}

#[test]
fn an_index_that_is_gone_is_made_anew() {
    let home = Home::new();
    add(&home, "Rebuild fixtures", "first");
    let database = rusqlite::Connection::open(home.data().join("infold.db")).unwrap();
    database.execute_batch("DROP TABLE memory_words").unwrap();
    drop(database);
    assert_eq!(titles(&home, &["search", "fixtures"]), ["Rebuild fixtures"]);
    add(&home, "Use tabs", "always");
    assert_eq!(titles(&home, &["search", "tabs"]), ["Use tabs"]);
}
