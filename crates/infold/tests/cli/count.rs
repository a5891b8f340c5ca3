//! `infold count`: tokens of files and of standard input, for each family of models.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::home::Home;

fn json_of(home: &Home, arguments: &[&str], input: &[u8]) -> Value {
    let ended = home.run_with_input(&[&["count", "--json"], arguments].concat(), input);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    serde_json::from_str(&ended.stdout).unwrap()
}

fn tokens(home: &Home, arguments: &[&str], input: &[u8]) -> Vec<u64> {
    let printed = json_of(home, arguments, input);
    printed["total"].as_array().unwrap().iter().map(|count| count["tokens"].as_u64().unwrap()).collect()
}

#[test]
fn standard_input_is_counted_for_every_family_with_the_error_of_each() {
    let home = Home::new();
    let ended = home.run_with_input(&["count"], b"It was late, and the third build had failed.\n");
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    assert_snapshot!(ended.stdout, @"
    TOKENS  MODEL                   ERROR  BYTES  INPUT
        11  gpt                     0.3 %     45  -
        11  claude (up to 4.6)      4.3 %     45  -
        16  claude-new (since 4.7)  3.9 %     45  -
    ");
    assert!(!home.data().exists(), "counting stores nothing");
}

#[test]
fn files_are_counted_one_by_one_and_in_sum() {
    let home = Home::new();
    home.write("a.txt", "some words\n");
    home.write("b.txt", "and some more of them\n");
    let (a, b) = (home.join("a.txt"), home.join("b.txt"));
    let paths = [a.to_str().unwrap(), b.to_str().unwrap()];
    let printed = json_of(&home, &["--model", "gpt-5.5", paths[0], paths[1]], b"");
    let count = |tokens: u64| json!([{"model": "gpt-5.5", "family": "gpt", "tokens": tokens, "error_percent": 0.3}]);
    assert_eq!(printed["inputs"][0], json!({"name": "HOME/a.txt", "bytes": 11, "counts": count(3)}));
    assert_eq!(printed["inputs"][1], json!({"name": "HOME/b.txt", "bytes": 22, "counts": count(6)}));
    assert_eq!(printed["total"], count(9));

    let shown = home.run(&["count", "--model", "gpt", "--model", "claude-opus-4-6", paths[0], paths[1]]).stdout;
    let rows: Vec<Vec<&str>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows.len(), 7, "{shown}");
    assert_eq!((rows[5][0], rows[5].last()), ("9", Some(&"total")), "{shown}");
}

#[test]
fn a_model_is_counted_as_its_family_and_an_unknown_one_says_so() {
    let home = Home::new();
    let text = "let path = workspace.root.join(\"docs/measurements.md\");\n".repeat(40);
    let of = |model: &str| json_of(&home, &["--model", model], text.as_bytes())["total"][0].clone();
    let [gpt, claude, new] = tokens(&home, &[], text.as_bytes())[..] else { panic!("three families") };
    assert!(gpt < claude && claude < new, "{gpt} {claude} {new}");
    assert_eq!(
        (of("claude-opus-4-6")["tokens"].as_u64(), of("claude-opus-4-6")["family"].as_str()),
        (Some(claude), Some("claude"))
    );
    assert_eq!((of("claude")["tokens"].as_u64(), of("claude-new")["tokens"].as_u64()), (Some(claude), Some(new)));
    assert_eq!(
        (of("claude-sonnet-5")["tokens"].as_u64(), of("claude-sonnet-5")["error_percent"].as_f64()),
        (Some(new), Some(3.9))
    );
    assert_eq!(
        (of("gemini-3-pro")["tokens"].as_u64(), &of("gemini-3-pro")["error_percent"]),
        (Some(gpt), &Value::Null)
    );
}

#[test]
fn a_file_is_counted_the_same_wherever_its_reading_is_cut() {
    let home = Home::new();
    // Longer than what is read at once, with characters of three bytes at every border.
    let text = "漢字 und Wörter, 1234 times; ".repeat(20_000);
    let once = tokens(&home, &["--model", "gpt"], text.as_bytes())[0];
    let counted = infold_core::Counter::new(infold_core::Family::Gpt).count(&text);
    assert_eq!(once, counted);
    home.write("long.txt", &text);
    assert_eq!(tokens(&home, &["--model", "gpt", home.join("long.txt").to_str().unwrap()], b"")[0], counted);
}

#[test]
fn the_arguments_of_a_call_are_counted_with_what_is_put_around_them() {
    let home = Home::new();
    let arguments = br#"{"file_path":"/a/b.rs","old_string":"a\n\tb","new_string":"c\n\td"}"#;
    let (text, message) = (tokens(&home, &[], arguments), tokens(&home, &["--as", "message"], arguments));
    let call = tokens(&home, &["--as", "call"], arguments);
    for family in 0..3 {
        assert!(
            text[family] <= message[family] && message[family] + 15 < call[family],
            "{text:?} {message:?} {call:?}"
        );
    }
}

#[test]
fn what_cannot_be_counted_is_refused_with_what_to_do() {
    let home = Home::new();
    home.write("image.png", "");
    fs::write(home.join("image.png"), b"\x89PNG\xff\xfe").unwrap();
    let refused = |arguments: &[&str], input: &[u8]| {
        let ended = home.run_with_input(&[&["count"], arguments].concat(), input);
        assert_eq!((ended.code, ended.stdout.as_str()), (3, ""), "{arguments:?}");
        ended.stderr
    };
    let path = |name: &str| home.join(name).to_str().unwrap().to_owned();
    assert_snapshot!(refused(&[&path("absent.txt")], b""), @"
    error: HOME/absent.txt: no such file
      hint: check the path, or use - for standard input
    ");
    assert_snapshot!(refused(&[&path("")], b""), @"
    error: HOME/ is a folder
      hint: name files, for example with a pattern such as src/*.rs
    ");
    assert_snapshot!(refused(&[&path("image.png")], b""), @"
    error: HOME/image.png is not UTF-8 text, so its tokens cannot be counted
      hint: convert it first, for example with iconv; images and other binary files have no tokens of their own
    ");
    assert_snapshot!(refused(&[], b"cut: \xe6\xbc"), @"
    error: - is not UTF-8 text, so its tokens cannot be counted
      hint: convert it first, for example with iconv; images and other binary files have no tokens of their own
    ");
    assert_eq!(home.run(&["count", "--as", "image"]).code, 2);
}
