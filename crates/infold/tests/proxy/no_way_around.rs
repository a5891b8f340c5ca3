//! Every route that the proxy knows, and some that it does not, with every form of body that could hide a secret which a
//! tool printed: either the upstream never sees it, or the client is refused and learns what to do.

mod bodies;
mod forms;

use infold_testkit::Daemon;
use reqwest::Method;

use crate::proxy::scene::upstream;
use crate::proxy::upstream::{Taken, Upstream};
use crate::support::{Secret, infold, secrets, whereabouts};

use bodies::conversation;
use forms::{Form, Sent, readable};

/// Routes that are in no table.
const UNKNOWN: [&str; 3] =
    ["/openai/v1/unheard_of", "/anthropic/v1/complete", "/openai/deployments/x/chat/completions"];

/// Forms that are read like the plain one, so that what a person says in them goes as typed.
const AS_PLAIN: [&str; 14] = [
    "plain",
    "chunked",
    "gzip",
    "deflate",
    "br",
    "zstd",
    "a byte order mark",
    "NaN",
    "nested 2,000 deep",
    "fields beside the content",
    "a slash at the end",
    "a letter as an escape",
    "a query",
    "without the version",
];

/// What became of a request.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// The upstream got it, in these bytes.
    Passed(String),
    /// The client got this status and this reason.
    Refused(u16, String),
}

struct Scene {
    daemon: Daemon,
    upstream: Upstream,
    http: reqwest::Client,
    canary: Secret,
}

impl Scene {
    async fn start() -> Self {
        let upstream_server = Upstream::start().await;
        let setup = upstream(infold(), &upstream_server.url).set("telemetry.log_level", "debug");
        let daemon = setup.start().await.unwrap();
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { daemon, upstream: upstream_server, http, canary: secrets(0xCA).remove(0) }
    }

