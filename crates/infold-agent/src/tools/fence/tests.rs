//! Nothing outside of the fence is opened or written, by whatever path.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use tempfile::TempDir;

use super::{ExtraRoot, Fence, FenceError, RootAccess};

/// A folder to work in with a secret beside it.
fn scene() -> (TempDir, Fence) {
    let outer = tempfile::tempdir().unwrap();
    fs::create_dir_all(outer.path().join("work/src")).unwrap();
    fs::write(outer.path().join("secret"), "outside").unwrap();
    fs::write(outer.path().join("work/src/a.txt"), "inside").unwrap();
    let fence = Fence::new(&outer.path().join("work"), &[]).unwrap();
    (outer, fence)
}

fn read(fence: &Fence, path: &str) -> Result<String, FenceError> {
    let old = fence.old_file(&fence.place(path)?, 1000)?;
    Ok(old.map_or("nothing".to_owned(), |old| String::from_utf8(old.bytes).unwrap()))
}

fn write(fence: &Fence, path: &str, text: &str) -> Result<(), FenceError> {
    let place = fence.place(path)?;
    let old = fence.old_file(&place, 1000)?;
    fence.replace(&place, old.as_ref(), text.as_bytes()).map(|_| ())
}

#[test]
fn paths_out_of_the_folder_are_refused_with_what_to_do() {
    let (outer, fence) = scene();
    let outside = outer.path().join("secret").display().to_string();
    for path in ["../secret", "src/../../secret", &outside, "/proc/self/root/etc/passwd", "/etc/passwd", "/"] {
        let error = read(&fence, path).unwrap_err();
        assert!(matches!(error, FenceError::Outside { .. }), "{path}: {error}");
        assert!(error.to_string().contains("use a path inside of it"), "{error}");
        assert!(matches!(write(&fence, path, "x").unwrap_err(), FenceError::Outside { .. }), "{path}");
    }
    // The same folder by another name is inside.
    let inside = format!("/proc/self/root{}/src/a.txt", fence.folder().display());
    assert_eq!(read(&fence, &inside).unwrap(), "inside");
    assert_eq!(read(&fence, "src/../src/./a.txt").unwrap(), "inside");
}

#[test]
fn links_out_of_the_folder_are_refused_and_links_inside_are_followed() {
    let (outer, fence) = scene();
    let work = fence.folder().to_owned();
    symlink(outer.path().join("secret"), work.join("absolute")).unwrap();
    symlink("../secret", work.join("relative")).unwrap();
    symlink("../not-yet", work.join("dangling")).unwrap();
    symlink("..", work.join("folder")).unwrap();
    symlink("/proc/self/root", work.join("magic")).unwrap();
    symlink("folder/secret", work.join("twice")).unwrap();
    for path in ["absolute", "relative", "dangling", "folder/secret", "folder/new", "magic/etc/passwd", "twice"] {
        assert!(matches!(read(&fence, path).unwrap_err(), FenceError::Outside { .. }), "{path}");
        assert!(matches!(write(&fence, path, "x").unwrap_err(), FenceError::Outside { .. }), "{path}");
    }
    assert_eq!(fs::read_to_string(outer.path().join("secret")).unwrap(), "outside");
    assert!(!outer.path().join("not-yet").exists());

    symlink(work.join("src"), work.join("inner")).unwrap();
    assert_eq!(read(&fence, "inner/a.txt").unwrap(), "inside");
    write(&fence, "inner/a.txt", "new").unwrap();
    assert_eq!(fs::read_to_string(work.join("src/a.txt")).unwrap(), "new");
    symlink("loop", work.join("loop")).unwrap();
    assert!(matches!(read(&fence, "loop").unwrap_err(), FenceError::TooManyLinks(_)));
}

#[test]
fn a_link_that_is_put_in_place_after_the_look_is_not_followed() {
    let (outer, fence) = scene();
    let work = fence.folder().to_owned();
    let file = fence.place("src/a.txt").unwrap();
    let new = fence.place("src/deep/new.txt").unwrap();

    // The file itself becomes a link.
    fs::remove_file(work.join("src/a.txt")).unwrap();
    symlink(outer.path().join("secret"), work.join("src/a.txt")).unwrap();
    assert!(matches!(fence.open(&file).unwrap_err(), FenceError::Swapped(_)));
    // A write replaces the link, and not what it leads to.
    fence.replace(&file, None, b"mine").unwrap();
    assert_eq!(fs::read_to_string(work.join("src/a.txt")).unwrap(), "mine");

    // A folder on the way becomes a link.
    fs::remove_dir_all(work.join("src")).unwrap();
    symlink(outer.path(), work.join("src")).unwrap();
    assert!(matches!(fence.open(&file).unwrap_err(), FenceError::Swapped(_)));
    assert!(matches!(fence.replace(&file, None, b"x").unwrap_err(), FenceError::Swapped(_)));
    assert!(matches!(fence.replace(&new, None, b"x").unwrap_err(), FenceError::Swapped(_)));
    assert!(!outer.path().join("deep").exists() && !outer.path().join("a.txt").exists());
    assert_eq!(fs::read_to_string(outer.path().join("secret")).unwrap(), "outside");
}

