//! Scrubbing: what must hold for every text, and for the type `Scrubbed`.

mod canaries;
mod formats;
mod forms;
mod hostile;
mod ordinary;
mod private_keys;
mod rules;

use proptest::prelude::*;

use super::rules::is_id;
use super::{MatchVerdict, RuleSet, ScrubError, Scrubbed, Scrubber, placeholder};
use canaries::{CANARIES, filled};

fn scrubber() -> Scrubber {
    Scrubber::new([7; 32])
}

fn scrub(text: &str) -> Scrubbed {
    scrubber().scrub(text).unwrap()
}

/// A text in the form of a GitHub token, which was never valid.
fn token() -> String {
    filled("ghp_{a36}")
}

/// A text with its placeholders' hashes blanked, so that a test can say what it expects.
fn shape(scrubbed: &Scrubbed) -> String {
    let mut shape = scrubbed.as_str().to_owned();
    let found: Vec<_> = placeholder::find_all(scrubbed.as_str()).collect();
    for placeholder in found.into_iter().rev() {
        shape.replace_range(placeholder.end - 7..placeholder.end - 1, "#");
    }
    shape
}

#[test]
fn a_secret_becomes_a_placeholder_and_the_rest_stays() {
    let scrubbed = scrub(&format!("export GITHUB_TOKEN={}  # mine", token()));
    assert_eq!(shape(&scrubbed), "export GITHUB_TOKEN=[SECRET:github-pat:#]  # mine");
    assert_eq!(scrubbed.secrets(), 1);
}

#[test]
fn a_placeholder_is_stable_for_a_key_and_differs_by_secret_and_key() {
    let other = filled("ghp_{a35}Z");
    assert_eq!(scrub(&token()), scrub(&token()));
    assert_ne!(scrub(&token()), scrub(&other));
    assert_ne!(scrub(&token()), Scrubber::new([8; 32]).scrub(&token()).unwrap());
}

#[test]
fn a_secret_is_found_at_every_offset_whatever_is_around_it() {
    for filler in ["x", "é", "漢", "😀", " ", "\n", "\"", "\\n", "=", "/", "0"] {
        for before in 0..40 {
            let text = format!("{}{}{}", filler.repeat(before), token(), " tail");
            let scrubbed = scrub(&text);
            assert_eq!(shape(&scrubbed), format!("{}[SECRET:github-pat:#] tail", filler.repeat(before)));
        }
    }
}

#[test]
fn characters_around_a_secret_stay_whole() {
    let scrubbed = scrub(&format!("пароль «{}» 終わり", token()));
    assert_eq!(shape(&scrubbed), "пароль «[SECRET:github-pat:#]» 終わり");
    // A password of other letters is masked by whole characters.
    let scrubbed = scrub("password = 'pässwörd1é'");
    assert_eq!(shape(&scrubbed), "password = '[SECRET:named-password:#]'");
}

#[test]
fn of_overlapping_secrets_the_longest_names_the_placeholder_and_all_are_covered() {
    // Each is a secret by its form, and by its name or place as well.
    let text = format!("token = {}", token());
    assert_eq!(shape(&scrub(&text)), "token = [SECRET:github-pat:#]");
    let text = format!("https://me:{}@github.com/a/b", token());
    assert_eq!(shape(&scrub(&text)), "https://me:[SECRET:github-pat:#]@github.com/a/b");
    // The password reaches further than the token in it.
    let text = format!("https://me:x!{}@github.com", token());
    assert_eq!(shape(&scrub(&text)), "https://me:[SECRET:url-password:#]@github.com");
}

#[test]
fn several_secrets_are_counted_and_have_different_placeholders() {
    let text = format!("{} {} {}", token(), filled("sk_live_{a24}"), token());
    let scrubbed = scrub(&text);
    assert_eq!(shape(&scrubbed), "[SECRET:github-pat:#] [SECRET:stripe-key:#] [SECRET:github-pat:#]");
    assert_eq!(scrubbed.secrets(), 3);
    let first = scrubbed.head_chars(26);
    assert!(scrubbed.as_str().ends_with(first.as_str()));
}

#[test]
fn what_taking_a_secret_out_uncovers_is_taken_out_too() {
    // The key id is not a word of its own until the token before it is gone.
    let text = filled("lsv2_pt_{h32}_{h10}AKIA{u16}");
    let scrubbed = scrub(&text);
    assert_eq!(shape(&scrubbed), "[SECRET:langsmith-key:#][SECRET:aws-access-key-id:#]");
    assert_eq!(scrubbed.secrets(), 2);
}

