//! Tests of damaged recordings: what is good is read, what is not is reported, and every byte is given out.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use infold_core::transcript::Kind;
use proptest::prelude::*;

use super::{EntryKind, ReadLimits, Reader};
use crate::error::WireError;
use crate::form::Format;
use crate::source::GZIP;

const LIMITS: ReadLimits = ReadLimits { entry_bytes_max: 1 << 20, problems_max: 10 };

const CLAUDE: &str = concat!(
    r#"{"type":"user","uuid":"a","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"hello"}}"#,
    "\n",
    r#"{"type":"assistant","uuid":"b","parentUuid":"a","sessionId":"s","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"hi"}]}}"#,
    "\n",
);

const OPENCODE: &str = r#"{"info":{"id":"ses_1"},"messages":[
  {"info":{"id":"msg_1","role":"user"},"parts":[{"type":"text","text":"hello"}]},
  {"info":{"id":"msg_2","role":"assistant"},"parts":[{"type":"text","text":"hi"}]}
]}
"#;

/// Reads a recording; returns its texts and problems as lines, and the bytes of all entries.
fn read_with(
    bytes: impl Read,
    format: Option<Format>,
    limits: ReadLimits,
) -> Result<(Vec<String>, Vec<u8>), WireError> {
    let mut reader = Reader::new(bytes, format, limits)?;
    let mut lines = Vec::new();
    let mut raw = Vec::new();
    while let Some(entry) = reader.next_entry()? {
        raw.extend_from_slice(&entry.raw);
        match entry.kind {
            EntryKind::Whole | EntryKind::Between => {}
            EntryKind::Overlong => lines.push(format!("{} overlong {}", entry.number, entry.raw.len())),
            EntryKind::Broken => lines.push(format!("{} broken", entry.number)),
        }
        lines.extend(entry.items.iter().map(|item| format!("{} {}", entry.number, item.text())));
    }
    lines.extend(reader.problems().iter().map(|problem| format!("! {problem}")));
    Ok((lines, raw))
}

fn read(bytes: &[u8]) -> Vec<String> {
    let (lines, raw) = read_with(bytes, None, LIMITS).unwrap();
    assert_eq!(raw, bytes, "bytes were lost");
    lines
}

