//! The blocks of a text: which quotes and lists a line is in, and what kind of block it begins, continues or ends.
//!
//! This is the first half of reading Markdown, as CommonMark describes it, one line at a time. What must hold: what a
//! line leads to depends on the lines before it and on nothing else. The text of a block that has not ended is bounded.

use ratatui::text::Line;

use super::marks::{self, FenceMark, ListKind};
use super::{Appearance, leaf};
use crate::highlight::HighlightedCode;
use crate::tones::Tone;
use crate::wrap::{Breaks, Indent, wrapped};

/// A block of words that is longer is shown in parts, because what is not finished is read again for every frame.
const TEXT_BYTES_MAX: usize = 4 * 1024;

/// The same for tables, whose parts do not look as if they were one.
const TABLE_BYTES_MAX: usize = 16 * 1024;

/// Quotes and lists inside of each other, at most. What is deeper is words.
const DEPTH_MAX: usize = 12;

/// Columns between places that tabs lead to.
const TAB_COLUMNS: usize = 4;

/// As many blanks make a line code.
const CODE_BLANKS: usize = 4;

/// The blocks of a text, as far as it has come in.
#[derive(Debug, Clone)]
pub struct Blocks {
    appearance: Appearance,
    containers: Vec<Container>,
    leaf: OpenBlock,
    /// Lines that are finished and were not taken yet.
    lines: Vec<Line<'static>>,
    /// How many containers are still the ones that the last block was in.
    kept: usize,
    gap: Gap,
}

/// What other blocks are in.
#[derive(Debug, Clone)]
enum Container {
    Quote,
    Item(ListItem),
}

#[derive(Debug, Clone)]
struct ListItem {
    kind: ListKind,
    number: u64,
    /// Columns that lines of the item begin with.
    columns: usize,
    mark: MarkState,
}

/// Whether the mark of an item was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MarkState {
    Due,
    Shown,
}

/// The block that is open.
#[derive(Debug, Clone)]
enum OpenBlock {
    None,
    /// Words: a paragraph, or what turns out to be a heading, a table or HTML.
    Text {
        source: String,
        place: Place,
    },
    Fence {
        mark: FenceMark,
        blanks: usize,
        code: Box<HighlightedCode>,
    },
    /// Code that is only indented, and the blank lines behind it that may be part of it.
    Indented {
        blank_lines: usize,
    },
}

/// Where a part of a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    First,
    /// Behind a part that was shown because the whole was too long.
    Continued,
}

/// What there is in front of the next block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gap {
    /// Nothing was shown before.
    NothingBefore,
    /// No blank line was seen.
    None,
    /// A blank line was seen.
    Blank,
}

impl Blocks {
    /// A text of which no line has come in.
    pub fn new(appearance: Appearance) -> Self {
        let (containers, lines) = (Vec::new(), Vec::new());
        Self { appearance, containers, leaf: OpenBlock::None, lines, kept: 0, gap: Gap::NothingBefore }
    }

