//! Paths of this machine and registry hosts are found.

use std::path::Path;

use super::{SourceFile, file_problems, own_paths};

#[test]
fn paths_of_this_machine_and_registries_are_found() {
    let own = own_paths(Path::new("/src/infold"), Path::new("/home/me"));
    let host = ["https://pypi", ".org/simple"].concat();
    let text = format!("a /src/infold/x\nb /src/infolded\nc {host}\nd /home/me/project\ne /home/me/.cargo/bin\n");
    let file = SourceFile::new("a.md".to_owned(), text);

    assert_eq!(
        file_problems(&file, &own),
        [
            "a.md:1: names /src/infold, a path of this machine".to_owned(),
            ["a.md:3: names pypi", ".org, a package registry"].concat(),
            "a.md:5: names /home/me/.cargo, a path of this machine".to_owned(),
        ]
    );
}

#[test]
fn a_root_of_one_part_is_too_common_to_check() {
    assert!(own_paths(Path::new("/src"), Path::new("/")).iter().all(|path| path != "/src"));
}