    /// Sends a request, and asserts that the secret stays here whatever becomes of it.
    async fn outcome(&self, name: &str, sent: Sent) -> Outcome {
        let before = self.upstream.taken().len();
        let url = format!("{}{}", self.daemon.base_url(), sent.path);
        let mut request = self.http.request(sent.method, url).header("content-type", sent.content_type);
        if let Some(encoding) = sent.encoding {
            request = request.header("content-encoding", encoding);
        }
        let body = if sent.is_chunked {
            reqwest::Body::wrap_stream(futures::stream::iter(
                sent.bytes.chunks(7).map(|piece| Ok::<_, std::io::Error>(piece.to_vec())).collect::<Vec<_>>(),
            ))
        } else {
            reqwest::Body::from(sent.bytes)
        };
        let answer = request.body(body).send().await.unwrap();
        let (status, said) = (answer.status().as_u16(), answer.text().await.unwrap());
        let taken = self.upstream.taken().split_off(before);
        match &taken[..] {
            [] => {
                assert!((400..500).contains(&status), "{name} of {}: {status} {said}", sent.path);
                let says_what_to_do = said.to_lowercase().contains("send");
                assert!(says_what_to_do && said.contains("\"error\""), "{name} of {}: {said}", sent.path);
                assert!(!self.canary.is_in(&said), "{name} of {}: {said}", sent.path);
                Outcome::Refused(status, said)
            }
            [Taken { uri, headers, bytes, .. }] => {
                let text = readable(headers, bytes);
                let is_leaked = self.canary.is_in(&text) || self.canary.is_in(&uri.to_string());
                assert!(!is_leaked, "{name} of {}: the upstream got\n{text}", sent.path);
                Outcome::Passed(text)
            }
            more => panic!("{name} of {}: sent {} times", sent.path, more.len()),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_form_of_body_on_any_route_brings_a_tools_secret_to_the_upstream_or_the_disk() {
    let mut scene = Scene::start().await;
    let person = secrets(0x9E).remove(0);
    let known = infold_proxy::known_paths();
    let mut passed = 0;
    for path in known.iter().map(String::as_str).chain(UNKNOWN) {
        let written = conversation(path, &person.text);
        let path = path.replace('*', "conv_1");
        for Form { name, make } in forms::all() {
            let sent = make(&path, &written, &scene.canary.text);
            let outcome = scene.outcome(name, sent).await;
            if let Outcome::Passed(text) = &outcome {
                assert!(text.contains("[SECRET:"), "{name} of {path}: the secret was there\n{text}");
                passed += 1;
            }
            if AS_PLAIN.contains(&name) {
                let Outcome::Passed(text) = &outcome else { panic!("{name} of {path}: {outcome:?}") };
                let is_known = !UNKNOWN.contains(&&*path);
                assert_eq!(person.is_in(text), is_known, "{name} of {path}: what a person says on a known route stays");
            }
        }
    }
    let all = forms::all().len() * (known.len() + UNKNOWN.len());
    assert!(passed * 10 > all * 7, "only {passed} of {all} went through");

    scene.daemon.terminate().await.unwrap();
    assert_eq!(whereabouts(&[scene.canary], &scene.daemon).unwrap(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_is_split_over_two_parts_of_a_result_is_found_on_every_known_route() {
    let scene = Scene::start().await;
    let (start, end) = scene.canary.text.split_at(scene.canary.text.len() / 2);
    for path in infold_proxy::known_paths() {
        let kind = if path.contains("responses") || path.contains("conversations") { "input_text" } else { "text" };
        let parts = format!(r#"[{{"type":"{kind}","text":"it is {start}"}},{{"type":"{kind}","text":"{end} there"}}]"#);
        let body = conversation(&path, "Look.").with("@RESULT", &parts).text();
        let sent = Sent::json(&path.replace('*', "conv_1"), body.into_bytes());
        let Outcome::Passed(text) = scene.outcome("two parts", sent).await else { panic!("{path} was refused") };
        assert!(!text.contains(start) && !text.contains(end), "{path}: {text}");
        assert!(text.contains("it is ") && text.contains(" there"), "{path}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_holds_no_secret_passes_in_every_form_as_it_came() {
    let scene = Scene::start().await;
    for path in infold_proxy::known_paths() {
        let written = conversation(&path, "Look.");
        let path = path.replace('*', "conv_1");
        for name in ["plain", "chunked", "gzip", "deflate", "zstd", "a byte order mark", "NaN", "nested 2,000 deep"] {
            let form = forms::all().into_iter().find(|form| form.name == name).unwrap();
            let sent = (form.make)(&path, &written, "nothing of note");
            let bytes = sent.bytes.clone();
            scene.outcome(name, sent).await;
            assert!(scene.upstream.taken().pop().unwrap().bytes == bytes, "{name} of {path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_settings_name_is_not_searched_and_others_still_are() {
    let upstream_server = Upstream::start().await;
    let setup = upstream(infold(), &upstream_server.url);
    let daemon = setup.set("proxy.unsearched_paths", r#"["/openai/v1/audio/transcriptions"]"#).start().await.unwrap();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let sound = b"RIFF\0\xff\xfe".to_vec();
    let post = |path: &str| http.post(format!("{}{path}", daemon.base_url())).body(sound.clone()).send();
    assert_eq!(post("/openai/v1/audio/transcriptions").await.unwrap().status(), 200);
    assert_eq!(upstream_server.taken()[0].bytes, sound);
    let refused = post("/openai/v1/audio/translations").await.unwrap();
    assert_eq!(refused.status(), 400);
    let said = refused.text().await.unwrap();
    assert!(said.contains("proxy.unsearched_paths") && said.contains("body_unreadable"), "{said}");
    assert_eq!(upstream_server.taken().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_body_that_decodes_to_too_much_is_refused() {
    let scene = Scene::start().await;
    let bomb = zstd::encode_all(&vec![b' '; 200 << 20][..], 19).unwrap();
    assert!(bomb.len() < 40_000, "{}", bomb.len());
    let sent = Sent { encoding: Some("zstd"), ..Sent::json("/anthropic/v1/messages", bomb) };
    let Outcome::Refused(413, said) = scene.outcome("a bomb", sent).await else { panic!("it was not refused") };
    assert!(said.contains("proxy.body_bytes_max"), "{said}");
}

impl Sent {
    /// A body that is posted as JSON.
    fn json(path: &str, bytes: Vec<u8>) -> Self {
        Self {
            method: Method::POST,
            path: path.to_owned(),
            content_type: "application/json",
            encoding: None,
            is_chunked: false,
            bytes,
        }
    }
}
