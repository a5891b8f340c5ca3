//! Reads what is to be searched, whatever its encoding: a secret is one in Latin-1 and in UTF-16 too.
//!
//! What is printed without its secrets has to be UTF-8, so that nothing else of it changes.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::failure::Refused;

/// What a file holds.
#[derive(Debug, PartialEq, Eq)]
pub enum FileText {
    /// Text as it is.
    Utf8(String),
    /// Text in another encoding: UTF-16, or bytes of which each was taken for a character.
    Decoded(String),
    /// No text.
    Binary,
}

impl From<Vec<u8>> for FileText {
    fn from(bytes: Vec<u8>) -> Self {
        let decoded = match bytes.as_slice() {
            [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
            [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
            _ => match String::from_utf8(bytes) {
                Ok(text) => return Self::Utf8(text),
                Err(error) => error.as_bytes().iter().copied().map(char::from).collect(),
            },
        };
        if decoded.contains('\0') { Self::Binary } else { Self::Decoded(decoded) }
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let (pairs, _) = bytes.as_chunks::<2>();
    let units = pairs.iter().copied().map(unit);
    char::decode_utf16(units).map(|decoded| decoded.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// What a file holds, or why it cannot be searched.
pub fn of_file(path: &Path, bytes_max: usize) -> Result<FileText, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    file.take(bytes_max as u64 + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() > bytes_max {
        return Err(format!("it is longer than {bytes_max} bytes; raise the bound with --set scrub.max_bytes=N"));
    }
    Ok(bytes.into())
}

/// The text of a file or of standard input, in any encoding. Refuses what is no text.
pub fn text_to_search(file: Option<&Path>, bytes_max: usize) -> anyhow::Result<String> {
    match of_file_or_input(file, bytes_max)? {
        FileText::Utf8(text) | FileText::Decoded(text) => Ok(text),
        FileText::Binary => Err(refused(file, "it is binary, not text").into()),
    }
}

/// The text of a file or of standard input. Refuses what is not UTF-8.
pub fn text_to_print(file: Option<&Path>, bytes_max: usize) -> anyhow::Result<String> {
    match of_file_or_input(file, bytes_max)? {
        FileText::Utf8(text) => Ok(text),
        FileText::Decoded(_) | FileText::Binary => Err(refused(file, "it is not UTF-8")
            .hint("convert it first, for example with iconv; --report and --check take other encodings")
            .into()),
    }
}

fn refused(file: Option<&Path>, reason: &str) -> Refused {
    let name = file.map_or_else(|| "standard input".to_owned(), |file| file.display().to_string());
    Refused::new(format!("{name} cannot be searched: {reason}"))
}

fn of_file_or_input(file: Option<&Path>, bytes_max: usize) -> anyhow::Result<FileText> {
    match file {
        Some(path) => Ok(of_file(path, bytes_max).map_err(|reason| refused(file, &reason))?),
        None => of_input(bytes_max),
    }
}

fn of_input(bytes_max: usize) -> anyhow::Result<FileText> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(bytes_max as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > bytes_max {
        return Err(Refused::new(format!("the input is longer than {bytes_max} bytes"))
            .hint("split it, or raise the bound with --set scrub.max_bytes=N")
            .into());
    }
    Ok(bytes.into())
}

#[cfg(test)]
mod tests {
    use super::FileText;

    #[test]
    fn text_is_read_in_every_encoding_that_shows_itself() {
        let read = |bytes: &[u8]| FileText::from(bytes.to_vec());
        assert_eq!(read("né\0".as_bytes()), FileText::Utf8("né\0".to_owned()));
        assert_eq!(read(b"n\xe9"), FileText::Decoded("né".to_owned()));
        assert_eq!(read(b"\xff\xfen\0\xe9\0"), FileText::Decoded("né".to_owned()));
        assert_eq!(read(b"\xfe\xff\0n\0\xe9"), FileText::Decoded("né".to_owned()));
        assert_eq!(read(b"\xff\xfe\0\xd8a\0!"), FileText::Decoded("\u{fffd}a".to_owned()));
        for binary in [&b"\x89PNG\0"[..], b"\xff\xfen\0\0\0"] {
            assert_eq!(read(binary), FileText::Binary);
        }
    }
}
