//! The words inside of a block: emphasis, code between words, links, tables, HTML as text.
//!
//! This is the second half of reading Markdown, which `pulldown-cmark` does for one block at a time. What must hold: no
//! word is lost, whatever the parser takes a block for.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::Appearance;
use super::table::TableRows;
use crate::clean::visible;
use crate::tones::Tone;
use crate::wrap::{Breaks, Indent, columns_of, wrapped};

/// The lines of one block.
pub fn lines(source: &str, indent: &Indent, appearance: &Appearance) -> Vec<Line<'static>> {
    let mut leaf = LeafReader {
        appearance,
        indent: indent.clone(),
        lines: Vec::new(),
        spans: Vec::new(),
        styles: Vec::new(),
        links: Vec::new(),
        table: None,
    };
    let parser = Parser::new_ext(source, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH);
    // Where an address is defined, nothing is shown; here it is, because what refers to it is shown as it was written.
    let mut definitions: Vec<_> = parser.reference_definitions().iter().map(|(_, found)| found.span.clone()).collect();
    definitions.sort_by_key(|span| span.start);
    for span in definitions {
        leaf.add(source.get(span).unwrap_or_default().trim_end(), Style::default());
        leaf.end_words();
    }
    parser.for_each(|event| leaf.take(event));
    leaf.end_words();
    if leaf.lines.is_empty() {
        leaf.add(source.trim(), Style::default());
        leaf.end_line();
    }
    leaf.lines
}

/// A rule over the width.
pub fn rule(indent: &Indent, appearance: &Appearance) -> Line<'static> {
    let columns = appearance.width.saturating_sub(columns_of(&indent.first)).max(1);
    let line = [appearance.palette.span(Tone::Faint, "─".repeat(columns))];
    wrapped(&line, appearance.width, indent, Breaks::Anywhere).into_iter().next().unwrap_or_default()
}

struct LeafReader<'a> {
    appearance: &'a Appearance,
    /// What the next line begins with.
    indent: Indent,
    lines: Vec<Line<'static>>,
    /// What was read and is not wrapped yet.
    spans: Vec<Span<'static>>,
    /// Styles inside of each other.
    styles: Vec<Style>,
    links: Vec<OpenLink>,
    table: Option<TableRows>,
}

/// A link whose words are being read.
struct OpenLink {
    address: String,
    /// How many spans there were before its words.
    from: usize,
}

impl LeafReader<'_> {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.add_lines(&text, self.style()),
            Event::Code(code) => self.add_code(&code),
            Event::Html(text) | Event::InlineHtml(text) => self.add_lines(&text, self.style()),
            Event::SoftBreak => self.add(" ", self.style()),
            Event::HardBreak if self.table.is_some() => self.add(" ", self.style()),
            Event::HardBreak => self.end_line(),
            Event::Rule => self.lines.push(rule(&self.indent, self.appearance)),
            // These are not asked for.
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.add(&text, self.style());
            }
            Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        let tone = |tone| self.appearance.palette.style(tone);
        match tag {
            Tag::Heading { level: HeadingLevel::H1, .. } => {
                self.open(tone(Tone::Heading).add_modifier(Modifier::UNDERLINED));
            }
            Tag::Heading { .. } => self.open(tone(Tone::Heading)),
            Tag::Emphasis => self.open(Style::new().add_modifier(Modifier::ITALIC)),
            Tag::Strong => self.open(Style::new().add_modifier(Modifier::BOLD)),
            Tag::Strikethrough => self.open(Style::new().add_modifier(Modifier::CROSSED_OUT)),
            Tag::Link { dest_url, .. } => {
                self.links.push(OpenLink { address: dest_url.into_string(), from: self.spans.len() });
                self.open(tone(Tone::Link));
            }
            Tag::Image { dest_url, .. } => {
                self.links.push(OpenLink { address: dest_url.into_string(), from: self.spans.len() });
                self.add("[image: ", self.style());
            }
            Tag::Table(alignments) => self.table = Some(TableRows::new(alignments)),
            Tag::TableHead | Tag::TableRow => self.table.iter_mut().for_each(TableRows::begin_row),
            Tag::TableCell => self.spans.clear(),
            // The rest begins a block, which cannot be inside of this one: the marks are shown as words.
            Tag::Item => self.add("- ", Style::default()),
            Tag::BlockQuote(_) => self.add("> ", Style::default()),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link => {
                self.styles.pop();
                self.end_link();
            }
            TagEnd::Image => {
                self.add("]", self.style());
                self.end_link();
            }
            TagEnd::Heading(_) => {
                self.end_words();
                self.styles.pop();
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.spans);
                self.table.iter_mut().for_each(|table| table.add_cell(cell.clone()));
            }
            TagEnd::Table => {
                let table = self.table.take();
                let lines = table.map(|table| table.lines(&self.indent, self.appearance)).unwrap_or_default();
                self.lines.extend(lines);
                self.indent.first = self.indent.rest.clone();
            }
            TagEnd::TableHead | TagEnd::TableRow => {}
            _ => self.end_words(),
        }
    }

    /// The style of what is read now.
    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn open(&mut self, style: Style) {
        self.styles.push(self.style().patch(style));
    }

    fn add(&mut self, text: &str, style: Style) {
        // Characters may be written as numbers, so they are looked at after reading too.
        let text = visible(text).replace(['\n', '\t'], " ");
        if !text.is_empty() {
            self.spans.push(Span::styled(text, style));
        }
    }

    /// Adds text in which there may be line ends.
    fn add_lines(&mut self, text: &str, style: Style) {
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 && self.table.is_none() {
                self.end_words();
            }
            self.add(line, style);
        }
    }

    /// Adds code between words. Where colour cannot set it off, its marks do.
    fn add_code(&mut self, code: &str) {
        let tone = self.appearance.palette.style(Tone::Code);
        let style = self.style().patch(tone);
        if tone == Style::default() {
            self.add(&format!("`{code}`"), style);
        } else {
            self.add(code, style);
        }
    }

    /// Adds the address of a link behind its words, unless they are the address.
    fn end_link(&mut self) {
        let Some(link) = self.links.pop() else { return };
        let words: String = self.spans.iter().skip(link.from).map(|span| &*span.content).collect();
        let address = link.address.strip_prefix("mailto:").unwrap_or(&link.address);
        if !address.is_empty() && words != address {
            self.add(&format!(" ({address})"), self.appearance.palette.style(Tone::Faint));
        }
    }

    /// Wraps what was read, if there is anything.
    fn end_words(&mut self) {
        if !self.spans.is_empty() {
            self.end_line();
        }
    }

    fn end_line(&mut self) {
        let spans = std::mem::take(&mut self.spans);
        self.lines.extend(wrapped(&spans, self.appearance.width, &self.indent, Breaks::BetweenWords));
        self.indent.first = self.indent.rest.clone();
    }
}
