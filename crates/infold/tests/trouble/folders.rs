//! Data folders that are not infold's alone: they are refused, and never with the advice to change their rights.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use crate::cli::home::Home;

#[test]
fn folders_of_the_system_and_the_home_are_refused_and_no_rights_are_to_be_changed() {
    let home = Home::new();
    let own_home = home.join("").display().to_string();
    let share = home.join(".local/share");
    fs::create_dir_all(share.join("another")).unwrap();
    let share = share.display().to_string();
    for folder in ["/", "/etc", "/usr", "/tmp", "/var/../tmp", &own_home, &share] {
        for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["sessions"], &["connect", "claude"]] {
            let ended = home.run(&[command, &["--data", folder]].concat());
            assert_eq!(ended.code, 3, "{folder}: {}", ended.stderr);
            assert!(ended.stderr.contains("cannot be the data folder"), "{folder}: {}", ended.stderr);
            assert!(ended.stderr.contains("HOME/.local/share/infold"), "{folder}: {}", ended.stderr);
            assert!(!ended.stderr.contains("chmod"), "{folder}: {}", ended.stderr);
        }
        let doctor = home.run(&["doctor", "--data", folder]);
        assert!(doctor.stdout.contains("cannot be the data folder"), "{folder}: {}", doctor.stdout);
        assert!(!doctor.stdout.contains("chmod"), "{folder}: {}", doctor.stdout);
    }
}

#[test]
fn a_folder_with_other_things_in_it_is_not_to_be_closed_for_infold() {
    let home = Home::new();
    let folder = home.join("project");
    fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
    let ended = home.run(&["sessions", "--data", &folder.display().to_string()]);
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert!(ended.stderr.contains("--data HOME/project/infold"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("chmod"), "{}", ended.stderr);

    let inner = folder.join("inner");
    fs::set_permissions(&inner, Permissions::from_mode(0o755)).unwrap();
    let ended = home.run(&["sessions", "--data", &inner.display().to_string()]);
    assert!(ended.stderr.contains("hint: chmod 700 HOME/project/inner"), "an empty one may be: {}", ended.stderr);
}

#[test]
fn the_home_of_a_user_who_is_there_for_infold_can_be_its_data_folder() {
    let home = Home::new();
    let own = home.join("service");
    let run = || {
        let mut command = home.command(&["mcp"]);
        home.ended(command.env("HOME", &own).arg("--data").arg(&own).output().unwrap())
    };
    assert_eq!(run().code, 0, "it is new");
    assert!(own.join("infold.db").exists());
    assert_eq!(run().code, 0, "it is infold's");
}
