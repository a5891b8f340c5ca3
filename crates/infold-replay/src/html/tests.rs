//! Tests of the page: its parts, its safety, and how a real browser shows it.

use std::process::Command;

use infold_core::transcript::{Item, Subtask};

use super::{SCRIPT, SCRIPT_HASH, html};
use crate::tests::script::{item, session};
use crate::{Compactions, ForkRow, ForkTable, Options, Policy, Price, Prices, Replay, Report};

const HOSTILE: &str = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>&\u{202e}gnp.\u{7}";

const TEXT: &str = "
    user the*10
    thinks of it
    call 1 Read {\"path\": \"src/some_file.rs\"}
    result 1 the*6000
    call 2 Bash {\"command\": \"ls src/some_file.rs\"}
    result 2 the*300
    says done
";

fn report(name: &str) -> Report {
    let price = Price { model: "gpt-*".into(), input: 1.0, output: 8.0, cache_read: 0.1, cache_write: None };
    let mut replay = Replay::new(Options {
        policies: Policy::USUAL.to_vec(),
        compactions: Compactions::AsRecorded,
        prices: Prices(vec![price]),
        curves_max: 10,
        curve_points_max: 100,
    });
    let mut transcript = session("gpt-5", &TEXT.replace("Read", &name.replace(' ', "")));
    let work: Vec<Item> = ["user look", "call 9 Read {}", "result 9 the*4000"].into_iter().map(item).collect();
    transcript.subtasks.push(Subtask { call: "1".to_owned(), items: work });
    replay.add(name, &transcript, |_| {});
    replay.skip(name, name);
    let row =
        ForkRow { label: "profile recall".into(), tokens: 30_000.0, recall_percent: 91.0, line_recall_percent: 80.0 };
    replay.finish(Some(ForkTable { cuts: 3, rows: vec![row] }))
}

/// The parts of the page: its tags, one on each line, without style, script and data.
fn outline(page: &str) -> String {
    let mut out = String::new();
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').unwrap();
        let tag = &rest[start + 1..end];
        let name = tag.split([' ', '\n']).next().unwrap();
        if ["h1", "h2", "h3", "section", "header", "table", "select", "script", "style"].contains(&name) {
            let text = &rest[end + 1..];
            let text = if name.starts_with('h') && name.len() == 2 { &text[..text.find('<').unwrap()] } else { "" };
            out += &format!("<{tag}> {text}\n");
        }
        rest = &rest[end + 1..];
        for raw in ["style", "script"] {
            if name == raw {
                rest = &rest[rest.find(&format!("</{raw}>")).unwrap()..];
            }
        }
    }
    out
}

#[test]
fn the_page_has_its_parts() {
    insta::assert_snapshot!(outline(&html(&report("a session"))));
}

#[test]
fn labels_of_points_do_not_overlap() {
    let alone = super::labels::places(&[(10.0, 50.0)], &["a label"]);
    assert_eq!((alone[0].side, alone[0].y), ("right", 50.0));
    let at_the_edge = super::labels::places(&[(97.0, 50.0)], &["a label"]);
    assert_eq!(at_the_edge[0].side, "left");
    // The second point lies where the first label would go, so that label moves to the other side.
    let near = super::labels::places(&[(50.0, 50.0), (58.0, 50.0)], &["a label", "another"]);
    assert_eq!((near[0].side, near[1].side), ("left", "right"));
    let same = super::labels::places(&[(50.0, 50.0); 4], &["a label"; 4]);
    assert!(same.iter().enumerate().all(|(at, place)| !same[..at].contains(place)));
}

#[test]
fn an_empty_report_is_a_page_too() {
    let options = Options {
        policies: Vec::new(),
        compactions: Compactions::AsRecorded,
        prices: Prices::default(),
        curves_max: 1,
        curve_points_max: 1,
    };
    let page = html(&Replay::new(options).finish(None));
    assert!(page.contains("0 sessions"));
}

#[test]
fn nothing_of_a_hostile_name_is_markup() {
    let page = html(&report(HOSTILE));
    for bad in ["<img", "alert(1)</script>", "onerror=alert(2)>", "\u{202e}", "\u{7}"] {
        assert!(!page.contains(bad), "{bad:?}");
    }
    assert!(page.contains("&lt;img src=x onerror=alert(2)&gt;&amp;"));
    assert_eq!(page.matches("<script").count(), 2, "the data and the page's own");
    assert_eq!(page.matches("</script").count(), 2);
}

#[test]
fn nothing_is_fetched_from_anywhere() {
    let page = html(&report("a session"));
    for reach in ["src=", "href=", "url(", "@import", "fetch(", "XMLHttpRequest", "WebSocket", "import("] {
        assert!(!page.contains(reach), "{reach}");
    }
    // The only address is the namespace of SVG elements, which is a name and never fetched.
    assert_eq!(page.matches("://").count(), page.matches("http://www.w3.org/2000/svg").count());
}

#[test]
fn the_page_names_the_hash_of_its_own_script() {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, SCRIPT.as_bytes());
    assert_eq!(
        SCRIPT_HASH,
        format!("sha256-{}", base64(digest.as_ref())),
        "the script has changed: put this into html.rs"
    );
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63];
            out.push(if place <= three.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

#[test]
fn a_real_browser_draws_it_without_complaint() {
    let file = std::env::temp_dir().join(format!("infold-replay-{}.html", std::process::id()));
    std::fs::write(&file, html(&report(HOSTILE))).unwrap();
    let browser = ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(|name| {
        Command::new(name)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--enable-logging=stderr",
                "--virtual-time-budget=2000",
            ])
            .arg("--dump-dom")
            .arg(format!("file://{}", file.display()))
            .output()
            .ok()
    });
    std::fs::remove_file(&file).unwrap();
    let Some(output) = browser else {
        eprintln!("skipped: no Chromium here");
        return;
    };
    let (dom, log) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let complaints: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(complaints.is_empty(), "{complaints:?}");
    assert_eq!(dom.matches("<path class=\"k").count(), Policy::USUAL.len(), "a line for each policy");
    assert!(dom.contains("<path class=\"ko ours\""), "ours is drawn on top");
}
