//! Files that are read, edited and read again.

use super::{SeenFile, mark_bytes, mark_lines, marked_lines};
use crate::{Operation, Scrubbed};

const CODE: &str = "1→fn parse(input: &str) -> Tree {\n2→    let tokens = lex(input);\n3→    build(tokens)\n4→}\n5→fn lex(input: &str) -> Tokens {\n6→    split_words(input).collect()\n";

fn operation(tool: &str, arguments: &str, result: &str) -> Operation {
    let text = |text: &str| Scrubbed::composed(text.to_owned());
    Operation {
        tool: text(tool),
        call_id: None,
        arguments: text(arguments),
        result: text(result),
        blob: None,
        tokens: 1,
    }
}

fn seen(tool: &str, arguments: &str, result: &str) -> SeenFile {
    SeenFile::of(&operation(tool, arguments, result)).expect("it names a file")
}

fn read(result: &str) -> SeenFile {
    seen("Read", r#"{"file_path":"/home/me/one/src/parse.rs"}"#, result)
}

#[test]
fn a_later_read_of_the_same_lines_says_that_nothing_changed_and_one_of_others_that_it_did() {
    let mark = marked_lines("/home/me/one/src/parse.rs", &[read(CODE)]);
    assert_eq!(mark.len(), 5, "a bracket tells nothing");
    assert_eq!(mark_lines(&mark_bytes(&mark)), mark);

    let elsewhere = seen("Read", r#"{"file_path":"/other/place/one/src/parse.rs"}"#, &CODE.replace('→', "\t"));
    assert!(elsewhere.is_file("/home/me/one/src/parse.rs"));
    assert_eq!(elsewhere.has_changed(&mark), Some(false));
    assert_eq!(read(&CODE.replace("lex", "scan")).has_changed(&mark), Some(true));
    let part =
        seen("Read", r#"{"file_path":"/home/me/one/src/parse.rs","limit":1}"#, "1→fn parse(input: &str) -> Tree {");
    assert_eq!(part.has_changed(&mark), None, "a part says nothing about the rest");
    assert!(!read(CODE).is_file("/home/me/one/src/other.rs"));
    let unchanged = "File unchanged since last read. The earlier content is still current.";
    assert_eq!(read(unchanged).has_changed(&mark), None, "a word of the tool's is not the file");
}

#[test]
fn an_edit_of_a_marked_line_says_that_it_changed_and_the_new_lines_are_marked_in_the_branch_that_made_it() {
    let mark = marked_lines("/home/me/one/src/parse.rs", &[read(CODE)]);
    let edit = |old: &str| {
        let arguments = serde_json::json!({
            "file_path": "/home/me/one/src/parse.rs", "old_string": old, "new_string": "let tokens = scan_all(input);",
        });
        seen("Edit", &arguments.to_string(), "done")
    };
    assert_eq!(edit("let tokens = lex(input);").has_changed(&mark), Some(true));
    assert_eq!(edit("something that was never marked").has_changed(&mark), None);

    let after = marked_lines("/home/me/one/src/parse.rs", &[read(CODE), edit("let tokens = lex(input);")]);
    let now = CODE.replace("lex(input);", "scan_all(input);");
    assert_eq!(read(&now).has_changed(&after), Some(false));
    assert_ne!(read(CODE).has_changed(&after), Some(false), "the old code is not what it was about");
}
