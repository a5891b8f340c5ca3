//! Reading traces in the tracer's own form.

use std::path::Path;

use super::{Action, Step, Trace};

#[test]
fn calls_that_another_thread_interrupts_are_put_together() {
    let trace = read(&[
        r#"11 openat(AT_FDCWD, "DATA/a.db-wal", O_RDWR|O_CREAT|O_CLOEXEC, 0600) = 4"#,
        r#"11 pwrite64(4, "HELLO", 5, 32 <unfinished ...>"#,
        r#"12 sendto(6, "BYE", 3, MSG_NOSIGNAL, NULL, 0) = 3"#,
        "11 <... pwrite64 resumed>)           = 5",
        "11 fdatasync(4)                      = 0",
        "12 +++ exited with 0 +++",
    ]);

    assert_eq!(
        trace,
        [
            step(1, 1, Action::Create { name: "a.db-wal".to_owned(), file: 0 }),
            step(3, 3, Action::Send { bytes: b"BYE".to_vec() }),
            step(2, 4, Action::Write { file: 0, offset: 32, bytes: b"HELLO".to_vec() }),
            step(5, 5, Action::SyncFile { file: 0 }),
        ]
    );
}

#[test]
fn a_name_may_belong_to_one_file_after_another() {
    let trace = read(&[
        r#"11 openat(AT_FDCWD, "DATA/j", O_RDWR|O_CREAT, 0600) = 4"#,
        r#"11 unlink("DATA/j") = 0"#,
        "11 close(4) = 0",
        r#"11 openat(AT_FDCWD, "DATA/j", O_RDWR|O_CREAT, 0600) = 4"#,
        r#"11 openat(AT_FDCWD, "DATA", O_RDONLY|O_CLOEXEC) = 5"#,
        "11 fsync(5) = 0",
        r#"11 write(4, "AB", 2) = 2"#,
        r#"11 writev(4, [{iov_base="C", iov_len=1}, {iov_base="D", iov_len=1}], 2) = 2"#,
        "11 ftruncate(4, 3) = 0",
    ]);

    let actions: Vec<Action> = trace.into_iter().map(|step| step.action).collect();
    assert_eq!(
        actions,
        [
            Action::Create { name: "j".to_owned(), file: 0 },
            Action::Unlink { name: "j".to_owned() },
            Action::Create { name: "j".to_owned(), file: 1 },
            Action::SyncFolder { name: String::new() },
            Action::Write { file: 1, offset: 0, bytes: b"AB".to_vec() },
            Action::Write { file: 1, offset: 2, bytes: b"CD".to_vec() },
            Action::Truncate { file: 1, length: 3 },
        ]
    );
}

#[test]
fn logs_other_files_and_failed_calls_are_left_out() {
    let trace = read(&[
        r#"11 write(2, "LOG", 3) = 3"#,
        r#"11 pwrite64(9, "TEMPORARY", 9, 0) = 9"#,
        r#"11 openat(AT_FDCWD, "/etc/hosts", O_RDONLY) = 4"#,
        r#"11 openat(AT_FDCWD, "DATA/gone", O_RDWR) = -1 ENOENT (No such file or directory)"#,
        r#"11 sendto(6, "X", 1, 0, NULL, 0) = -1 EAGAIN (Resource temporarily unavailable)"#,
        "11 close(4 <unfinished ...>",
        "11 <... close resumed>)              = 0",
        "11 fsync(4) = 0",
    ]);

    assert!(trace.is_empty(), "{trace:?}");
}

