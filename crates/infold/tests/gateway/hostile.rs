//! Servers that crash, hang, flood, say nonsense or run away. Calls end within their limits, others go on, and nobody is
//! left behind.

use std::time::{Duration, Instant};

use infold_mcp::gateway::{LinkError, LinkEvent, LinkWay};

use super::processes::{marked, until, until_gone};
use super::{call, mark, script, start};

#[tokio::test]
async fn a_server_that_crashes_at_its_start_shows_its_last_words() {
    let mark = mark();
    let error = start(script("echo 'the key is missing' >&2; exit 3", &mark)).await.0.unwrap_err();
    assert_eq!(error.to_string(), "the server ended (exit code 3). It said: the key is missing");
    assert!(marked(&mark).is_empty());
}

#[tokio::test]
async fn a_program_or_folder_that_is_not_there_is_named() {
    let mut setup = script("", &mark());
    let LinkWay::Child(way) = &mut setup.way else { unreachable!() };
    way.program = "no-such-program".into();
    let error = start(setup.clone()).await.0.unwrap_err().to_string();
    assert!(error.contains("cannot start no-such-program: No such file"), "{error}");
    let LinkWay::Child(way) = &mut setup.way else { unreachable!() };
    way.folder = Some("/no/such/folder".into());
    let error = start(setup).await.0.unwrap_err().to_string();
    assert_eq!(error, "cannot start no-such-program: the folder /no/such/folder does not exist");
}

#[tokio::test]
async fn a_crash_in_the_middle_of_a_call_fails_the_call() {
    let mark = mark();
    let (link, mut events) = start(script("shake; next; echo 'out of memory' >&2; kill -9 $$", &mark)).await;
    let link = link.unwrap();
    let error = call(&link, 20_000).await.unwrap_err();
    let LinkError::Ended { how, words } = &error else { panic!("{error}") };
    assert_eq!((how.as_str(), words.as_str()), ("exit code 137", "out of memory"));
    assert_eq!(events.recv().await, Some(LinkEvent::Ended(error.to_string())));
    assert_eq!(call(&link, 20_000).await, Err(error), "every later call says why");
    assert!(marked(&mark).is_empty());
}

#[tokio::test]
async fn the_word_that_a_server_is_gone_is_not_lost_among_others() {
    let noise = r#"printf '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'"#;
    let text = format!("shake; next; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do {noise}; done; exit 3");
    let (link, mut events) = start(script(&text, &mark())).await;
    let link = link.unwrap();
    call(&link, 20_000).await.unwrap_err();
    let ended = async {
        loop {
            if let Some(LinkEvent::Ended(why)) = events.recv().await {
                return why;
            }
        }
    };
    let why = tokio::time::timeout(crate::support::PATIENCE, ended).await.unwrap();
    assert_eq!(why, "the server ended (exit code 3)");
}

#[tokio::test]
async fn nonsense_between_messages_is_dropped() {
    let text = r#"
        echo 'Server starting...'; echo '{"half": '; printf '\000\377\n\n\n'; echo '[1,2,3]'
        shake
        next; echo '{"jsonrpc":"2.0","id":4711,"result":{}}'; echo '{"jsonrpc":"2.0","id":"x","result":{}}'
        printf '{"jsonrpc":"2.0","id":%s,' $id; sleep 0.05; printf '"result":"in two parts"}\n'
        next
    "#;
    let link = start(script(text, &mark())).await.0.unwrap();
    assert_eq!(call(&link, 20_000).await.unwrap(), "in two parts");
    assert_eq!((link.counts().unreadable, link.counts().unknown_ids), (4, 2));
    link.close().await;
}

#[tokio::test]
async fn a_giant_line_fails_its_call_and_the_next_one_is_answered() {
    let text = r#"
        shake
        next; printf '{"jsonrpc":"2.0","id":%s,"result":"' $id; head -c 5000000 /dev/zero | tr '\0' a; echo '"}'
        next; answer $id '"small"'
        next
    "#;
    let link = start(script(text, &mark())).await.0.unwrap();
    assert_eq!(call(&link, 20_000).await, Err(LinkError::TooLong { bytes_max: 1 << 20 }));
    assert_eq!(call(&link, 20_000).await.unwrap(), "small");
    link.close().await;
}

#[tokio::test]
async fn a_line_without_end_ends_with_the_time_limit() {
    let mark = mark();
    let link = start(script("shake; next; tr '\\0' a < /dev/zero", &mark)).await.0.unwrap();
    let error = call(&link, 300).await.unwrap_err();
    assert!(matches!(error, LinkError::TimedOut { .. }), "{error}");
    link.close().await;
    assert!(marked(&mark).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_does_not_hold_up_another_server() {
    let mark = mark();
    let flood =
        "shake; yes '{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}' &\nyes 'noise' >&2";
    let flooding = start(script(flood, &mark)).await.0.unwrap();
    let good = start(script("shake; while :; do next; answer $id '\"fine\"'; done", &mark)).await.0.unwrap();
    until(&mark, |count| count >= 6);
    for _ in 0..20 {
        assert_eq!(call(&good, 20_000).await.unwrap(), "fine");
    }
    assert!(matches!(call(&flooding, 100).await, Err(LinkError::TimedOut { .. })));
    assert!(flooding.last_words().len() <= 8 << 10);
    tokio::join!(flooding.close(), good.close());
    assert!(marked(&mark).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs_and_has_runaways_is_ended() {
    let mark = mark();
    let text = "
        shake
        trap '' TERM HUP INT
        setsid sh -c 'trap \"\" TERM HUP INT; while :; do sleep 1000; done' &
        (setsid sh -c '(trap \"\" TERM HUP INT; sleep 1000; sleep 1000) &' &)
        while :; do sleep 1000; done
    ";
    let link = start(script(text, &mark)).await.0.unwrap();
    until(&mark, |count| count >= 6);
    assert!(matches!(call(&link, 50).await, Err(LinkError::TimedOut { .. })));
    let begin = Instant::now();
    link.close().await;
    assert!(marked(&mark).is_empty());
    assert!(begin.elapsed() < Duration::from_secs(15), "{:?}", begin.elapsed());
}

#[tokio::test]
async fn a_link_that_is_forgotten_leaves_nobody_either() {
    let mark = mark();
    let link = start(script("shake; trap '' TERM; while :; do sleep 1000; done", &mark)).await.0.unwrap();
    drop(link);
    let gone = mark.clone();
    tokio::task::spawn_blocking(move || until_gone(&gone)).await.unwrap();
}

#[tokio::test]
async fn a_server_gets_only_the_variables_that_it_is_given() {
    let link =
        start(script("env | grep -v -e ^PWD= -e ^_= -e ^SHLVL= -e ^OLDPWD= >&2; shake; next", "seen")).await.0.unwrap();
    // All of it has been read when nothing of the server is left.
    link.close().await;
    let words = link.last_words();
    let mut names: Vec<&str> = words.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    names.sort_unstable();
    assert_eq!(names, ["GATEWAY_TEST_MARK", "PATH"]);
}
