//! The marks at the start of a line that begin a block of Markdown.
//!
//! Every function here looks at one line, from its first character that is not a blank.

/// The mark that opens a block of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FenceMark {
    /// A backtick or a tilde.
    pub sign: char,
    /// How many there are; as many have to close it.
    pub length: usize,
    /// What is written behind it: the language first.
    pub info: String,
}

/// The mark of a list's item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListMark {
    /// What kind of list it is.
    pub kind: ListKind,
    /// The number, or 0 where there is none.
    pub number: u64,
    /// Columns of the mark and the blanks behind it.
    pub columns: usize,
}

/// Kinds of lists. Items of different kinds are of different lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListKind {
    /// With this sign.
    Bullets(char),
    /// With numbers, and this sign behind them.
    Numbers(char),
}

/// Whether a line is empty but for blanks.
pub fn is_blank(line: &str) -> bool {
    line.trim_start().is_empty()
}

/// How many blanks are in front.
pub fn blanks(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// What is behind the mark of a quote.
pub fn after_quote(line: &str) -> Option<&str> {
    line.strip_prefix('>').map(|rest| rest.strip_prefix(' ').unwrap_or(rest))
}

/// The mark that opens a block of code.
pub fn fence(line: &str) -> Option<FenceMark> {
    let sign = line.chars().next().filter(|sign| ['`', '~'].contains(sign))?;
    let info = line.trim_start_matches(sign);
    let length = line.len() - info.len();
    let is_code_between_words = sign == '`' && info.contains('`');
    (length >= 3 && !is_code_between_words).then(|| FenceMark { sign, length, info: info.trim().to_owned() })
}

/// Whether a line closes a block of code.
pub fn closes(line: &str, sign: char, length: usize) -> bool {
    let marks = line.trim();
    blanks(line) < 4 && marks.len() >= length && marks.chars().all(|character| character == sign)
}

/// Whether a line is a heading that begins with `#`.
pub fn is_heading(line: &str) -> bool {
    let rest = line.trim_start_matches('#');
    (1..=6).contains(&(line.len() - rest.len())) && (rest.is_empty() || rest.starts_with(' '))
}

/// Whether a line makes a heading of the words before it.
pub fn underlines(line: &str) -> bool {
    let marks = line.trim_end();
    !marks.is_empty() && (marks.chars().all(|c| c == '=') || marks.chars().all(|c| c == '-'))
}

/// Whether a line is a rule.
pub fn is_rule(line: &str) -> bool {
    let mut marks = line.chars().filter(|character| *character != ' ');
    let Some(sign) = marks.next().filter(|sign| ['-', '*', '_'].contains(sign)) else { return false };
    let mut others = 0;
    marks.all(|mark| {
        others += 1;
        mark == sign
    }) && others >= 2
}

/// The mark of an item, if the line begins with one.
pub fn list(line: &str) -> Option<ListMark> {
    let digits = line.len() - line.trim_start_matches(|character: char| character.is_ascii_digit()).len();
    let sign = line[digits..].chars().next()?;
    let kind = match (digits, sign) {
        (0, '-' | '+' | '*') => ListKind::Bullets(sign),
        (1..=9, '.' | ')') => ListKind::Numbers(sign),
        _ => return None,
    };
    let rest = &line[digits + 1..];
    let behind = match blanks(rest) {
        _ if is_blank(rest) => 1,
        0 => return None,
        // More blanks belong to code inside of the item.
        5.. => 1,
        behind => behind,
    };
    Some(ListMark { kind, number: line[..digits].parse().unwrap_or(0), columns: digits + 1 + behind })
}

/// Whether a line divides the head of a table from its body.
pub fn divides_table(line: &str) -> bool {
    line.contains('-') && line.contains('|') && line.chars().all(|character| "|-: ".contains(character))
}

/// Whether what there is of a line may still become the mark of any block.
pub fn may_become_anything(partial: &str) -> bool {
    let partial = partial.trim();
    let digits = partial.trim_start_matches(|character: char| character.is_ascii_digit());
    let is_number = digits.len() < partial.len() && ["", ".", ")"].contains(&digits);
    !partial.is_empty() && (is_number || partial.chars().all(|character| "-=*_`~#>+|: ".contains(character)))
}
