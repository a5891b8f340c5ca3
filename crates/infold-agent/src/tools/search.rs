//! `search`: lines of files that match a regular expression, without the files that git ignores.

#[cfg(test)]
mod tests;

use std::io::Read;
use std::path::Path;

use ignore::overrides::OverrideBuilder;
use regex::{Regex, RegexBuilder};
use tokio_util::sync::CancellationToken;

use super::arguments::SearchCall;
use super::list::walker;
use super::read::is_binary;
use super::workplace::shortened;
use super::{ToolLimits, ToolOutput, Workplace};

/// Bytes that a compiled expression may take.
const EXPRESSION_BYTES_MAX: usize = 10 * 1024 * 1024;

/// Finds lines in files.
pub(super) fn run(
    call: &SearchCall,
    workplace: &Workplace,
    cancelled: &CancellationToken,
) -> Result<ToolOutput, String> {
    let pattern = RegexBuilder::new(&call.pattern)
        .size_limit(EXPRESSION_BYTES_MAX)
        .build()
        .map_err(|error| format!("`pattern` is no regular expression: {error}"))?;
    let place = workplace.fence.place(&call.path).map_err(|error| error.to_string())?;
    let start = workplace.fence.whole(&place);
    if !start.exists() {
        return Err(format!("{} does not exist", place.shown()));
    }
    let mut walk = walker(&start);
    if let Some(glob) = &call.glob {
        walk.overrides(only(&start, glob)?);
    }
    let mut found = FoundLines::new(pattern, &workplace.limits);
    for entry in walk.build().flatten() {
        if cancelled.is_cancelled() {
            return Err("cancelled".to_owned());
        }
        if entry.file_type().is_some_and(|kind| kind.is_file()) {
            found.look_into(entry.path(), workplace);
        }
    }
    Ok(ToolOutput::said(found.said()))
}

/// Only files that match a glob.
fn only(start: &Path, glob: &str) -> Result<ignore::overrides::Override, String> {
    if glob.starts_with('!') {
        return Err("`glob` says which files to search, so it cannot begin with `!`".to_owned());
    }
    let folder = if start.is_dir() { start } else { start.parent().unwrap_or(start) };
    let mut globs = OverrideBuilder::new(folder);
    let built = globs.add(glob).and_then(|globs| globs.build());
    built.map_err(|error| format!("`glob` cannot be read: {error}"))
}

/// What a search has found so far.
struct FoundLines<'a> {
    pattern: Regex,
    limits: &'a ToolLimits,
    text: String,
    lines_shown: usize,
    lines: usize,
    files: usize,
    files_read: usize,
    /// Files that were not searched: there were too many, one is too long, or cannot be read.
    too_many: usize,
    too_long: usize,
    unreadable: usize,
}

impl<'a> FoundLines<'a> {
    fn new(pattern: Regex, limits: &'a ToolLimits) -> Self {
        let (text, lines_shown, lines, files, files_read) = (String::new(), 0, 0, 0, 0);
        Self { pattern, limits, text, lines_shown, lines, files, files_read, too_many: 0, too_long: 0, unreadable: 0 }
    }

    fn look_into(&mut self, path: &Path, workplace: &Workplace) {
        if self.files_read == self.limits.search_files_max {
            self.too_many += 1;
            return;
        }
        self.files_read += 1;
        // The file is opened through the fence: it may have become a link since it was found.
        let place = path.to_str().and_then(|path| workplace.fence.place(path).ok());
        let opened = place.and_then(|place| Some((workplace.fence.open(&place).ok()?, place)));
        let Some(((file, bytes), place)) = opened else {
            self.unreadable += 1;
            return;
        };
        if bytes > self.limits.file_bytes_max {
            self.too_long += 1;
            return;
        }
        let mut content = Vec::new();
        if file.take(self.limits.file_bytes_max).read_to_end(&mut content).is_err() {
            self.unreadable += 1;
        } else if !is_binary(&content) {
            self.take_lines(place.shown(), &String::from_utf8_lossy(&content));
        }
    }

    fn take_lines(&mut self, path: &str, content: &str) {
        let before = self.lines;
        for (index, line) in content.lines().enumerate().filter(|(_, line)| self.pattern.is_match(line)) {
            self.lines += 1;
            let line = format!("{path}:{}:{}\n", index + 1, shortened(line, self.limits.line_bytes_max));
            let fits = self.text.len() + line.len() <= self.limits.shown_bytes_max;
            if self.lines_shown < self.limits.search_lines_max && fits {
                self.text.push_str(&line);
                self.lines_shown += 1;
            }
        }
        self.files += usize::from(self.lines > before);
    }

    fn said(mut self) -> String {
        let (lines, files) = (self.lines, self.files);
        let mut notes = vec![match lines - self.lines_shown {
            0 => format!("{lines} lines in {files} files"),
            hidden => format!(
                "{lines} lines in {files} files, {hidden} of them left out: search for something rarer, or give `path` \
                 or `glob`"
            ),
        }];
        if self.too_many > 0 {
            let (read, left) = (self.files_read, self.too_many);
            notes.push(format!("{read} files searched, {left} not: give `path` or `glob`"));
        }
        if self.too_long > 0 {
            notes.push(format!("{} files are longer than is searched: use `shell` with `grep`", self.too_long));
        }
        if self.unreadable > 0 {
            notes.push(format!("{} files cannot be read", self.unreadable));
        }
        notes.iter().for_each(|note| self.text.push_str(&format!("[{note}]\n")));
        self.text
    }
}