fn refused(bytes: &[u8], format: Option<Format>) -> String {
    match read_with(bytes, format, LIMITS) {
        Ok((lines, _)) => panic!("it was read: {lines:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn lines_and_documents_are_read() {
    assert_eq!(read(CLAUDE.as_bytes()), ["1 hello", "2 hi"]);
    assert_eq!(read(OPENCODE.as_bytes()), ["1 hello", "2 hi"]);
}

#[test]
fn a_line_that_is_cut_off_is_reported_and_the_rest_is_read() {
    let cut = &CLAUDE[..CLAUDE.len() - 20];
    let lines = read(cut.as_bytes());
    assert_eq!(lines[..2], ["1 hello", "2 broken"]);
    assert!(lines[2].starts_with("! entry 2: the entry is cut off"), "{lines:?}");
}

#[test]
fn a_document_that_is_cut_off_is_reported_and_the_rest_is_read() {
    let cut = &OPENCODE[..OPENCODE.len() - 30];
    assert_eq!(
        read(cut.as_bytes()),
        [
            "1 hello",
            "2 broken",
            "! the document ends before it is whole: it was cut off",
            "! entry 2: the entry is cut off"
        ]
    );
}

#[test]
fn a_broken_line_in_the_middle_costs_only_itself() {
    let broken = CLAUDE.replacen('\n', "\n{\"type\":\"user\",\0}\n\n[1]\n", 1);
    let lines = read(broken.as_bytes());
    assert_eq!(lines[..4], ["1 hello", "2 broken", "4 broken", "5 hi"]);
    assert!(lines[4].starts_with("! entry 2: it is not JSON that can be read"), "{lines:?}");
    assert_eq!(lines.len(), 6);
}

#[test]
fn what_is_nothing_known_is_refused_with_the_known_forms() {
    let known = "claude-code, codex, opencode, anthropic, openai, infold, normalized";
    assert_eq!(refused(b"", None), format!("the input is empty: give a transcript, in one of the forms {known}"));
    assert_eq!(refused(b" \n\t\r\n", None), refused(b"", None));
    assert_eq!(
        refused(b"\x7fELF\0\0\0\x01\x02", None),
        format!("the input is in no known form (it looks like a binary file): known forms are {known}")
    );
    assert!(refused(b"hello, world\n", None).contains("it is text, but not JSON"));
    assert!(refused(b"{\"a\":1}\n{\"b\":2}\n", None).contains("it is JSON, but not a transcript"));
    assert_eq!(
        refused(CLAUDE.as_bytes(), Some(Format::Codex)),
        format!("the input is claude-code, not codex: leave the form out, or name one of {known}")
    );
}

#[test]
fn an_empty_file_of_a_form_that_was_named_is_an_empty_transcript() {
    assert_eq!(read_with(&b""[..], Some(Format::ClaudeCode), LIMITS).unwrap(), (vec![], vec![]));
    assert_eq!(read_with(&b"\n \n"[..], Some(Format::OpenCode), LIMITS).unwrap(), (vec![], b"\n \n".to_vec()));
}

#[test]
fn marks_and_ends_of_lines_of_other_systems_stay() {
    let windows = format!("\u{feff}{}", CLAUDE.replace('\n', "\r\n"));
    assert_eq!(read(windows.as_bytes()), ["1 hello", "2 hi"]);
    let marked = format!("\u{feff}{OPENCODE}");
    assert_eq!(read(marked.as_bytes()), ["1 hello", "2 hi"]);
    assert_eq!(read(CLAUDE.trim_end().as_bytes()), ["1 hello", "2 hi"]);
}

#[test]
fn half_a_surrogate_pair_and_bytes_that_are_no_text_do_not_cost_a_line() {
    let halves = CLAUDE.replace("hello", r"a\ud83db\udc00c\ud83d\ude00\\ud83d");
    assert_eq!(read(halves.as_bytes())[0], "1 a\u{fffd}b\u{fffd}c😀\\ud83d");
    let mut bytes = CLAUDE.as_bytes().to_vec();
    let at = CLAUDE.find("hello").unwrap();
    bytes[at] = 0xff;
    assert_eq!(read(&bytes)[0], "1 \u{fffd}ello");
}

#[test]
fn of_keys_that_appear_twice_the_last_counts() {
    let twice = CLAUDE.replacen("\"type\":\"user\"", "\"type\":\"x\",\"uuid\":\"c\",\"type\":\"user\"", 1);
    assert_eq!(read(twice.as_bytes()), ["1 hello", "2 hi"]);
}

#[test]
fn fields_of_another_type_than_usual_read_as_absent() {
    let odd = CLAUDE.replacen("\"sessionId\":\"s\"", "\"sessionId\":{\"a\":[1,2]},\"isMeta\":7,\"data\":[]", 1);
    assert_eq!(read(odd.as_bytes()), ["1 hello", "2 hi"]);
}

#[test]
fn deep_nesting_is_skipped_where_it_is_not_read_and_reported_where_it_is() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let aside = CLAUDE.replacen("\"sessionId\":\"s\"", &format!("\"x\":{deep}"), 1);
    assert_eq!(read(aside.as_bytes()), ["1 hello", "2 hi"]);
    let content = format!("{}\"x\"{}", "[{\"type\":\"tool_result\",\"content\":".repeat(1000), "}]".repeat(1000));
    let inside = CLAUDE.replacen("\"hello\"", &content, 1);
    let lines = read(inside.as_bytes());
    assert_eq!(lines[..2], ["1 broken", "2 hi"]);
    assert!(lines[2].contains("recursion limit"), "{}", lines[2]);
}

#[test]
fn an_overlong_line_goes_by_in_pieces_without_being_held() {
    let long = CLAUDE.replacen("hello", &"x".repeat(8 << 20), 1);
    let limits = ReadLimits { entry_bytes_max: 1 << 16, problems_max: 10 };
    let mut reader = Reader::new(long.as_bytes(), None, limits).unwrap();
    let mut raw = Vec::new();
    let mut texts = Vec::new();
    while let Some(entry) = reader.next_entry().unwrap() {
        assert!(entry.raw.len() <= 1 << 20, "a piece of {} bytes", entry.raw.len());
        assert!(entry.raw.capacity() <= 2 << 20);
        raw.extend_from_slice(&entry.raw);
        texts.extend(entry.items.iter().map(|item| (entry.number, item.text().to_owned())));
    }
    assert_eq!(raw, long.as_bytes());
    assert_eq!(texts, [(2, "hi".to_owned())]);
    assert_eq!(
        reader.problems().iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["entry 1: it is longer than 65536 bytes and was not read"]
    );
}

#[test]
fn an_overlong_element_goes_by_in_pieces_too() {
    let long = OPENCODE.replacen("hello", &"x".repeat(3 << 20), 1);
    let limits = ReadLimits { entry_bytes_max: 1 << 16, problems_max: 10 };
    let (lines, raw) = read_with(long.as_bytes(), None, limits).unwrap();
    assert_eq!(raw, long.as_bytes());
    assert!(lines.contains(&"2 hi".to_owned()));
    assert_eq!(lines.iter().filter(|line| line.starts_with('!')).count(), 1);
    assert_eq!(lines.last().unwrap(), "! entry 1: it is longer than 65536 bytes and was not read");
}

#[test]
fn problems_are_counted_beyond_those_that_are_kept() {
    let broken = format!("{CLAUDE}{}", "x\n".repeat(100));
    let mut reader = Reader::new(broken.as_bytes(), None, LIMITS).unwrap();
    while reader.next_entry().unwrap().is_some() {}
    assert_eq!((reader.problems().len(), reader.problems_total()), (10, 100));
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn compressed_recordings_are_unpacked_and_reported_if_they_are_cut_off() {
    let packed = [gzip(CLAUDE.as_bytes()), gzip(CLAUDE.as_bytes())].concat();
    let (lines, raw) = read_with(packed.as_slice(), None, LIMITS).unwrap();
    assert_eq!(lines, ["1 hello", "2 hi", "3 hello", "4 hi"]);
    assert_eq!(raw, CLAUDE.repeat(2).as_bytes());

    let long = CLAUDE.replacen("hello", &"hello".repeat(100_000), 1).repeat(20);
    let packed = gzip(long.as_bytes());
    let (lines, raw) = read_with(&packed[..packed.len() - 500], None, LIMITS).unwrap();
    assert!(long.as_bytes().starts_with(&raw));
    assert!(lines.last().unwrap().contains("the compressed data is damaged or cut off"), "{:?}", lines.last());
}

/// A source that gives out its bytes in chunks of given lengths.
struct Chunked<'a> {
    bytes: &'a [u8],
    lengths: std::iter::Cycle<std::slice::Iter<'a, usize>>,
}

impl Read for Chunked<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length =
            self.lengths.next().copied().unwrap_or(1).clamp(1, 1 << 16).min(buffer.len()).min(self.bytes.len());
        buffer[..length].copy_from_slice(&self.bytes[..length]);
        self.bytes = &self.bytes[length..];
        Ok(length)
    }
}

