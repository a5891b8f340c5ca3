//! A name that serves three types is found, wherever they are.

use super::{SourceFile, problems};

#[test]
fn a_third_type_of_one_name_is_found() {
    let file = |path: &str, text: &str| SourceFile::new(path.to_owned(), text.to_owned());
    let files = [
        file("a.rs", "struct Place; enum Other {}"),
        file("b.rs", "mod inner { pub trait Place {} } struct Other;"),
        file("c.rs", "type Place = u8;"),
    ];

    assert_eq!(problems(files.iter()), ["`Place` is 3 types: a.rs, b.rs, c.rs"]);
}