    /// The lines that are finished and were not taken before.
    pub fn take_lines(&mut self) -> Vec<Line<'static>> {
        std::mem::take(&mut self.lines)
    }

    /// Whether the next line is most likely code.
    pub fn is_in_code(&self) -> bool {
        matches!(self.leaf, OpenBlock::Fence { .. })
    }

    /// Ends every block.
    pub fn end(&mut self) {
        self.close_to(0);
    }

    /// Takes in a line.
    pub fn take_line(&mut self, line: &str) {
        let line = without_tabs(line);
        let (matched, rest) = self.matching(&line);
        let in_all = matched == self.containers.len();
        match self.leaf {
            OpenBlock::Fence { .. } if in_all => return self.take_code(rest),
            OpenBlock::Indented { .. } if in_all && (marks::is_blank(rest) || marks::blanks(rest) >= CODE_BLANKS) => {
                return self.take_indented(rest);
            }
            OpenBlock::Fence { .. } | OpenBlock::Indented { .. } => self.end_leaf(),
            OpenBlock::None | OpenBlock::Text { .. } => {}
        }
        self.take_block_line(matched, rest);
    }

    /// Takes in the rest of a line that was too long. It begins nothing.
    pub fn take_rest_of_line(&mut self, rest: &str) {
        let rest = without_tabs(rest);
        match &mut self.leaf {
            OpenBlock::Fence { .. } => self.show_code(&rest),
            OpenBlock::Indented { .. } => self.take_indented(&format!("{}{rest}", " ".repeat(CODE_BLANKS))),
            OpenBlock::Text { source, .. } if source.len() + rest.len() <= bytes_max(source) => {
                source.truncate(source.trim_end_matches('\n').len());
                source.push_str(&rest);
                source.push('\n');
            }
            OpenBlock::Text { .. } => self.add_text(&rest),
            OpenBlock::None => {
                self.leaf = OpenBlock::Text { source: format!("{}\n", words(&rest)), place: Place::Continued }
            }
        }
    }

    /// How many of the open containers a line is in, and what is left of the line inside of them.
    fn matching<'a>(&self, line: &'a str) -> (usize, &'a str) {
        let mut rest = line;
        for (depth, container) in self.containers.iter().enumerate() {
            let inside = match container {
                Container::Quote if marks::blanks(rest) < CODE_BLANKS => marks::after_quote(rest.trim_start()),
                Container::Quote => None,
                Container::Item(_) if marks::is_blank(rest) => Some(""),
                Container::Item(item) => rest.get(item.columns..).filter(|_| marks::blanks(rest) >= item.columns),
            };
            match inside {
                Some(inside) => rest = inside,
                None => return (depth, rest),
            }
        }
        (self.containers.len(), rest)
    }

    /// Takes in a line that is not code of an open block.
    fn take_block_line(&mut self, mut matched: usize, mut rest: &str) {
        let mut has_opened = false;
        while !marks::is_blank(rest) {
            let blanks = marks::blanks(rest);
            if blanks >= CODE_BLANKS {
                if matches!(self.leaf, OpenBlock::Text { .. }) {
                    break;
                }
                self.close_to(matched);
                self.leaf = OpenBlock::Indented { blank_lines: 0 };
                self.show_gap();
                return self.take_indented(rest);
            }
            let line = &rest[blanks..];
            let Some((container, columns)) = self.container(matched, line) else {
                if self.take_block_start(matched, line, blanks) {
                    return;
                }
                break;
            };
            let container = self.numbered(matched, container);
            self.close_to(matched);
            self.containers.push(container);
            matched = self.containers.len();
            rest = line.get(columns..).unwrap_or_default();
            has_opened = true;
        }
        let in_words = matches!(self.leaf, OpenBlock::Text { .. });
        if !marks::is_blank(rest) {
            // Words go on in an open paragraph even where the marks of its quote or the blanks of its item are missing.
            if !in_words {
                self.close_to(matched);
            }
            self.add_text(rest);
        } else if !has_opened {
            self.close_to(matched);
            self.see_blank();
        }
    }

    /// The quote or item that a line opens, and the columns of its mark.
    fn container(&self, matched: usize, line: &str) -> Option<(Container, usize)> {
        if matched >= DEPTH_MAX {
            return None;
        }
        if let Some(inside) = marks::after_quote(line) {
            return Some((Container::Quote, line.len() - inside.len()));
        }
        let mark = marks::list(line).filter(|_| !marks::is_rule(line))?;
        let in_words = matches!(self.leaf, OpenBlock::Text { .. }) && matched == self.containers.len();
        // In the middle of a paragraph, a number at the start of a line is most likely just that.
        let is_words = match mark.kind {
            ListKind::Bullets(_) => line.trim_end().len() == 1,
            ListKind::Numbers(_) => mark.number != 1 || line.trim_end().len() < mark.columns,
        };
        if in_words && is_words {
            return None;
        }
        let item = ListItem { kind: mark.kind, number: mark.number, columns: mark.columns, mark: MarkState::Due };
        Some((Container::Item(item), mark.columns))
    }

    /// The container with its number and with the columns that its own lines begin with.
    fn numbered(&self, matched: usize, container: Container) -> Container {
        match (container, self.containers.get(matched)) {
            (Container::Item(item), Some(Container::Item(before))) if before.kind == item.kind => {
                Container::Item(ListItem { number: before.number + 1, ..item })
            }
            (container, _) => container,
        }
    }

    /// Begins or shows the block that a line is the start of; false if it is words.
    fn take_block_start(&mut self, matched: usize, line: &str, blanks: usize) -> bool {
        let in_words = matched == self.containers.len();
        if let Some(mark) = marks::fence(line) {
            self.close_to(matched);
            self.open_fence(mark, blanks);
        } else if marks::is_heading(line) {
            self.close_to(matched);
            self.show(|indent, appearance| leaf::lines(line, indent, appearance));
            self.want_gap();
        } else if let OpenBlock::Text { source, .. } = &mut self.leaf
            && in_words
            && marks::underlines(line)
        {
            source.push_str(line);
            self.end_leaf();
        } else if marks::is_rule(line) {
            self.close_to(matched);
            self.show(|indent, appearance| vec![leaf::rule(indent, appearance)]);
            self.want_gap();
        } else {
            return false;
        }
        true
    }

    /// After code, a heading or a rule there is a line even if a list follows at once.
    fn want_gap(&mut self) {
        if self.containers.is_empty() {
            self.see_blank();
        }
    }

    fn see_blank(&mut self) {
        match self.gap {
            Gap::None | Gap::Blank => self.gap = Gap::Blank,
            Gap::NothingBefore => {}
        }
    }

    fn add_text(&mut self, line: &str) {
        match &mut self.leaf {
            OpenBlock::Text { source, .. } if source.len() + line.len() <= bytes_max(source) => {
                source.push_str(line);
                source.push('\n');
            }
            OpenBlock::Text { source, .. } => {
                let head = table_head(source);
                let source = if head.is_empty() { format!("{}\n", words(line)) } else { format!("{head}{line}\n") };
                self.end_leaf();
                self.leaf = OpenBlock::Text { source, place: Place::Continued };
            }
            OpenBlock::None | OpenBlock::Fence { .. } | OpenBlock::Indented { .. } => {
                let is_deep = self.containers.len() >= DEPTH_MAX;
                let line = if is_deep { words(line) } else { line.to_owned() };
                self.leaf = OpenBlock::Text { source: format!("{line}\n"), place: Place::First };
            }
        }
    }

    fn open_fence(&mut self, mark: FenceMark, blanks: usize) {
        let signs = mark.sign.to_string().repeat(mark.length.min(8));
        let language: String = mark.info.chars().take_while(|c| !c.is_whitespace() && !"{,".contains(*c)).collect();
        let code = self.appearance.highlighter.begin(&language);
        self.show(|indent, appearance| {
            let opened = appearance.palette.span(Tone::Faint, format!("{signs}{}", mark.info));
            wrapped(&[opened], appearance.width, indent, Breaks::Anywhere)
        });
        self.leaf = OpenBlock::Fence { mark, blanks, code: Box::new(code) };
    }

    fn take_code(&mut self, line: &str) {
        let OpenBlock::Fence { mark, blanks, .. } = &self.leaf else { return };
        if marks::closes(line, mark.sign, mark.length) {
            let closed = self.appearance.palette.span(Tone::Faint, line.trim());
            let indent = self.indent();
            self.lines.extend(wrapped(&[closed], self.appearance.width, &indent, Breaks::Anywhere));
            self.leaf = OpenBlock::None;
            self.want_gap();
        } else {
            let line = &line[marks::blanks(line).min(*blanks)..];
            self.show_code(line);
        }
    }

    fn show_code(&mut self, line: &str) {
        let indent = self.indent();
        let OpenBlock::Fence { code, .. } = &mut self.leaf else { return };
        let palette = self.appearance.palette;
        let spans: Vec<_> = code.line(line).into_iter().map(|(tone, text)| palette.span(tone, text)).collect();
        self.lines.extend(wrapped(&spans, self.appearance.width, &indent, Breaks::Anywhere));
    }

    fn take_indented(&mut self, line: &str) {
        let indent = self.indent();
        let OpenBlock::Indented { blank_lines } = &mut self.leaf else { return };
        if marks::is_blank(line) {
            *blank_lines += 1;
            return;
        }
        let blank_lines = std::mem::take(blank_lines);
        let width = self.appearance.width;
        for text in std::iter::repeat_n("", blank_lines).chain([line]) {
            let span = self.appearance.palette.span(Tone::Plain, text);
            self.lines.extend(wrapped(&[span], width, &indent, Breaks::Anywhere));
        }
        self.end_show();
    }

    /// Ends the block that is open, and shows it if it was not shown yet.
    fn end_leaf(&mut self) {
        match std::mem::replace(&mut self.leaf, OpenBlock::None) {
            OpenBlock::Text { source, place } => {
                if place == Place::Continued {
                    self.gap = Gap::NothingBefore;
                }
                self.show(|indent, appearance| leaf::lines(&source, indent, appearance));
            }
            OpenBlock::Indented { blank_lines } if blank_lines > 0 => self.see_blank(),
            OpenBlock::None | OpenBlock::Fence { .. } | OpenBlock::Indented { .. } => {}
        }
    }

    /// Ends the block that is open and all containers but some.
    fn close_to(&mut self, depth: usize) {
        self.end_leaf();
        let is_due = |container: &Container| matches!(container, Container::Item(item) if item.mark == MarkState::Due);
        if self.containers[depth..].iter().any(is_due) {
            // Empty items are shown too.
            self.show(|indent, appearance| wrapped(&[], appearance.width, indent, Breaks::BetweenWords));
        }
        self.containers.truncate(depth);
        self.kept = self.kept.min(depth);
    }

    fn show(&mut self, lines: impl FnOnce(&Indent, &Appearance) -> Vec<Line<'static>>) {
        self.show_gap();
        self.lines.extend(lines(&self.indent(), &self.appearance));
        self.end_show();
    }

    /// Blocks that are in nothing have a line between them, others if they had one.
    fn show_gap(&mut self) {
        let has_line = match self.gap {
            Gap::NothingBefore => false,
            Gap::None => self.containers.is_empty(),
            Gap::Blank => true,
        };
        if has_line {
            let indent = self.indent_of(&self.containers[..self.kept]);
            let line =
                wrapped(&[], self.appearance.width, &Indent { first: indent.rest, rest: Vec::new() }, Breaks::Anywhere);
            self.lines.extend(line);
        }
        self.gap = Gap::None;
    }

    fn end_show(&mut self) {
        for container in &mut self.containers {
            match container {
                Container::Item(item) => item.mark = MarkState::Shown,
                Container::Quote => {}
            }
        }
        self.kept = self.containers.len();
        self.gap = Gap::None;
    }

    fn indent(&self) -> Indent {
        self.indent_of(&self.containers)
    }

    /// What lines inside of containers begin with.
    fn indent_of(&self, containers: &[Container]) -> Indent {
        let mut indent = Indent::none();
        for container in containers {
            let (first, rest) = match container {
                Container::Quote => ("│ ".to_owned(), "│ ".to_owned()),
                Container::Item(item) => {
                    let mark = item.label();
                    let blanks = " ".repeat(mark.len());
                    (if item.mark == MarkState::Due { mark } else { blanks.clone() }, blanks)
                }
            };
            indent.first.push(self.appearance.palette.span(Tone::Faint, first));
            indent.rest.push(self.appearance.palette.span(Tone::Faint, rest));
        }
        indent
    }
}