#[test]
fn a_folder_that_is_swapped_as_a_whole_stays_the_one_that_was_opened() {
    let (outer, fence) = scene();
    let file = fence.place("src/a.txt").unwrap();
    fs::rename(outer.path().join("work"), outer.path().join("moved")).unwrap();
    fs::create_dir_all(outer.path().join("elsewhere/src")).unwrap();
    fs::write(outer.path().join("elsewhere/src/a.txt"), "outside").unwrap();
    symlink(outer.path().join("elsewhere"), outer.path().join("work")).unwrap();
    let old = fence.old_file(&file, 100).unwrap().unwrap();
    assert_eq!(old.bytes, b"inside");
}

#[test]
fn what_decides_over_other_programs_is_never_written() {
    let (_outer, fence) = scene();
    fs::create_dir_all(fence.folder().join(".git/hooks")).unwrap();
    fs::write(fence.folder().join(".git/config"), "[core]").unwrap();
    symlink(".git", fence.folder().join("harmless")).unwrap();
    for path in [
        ".git/hooks/pre-commit",
        ".git/config",
        "harmless/config",
        ".GIT/config",
        "sub/.git/config",
        ".git",
        ".infold.toml",
        "src/.infold.toml",
        ".Infold.toml",
    ] {
        let place = fence.place(path).unwrap();
        let error = fence.replace(&place, None, b"x").unwrap_err();
        assert!(matches!(error, FenceError::Guarded(_)), "{path}: {error}");
    }
    assert_eq!(read(&fence, ".git/config").unwrap(), "[core]");
    write(&fence, ".gitignore", "target").unwrap();
}

#[test]
fn other_roots_have_the_access_that_the_user_gave() {
    let (outer, _) = scene();
    let shared = outer.path().join("shared");
    fs::create_dir_all(outer.path().join("work/vendor")).unwrap();
    fs::create_dir_all(&shared).unwrap();
    fs::write(shared.join("x"), "shared").unwrap();
    let extra = [
        ExtraRoot { path: shared.clone(), access: RootAccess::ReadOnly },
        ExtraRoot { path: outer.path().join("work/vendor"), access: RootAccess::ReadOnly },
    ];
    let fence = Fence::new(&outer.path().join("work"), &extra).unwrap();
    let path = shared.join("x").display().to_string();
    assert_eq!(read(&fence, &path).unwrap(), "shared");
    assert!(matches!(write(&fence, &path, "y").unwrap_err(), FenceError::ReadOnly(_)));
    assert!(matches!(write(&fence, "vendor/y", "y").unwrap_err(), FenceError::ReadOnly(_)));
    assert_eq!(fence.writable().collect::<Vec<_>>(), [fence.folder()]);
}

#[test]
fn rights_are_kept_and_nothing_is_left_beside_the_file() {
    let (_outer, fence) = scene();
    let path = fence.folder().join("src/a.txt");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).unwrap();
    write(&fence, "src/a.txt", "new").unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o751);
    assert_eq!(fs::read_dir(fence.folder().join("src")).unwrap().count(), 1);
    // A folder cannot be replaced by a file, and the attempt leaves nothing either.
    let place = fence.place("src").unwrap();
    assert!(fence.replace(&place, None, b"x").is_err());
    assert_eq!(fs::read_dir(fence.folder()).unwrap().count(), 1);
    assert_eq!(read(&fence, "src/a.txt").unwrap(), "new");
}

#[test]
fn what_is_no_file_is_said_and_never_waited_for() {
    let (_outer, fence) = scene();
    let pipe = fence.folder().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
    let said = |path: &str| read(&fence, path).unwrap_err().to_string();
    assert_eq!(said("pipe"), "pipe is a pipe or socket, not a file");
    assert_eq!(said("src"), "src is a folder, not a file");
    assert_eq!(said("."), ". is a folder, not a file");
    assert_eq!(read(&fence, "src/none").unwrap(), "nothing");
    assert_eq!(fence.folder(), Path::new(&fence.folder().canonicalize().unwrap()));
}