#[test]
fn placeholders_are_left_alone_and_nothing_passes_as_one() {
    let text = "password = '[SECRET:github-pat:7f3a2c]' token=[SECRET:jwt:000000]";
    let scrubbed = scrub(text);
    assert_eq!((scrubbed.as_str(), scrubbed.secrets()), (text, 0));
    // No such rule, no hex, or too long: scrubbed like any other text.
    for (opening, closing) in [("[SECRET:", ":7f3a2c]"), ("[SECRET:github-pat:", "]"), ("[SECRET:no-such-rule:", "]")] {
        let scrubbed = scrub(&format!("{opening}{}{closing}", token()));
        assert_eq!(shape(&scrubbed), format!("{opening}[SECRET:github-pat:#]{closing}"));
    }
}

#[test]
fn of_a_token_that_is_longer_than_any_nothing_is_left() {
    for template in ["ghp_{a3000}", "eyJhbGciOiJIUzI1NiJ9.eyJ{a9000}.{a30000}", "xoxb-{d12}-{a2000}", "api_key={a9000}"]
    {
        let scrubbed = scrub(&format!("see {} there", filled(template)));
        let left = scrubbed.as_str().replace("api_key=", "");
        let left = left.strip_prefix("see [SECRET:").and_then(|rest| rest.strip_suffix(" there"));
        assert!(left.is_some_and(|left| left.len() < 40), "{template}: {:.200}", scrubbed.as_str());
    }
}

#[test]
fn text_that_is_too_long_is_refused_whole() {
    let text = format!("{} and more", token());
    let scrubber = scrubber().with_max_bytes(text.len() - 1);
    let error = scrubber.scrub(&text).unwrap_err();
    assert_eq!(error, ScrubError::TooLarge { bytes: text.len(), bytes_max: text.len() - 1 });
    assert!(error.to_string().ends_with("send less, or raise scrub.max_bytes"), "{error}");
    assert!(scrubber.with_max_bytes(text.len()).scrub(&text).is_ok());
}

#[test]
fn the_key_is_not_printed() {
    assert_eq!(format!("{:?}", scrubber().with_max_bytes(9)), "Scrubber { bytes_max: 9, .. }");
}

#[test]
fn every_rule_has_an_id_of_its_own_that_fits_a_placeholder() {
    let rules = RuleSet::built_in().unwrap();
    let mut ids: Vec<&str> = rules.names().map(|(id, _)| id).collect();
    for id in &ids {
        assert!(is_id(id.as_bytes()), "{id}");
    }
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
}

#[test]
fn cutting_keeps_placeholders_whole() {
    let scrubbed = scrub(&format!("é {} 漢字", token()));
    let whole = scrubbed.as_str();
    let chars = scrubbed.len_chars();
    for cut in 0..=chars + 2 {
        let (head, tail) = (scrubbed.head_chars(cut), scrubbed.tail_chars(cut));
        assert!(head.len_chars() <= cut && whole.starts_with(head.as_str()));
        assert!(tail.len_chars() <= cut && whole.ends_with(tail.as_str()));
        for part in [head, tail] {
            let halves = part.as_str().contains("SECRET") || part.as_str().contains(']');
            assert!(!halves || placeholder::find_all(part.as_str()).count() == 1, "{part:?}");
        }
    }
    assert_eq!(scrubbed.head_chars(chars), scrubbed);
    assert_eq!(scrubbed.tail_chars(chars), scrubbed);
    assert_eq!(scrubbed.head_chars(2).as_str(), "é ");
    assert_eq!(scrubbed.tail_chars(2).as_str(), "漢字");
}

#[test]
fn scrubbed_text_is_put_together_of_scrubbed_text() {
    let parts = [&Scrubbed::fixed("found:"), &scrub(&token()), &Scrubbed::fixed("calls: 3"), &Scrubbed::default()];
    let joined = Scrubbed::join(&parts, "\n");
    assert_eq!(shape(&joined), "found:\n[SECRET:github-pat:#]\ncalls: 3\n");
    assert_eq!(joined.secrets(), 1);
    assert!(Scrubbed::default().is_empty());
    assert_eq!(Scrubbed::fixed("é漢").len_chars(), 2);
}

#[test]
fn scrubbed_text_is_stored_as_a_plain_string() {
    let scrubbed = scrub(&format!("a \"{}\"", token()));
    let stored = serde_json::to_string(&scrubbed).unwrap();
    assert_eq!(stored, serde_json::to_string(scrubbed.as_str()).unwrap());
    let read: Scrubbed = serde_json::from_str(&stored).unwrap();
    assert_eq!(read, scrubbed);
    assert_eq!(read.clone().into_string(), scrubbed.as_str());
}

