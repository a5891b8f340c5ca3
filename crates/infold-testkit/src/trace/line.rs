//! Reads the lines of a trace: puts the two halves of a call together if another thread's call came in between,
//! and reads the call's strings and numbers.

use std::collections::HashMap;

use anyhow::{Context, Result, bail};

/// A call that has returned.
#[derive(Debug)]
pub(super) struct TracedCall {
    /// The system call's name.
    pub(super) name: String,
    /// The arguments as text, as in the trace.
    pub(super) text: String,
    /// What it returned; −1 for a failure, whatever its reason.
    pub(super) result: i64,
    /// The line where it began.
    pub(super) began: usize,
    /// The line where it returned.
    pub(super) ended: usize,
}

/// Turns lines into calls.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The first halves of calls that have not returned, with their lines, by thread.
    under_way: HashMap<String, (String, usize)>,
}

impl Lines {
    /// Takes the next line, and returns the call that it completes, if any.
    ///
    /// A `close` counts from its beginning: the kernel may give its descriptor to another thread
    /// before the line that says it has returned.
    pub(super) fn take(&mut self, line: &str, number: usize) -> Result<Option<TracedCall>> {
        let Some((thread, rest)) = line.split_once(' ') else { return Ok(None) };
        let rest = rest.trim_start();
        if rest.starts_with("+++") || rest.starts_with("---") {
            return Ok(None);
        }
        if let Some(resumed) = rest.strip_prefix("<... ") {
            let (_, end) = resumed.split_once(" resumed>").context("a line that resumes nothing")?;
            let Some((beginning, began)) = self.under_way.remove(thread) else { return Ok(None) };
            return finished(&format!("{beginning}{end}"), began, number);
        }
        if let Some(beginning) = rest.strip_suffix(" <unfinished ...>") {
            if beginning.starts_with("close(") {
                return finished(&format!("{beginning}) = 0"), number, number);
            }
            self.under_way.insert(thread.to_owned(), (beginning.to_owned(), number));
            return Ok(None);
        }
        finished(rest, number, number)
    }
}

/// Reads a whole call: `name(arguments) = result`.
fn finished(text: &str, began: usize, ended: usize) -> Result<Option<TracedCall>> {
    let Some((name, rest)) = text.split_once('(') else { return Ok(None) };
    let Some((arguments, result)) = rest.rsplit_once(") ") else { return Ok(None) };
    let result = result.trim_start_matches([' ', '=']).split(' ').next().unwrap_or_default();
    let result = result.parse().unwrap_or(-1);
    Ok(Some(TracedCall { name: name.to_owned(), text: arguments.to_owned(), result, began, ended }))
}

impl TracedCall {
    /// The call's first argument as a file descriptor; −1 if it is not one.
    pub(super) fn descriptor(&self) -> i64 {
        let first = self.text.split([',', ' ']).next().unwrap_or_default();
        first.parse().unwrap_or(-1)
    }

    /// All strings of the call, one after another: what a write wrote.
    pub(super) fn bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        for string in self.strings() {
            decode(string, &mut bytes)?;
        }
        Ok(bytes)
    }

    /// One of the call's paths, with the descriptor of the folder that it begins at, if the call names one.
    pub(super) fn path(&self, index: usize) -> Result<(Option<i64>, String)> {
        // Strings hold no commas, because every byte of them is written in hexadecimal.
        let arguments: Vec<&str> = self.text.split(", ").collect();
        let is_string = |at: &usize| arguments[*at].starts_with('"');
        let at = (0..arguments.len()).filter(is_string).nth(index).context("a path is missing")?;
        let mut bytes = Vec::new();
        decode(arguments[at].trim_matches('"'), &mut bytes)?;
        let folder = at.checked_sub(1).and_then(|before| arguments[before].parse().ok());
        Ok((folder, String::from_utf8(bytes).context("a path that is not UTF-8")?))
    }

    /// One of the call's arguments, as a number; the descriptor is argument 0.
    pub(super) fn number(&self, index: usize) -> Result<usize> {
        // As in `path`, no string holds a comma.
        let argument = self.text.split(", ").nth(index).context("a number is missing")?;
        argument.trim().parse().with_context(|| format!("{argument:?} is not a number"))
    }

    fn strings(&self) -> impl Iterator<Item = &str> {
        self.text.split('"').skip(1).step_by(2)
    }
}

/// Reads `\x41\x42` into bytes.
fn decode(string: &str, bytes: &mut Vec<u8>) -> Result<()> {
    let digits = string.as_bytes();
    if !digits.len().is_multiple_of(4) {
        bail!("a string that is not in hexadecimal");
    }
    for group in digits.chunks_exact(4) {
        let (Some(high), Some(low)) = (nibble(group[2]), nibble(group[3])) else {
            bail!("a string that is not in hexadecimal");
        };
        bytes.push(high << 4 | low);
    }
    Ok(())
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}
