//! What is said about a level, and what is asked of `infold confine`. What the kernel does is tested with the program.

use std::path::{Path, PathBuf};

use super::{Confinement, NetworkAccess, SandboxLevel, SandboxWish, try_out};

#[test]
fn each_level_is_said_in_words() {
    let level = |landlock_abi, has_filter, network| {
        SandboxLevel { landlock_abi, has_filter, network, ..SandboxLevel::NONE }.describe()
    };
    assert_eq!(
        level(7, true, NetworkAccess::Closed),
        "commands are confined: they can write only in their folders (Landlock 7); dangerous system calls are refused; \
         the network is closed"
    );
    assert!(level(4, true, NetworkAccess::Open).contains("but can send signals to other processes"));
    assert!(level(2, true, NetworkAccess::Open).contains("but empty files elsewhere"));
    assert!(level(0, true, NetworkAccess::Open).contains("they can write wherever you can"));
    assert!(level(7, false, NetworkAccess::Open).contains("no system call is refused"));
    assert_eq!(SandboxLevel::NONE.describe(), "commands are not confined: they can do whatever you can");
    let full = |landlock_abi, has_filter| SandboxLevel { landlock_abi, has_filter, ..SandboxLevel::NONE }.is_full();
    assert_eq!((full(3, true), full(2, true), full(7, false)), (true, false, false));
    let wrapped = SandboxLevel { has_bubblewrap: true, has_filter: true, ..SandboxLevel::NONE };
    assert!(wrapped.is_full() && wrapped.describe().contains("only in their folders (bubblewrap)"));
}

#[test]
fn the_level_that_was_said_is_asked_for() {
    let confinement = Confinement {
        writable: vec![PathBuf::from("/a"), PathBuf::from("/b")],
        hidden: vec![PathBuf::from("/c")],
        network: NetworkAccess::Closed,
    };
    let level =
        SandboxLevel { landlock_abi: 6, has_bubblewrap: false, has_filter: true, network: NetworkAccess::Closed };
    let wanted = "confine --folder /a --folder /b --hide /c --landlock-min 6 --filter-required";
    assert_eq!(confinement.arguments(level).join(" ".as_ref()), wanted);
    let open = Confinement { network: NetworkAccess::Open, ..confinement };
    assert!(open.arguments(SandboxLevel::NONE).contains(&"--network".into()));

    let wrapped = SandboxLevel { landlock_abi: 0, has_bubblewrap: true, ..level };
    let steps = open.steps(Path::new("/infold"), wrapped).join(" ".as_ref()).into_string().unwrap();
    let around = "bwrap --die-with-parent --ro-bind / / --dev /dev --bind /a /a --bind /b /b --ro-bind-try \
                  /a/.infold.toml /a/.infold.toml --ro-bind-try /a/.git/config /a/.git/config --ro-bind-try \
                  /a/.git/config.worktree /a/.git/config.worktree --ro-bind-try /a/.git/hooks /a/.git/hooks -- /infold \
                  confine --folder /a --folder /b --hide /c --network --without-landlock --landlock-min 0 \
                  --filter-required --";
    assert!(steps.ends_with(around), "{steps}");
    assert!(open.steps(Path::new("/infold"), SandboxLevel::NONE).is_empty());
}

#[tokio::test]
async fn a_sandbox_that_is_not_to_be_had_is_never_taken_for_one() {
    let scratch = tempfile::tempdir().unwrap();
    // A program that says it confines and does not.
    let liar = scratch.path().join("liar");
    let said = r#"{"landlock_abi":7,"has_filter":false,"network":"closed"}"#;
    std::fs::write(&liar, format!("#!/bin/sh\necho '{said}'\nwhile [ \"$1\" != -- ]; do shift; done; shift; \"$@\"\n"))
        .unwrap();
    std::fs::set_permissions(&liar, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let trial = |program: PathBuf, wish| {
        let scratch = scratch.path().join("trial");
        async move { try_out(&program, wish, NetworkAccess::Closed, &scratch).await }
    };
    let lied = trial(liar.clone(), SandboxWish::Best).await.unwrap();
    assert_eq!(lied.level.landlock_abi, 0);
    // What did not hold is made up for by bubblewrap, where that works, and its absence is said.
    assert!(lied.level.has_bubblewrap || lied.words.contains("("), "{}", lied.words);
    assert!(trial(liar, SandboxWish::Required).await.unwrap_err().contains("`required`"));

    let none = Path::new("/no/such/program").to_owned();
    assert!(trial(none.clone(), SandboxWish::Required).await.is_err());
    let best = trial(none.clone(), SandboxWish::Best).await.unwrap();
    assert_eq!(best.level, SandboxLevel::NONE);
    assert!(best.words.contains("not confined") && best.words.contains("/no/such/program"), "{}", best.words);
    let off = trial(none, SandboxWish::Off).await.unwrap();
    assert!(off.words.contains("`sandbox` is `off`"), "{}", off.words);
}