/// Pieces that meet in real text and might uncover or hide one another.
fn piece() -> impl Strategy<Value = String> {
    let canary = (0..CANARIES.len()).prop_map(|index| filled(CANARIES[index].1));
    let fragment = (0..CANARIES.len(), 0..60_usize).prop_map(|(index, chars)| {
        let canary = filled(CANARIES[index].1);
        canary.chars().skip(chars / 2).take(chars).collect()
    });
    let glue = prop::sample::select(vec![
        "",
        " ",
        "\n",
        "\"",
        "'",
        "=",
        ":",
        "_",
        "]",
        "[",
        "[SECRET:",
        "[SECRET:jwt:0a1b2c]",
        "\\n",
        "\n",
        "\x1b[31m",
        "\u{200b}",
        "%41",
        "\\u0041",
        "password = ",
        "Z2hwX3Bhc3N3b3Jk",
        "é",
        "token",
        "://",
    ]);
    prop_oneof![canary, fragment, glue.prop_map(str::to_owned), "\\PC{0,12}", "[A-Za-z0-9+/=_.-]{0,50}"]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn scrubbing_twice_is_scrubbing_once(pieces in prop::collection::vec(piece(), 0..12)) {
        let once = scrub(&pieces.concat());
        let twice = scrub(once.as_str());
        prop_assert_eq!(twice.secrets(), 0);
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn a_secret_never_survives_between_other_text(before in "\\PC{0,20}", after in "\\PC{0,20}") {
        let scrubbed = scrub(&format!("{before} {} {after}", token()));
        prop_assert!(!scrubbed.as_str().contains(&token()));
    }

    #[test]
    fn an_explanation_takes_what_scrubbing_takes(pieces in prop::collection::vec(piece(), 0..12)) {
        let text = pieces.concat();
        let masks = scrubber().report(&text).unwrap();
        let explained = scrubber().explain(&text).unwrap();
        let bytes_of = |spans: Vec<std::ops::Range<usize>>| {
            let mut bytes = vec![false; text.len()];
            spans.into_iter().for_each(|span| bytes[span].fill(true));
            bytes
        };
        let masked = bytes_of(masks.iter().map(|mask| mask.span.clone()).collect());
        let taken = explained.iter().filter(|one| one.verdict == MatchVerdict::Taken);
        prop_assert_eq!(&masked, &bytes_of(taken.map(|one| one.mask.span.clone()).collect()));
        for one in &explained {
            let rule = masks.iter().find(|mask| mask.span.contains(&one.mask.span.start)).map(|mask| &mask.rule);
            let is_masked = masked[one.mask.span.clone()].iter().all(|byte| *byte) && !one.mask.span.is_empty();
            prop_assert_eq!(one.taken_as.is_some(), is_masked);
            prop_assert!(one.taken_as.is_none() || one.taken_as.as_ref() == rule);
            prop_assert!(one.verdict != MatchVerdict::Taken || is_masked);
        }
    }

    #[test]
    fn found_secrets_are_in_order_apart_and_on_characters(pieces in prop::collection::vec(piece(), 0..12)) {
        let text = pieces.concat();
        let mut done = 0;
        for secret in scrubber().report(&text).unwrap() {
            prop_assert!(done <= secret.span.start && secret.span.start < secret.span.end);
            prop_assert!(text.get(secret.span.clone()).is_some());
            done = secret.span.end;
        }
    }
}

#[test]
fn a_placeholder_proves_itself_to_whoever_has_the_key() {
    let made = scrub(&token()).into_string();
    let text = format!("{made} and [SECRET:github-pat:xyz]");
    assert_eq!(scrubber().own_placeholders(&text).collect::<Vec<_>>(), [made.as_str()]);
    let others = (0..100_u8).filter(|key| Scrubber::new([*key; 32]).own_placeholders(&made).next().is_some());
    assert!(others.filter(|key| *key != 7).count() < 5, "nobody else's key proves it, but by chance");
    // Of 256 texts that only look like a placeholder, about one is taken for a real one.
    let taken = (0..4_096_u32).filter(|hash| {
        let other = format!("[SECRET:github-pat:{:06x}]", hash * 4_093);
        scrubber().own_placeholders(&other).next().is_some()
    });
    let taken = taken.count();
    assert!((1..64).contains(&taken), "{taken}");
}

#[test]
fn secrets_are_found_with_the_placeholders_that_scrubbing_gives_them() {
    let secret = token();
    let text = format!("A={secret}\nB=[SECRET:jwt:0a1b2c]\nC='https://me:{secret}@example.org/'\n");
    let found = scrubber().secrets_in(&text).unwrap();
    let scrubbed = scrub(&text);
    assert!(!found.is_empty() && found.iter().all(|found| scrubbed.as_str().contains(&found.placeholder)));
    let restored =
        found.iter().fold(scrubbed.into_string(), |text, found| text.replace(&found.placeholder, &found.value));
    assert_eq!(restored, text);
    assert!(!format!("{found:?}").contains(&secret), "it is not printed by mistake");
}
