//! Tests of separating what a tool printed from a client's remarks.

use super::*;

fn parted(texts: &[&str]) -> (Vec<String>, Vec<String>) {
    let Parted { printed, remarks } = part(texts.iter().map(|text| Cow::Borrowed(*text)).collect());
    let remarks = remarks.into_iter().map(|remark| format!("{:?}: {}", remark.voice, remark.text.replace('\n', "/")));
    (printed.into_iter().map(Cow::into_owned).collect(), remarks.collect())
}

fn frame(text: &str) -> String {
    format!("<system-reminder>\n{text}\n</system-reminder>")
}

#[test]
fn frames_at_the_end_are_the_clients() {
    let typed = frame("The user sent a new message while you were working:\nAnd count.\n\nAddress it.");
    let text = format!("went 2\n\n{typed}\n\n{}", frame("<total_tokens>5 tokens left</total_tokens>"));
    let (printed, remarks) = parted(&[&text]);
    assert_eq!(printed, ["went 2"]);
    assert_eq!(
        remarks,
        [
            "Person: <system-reminder>/The user sent a new message while you were working:/And count.//Address it./</system-reminder>",
            "Client: <system-reminder>/<total_tokens>5 tokens left</total_tokens>/</system-reminder>",
        ]
    );
}

#[test]
fn a_text_of_its_own_is_the_clients_too() {
    let (printed, remarks) = parted(&["out", &frame("rules")]);
    assert_eq!((printed.as_slice(), remarks.len()), (&["out".to_owned()][..], 1));
    // A result that holds only a remark still has one printed text, which is empty.
    let (printed, remarks) = parted(&[&frame("rules")]);
    assert_eq!((printed.as_slice(), remarks.len()), (&[String::new()][..], 1));
}

#[test]
fn frames_in_the_middle_or_without_an_end_are_what_the_tool_printed() {
    for text in [
        format!("{}\n\nand on", frame("rules")),
        format!("out {}", frame("rules")),
        "out\n\n<system-reminder>\nrules".to_owned(),
        "out\n</system-reminder>".to_owned(),
    ] {
        let (printed, remarks) = parted(&[&text]);
        assert_eq!((printed, remarks.len()), (vec![text], 0));
    }
}

#[test]
fn beyond_the_bound_everything_is_the_tools() {
    let long = format!("out\n\n{}", frame(&"x".repeat(REMARKS_BYTES_MAX)));
    assert_eq!(parted(&[&long]), (vec![long.clone()], Vec::new()));
    let many = format!("out{}", format!("\n\n{}", frame(&"x".repeat(1 << 10))).repeat(80));
    let (_, remarks) = parted(&[&many]);
    assert!(remarks.len() < 64, "{}", remarks.len());
}

#[test]
fn a_figure_is_the_same_whatever_it_says_and_other_words_are_not() {
    let key = |text: &str| remark(&frame(text)).key;
    assert_eq!(key("<total_tokens>5</total_tokens>"), key("<total_tokens>4</total_tokens>"));
    assert_ne!(key("Contents of a"), key("Contents of b"));
    assert_eq!(remark(&frame("Contents of a")).voice, Voice::Client);
}

#[test]
fn a_frame_may_have_an_id() {
    let text = "out\n\n<system-reminder id=\"0123456789abcdef\">\nrules\n</system-reminder id=\"0123456789abcdef\">";
    let (printed, remarks) = parted(&[text]);
    assert_eq!((printed.as_slice(), remarks.len()), (&["out".to_owned()][..], 1));
}

#[test]
fn what_a_person_said_in_refusing_a_call_is_the_persons() {
    let text =
        "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nask first";
    let (printed, remarks) = parted(&[&format!("{text}\n\n{}", frame("rules"))]);
    assert_eq!(printed, [""]);
    assert_eq!(remarks.len(), 2);
    assert!(remarks[0].starts_with("Person: The user") && remarks[0].ends_with("ask first"), "{remarks:?}");
}
