//! Recordings: the bytes of all entries are the file, and what is written of a session reads as the same.

use infold_core::transcript::{Kind, Transcript};
use infold_wire::{
    Format, ReadLimits, Reader, Written, read_sessions, write_anthropic, write_markdown, write_openai, write_opencode,
};

/// Smaller than an input may be, so that entries are longer than it too.
const LIMITS: ReadLimits = ReadLimits::with_entry_bytes_max(16 << 10);
/// Read back without that bound.
const WHOLE: ReadLimits = ReadLimits::with_entry_bytes_max(64 << 20);
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The whole input is a recording of any form.
pub(crate) fn check(input: &[u8]) {
    if !input.starts_with(&GZIP) {
        check_bytes(input);
    }
    let Ok(sessions) = read_sessions(input, None, LIMITS) else { return };
    for transcript in sessions.map_while(Result::ok) {
        let _ = write_markdown(&transcript);
        check_written(&transcript, Format::Anthropic, write_anthropic);
        check_written(&transcript, Format::OpenAi, write_openai);
        check_written(&transcript, Format::OpenCode, write_opencode);
    }
}

fn check_bytes(input: &[u8]) {
    let Ok(mut reader) = Reader::new(input, None, LIMITS) else { return };
    let mut bytes = Vec::new();
    while let Ok(Some(entry)) = reader.next_entry() {
        bytes.extend_from_slice(&entry.raw);
    }
    assert!(bytes == input, "the entries' bytes are not the recording's");
}

/// What is read of a written transcript, written and read once more, is the same.
fn check_written(transcript: &Transcript, format: Format, write: impl Fn(&Transcript) -> Written) {
    let read = |written: &Written| -> Transcript {
        let read = Reader::new(written.text.as_bytes(), Some(format), WHOLE).and_then(Reader::into_transcript);
        let read = read.unwrap_or_else(|error| panic!("what was written as {format:?} cannot be read: {error}"));
        assert_eq!(read.problems_total, 0, "what was written as {format:?} reads with problems");
        read.transcript
    };
    let once = read(&write(transcript));
    let twice = read(&write(&once));
    let kinds = |transcript: &Transcript| transcript.items.iter().map(|item| item.kind.clone()).collect::<Vec<Kind>>();
    assert_eq!(kinds(&once), kinds(&twice), "what was written as {format:?} reads as another");
}
