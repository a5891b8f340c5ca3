//! Markdown as lines for a terminal, while it still comes in.
//!
//! What must hold: the lines that [`MarkdownStream::push`] gives never change again, and with what [`MarkdownStream::finish`]
//! gives they are what [`render`] makes of the whole text, however the text was cut into pieces. No line is wider than the
//! width. Work grows with the text and not with the number of pieces: code is given line by line, other text block by
//! block, and no more than a block of bounded size is kept and looked at again.
//!
//! A text is taken line by line: which blocks it is made of follows from whole lines alone (`blocks`), and the words
//! inside of a block are read when it has ended (`leaf`). So a link to an address that is defined elsewhere is shown as it
//! was written, and so is the definition.

mod blocks;
mod leaf;
mod marks;
mod table;

use ratatui::text::Line;

use crate::clean::shown;
use crate::highlight::Highlighter;
use crate::tones::Palette;
use blocks::Blocks;

/// A line with more bytes is cut, so that what is kept has a bound.
const LINE_BYTES_MAX: usize = 4 * 1024;

/// A text in Markdown that is still coming in.
#[derive(Debug, Clone)]
pub struct MarkdownStream {
    blocks: Blocks,
    /// What there is of a line that has no end yet.
    partial: String,
    beginning: Beginning,
}

/// Where what is kept of a line begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beginning {
    /// Where the line does.
    OfLine,
    /// Where the line was cut because it was too long.
    OfRest,
}

/// How Markdown is shown.
#[derive(Debug, Clone)]
struct Appearance {
    width: usize,
    palette: Palette,
    highlighter: Highlighter,
}

impl MarkdownStream {
    /// A text of which nothing has come in.
    pub fn new(width: usize, palette: Palette, highlighter: Highlighter) -> Self {
        let appearance = Appearance { width: width.max(1), palette, highlighter };
        Self { blocks: Blocks::new(appearance), partial: String::new(), beginning: Beginning::OfLine }
    }

    /// Takes in the next piece, and gives the lines that are finished now.
    pub fn push(&mut self, text: &str) -> Vec<Line<'static>> {
        for character in text.chars().filter_map(shown) {
            if character == '\n' {
                self.end_line();
                continue;
            }
            self.partial.push(character);
            if self.partial.len() >= LINE_BYTES_MAX {
                self.cut_line();
            }
        }
        self.blocks.take_lines()
    }

    /// The lines that are not finished, as they look now.
    pub fn tail(&self) -> Vec<Line<'static>> {
        let mut copy = self.clone();
        // A line of nothing but marks may become anything: a heading, a rule, an item.
        if marks::may_become_anything(&copy.partial) && !copy.blocks.is_in_code() {
            copy.partial.clear();
        }
        copy.finish()
    }

    /// Ends the text, and gives all lines that are left.
    pub fn finish(mut self) -> Vec<Line<'static>> {
        if !self.partial.is_empty() {
            self.end_line();
        }
        self.blocks.end();
        self.blocks.take_lines()
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.partial);
        match self.beginning {
            Beginning::OfLine => self.blocks.take_line(&line),
            Beginning::OfRest => self.blocks.take_rest_of_line(&line),
        }
        self.beginning = Beginning::OfLine;
    }

    /// Takes what there is of a line that is too long, up to its last blank.
    fn cut_line(&mut self) {
        let blank = self.partial.rfind(' ').map(|at| at + 1).filter(|at| *at > LINE_BYTES_MAX / 2);
        let rest = self.partial.split_off(blank.unwrap_or(self.partial.len()));
        self.end_line();
        self.partial = rest;
        self.beginning = Beginning::OfRest;
    }
}

/// A whole text in Markdown as lines.
pub fn render(text: &str, width: usize, palette: Palette, highlighter: &Highlighter) -> Vec<Line<'static>> {
    let mut stream = MarkdownStream::new(width, palette, highlighter.clone());
    let mut lines = stream.push(text);
    lines.extend(stream.finish());
    lines
}

#[cfg(test)]
mod tests;
