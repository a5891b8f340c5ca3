//! Writes a text as a string of JSON. Results are mostly text, and the serializer looks at it byte by byte.
//!
//! Must hold: it is what the serializer writes.

/// So many bytes are passed over by a few instructions if none of them is escaped.
const PASSED_BYTES: usize = 16;

/// Adds the text to what is written.
pub(super) fn write_text(text: &str, written: &mut Vec<u8>) {
    written.push(b'"');
    let mut rest = text.as_bytes();
    loop {
        let (plain, behind) = rest.split_at(plain_bytes(rest));
        written.extend_from_slice(plain);
        let Some((escaped, behind)) = behind.split_first() else { break };
        match escaped {
            b'"' | b'\\' => written.extend_from_slice(&[b'\\', *escaped]),
            b'\n' => written.extend_from_slice(b"\\n"),
            b'\r' => written.extend_from_slice(b"\\r"),
            b'\t' => written.extend_from_slice(b"\\t"),
            0x08 => written.extend_from_slice(b"\\b"),
            0x0c => written.extend_from_slice(b"\\f"),
            control => written.extend_from_slice(format!("\\u{control:04x}").as_bytes()),
        }
        rest = behind;
    }
    written.push(b'"');
}

/// How many bytes come before the next that is escaped.
fn plain_bytes(bytes: &[u8]) -> usize {
    let is_plain = |byte: u8| (byte >= b' ') & (byte != b'"') & (byte != b'\\');
    let (parts, _) = bytes.as_chunks::<PASSED_BYTES>();
    let has_none = |part: &&[u8; PASSED_BYTES]| part.iter().fold(true, |all, byte| all & is_plain(*byte));
    let passed = parts.iter().take_while(has_none).count() * PASSED_BYTES;
    passed + bytes[passed..].iter().take_while(|byte| is_plain(**byte)).count()
}