proptest! {
    #[test]
    fn how_the_bytes_come_in_does_not_matter(lengths in prop::collection::vec(1_usize..40, 1..8), which in 0..3) {
        let windows = CLAUDE.replace('\n', "\r\n");
        let text = [CLAUDE, OPENCODE, &windows][which as usize];
        let source = Chunked { bytes: text.as_bytes(), lengths: lengths.iter().cycle() };
        let limits = ReadLimits { entry_bytes_max: 1 << 20, problems_max: 10 };
        let (lines, raw) = read_with(source, None, limits).unwrap();
        prop_assert_eq!(raw, text.as_bytes());
        prop_assert_eq!(lines, ["1 hello", "2 hi"]);
    }

    #[test]
    fn arbitrary_bytes_are_refused_or_given_back(bytes in prop::collection::vec(any::<u8>(), 0..200), which in 0..7) {
        let format = Format::ALL[which as usize];
        for format in [None, Some(format)] {
            // What begins like gzip is unpacked, so other bytes come out; it must only not panic.
            let read = read_with(bytes.as_slice(), format, LIMITS);
            if let (Ok((_, raw)), false) = (read, bytes.starts_with(&GZIP)) {
                prop_assert_eq!(&raw, &bytes);
            }
        }
    }

    #[test]
    fn what_begins_like_gzip_is_unpacked_or_reported(bytes in prop::collection::vec(any::<u8>(), 0..60), which in 0..7) {
        let bytes = [&GZIP, bytes.as_slice()].concat();
        if let Ok((lines, _)) = read_with(bytes.as_slice(), Some(Format::ALL[which as usize]), LIMITS) {
            prop_assert!(lines.iter().any(|line| line.starts_with("! ")), "{:?}", lines);
        }
    }

    #[test]
    fn a_recording_with_bytes_changed_is_given_back(at in 0..OPENCODE.len(), byte in any::<u8>(), cut in 0..OPENCODE.len()) {
        for text in [OPENCODE, CLAUDE] {
            let mut bytes = text.as_bytes().to_vec();
            let len = bytes.len();
            bytes[at % len] = byte;
            bytes.truncate(len - cut % len);
            if let Ok((_, raw)) = read_with(bytes.as_slice(), None, ReadLimits { entry_bytes_max: 64, problems_max: 2 }) {
                prop_assert_eq!(&raw, &bytes);
            }
        }
    }

    #[test]
    fn json_in_odd_shapes_never_panics(json in odd_json(4), which in 0..7) {
        let format = Format::ALL[which as usize];
        let wrappers = [
            format!("{json}\n"),
            format!("{{\"type\":\"user\",\"uuid\":\"a\",\"sessionId\":\"s\",\"message\":{json}}}\n"),
            format!("{{\"type\":\"user\",\"uuid\":\"a\",\"message\":{{\"content\":[{json}]}}}}\n"),
            format!("{{\"type\":\"response_item\",\"payload\":{json}}}\n"),
            format!("{{\"info\":{json},\"messages\":[{json}]}}"),
            format!("{{\"session\":\"s\",\"events\":[{json}],\"calls\":[{json}],\"subagents\":{json}}}\n"),
            format!("{{\"system\":{json},\"messages\":[{json}]}}"),
        ];
        for text in wrappers {
            for format in [None, Some(format)] {
                if let Ok((_, raw)) = read_with(text.as_bytes(), format, LIMITS) {
                    prop_assert_eq!(raw, text.as_bytes());
                }
            }
        }
    }
}

