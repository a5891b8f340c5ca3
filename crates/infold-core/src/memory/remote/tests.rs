//! Remotes of repositories.

use proptest::prelude::*;

use super::*;

#[test]
fn all_ways_to_one_repository_have_one_name() {
    for address in [
        "https://code.example/team/parser.git",
        "https://code.example/team/parser",
        "https://anna:password@Code.Example:443/team/parser.git/",
        "https://token@code.example/team/parser.git?access_token=abc",
        "ssh://git@code.example:22/team/parser.git",
        "git@code.example:team/parser.git",
        "git@code.example:/team/parser.git",
        "git://code.example/team/parser.git#main",
    ] {
        assert_eq!(remote_name(address).as_deref(), Some("code.example/team/parser"), "{address}");
    }
    for address in ["/srv/git/parser.git", "file:///srv/git/parser.git"] {
        assert_eq!(remote_name(address).as_deref(), Some("/srv/git/parser"), "{address}");
    }
}

#[test]
fn different_repositories_have_different_names_and_what_names_none_has_no_name() {
    let names = ["https://a.example/x", "https://a.example:8443/x", "https://a.example/y", "https://b.example/x", "/x"];
    let names: Vec<_> = names.into_iter().map(remote_name).collect();
    for (at, name) in names.iter().enumerate() {
        assert!(name.is_some() && !names[..at].contains(name), "{names:?}");
    }
    for address in
        ["", "https://a.example", "https://a.example/.git", "../parser", "parser", "ext::sh -c x", "ftp://a/b", "a b:c"]
    {
        assert_eq!(remote_name(address), None, "{address}");
    }
}

fn origin_address(settings: &str) -> Option<String> {
    git_setting(settings, "remote \"origin\"", "url")
}

#[test]
fn the_address_of_origin_is_found_in_settings() {
    let settings = "\
[core]
\trepositoryformatversion = 0
\turl = https://a.example/core
[include]
\tpath = /etc/passwd
[remote \"upstream\"]
\turl = https://a.example/upstream
[Remote \"origin\"] # a comment
\tfetch = +refs/heads/*:refs/remotes/origin/*
\tURL = \"https://a.example/origin\" ; a comment
[branch \"main\"]
\tremote = origin
";
    assert_eq!(origin_address(settings).as_deref(), Some("https://a.example/origin"));
    assert_eq!(git_setting(settings, "core", "url").as_deref(), Some("https://a.example/core"));
    assert_eq!(git_setting(settings, "remote \"ORIGIN\"", "url"), None);
    assert_eq!(origin_address("[remote \"origin\"] url = git@a:b").as_deref(), Some("git@a:b"));
    for settings in
        ["", "[remote \"origin\"]\n", "[remote \"origin\"]\nurl\n", "[remote \"origin\"]\nurl =\n", "[remote]\nurl = a"]
    {
        assert_eq!(origin_address(settings), None, "{settings}");
    }
}

proptest! {
    #[test]
    fn who_asks_makes_no_difference(user in "[a-zA-Z0-9._%-]{1,12}", password in "[^\\s/@\\p{C}]{0,20}") {
        let name = remote_name("https://code.example/team/parser");
        let address = format!("https://{user}:{password}@code.example/team/parser.git");
        prop_assert_eq!(remote_name(&address), name);
    }

    #[test]
    fn any_text_can_be_read(text in "(\\PC|[\\n\\[\\]\"=:/@\\\\]){0,200}") {
        let _ = remote_name(&text);
        let _ = origin_address(&text);
        let _ = origin_address(&format!("[remote \"origin\"]\nurl = {text}"));
    }
}
