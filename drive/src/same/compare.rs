//! Compares what two programs made, counts, and keeps what differs where a person can look at it.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::names::Names;
use super::values;

#[cfg(test)]
mod tests;

/// How many differences are shown and saved; further ones are only counted.
const SAVED_MAX: usize = 10;
const SHOWN_BYTES_BEFORE: usize = 80;
const SHOWN_BYTES_AFTER: usize = 160;
const NAME_CHARS_MAX: usize = 120;

/// Which of the two programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramSide {
    Before,
    After,
}

/// One value for each of the two programs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pair<T> {
    pub before: T,
    pub after: T,
}

impl<T> Pair<T> {
    pub fn map<U>(self, mut make: impl FnMut(T) -> U) -> Pair<U> {
        Pair { before: make(self.before), after: make(self.after) }
    }

    pub fn as_ref(&self) -> Pair<&T> {
        Pair { before: &self.before, after: &self.after }
    }
}

/// The outcome of one group of comparisons.
#[derive(Debug)]
pub struct Group {
    pub name: &'static str,
    folder: PathBuf,
    compared: usize,
    different: usize,
}

impl Group {
    /// A group whose differences are saved below this folder; what an earlier run saved there is deleted.
    pub fn new(name: &'static str, folder: &std::path::Path) -> Result<Self> {
        let folder = folder.join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
        }
        Ok(Self { name, folder, compared: 0, different: 0 })
    }

    /// Whether nothing differs so far.
    pub fn is_same(&self) -> bool {
        self.different == 0
    }

    /// The group's line of the table.
    pub fn line(&self) -> String {
        let same = self.compared - self.different;
        format!("{:<10} {:>9} {:>9} {:>9}", self.name, self.compared, same, self.different)
    }

    /// Compares texts byte for byte, without what [`Names`] takes out.
    pub fn compare(&mut self, name: &str, names: &mut Pair<Names>, made: Pair<&[u8]>) -> Result<()> {
        self.compared += 1;
        if made.before == made.after {
            return Ok(());
        }
        let normal = Pair { before: names.before.normal(made.before), after: names.after.normal(made.after) };
        if normal.before != normal.after {
            self.different += 1;
            self.save_difference(name, &normal)?;
        }
        Ok(())
    }

    /// Compares JSON by its values, and anything else as text.
    pub fn compare_values(&mut self, name: &str, names: &mut Pair<Names>, made: Pair<&[u8]>) -> Result<()> {
        match (values::lines(made.before, ProgramSide::Before), values::lines(made.after, ProgramSide::After)) {
            (Some(before), Some(after)) => {
                let after = values::without_added(&before, &after);
                self.compare(name, names, Pair { before: &before, after: &after })
            }
            _ => self.compare(name, names, made),
        }
    }

    fn save_difference(&self, name: &str, normal: &Pair<Vec<u8>>) -> Result<()> {
        if self.different > SAVED_MAX {
            return Ok(());
        }
        let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
        let file: String = name.chars().map(plain).take(NAME_CHARS_MAX).collect();
        fs::create_dir_all(&self.folder)?;
        let paths = Pair { before: "before", after: "after" }.map(|side| self.folder.join(format!("{file}.{side}")));
        fs::write(&paths.before, &normal.before)?;
        fs::write(&paths.after, &normal.after)?;
        println!("different: {} {name}\n  {}\n  {}", self.name, paths.before.display(), paths.after.display());
        println!("{}", first_difference(&normal.before, &normal.after));
        Ok(())
    }
}

/// The place where two texts begin to differ, and what each has there.
fn first_difference(before: &[u8], after: &[u8]) -> String {
    let at = before.iter().zip(after).take_while(|(one, other)| one == other).count();
    let line = 1 + before[..at].iter().filter(|byte| **byte == b'\n').count();
    let start = before[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    let start = start.max(at.saturating_sub(SHOWN_BYTES_BEFORE));
    let shown = |text: &[u8]| {
        let end = text.len().min(at + SHOWN_BYTES_AFTER);
        let piece = &text[start.min(end)..end];
        let piece = piece.split(|byte| *byte == b'\n').next().unwrap_or_default();
        String::from_utf8_lossy(piece).into_owned()
    };
    format!("  line {line}, byte {at}:\n  - {}\n  + {}", shown(before), shown(after))
}
