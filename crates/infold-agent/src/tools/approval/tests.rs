//! What may run, what is asked about, and what is refused: one line a case.

use serde_json::json;

use super::{
    Approval, ApprovalMode, ApprovalRules, CommandPrefix, Grant, OtherEffect, ShellConfinement, decide, decide_other,
};
use crate::tools::{LocalCall, LocalTool};

fn prefixes(all: &[&str]) -> Vec<CommandPrefix> {
    all.iter().filter_map(|words| CommandPrefix::new(words)).collect()
}

fn rules(mode: ApprovalMode) -> ApprovalRules {
    let allow = prefixes(&["git status", "git log", "cargo test", "ls", "grep", "echo"]);
    ApprovalRules {
        mode,
        allow,
        deny: prefixes(&["git push", "rm", "git log --all"]),
        confinement: ShellConfinement::Full,
        granted: Vec::new(),
    }
}

fn shell(command: &str) -> LocalCall {
    LocalCall::read(LocalTool::Shell, &json!({"command": command})).unwrap()
}

fn word(approval: &Approval) -> &'static str {
    match approval {
        Approval::Allowed => "allowed",
        Approval::Ask { .. } => "ask",
        Approval::Refused { .. } => "refused",
    }
}

#[test]
fn each_mode_allows_more_than_the_one_before() {
    let calls = [
        LocalCall::read(LocalTool::Read, &json!({"path": "a"})).unwrap(),
        LocalCall::read(LocalTool::Write, &json!({"path": "a", "content": ""})).unwrap(),
        LocalCall::read(LocalTool::Edit, &json!({"path": "a", "old": "x", "new": "y"})).unwrap(),
        shell("git status"),
        shell("make"),
        shell("git push"),
    ];
    let of = |mode| calls.iter().map(|call| word(&decide(call, &rules(mode)))).collect::<Vec<_>>().join(" ");
    assert_eq!(of(ApprovalMode::ReadOnly), "allowed refused refused refused refused refused");
    assert_eq!(of(ApprovalMode::Ask), "allowed ask ask allowed ask refused");
    assert_eq!(of(ApprovalMode::Edits), "allowed allowed allowed allowed ask refused");
    assert_eq!(of(ApprovalMode::All), "allowed allowed allowed allowed allowed refused");
}

#[test]
fn a_tool_of_another_server_that_may_change_things_needs_as_much_as_a_change_of_a_file() {
    let of = |mode, effect| word(&decide_other("files__delete", effect, &rules(mode)));
    let modes = [ApprovalMode::ReadOnly, ApprovalMode::Ask, ApprovalMode::Edits, ApprovalMode::All];
    assert_eq!(modes.map(|mode| of(mode, OtherEffect::Reads)), ["allowed"; 4]);
    assert_eq!(modes.map(|mode| of(mode, OtherEffect::MayChange)), ["refused", "ask", "allowed", "allowed"]);
}

#[test]
fn a_command_is_allowed_only_if_every_part_of_it_is() {
    let decided = |command: &str| word(&decide(&shell(command), &rules(ApprovalMode::Edits)));
    for command in [
        "git status",
        "git  status -s | grep 'a;b' && ls -l 2>/dev/null",
        "cargo test 2>&1 | grep \"two words\"; ls >/dev/null",
        "ls *.rs",
        "git status\nls",
        "grep a\\ b x || echo none",
        "grep 'x$' a",
    ] {
        assert_eq!(decided(command), "allowed", "{command}");
    }
    for command in [
        "git",
        "git statusx",
        "ls; make",
        "ls & make",
        "ls &",
        "ls | sh",
        "ls $(make)",
        "ls `make`",
        "ls \"$(make)\"",
        "ls <(make)",
        "ls > file",
        "ls >> file",
        "ls >|file",
        "ls &> file",
        "ls 2>file",
        "ls > /dev/nullx",
        "PATH=. ls",
        "$LS",
        "{ls,make}",
        "l*",
        "(ls)",
        "{ ls; }",
        "if ls; then make; fi",
        "ls << end\nend",
        "ls 'open",
        "ls \\",
        "./ls",
        "/tmp/ls",
        "ls\rmake",
        "echo {a,b}",
        "! ls",
        "# ls",
    ] {
        assert_eq!(decided(command), "ask", "{command}");
    }
}

#[test]
fn what_is_denied_is_denied_wherever_it_is() {
    for mode in [ApprovalMode::Ask, ApprovalMode::Edits, ApprovalMode::All] {
        for command in [
            "rm -rf x",
            "ls; rm x",
            "/bin/rm x",
            "sudo rm x",
            "sh -c 'rm x'",
            "ls | xargs rm",
            "find . -exec rm {} +",
            "echo $(rm x)",
            "ls `/bin/rm x`",
            "if true; then git push; fi",
            "git log --all",
            "X=1 git push",
            "env X=1 git push",
            "'rm' x",
            "r\\m x",
        ] {
            assert_eq!(word(&decide(&shell(command), &rules(mode))), "refused", "{command}");
        }
        // A word that only looks like it is none.
        assert_eq!(word(&decide(&shell("grep rm x"), &rules(mode))), "allowed");
    }
}

#[test]
fn without_a_full_sandbox_not_everything_is_allowed() {
    let decided = |confinement| {
        let rules = ApprovalRules { confinement, ..rules(ApprovalMode::All) };
        word(&decide(&shell("make"), &rules))
    };
    assert_eq!(decided(ShellConfinement::Full), "allowed");
    assert_eq!(decided(ShellConfinement::OffByUser), "allowed");
    assert_eq!(decided(ShellConfinement::Lacking), "ask");
}

#[test]
fn a_question_says_why_and_what_a_longer_approval_reaches() {
    let asked = decide(&shell("make all -j4 && git status && pip --version"), &rules(ApprovalMode::Edits));
    let Approval::Ask { what, why, lasting } = asked else { panic!("not asked: {asked:?}") };
    assert_eq!(what, "run `make all -j4 && git status && pip --version`");
    assert_eq!(why, "`make all -j4` is not on the list of what is allowed");
    let reach: Vec<String> = lasting.iter().map(ToString::to_string).collect();
    assert_eq!(reach, ["commands that begin with `make all`", "commands that begin with `pip --version`"]);
}

#[test]
fn what_was_granted_is_not_asked_about_again_and_what_is_denied_stays_so() {
    let granted = |grants: Vec<Grant>| ApprovalRules { granted: grants, ..rules(ApprovalMode::Ask) };
    let make = granted(vec![Grant::Command(CommandPrefix::new("make all").unwrap())]);
    assert_eq!(word(&decide(&shell("make all -j4"), &make)), "allowed");
    assert_eq!(word(&decide(&shell("make clean"), &make)), "ask");
    assert_eq!(word(&decide(&shell("make all && rm x"), &make)), "refused");

    let write = LocalCall::read(LocalTool::Write, &json!({"path": "a", "content": ""})).unwrap();
    assert_eq!(word(&decide(&write, &make)), "ask");
    assert_eq!(word(&decide(&write, &granted(vec![Grant::Edits]))), "allowed");
    let rules = granted(vec![Grant::Tool("one".to_owned())]);
    assert_eq!(word(&decide_other("one", OtherEffect::MayChange, &rules)), "allowed");
    assert_eq!(word(&decide_other("two", OtherEffect::MayChange, &rules)), "ask");
    let read_only = ApprovalRules { mode: ApprovalMode::ReadOnly, ..granted(vec![Grant::Edits]) };
    assert_eq!(word(&decide(&write, &read_only)), "refused", "a grant does not widen a mode that only reads");
}
