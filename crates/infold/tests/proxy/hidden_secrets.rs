//! Secrets in the forms that hide them, of sixty kinds and on every API: none reaches the model, and a result that was
//! made to lock scrubbing up locks nobody out.

use std::fmt::Write;

use infold_testkit::Rng;
use infold_testkit::agent::Client;
use infold_testkit::model::work::read_file;
use infold_testkit::model::{Script, Step};

use crate::proxy::scene::{ASKED, Scene};

const ALNUM: &str = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const HEX: &str = "0123456789abcdef";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz0123456789";

/// What each kind begins with, what it goes on with and for how long, and what it ends with.
const KINDS: [(&str, &str, usize, &str); 60] = [
    ("ghp_", ALNUM, 36, ""),
    ("gho_", ALNUM, 36, ""),
    ("ghs_", ALNUM, 36, ""),
    ("ghr_", ALNUM, 76, ""),
    ("github_pat_11ABCDEFG0aBcDeFgHiJkL_", ALNUM, 59, ""),
    ("glpat-", ALNUM, 20, ""),
    ("GR1348941", ALNUM, 20, ""),
    ("ATBB", ALNUM, 32, ""),
    ("ATATT3", ALNUM, 180, ""),
    ("npm_", ALNUM, 36, ""),
    ("pypi-AgEIcHlwaS5vcmc", ALNUM, 80, ""),
    ("rubygems_", HEX, 48, ""),
    ("CLOJARS_", LOWER, 60, ""),
    ("oy2", LOWER, 43, ""),
    ("dckr_pat_", ALNUM, 27, ""),
    ("AKIA", UPPER, 16, ""),
    ("ASIA", UPPER, 16, ""),
    ("AIza", ALNUM, 35, ""),
    ("GOCSPX-", ALNUM, 28, ""),
    ("ya29.", ALNUM, 60, ""),
    ("hvs.", ALNUM, 95, ""),
    ("dop_v1_", HEX, 64, ""),
    ("doo_v1_", HEX, 64, ""),
    ("ops_eyJ", ALNUM, 260, ""),
    ("sk-ant-api03-", ALNUM, 93, "AA"),
    ("sk-proj-", ALNUM, 74, ""),
    ("sk-or-v1-", HEX, 64, ""),
    ("hf_", ALNUM, 34, ""),
    ("gsk_", ALNUM, 52, ""),
    ("pplx-", ALNUM, 48, ""),
    ("xai-", ALNUM, 80, ""),
    ("r8_", ALNUM, 37, ""),
    ("nvapi-", ALNUM, 64, ""),
    ("tvly-", ALNUM, 32, ""),
    ("jina_", ALNUM, 60, ""),
    ("sk_live_", ALNUM, 24, ""),
    ("rk_live_", ALNUM, 24, ""),
    ("whsec_", ALNUM, 32, ""),
    ("shpat_", HEX, 32, ""),
    ("shpss_", HEX, 32, ""),
    ("shippo_live_", HEX, 40, ""),
    ("EZAK", ALNUM, 54, ""),
    ("duffel_live_", ALNUM, 43, ""),
    ("SG.aBcDeFgHiJkLmNoPqRsTuV.", ALNUM, 43, ""),
    ("xkeysib-", HEX, 64, "-aBcDeFgHiJkLmNoP"),
    ("key-", HEX, 32, ""),
    ("xoxb-123456789012-1234567890123-", ALNUM, 24, ""),
    ("xapp-1-A0123456789-1234567890123-", HEX, 64, ""),
    ("lin_api_", ALNUM, 40, ""),
    ("ntn_12345678901", ALNUM, 35, ""),
    ("glsa_", ALNUM, 32, "_a1b2c3d4"),
    ("NRAK-", UPPER, 27, ""),
    ("PMAK-a1b2c3d4e5f6a7b8c9d0e1f2-", HEX, 34, ""),
    ("fio-u-", ALNUM, 64, ""),
    ("aio_", ALNUM, 28, ""),
    ("dapi", HEX, 32, ""),
    ("pscale_tkn_", ALNUM, 43, ""),
    ("sbp_", HEX, 40, ""),
    ("phc_", ALNUM, 43, ""),
    ("dp.pt.", ALNUM, 43, ""),
];

fn tokens() -> Vec<String> {
    let mut rng = Rng::new(60);
    let mut body = |letters: &str, length: usize| -> String {
        let letters: Vec<char> = letters.chars().collect();
        (0..length).map(|_| letters[rng.below(letters.len())]).collect()
    };
    KINDS.iter().map(|(start, letters, length, end)| format!("{start}{}{end}", body(letters, *length))).collect()
}

