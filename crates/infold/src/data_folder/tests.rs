//! Who may look into the data folder.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;

use super::*;

#[test]
fn a_new_folder_is_for_its_owner_alone() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("share/infold");
    let folder = DataFolder::create(path.clone()).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
    assert_eq!(folder.database(Backend::Sqlite), path.join("infold.db"));
}

#[test]
fn a_folder_that_others_can_enter_is_refused_with_the_command_that_helps() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("it's mine");
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    let error = DataFolder::create(path.clone()).unwrap_err();
    let shown = error.to_string().replace(&home.path().display().to_string(), "HOME");
    assert_snapshot!(shown, @r#"
    other users can access the data folder HOME/it's mine (mode 0755)
      hint: chmod 700 'HOME/it'\''s mine'
    "#);
    assert!(error.is::<Refused>());
}

#[test]
fn a_folder_that_is_not_there_is_not_made_by_looking() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("absent");
    assert!(DataFolder::existing(path.clone()).unwrap().is_none());
    assert!(!path.exists());
}
