//! Paths in words and in what terminals paste.

use super::*;

fn named(text: &str) -> Vec<(String, &str)> {
    mentions(text).into_iter().map(|mention| (mention.path, &text[mention.range])).collect()
}

#[test]
fn files_are_named_behind_a_blank_with_quotes_around_blanks_and_without_the_signs_behind_them() {
    let text = "see @a.png, and @\"b c.png\" (not me@x.png), @dir/d.webp. @ @\u{100000}";
    let found = named(text);
    let found: Vec<(&str, &str)> = found.iter().map(|(path, shown)| (path.as_str(), *shown)).collect();
    assert_eq!(found, [("a.png", "@a.png"), ("b c.png", "@\"b c.png\""), ("dir/d.webp", "@dir/d.webp")]);
    assert_eq!(named("@é.png")[0].0, "é.png");
    assert_eq!(named("@\"never closed"), [("\"never".to_owned(), "@\"never")]);
}

#[test]
fn what_terminals_write_for_dropped_files_is_read() {
    for (pasted, paths) in [
        ("/tmp/a.png", &["/tmp/a.png"][..]),
        ("'/tmp/a b.png' ", &["/tmp/a b.png"]),
        ("\"/tmp/a b.png\"", &["/tmp/a b.png"]),
        ("/tmp/a\\ b\\(1\\).png", &["/tmp/a b(1).png"]),
        ("file:///tmp/a%20b.png", &["/tmp/a b.png"]),
        ("file://localhost/tmp/a.png\r\nfile:///tmp/b.png", &["/tmp/a.png", "/tmp/b.png"]),
        ("'/tmp/it'\\''s.png' /tmp/c.png", &["/tmp/it's.png", "/tmp/c.png"]),
        ("it's", &[]),
        ("", &[]),
    ] {
        assert_eq!(pasted_paths(pasted), paths, "{pasted}");
    }
    assert_eq!(pasted_paths(&"a ".repeat(100)), Vec::<String>::new());
}

#[test]
fn a_percent_sign_that_is_no_number_stays() {
    assert_eq!(decoded_path("/a%2Fb%zz%"), "/a/b%zz%");
    assert_eq!(decoded_path("/%C3%BC%e2"), "/ü\u{fffd}");
}

#[test]
fn what_is_no_image_stays_words_and_what_is_called_like_one_says_why() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes.txt"), "hello").unwrap();
    std::fs::write(folder.path().join("broken.png"), "hello").unwrap();
    let at = |path: &str| image_named(path, folder.path(), 1_000);
    assert!(matches!(at("notes.txt"), NamedFile::Other));
    assert!(matches!(at("."), NamedFile::Other));
    assert!(matches!(at("missing.PNG"), NamedFile::Gone));
    assert!(matches!(at("broken.png"), NamedFile::Unusable(why) if why.contains("no image")));
    let png = [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(), &[0, 0, 0, 9, 0, 0, 0, 8], &[0; 9]].concat();
    std::fs::write(folder.path().join("shot"), &png).unwrap();
    let said = attach_named("see @shot and @notes.txt", folder.path(), 1_000).unwrap();
    assert_eq!(said.images().len(), 1);
    let ThreadEntry::User { text, .. } = said else { panic!() };
    assert_eq!(text, "see [image 1: shot, 9×8, 1 KB] and @notes.txt");
}