#[test]
fn names_below_folders_are_paths_however_they_are_said() {
    let trace = read(&[
        r#"11 mkdirat(AT_FDCWD, "DATA", 0700) = 0"#,
        r#"11 mkdirat(AT_FDCWD, "DATA/new", 0700) = 0"#,
        r#"11 openat(AT_FDCWD, "DATA/new", O_RDONLY|O_CLOEXEC) = 4"#,
        r#"11 openat(4, "a", O_RDWR|O_CREAT, 0600) = 5"#,
        r#"11 renameat(AT_FDCWD, "DATA/new", AT_FDCWD, "DATA/old") = 0"#,
        "11 fsync(4) = 0",
        r#"11 openat(AT_FDCWD, "DATA/old/a", O_RDONLY) = 6"#,
        "11 fsync(6) = 0",
        r#"11 unlinkat(4, "a", 0) = 0"#,
        r#"11 unlinkat(AT_FDCWD, "DATA/old", AT_REMOVEDIR) = 0"#,
    ]);

    let actions: Vec<Action> = trace.into_iter().map(|step| step.action).collect();
    assert_eq!(
        actions,
        [
            Action::MakeFolder { name: "new".to_owned() },
            Action::Create { name: "new/a".to_owned(), file: 0 },
            Action::Rename { from: "new".to_owned(), to: "old".to_owned() },
            Action::SyncFolder { name: "old".to_owned() },
            Action::SyncFile { file: 0 },
            Action::Unlink { name: "old/a".to_owned() },
            Action::Unlink { name: "old".to_owned() },
        ]
    );
}

#[test]
fn a_file_that_is_opened_to_be_synced_is_synced_by_each_write() {
    let trace = read(&[
        r#"11 openat(AT_FDCWD, "DATA/a", O_WRONLY|O_CREAT|O_TRUNC|O_SYNC|O_CLOEXEC, 0600) = 4"#,
        r#"11 write(4, "AB", 2) = 2"#,
    ]);

    assert_eq!(
        trace,
        [
            step(1, 1, Action::Create { name: "a".to_owned(), file: 0 }),
            step(2, 2, Action::Write { file: 0, offset: 0, bytes: b"AB".to_vec() }),
            step(3, 2, Action::SyncFile { file: 0 }),
        ]
    );
}

#[test]
fn what_is_not_understood_is_refused() {
    let made = r#"11 openat(AT_FDCWD, "DATA/a", O_RDWR|O_CREAT, 0600) = 4"#;
    let again = r#"11 openat(AT_FDCWD, "DATA/a", O_RDWR) = 5"#;
    let cases: [(&[&str], &str); 5] = [
        (
            &[made, "11 fallocate(4, 0, 0, 4096) = 0"],
            "in line 2 of the trace (fallocate): fallocate on a file of the folder is not understood",
        ),
        (
            &[made, again, r#"11 write(5, "AB", 2) = 2"#],
            "in line 3 of the trace (write): a file is written where reads may have gone before",
        ),
        (
            &[r#"11 openat(AT_FDCWD, "DATA/a", O_WRONLY|O_CREAT|O_APPEND, 0600) = 4"#],
            "in line 1 of the trace (openat): \"a\" is opened with O_APPEND, which is not understood",
        ),
        (&[again], "in line 1 of the trace (openat): a was there before it was made"),
        (
            &[made, r#"11 rename("DATA/a", "/elsewhere") = 0"#],
            "in line 2 of the trace (rename): rename into the folder or out of it is not understood",
        ),
    ];

    for (lines, expected) in cases {
        let text: Vec<String> = lines.iter().map(|line| in_hex(line)).collect();
        let error = Trace::read(text.join("\n").as_bytes(), Path::new("/data")).map(drop);
        assert_eq!(format!("{:#}", error.unwrap_err()), expected);
    }
}

fn read(lines: &[&str]) -> Vec<Step> {
    let text: Vec<String> = lines.iter().map(|line| in_hex(line)).collect();
    Trace::read(text.join("\n").as_bytes(), Path::new("/data")).unwrap().steps
}

/// The line with its strings in hexadecimal, as the tracer writes them.
fn in_hex(line: &str) -> String {
    let line = line.replace("DATA", "/data");
    let parts = line.split('"').enumerate().map(|(index, part)| match index % 2 {
        0 => part.to_owned(),
        _ => format!("\"{}\"", part.bytes().map(|byte| format!("\\x{byte:02x}")).collect::<String>()),
    });
    parts.collect()
}

fn step(began: usize, ended: usize, action: Action) -> Step {
    Step { began, ended, action }
}