/// JSON objects with the keys that parsers look for, and values of any kind.
fn odd_json(depth: u32) -> impl Strategy<Value = String> {
    let names = prop::sample::select(vec![
        "type",
        "role",
        "content",
        "text",
        "id",
        "name",
        "input",
        "tool_use_id",
        "output",
        "call_id",
        "arguments",
        "parts",
        "state",
        "info",
        "k",
        "t",
        "call",
        "usage",
        "is_error",
        "summary",
        "payload",
        "status",
        "time",
    ]);
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("-1".to_owned()),
        Just("1e999".to_owned()),
        Just("\"\\ud800\"".to_owned()),
        prop::sample::select(vec![
            "user",
            "assistant",
            "tool_use",
            "tool_result",
            "text",
            "message",
            "function_call",
            "tool",
            "completed",
            "function_call_output",
            "compaction",
            "result",
            "reasoning",
            "web_search_call",
            "thinking",
        ])
        .prop_map(|word| format!("\"{word}\"")),
    ];
    leaf.prop_recursive(depth, 32, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|values| format!("[{}]", values.join(","))),
            prop::collection::vec((names.clone(), inner), 0..6).prop_map(|members| {
                let members: Vec<String> =
                    members.into_iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

#[test]
fn items_know_where_they_were_read() {
    let mut reader = Reader::new(CLAUDE.as_bytes(), None, LIMITS).unwrap();
    reader.next_entry().unwrap();
    let entry = reader.next_entry().unwrap().unwrap();
    assert_eq!((entry.number, entry.id.as_deref(), entry.parent.as_deref()), (2, Some("b"), Some("a")));
    assert_eq!((entry.items[0].place.entry, entry.items[0].message), (2, 1));
    assert!(matches!(entry.items[0].kind, Kind::Assistant { .. }));
}