/// One form of a token: its name, and how it is written.
type TokenForm = (&'static str, fn(&str) -> String);

const FORMS: [TokenForm; 8] = [
    ("plain", |token| token.to_owned()),
    ("in colour", |token| format!("\u{1b}[31m{token}\u{1b}[0m")),
    ("with a colour inside", |token| {
        let (start, end) = token.split_at(token.len() / 2);
        format!("{start}\u{1b}[1m{end}\u{1b}[0m")
    }),
    ("without width inside", |token| {
        let (start, end) = token.split_at(token.len() / 2);
        format!("{start}\u{200b}{end}")
    }),
    ("with percent signs", |token| token.bytes().fold(String::new(), |text, byte| text + &format!("%{byte:02X}"))),
    ("as hex", |token| token.bytes().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))),
    ("as base64", base64),
    ("wrapped", |token| {
        let (start, end) = token.split_at(token.len() / 2);
        format!("{start}\n{end}")
    }),
];

fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut coded = String::new();
    for group in text.as_bytes().chunks(3) {
        let bits = group.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        (0..=group.len()).for_each(|digit| coded.push(char::from(DIGITS[(bits >> (18 - 6 * digit) & 63) as usize])));
        coded.push_str(&"=".repeat(3 - group.len()));
    }
    coded
}

/// The lines of a file with every token in one form, and what may not be left of each: the half that gives it away.
fn file(form: fn(&str) -> String) -> (String, Vec<String>) {
    let mut text = String::new();
    let written: Vec<String> = tokens().iter().map(|token| form(token)).collect();
    for (number, token) in written.iter().enumerate() {
        let _ = writeln!(text, "entry {number}, \"{token}\", of the list\n");
    }
    // As JSON writes it, which is how it would be sent.
    let quoted = |token: &String| serde_json::to_string(token).unwrap().trim_matches('"').to_owned();
    (text, written.iter().map(quoted).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_sixty_kinds_are_found_in_every_form_on_every_api() {
    for client in Client::ALL {
        let reads: Vec<String> = (0..FORMS.len()).map(|form| format!("/p/{form}.txt")).collect();
        let steps = reads.iter().map(|path| read_file(path)).chain([Step::text("Done.")]);
        let scene = Scene::start(Script::new(steps)).await;
        let mut agent = scene.agent(client, "forms").await;
        for (path, (_, form)) in reads.iter().zip(FORMS) {
            agent.file(path, &file(form).0);
        }
        assert_eq!(agent.work(ASKED).await.unwrap(), "Done.", "{client:?}");

        let sent: Vec<String> =
            scene.model.requests().iter().map(|request| String::from_utf8_lossy(&request.bytes).into_owned()).collect();
        let mut left = Vec::new();
        for (name, form) in FORMS {
            let tokens = file(form).1;
            let is_left = |token: &&String| sent.iter().any(|sent| sent.contains(token.as_str()));
            left.extend(tokens.iter().filter(is_left).map(|token| format!("{name}: {token:.40}")));
        }
        let tried = FORMS.len() * KINDS.len();
        let placeholders = sent.last().unwrap().matches("[SECRET:").count();
        assert!(placeholders * 100 >= tried * 99, "{client:?}: {placeholders} placeholders for {tried} tokens");
        assert!(left.len() * 100 <= tried, "{client:?}: {} of {tried} are left:\n{}", left.len(), left.join("\n"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn passwords_are_found_in_every_format_on_every_api() {
    const PASSWORD: &str = "Gr4vel-Moth!7";
    let file = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/passwords.toml"));
    let file: toml::Table = toml::from_str(file).unwrap();
    let formats: Vec<&str> =
        file["formats"].as_array().unwrap().iter().map(|format| format["text"].as_str().unwrap()).collect();
    for client in Client::ALL {
        let path = |number: usize| format!("/p/{number}.txt");
        let steps = (0..formats.len()).map(|number| read_file(&path(number))).chain([Step::text("Done.")]);
        let scene = Scene::start(Script::new(steps)).await;
        let mut agent = scene.agent(client, "formats").await;
        for (number, format) in formats.iter().enumerate() {
            agent.file(&path(number), &format.replace('§', PASSWORD));
        }
        assert_eq!(agent.work(ASKED).await.unwrap(), "Done.", "{client:?}");
        let sent = String::from_utf8(scene.model.requests().pop().unwrap().bytes).unwrap();
        let left: Vec<&str> = sent.match_indices(PASSWORD).map(|(at, _)| &sent[at.saturating_sub(60)..at]).collect();
        assert_eq!(left, Vec::<&str>::new(), "{client:?}");
        assert!(sent.matches("[SECRET:").count() >= formats.len(), "{client:?}: {sent}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_are_glued_together_lock_no_session_out() {
    let glued = format!("AIza{}-", &tokens()[17][4..38]).repeat(200);
    for client in Client::ALL {
        let steps = [read_file("/p/glued.txt"), Step::text("Done."), Step::text("Yes.")];
        let scene = Scene::start(Script::new(steps)).await;
        let mut agent = scene.agent(client, "glued").await;
        agent.file("/p/glued.txt", &glued);
        assert_eq!(agent.work(ASKED).await.unwrap(), "Done.", "{client:?}");
        assert_eq!(agent.work("Go on.").await.unwrap(), "Yes.", "{client:?}");
        let sent = scene.model.requests().pop().unwrap();
        assert!(!String::from_utf8_lossy(&sent.bytes).contains("AIza"), "{client:?}");
    }
}
