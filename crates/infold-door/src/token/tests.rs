//! Makes and reads token files in a temporary folder.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};

use super::*;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder can be made")
}

fn put(folder: &Path, content: &str, mode: u32) -> PathBuf {
    let path = folder.join(TOKEN_FILE);
    fs::write(&path, content).expect("the file can be written");
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("it is ours");
    path
}

fn problem(folder: &Path) -> String {
    match Token::read_or_create(folder) {
        Err(TokenError::Untrusted { problem, .. }) => problem,
        other => panic!("the file was not found untrustworthy: {other:?}"),
    }
}

#[test]
fn a_new_token_is_64_hexadecimal_digits_for_the_user_alone() {
    let folder = folder();
    let token = Token::read_or_create(folder.path()).expect("it is made");
    assert_eq!(token.as_str().len(), 64);
    assert!(token.as_str().bytes().all(|byte| byte.is_ascii_hexdigit()));

    let mode = fs::metadata(folder.path().join(TOKEN_FILE)).expect("it is there").mode();
    assert_eq!(mode & 0o7777, 0o600);
    let files: Vec<_> = fs::read_dir(folder.path()).expect("it can be listed").collect();
    assert_eq!(files.len(), 1, "no draft is left behind");

    assert_eq!(Token::read_or_create(folder.path()).expect("it is read"), token);
    assert_eq!(Token::read(folder.path()).expect("it is read"), token);
}

#[test]
fn all_who_start_at_once_get_the_same_token() {
    for _ in 0..20 {
        let folder = folder();
        let tokens: Vec<Token> = std::thread::scope(|scope| {
            let make = || Token::read_or_create(folder.path()).expect("it is made or read");
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(make)).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        assert!(tokens.iter().all(|token| *token == tokens[0]));
    }
}

#[test]
fn a_file_that_others_can_read_is_refused() {
    for mode in [0o640, 0o604, 0o660, 0o644, 0o601] {
        let folder = folder();
        put(folder.path(), &"a".repeat(64), mode);
        assert!(problem(folder.path()).starts_with(&format!("has mode {mode:04o}")));
    }
}

#[test]
fn an_empty_or_short_token_is_refused() {
    for content in ["", "\n", "short", "spaces inside of a token are not part of any token at all"] {
        let folder = folder();
        put(folder.path(), content, 0o600);
        assert!(problem(folder.path()).starts_with("holds no token"));
    }
}

#[test]
fn another_users_file_is_refused() {
    let folder = folder();
    let path = put(folder.path(), &"a".repeat(64), 0o600);
    if chown(&path, Some(65534), None).is_err() {
        eprintln!("skipped: only root can give files away");
        return;
    }
    assert!(problem(folder.path()).starts_with("belongs to user 65534"));
}

#[test]
fn links_and_folders_are_refused() {
    let folder = folder();
    let real = folder.path().join("real");
    fs::write(&real, "a".repeat(64)).expect("the file can be written");
    symlink(&real, folder.path().join(TOKEN_FILE)).expect("a link can be made");
    assert!(matches!(Token::read_or_create(folder.path()), Err(TokenError::Io { .. })));

    let other = self::folder();
    fs::create_dir(other.path().join(TOKEN_FILE)).expect("a folder can be made");
    assert!(problem(other.path()).starts_with("is not a regular file"));
}

#[test]
fn only_the_whole_token_matches_and_debug_output_hides_it() {
    let token = Token("0123456789abcdef0123456789abcdef".to_owned());
    assert!(token.matches("0123456789abcdef0123456789abcdef"));
    for wrong in ["", "0", "0123456789abcdef0123456789abcdeF", "0123456789abcdef0123456789abcdef0"] {
        assert!(!token.matches(wrong), "{wrong}");
    }
    assert_eq!(format!("{token:?}"), "Token(…)");
}
