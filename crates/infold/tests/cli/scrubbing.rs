//! The commands `scrub` and `rules`: reports, exit codes, rules and values of a user's own.

use std::fs;

use insta::assert_snapshot;
use serde_json::Value;

use super::home::{Ended, Home};

/// A token of a known form that was never anyone's. Put together here, so that no file holds it.
fn made_up_token() -> String {
    format!("{}_{}", "ghp", "Q7rT2mXv9LkB4nZc8JpW3sHd6FgY1aEu5oRi")
}

/// A folder with a secret in one of its files.
fn folder(home: &Home) -> String {
    let folder = home.join("work");
    fs::create_dir_all(folder.join("a/b")).unwrap();
    fs::create_dir_all(folder.join(".git")).unwrap();
    fs::write(folder.join("a/b/.env"), format!("HOST=db\nTOKEN={}\n", made_up_token())).unwrap();
    fs::write(folder.join("a/clean.txt"), "nothing here\n").unwrap();
    fs::write(folder.join("a/picture"), b"\x89PNG\x00\xff\xfe").unwrap();
    fs::write(folder.join(".git/packed"), made_up_token()).unwrap();
    folder.to_str().unwrap().to_owned()
}

fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap()
}

#[test]
fn a_report_says_where_secrets_are_and_never_what_they_are() {
    let home = Home::new();
    let folder = folder(&home);
    let ended = home.run(&["scrub", "--report", &folder]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_snapshot!(ended.stdout, @r"
    WHERE                              RULE        BYTES
    HOME/work/a/b/.env:2:7  github-pat     40
    ");
    assert_eq!(ended.stderr, "note: 1 secret in 3 files (1 binary file not searched)\n");
    let printed = json(&home.run(&["scrub", "--report", "--json", &folder]));
    assert_eq!(printed["secrets"][0]["line"], 2);
    assert_eq!(printed["secrets"][0]["rule"], "github-pat");
    assert!(!printed.to_string().contains(&made_up_token()));
}

#[test]
fn a_check_ends_with_a_code_of_its_own() {
    let home = Home::new();
    let folder = folder(&home);
    let found = home.run(&["scrub", "--check", &folder]);
    assert_eq!(found.code, 4);
    assert!(found.stderr.ends_with("error: 1 secret found\n"), "{}", found.stderr);
    assert_eq!(home.run(&["scrub", "--check", &format!("{folder}/a/clean.txt")]).code, 0);
    // What could not be searched is not clean.
    let long = home.join("long.txt");
    fs::write(&long, vec![b'a'; 2000]).unwrap();
    let unsearched = home.run(&["scrub", "--check", "--set", "scrub.max_bytes=1024", long.to_str().unwrap()]);
    assert_eq!(unsearched.code, 4);
    assert!(unsearched.stderr.contains("1 file could not be searched"), "{}", unsearched.stderr);
    assert_eq!(home.run(&["scrub", "--check", "/nowhere/at/all"]).code, 3);
    assert_eq!(home.run_with_input(&["scrub", "--check"], made_up_token().as_bytes()).code, 4);
}

#[test]
fn files_in_other_encodings_are_searched_and_what_is_not_is_counted() {
    let home = Home::new();
    let folder = home.join("work");
    fs::create_dir_all(&folder).unwrap();
    let name = |file: &str| folder.join(file).to_str().unwrap().to_owned();
    fs::write(name("latin1.txt"), b"caf\xe9\npassword = 'Zebra99x!'\n").unwrap();
    let units = "café\npassword = 'Zebra99x!'\n".encode_utf16();
    let utf16: Vec<u8> = [0xfeff].into_iter().chain(units).flat_map(u16::to_le_bytes).collect();
    fs::write(name("utf16.txt"), &utf16).unwrap();
    for file in ["latin1.txt", "utf16.txt"] {
        let found = home.run(&["scrub", "--check", &name(file)]);
        assert_eq!(found.code, 4, "{file}: {}", found.stderr);
        assert!(found.stdout.contains(":2:13 "), "{file}: {}", found.stdout);
        // Printed, it would be another file.
        let printed = home.run(&["scrub", &name(file)]);
        assert_eq!((printed.code, printed.stdout.as_str()), (3, ""), "{file}");
        let explained = home.run(&["rules", "explain", &name(file)]);
        assert!(explained.stdout.contains("taken: it is a secret"), "{file}: {}", explained.stderr);
    }
    assert_eq!(home.run_with_input(&["scrub", "--check"], &utf16).code, 4);
    assert_eq!(home.run_with_input(&["scrub", "--check"], b"\x89PNG\x00\xff").code, 3);

    let folder = home.join("other");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("picture"), b"\x89PNG\x00\xff\xfe").unwrap();
    std::os::unix::fs::symlink(name("latin1.txt"), folder.join("link")).unwrap();
    let folder = folder.to_str().unwrap();
    let clean = home.run(&["scrub", "--check", folder]);
    assert_eq!(clean.code, 0, "{}", clean.stderr);
    assert_eq!(clean.stderr, "note: 0 secrets in 1 file (1 binary file not searched, 1 link not followed)\n");
    let printed = json(&home.run(&["scrub", "--report", "--json", folder]));
    assert_eq!((&printed["binary_files"], &printed["links_not_followed"]), (&1.into(), &1.into()));
    // A link that is named is followed.
    assert_eq!(home.run(&["scrub", "--check", &format!("{folder}/link")]).code, 4);
}

#[test]
fn one_file_can_be_printed_without_its_secrets_and_a_folder_cannot() {
    let home = Home::new();
    let folder = folder(&home);
    let printed = home.run(&["scrub", &format!("{folder}/a/b/.env")]);
    assert!(printed.stdout.starts_with("HOST=db\nTOKEN=[SECRET:github-pat:"), "{}", printed.stdout);
    let refused = home.run(&["scrub", &folder]);
    assert_eq!((refused.code, refused.stdout.as_str()), (3, ""));
    assert!(refused.stderr.contains("--report"), "{}", refused.stderr);
}

#[test]
fn rules_are_listed_and_explain_a_find_and_a_miss() {
    let home = Home::new();
    let listed = json(&home.run(&["rules", "--json"]));
    let rules = listed["rules"].as_array().unwrap();
    assert!(rules.len() > 400, "{}", rules.len());
    assert!(rules.iter().any(|rule| rule["id"] == "github-pat" && rule["description"] != ""));

    let text = format!("a {}\npassword = config.db1.password\n", made_up_token());
    let explained = home.run_with_input(&["rules", "explain"], text.as_bytes());
    assert_snapshot!(explained.stdout, @r"
    PLACE  BYTES  RULE           VERDICT
    1:3       40  github-pat     taken: it is a secret
    2:12      19  named-secret   left: it looks like a word, a name, a path or code
    2:12      19  bare-password  left: it looks like a word, a name, a path or code
    ");
    let one = home.run_with_input(&["rules", "test", "bare-password", "--json"], text.as_bytes());
    assert_eq!(json(&one)["matches"].as_array().unwrap().len(), 1);
    assert_eq!(json(&one)["matches"][0]["taken"], false);
    let none = home.run_with_input(&["rules", "explain"], b"hello");
    assert_eq!(none.stderr, "note: no rule's pattern matches anything in this text\n");
    assert_snapshot!(home.run_with_input(&["rules", "test", "no-such"], b"").stderr, @r#"
    error: there is no rule "no-such"
      hint: `infold rules` lists them
    "#);
}

#[test]
fn many_matches_are_explained_in_one_pass() {
    let home = Home::new();
    let text = "password=Zebra99x\n".repeat(20_000);
    let explained = json(&home.run_with_input(&["rules", "test", "bare-password", "--json"], text.as_bytes()));
    let matches = explained["matches"].as_array().unwrap();
    assert_eq!(matches.len(), 20_000);
    assert_eq!((&matches[19_999]["line"], &matches[19_999]["column"]), (&20_000.into(), &10.into()));
}

#[test]
fn an_explanation_says_what_another_rule_takes() {
    let home = Home::new();
    let dotenv = home.join("values.env");
    fs::write(&dotenv, "DB_PASS=config.db1.password\n").unwrap();
    let known = format!("scrub.known_files=[\"{}\"]", dotenv.display());
    let text = b"password = config.db1.password\n";
    let explained = home.run_with_input(&["rules", "test", "bare-password", "--set", &known], text);
    assert_snapshot!(explained.stdout, @r"
    PLACE  BYTES  RULE           VERDICT
    1:12      19  bare-password  taken as known-value; this rule alone leaves it: it looks like a word, a name, a path or code
    ");
    let printed = json(&home.run_with_input(&["rules", "test", "bare-password", "--json", "--set", &known], text));
    assert_eq!(
        (&printed["matches"][0]["taken"], &printed["matches"][0]["taken_as"]),
        (&true.into(), &"known-value".into())
    );
}

#[test]
fn rules_values_and_files_of_a_users_own_are_used() {
    let home = Home::new();
    let own = home.join("own.toml");
    fs::write(&own, "[[rules]]\nid = \"acme\"\nregex = 'acme-[0-9]{6}'\nkeywords = [\"acme-\"]\n").unwrap();
    let rules = format!("scrub.rules=[\"built-in\", \"{}\"]", own.display());
    let scrubbed =
        home.run_with_input(&["scrub", "--set", &rules], format!("acme-123456 {}", made_up_token()).as_bytes());
    assert!(scrubbed.stdout.starts_with("[SECRET:acme:") && scrubbed.stdout.contains("[SECRET:github-pat:"));

    let allow = format!("scrub.allow=[\"{}\"]", made_up_token());
    let allowed = home.run_with_input(&["scrub", "--set", &allow], made_up_token().as_bytes());
    assert_eq!(allowed.stdout, made_up_token());

    let dotenv = home.join("values.env");
    fs::write(&dotenv, "# mine\nexport DB_PASS='swordfish'\nHOST=localhost\nPORT=5432\n").unwrap();
    let known = format!("scrub.known_files=[\"{}\"]", dotenv.display());
    let scrubbed = home.run_with_input(&["scrub", "--set", &known], b"swordfish at localhost:5432");
    assert!(scrubbed.stdout.starts_with("[SECRET:known-value:"), "{}", scrubbed.stdout);
    assert!(scrubbed.stdout.ends_with(" at localhost:5432"), "{}", scrubbed.stdout);
}

#[test]
fn rules_that_cannot_be_used_are_refused_and_values_are_not_shown() {
    let home = Home::new();
    let own = home.join("own.toml");
    fs::write(&own, "[[rules]]\nid = \"acme\"\nregex = '('\n").unwrap();
    let rules = format!("scrub.rules=[\"{}\"]", own.display());
    let refused = home.run_with_input(&["scrub", "--set", &rules], b"text");
    assert_eq!((refused.code, refused.stdout.as_str()), (3, ""));
    assert!(refused.stderr.contains("rule \"acme\" cannot be used: its pattern is none"), "{}", refused.stderr);
    for (rule, said) in [
        ("id = \"acme\"\nregex = 'x'\nentropyy = 9", "rule \"acme\" cannot be used: unknown field `entropyy`"),
        ("id = \"acme\"\nregex = '(?:[a-z]{900}){900}'", "rule \"acme\" cannot be used: its pattern is too large"),
        ("id = \"acme\"\nkeywords = [\"acme\"]\ntoken = 'key_[a-z]{9}'", "say with `back`"),
    ] {
        fs::write(&own, format!("[[rules]]\n{rule}\n")).unwrap();
        let refused = home.run_with_input(&["scrub", "--set", &rules], b"text");
        assert_eq!((refused.code, refused.stdout.as_str()), (3, ""));
        assert!(refused.stderr.contains(said), "{}", refused.stderr);
    }
    let relative = home.run_with_input(&["scrub", "--set", "scrub.rules=[\"own.toml\"]"], b"text");
    assert!(relative.stderr.contains("no absolute path"), "{}", relative.stderr);

    let dotenv = home.join("values.env");
    fs::write(&dotenv, "GOOD=1\nBROKEN='swordfish\n").unwrap();
    let known = format!("scrub.known_files=[\"{}\"]", dotenv.display());
    let refused = home.run_with_input(&["scrub", "--set", &known], b"text");
    assert_eq!(refused.code, 3);
    assert!(!refused.stderr.contains("swordfish"), "{}", refused.stderr);
}

#[test]
fn scrubbing_is_not_turned_off_unsaid() {
    let home = Home::new();
    let refused = home.run_with_input(&["scrub", "--set", "scrub.rules=[]"], made_up_token().as_bytes());
    assert_eq!((refused.code, refused.stdout.as_str()), (3, ""));
    assert_snapshot!(refused.stderr, @r#"
    error: `scrub.rules` in --set is empty, so nothing would be scrubbed
      hint: list "built-in", at least one file of rules, or both
    "#);
    let own = home.join("own.toml");
    fs::write(&own, "[allowlist]\nstopwords = [\"x\"]\n").unwrap();
    let rules = format!("scrub.rules=[\"{}\"]", own.display());
    let refused = home.run_with_input(&["scrub", "--set", &rules], made_up_token().as_bytes());
    assert_eq!((refused.code, refused.stdout.as_str()), (3, ""));
    assert!(refused.stderr.contains("have no rule, so nothing would be scrubbed"), "{}", refused.stderr);
}

#[test]
fn what_settings_name_and_is_left_out_is_said() {
    let home = Home::new();
    let dotenv = home.join("values.env");
    fs::write(&dotenv, "DB_PASS=zebra\nEMPTY_KEY=\nHOST=db\n").unwrap();
    let known = format!("scrub.known_files=[\"{}\"]", dotenv.display());
    let said = "the value of DB_PASS in HOME/values.env is not searched for: it has fewer than 6 bytes";
    let warned = home.run_with_input(&["scrub", "--set", &known], b"zebra");
    assert_eq!((warned.code, warned.stdout.as_str()), (0, "zebra"));
    assert!(warned.stderr.contains(said) && warned.stderr.lines().count() == 1, "{}", warned.stderr);
    assert!(!warned.stderr.contains("zebra"), "{}", warned.stderr);
    let doctor = home.run(&["doctor", "--set", &known]);
    assert!(doctor.stdout.contains(said), "{}", doctor.stdout);

    let own = home.join("own.toml");
    fs::write(&own, "[extend]\nuseDefault = true\n[[rules]]\nid = \"acme\"\nregex = 'acme-[0-9]{6}'\n").unwrap();
    let alone = home.run(&["rules", "--set", &format!("scrub.rules=[\"{}\"]", own.display())]);
    assert!(alone.stderr.contains("own.toml extends gitleaks' own rules"), "{}", alone.stderr);
    let both = home.run(&["rules", "--set", &format!("scrub.rules=[\"built-in\", \"{}\"]", own.display())]);
    assert_eq!((both.code, both.stderr.as_str()), (0, ""));

    fs::write(&own, "[[rules]]\nid = \"acme\"\n").unwrap();
    let doctor = home.run(&["doctor", "--set", &format!("scrub.rules=[\"{}\"]", own.display())]);
    assert!(doctor.stdout.contains("rule \"acme\" cannot be used"), "{}", doctor.stdout);
}