impl ListItem {
    fn label(&self) -> String {
        match self.kind {
            ListKind::Bullets(_) => "- ".to_owned(),
            ListKind::Numbers(sign) => format!("{}{sign} ", self.number),
        }
    }
}

/// How long the text of a block may become.
fn bytes_max(source: &str) -> usize {
    if table_head(source).is_empty() { TEXT_BYTES_MAX } else { TABLE_BYTES_MAX }
}

/// The first two lines of a table, for its later parts; nothing if it is none.
fn table_head(source: &str) -> String {
    let mut lines = source.split_inclusive('\n');
    match (lines.next(), lines.next()) {
        // A head that is too long to be repeated is none.
        (Some(head), Some(divider))
            if head.len() + divider.len() < TEXT_BYTES_MAX && marks::divides_table(divider.trim_end()) =>
        {
            format!("{head}{divider}")
        }
        _ => String::new(),
    }
}

/// The line as words that begin no block.
fn words(line: &str) -> String {
    let line = line.trim_start();
    if line.starts_with(|sign: char| sign.is_ascii_punctuation()) { format!("\\{line}") } else { line.to_owned() }
}

fn without_tabs(line: &str) -> String {
    let mut expanded = String::new();
    let mut column = 0;
    for character in line.chars() {
        let columns = if character == '\t' { TAB_COLUMNS - column % TAB_COLUMNS } else { 1 };
        match character {
            '\t' => expanded.extend(std::iter::repeat_n(' ', columns)),
            _ => expanded.push(character),
        }
        column += columns;
    }
    expanded
}
