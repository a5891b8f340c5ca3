//! Finds secrets in plain text: keywords first, then the patterns of the rules that they call for, where they are.
//!
//! Every step is linear in the text: a pattern is tried where its keyword is, over a bounded number of bytes, and a rule
//! whose keyword is everywhere is searched for in one pass.

use std::collections::HashMap;
use std::ops::Range;

use regex_automata::util::captures::Captures;
use regex_automata::{Anchored, Input};

use super::assignment::{self, Assigned};
use super::glued::{self, Glued};
use super::rules::{Found, NamePart, Quotes, Rule, RuleForm, RuleSet, SpecialForm};
use super::{ScrubError, formats, look};

/// How far behind its word the value of a [`RuleForm::Near`] rule may begin.
const NEAR_BYTES_MAX: usize = 48;
/// How much of a line is shown to allow lists, before and behind a match.
const LINE_BYTES_MAX: usize = 256;
/// Work of one rule on a text, in bytes that it may have read for each byte of the text. A rule that needs more is
/// searched for in one pass.
const WORK_FACTOR_MAX: usize = 64;

/// A secret in a text, or what one rule took for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Find {
    pub(super) span: Range<usize>,
    /// The rule's index: earlier rules are more specific.
    pub(super) rule: usize,
    pub(super) verdict: MatchVerdict,
}

/// What became of something that a rule's pattern matched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MatchVerdict {
    /// It is a secret.
    Taken,
    /// It has less entropy than the rule asks for.
    LittleEntropy {
        /// Bits for each byte.
        bits: f32,
    },
    /// It is an example or a mask.
    Example,
    /// It looks like something else: a word, a name, a path, code.
    OtherLook,
    /// An allow list has it.
    Allowed,
    /// It is part of a longer word.
    PartOfWord,
    /// The name that it is assigned to says that it is none.
    OpenName,
}

impl Eq for MatchVerdict {}

/// Whether finds that were not taken are of interest too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Secrets,
    Everything,
}

/// What a rule's pattern matched, before it is judged.
struct Candidate {
    /// All of the match.
    whole: Range<usize>,
    secret: Range<usize>,
    /// The name that it is assigned to, if that is how it was found.
    name: Option<Range<usize>>,
    edges: Edges,
}

/// Which sides of a match have to be the edges of a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edges {
    None,
    Both,
    Right,
}

/// Finds what the rules call for in one text.
pub(super) struct Finder<'a> {
    rules: &'a RuleSet,
    text: &'a [u8],
    wanted: Wanted,
    finds: Vec<Find>,
    glued: Vec<Glued>,
    /// For each rule up to where it needs no further look, so that no byte is matched twice.
    done: Vec<usize>,
    /// For each rule how many bytes it may have read.
    work: Vec<usize>,
    /// Rules that are to be searched for in one pass.
    in_one_pass: Vec<usize>,
    captures: HashMap<usize, Captures>,
}

/// Whether a keyword is in or before a secret that may go over several lines.
fn is_lines_word(keyword: &[u8]) -> bool {
    // By length, because this is asked for every keyword.
    let words: &[&str] = match keyword.len() {
        5 => &["token", "login"],
        6 => &["secret", "passwd"],
        7 => &["api key"],
        8 => &["password"],
        10 => &["passphrase"],
        11 => &["private key"],
        _ => return false,
    };
    words.iter().any(|word| keyword.eq_ignore_ascii_case(word.as_bytes()))
}

/// What was found in a text.
pub(super) struct FoundInText {
    /// In no order; they may overlap.
    pub(super) finds: Vec<Find>,
    /// Keywords that a secret over several lines may begin with, in order.
    pub(super) lines_words: Vec<Range<usize>>,
}

/// Finds what the rules call for.
pub(super) fn find(rules: &RuleSet, text: &[u8], wanted: Wanted) -> Result<FoundInText, ScrubError> {
    let mut finder = Finder {
        rules,
        text,
        wanted,
        finds: Vec::new(),
        glued: Vec::new(),
        done: Vec::new(),
        work: Vec::new(),
        in_one_pass: rules.always().to_vec(),
        captures: HashMap::new(),
    };
    let mut lines_words = Vec::new();
    rules.each_call(text, |keyword, called| {
        if is_lines_word(&text[keyword.clone()]) {
            lines_words.push(keyword.clone());
        }
        // Most texts have no keyword at all.
        finder.done.resize(rules.len(), 0);
        finder.work.resize(rules.len(), 0);
        called.iter().try_for_each(|&rule| finder.try_at(rule, keyword.clone()))
    })?;
    finder.search_whole()?;
    let known = rules.known(text).map(|(span, rule)| Find { span, rule, verdict: MatchVerdict::Taken });
    finder.finds.extend(known);
    Ok(FoundInText { finds: finder.with_glued(), lines_words })
}

impl<'a> Finder<'a> {
    /// Tries a rule where its keyword is.
    fn try_at(&mut self, index: usize, keyword: Range<usize>) -> Result<(), ScrubError> {
        let rules = self.rules;
        let rule = rules.rule(index);
        match rule.form {
            RuleForm::Token { back, reach } => self.try_token(index, keyword, back..reach, Edges::None),
            RuleForm::Word { back, reach } => self.try_token(index, keyword, back..reach, Edges::Both),
            RuleForm::Named { name, quotes, reach } => self.try_named(index, keyword, name, quotes, reach),
            RuleForm::Near { reach } => self.try_near(index, keyword, reach),
            RuleForm::Anywhere { .. } => {
                if !self.in_one_pass.contains(&index) {
                    self.in_one_pass.push(index);
                }
                Ok(())
            }
            RuleForm::Known => Ok(()),
            RuleForm::Special(special) => {
                if keyword.start >= self.done[index] {
                    let found = formats::find(special, self.text, keyword);
                    self.done[index] = found.done;
                    for span in found.spans {
                        self.judge(index, Candidate::alone(span));
                    }
                }
                Ok(())
            }
        }
    }

    /// Tries a rule whose match begins at its keyword, or at most `room.start` bytes before.
    fn try_token(
        &mut self,
        index: usize,
        keyword: Range<usize>,
        room: Range<usize>,
        edges: Edges,
    ) -> Result<(), ScrubError> {
        let begin = keyword.start.saturating_sub(room.start);
        if keyword.start < self.done[index] {
            return Ok(());
        }
        if self.is_overworked(index, room.end) {
            return Ok(());
        }
        let anchored = if room.start == 0 { Anchored::Yes } else { Anchored::No };
        let window = begin.max(self.done[index])..self.text.len().min(keyword.start + room.end);
        if let Some(candidate) = self.matched(index, window, anchored, edges)?
            && candidate.whole.start <= keyword.start
        {
            self.done[index] = done_behind(&candidate, keyword.start + 1);
            self.judge(index, candidate);
        }
        Ok(())
    }

    /// Tries a rule for values that are assigned to a name with the keyword in it.
    fn try_named(
        &mut self,
        index: usize,
        keyword: Range<usize>,
        name: NamePart,
        quotes: Quotes,
        reach: usize,
    ) -> Result<(), ScrubError> {
        if keyword.start < self.done[index] {
            return Ok(());
        }
        let Some(assigned) = assignment::after(self.text, keyword.clone(), name) else { return Ok(()) };
        let Assigned { name, value_start, is_quoted, is_plain } = assigned;
        let fits = match quotes {
            Quotes::Any => true,
            Quotes::Needed => is_quoted,
            Quotes::Assigned => is_quoted && is_plain,
            Quotes::None => !is_quoted && is_plain,
        };
        if !fits {
            return Ok(());
        }
        let mut end = self.text.len().min(value_start + reach);
        if is_quoted {
            // Up to the quote that closes it, so that other quotes in it do not.
            end = closing_quote(self.text, value_start, end).map_or(end, |at| at + 1);
        } else if self.text[value_start..end].iter().all(|byte| is_token_byte(*byte)) {
            // Longer than any: it is read once, whole, and so are the names in it.
            end += self.text[end..].iter().take_while(|byte| is_token_byte(**byte)).count();
            self.done[index] = end;
            end = self.text.len().min(end + 1);
        }
        if let Some(mut candidate) = self.matched(index, value_start..end, Anchored::Yes, Edges::Right)? {
            candidate.name = Some(name);
            self.done[index] = self.done[index].max(done_behind(&candidate, candidate.secret.start));
            self.judge(index, candidate);
        }
        Ok(())
    }

    /// Tries a rule for values that are near a word.
    fn try_near(&mut self, index: usize, keyword: Range<usize>, reach: usize) -> Result<(), ScrubError> {
        let mut at = keyword.end.max(self.done[index]);
        let last = self.text.len().min(keyword.end + NEAR_BYTES_MAX);
        while at < last {
            let window = at..self.text.len().min(last + reach);
            let Some(candidate) = self.matched(index, window, Anchored::No, Edges::Both)? else { break };
            if candidate.secret.start >= last {
                break;
            }
            // The next that may be a word begins at an edge.
            let behind = candidate.secret.start + 1..last;
            at = behind.clone().find(|at| glued::is_left_edge(self.text, *at)).unwrap_or(last);
            if self.is_word(&candidate.secret) {
                self.done[index] = candidate.secret.end;
                self.judge(index, candidate);
                break;
            }
        }
        Ok(())
    }

    /// Searches the whole text for rules that ask for it, and for those whose keyword is everywhere.
    fn search_whole(&mut self) -> Result<(), ScrubError> {
        for index in std::mem::take(&mut self.in_one_pass) {
            let edges = match self.rules.rule(index).form {
                RuleForm::Word { .. } => Edges::Both,
                RuleForm::Token { .. }
                | RuleForm::Named { .. }
                | RuleForm::Near { .. }
                | RuleForm::Anywhere { .. }
                | RuleForm::Special(_)
                | RuleForm::Known => Edges::None,
            };
            let mut at = 0;
            while at <= self.text.len() {
                let Some(candidate) = self.matched(index, at..self.text.len(), Anchored::No, edges)? else { break };
                at = candidate.secret.end.max(at + 1);
                self.judge(index, candidate);
            }
        }
        Ok(())
    }

    /// Whether a rule has read too much of this text where its keyword was, and is to be searched for in one pass.
    fn is_overworked(&mut self, index: usize, reach: usize) -> bool {
        let work_max = self.text.len().saturating_mul(WORK_FACTOR_MAX).max(1 << 20);
        if self.work[index] > work_max {
            return true;
        }
        self.work[index] += reach.min(self.text.len());
        if self.work[index] > work_max {
            self.in_one_pass.push(index);
        }
        false
    }

    /// What a rule's pattern matches in a window. It sees what is around the window.
    fn matched(
        &mut self,
        index: usize,
        window: Range<usize>,
        anchored: Anchored,
        edges: Edges,
    ) -> Result<Option<Candidate>, ScrubError> {
        let rule = self.rules.rule(index);
        let regex = rule.pattern.regex().ok_or(ScrubError::Missing)?;
        if window.start > window.end {
            return Ok(None);
        }
        let window_end = window.end;
        let input = Input::new(self.text).range(window).anchored(anchored);
        let captures = self.captures.entry(index).or_insert_with(|| regex.create_captures());
        regex.search_captures(&input, captures);
        let Some(whole) = captures.get_match() else { return Ok(None) };
        let group = match rule.form {
            RuleForm::Anywhere { group: Some(group) } => group,
            // As gitleaks has it: the first group that matched.
            RuleForm::Anywhere { group: None } => {
                (1..captures.group_len()).find(|&group| captures.get_group(group).is_some()).unwrap_or(0)
            }
            RuleForm::Token { .. }
            | RuleForm::Word { .. }
            | RuleForm::Named { .. }
            | RuleForm::Near { .. }
            | RuleForm::Special(_)
            | RuleForm::Known => captures.group_len() - 1,
        };
        let mut secret = captures.get_group(group).map_or(whole.range(), |span| span.range());
        if secret.end == window_end {
            // It is longer than a pattern may read: no end of it may be left.
            secret.end += self.text[window_end..].iter().take_while(|byte| is_token_byte(**byte)).count();
        }
        Ok(Some(Candidate { whole: whole.start()..whole.end().max(secret.end), secret, name: None, edges }))
    }

    /// Judges what a pattern matched, and keeps it if it is of interest.
    fn judge(&mut self, index: usize, candidate: Candidate) {
        let rule = self.rules.rule(index);
        let verdict = self.verdict(rule, &candidate);
        let find = Find { span: candidate.secret.clone(), rule: index, verdict };
        match verdict {
            MatchVerdict::Taken => {
                let (left, right) = self.open_edges(&candidate);
                if left || right {
                    self.glued.push(Glued { find, left, right });
                } else {
                    self.finds.push(find);
                }
            }
            MatchVerdict::LittleEntropy { .. }
            | MatchVerdict::Example
            | MatchVerdict::OtherLook
            | MatchVerdict::Allowed
            | MatchVerdict::PartOfWord
            | MatchVerdict::OpenName => {
                if self.wanted == Wanted::Everything {
                    self.finds.push(find);
                }
            }
        }
    }

    fn verdict(&self, rule: &Rule, candidate: &Candidate) -> MatchVerdict {
        let secret = &self.text[candidate.secret.clone()];
        let bits = look::entropy_bits(secret);
        let is_open = |name: &Range<usize>| assignment::is_open_name(&self.text[name.clone()]);
        if secret.is_empty() {
            return MatchVerdict::OtherLook;
        }
        if bits < rule.entropy_min_bits {
            return MatchVerdict::LittleEntropy { bits };
        }
        // What is said around the lines of a private key does not make it an example.
        let is_key = matches!(rule.form, RuleForm::Special(SpecialForm::PrivateKey));
        if !is_key && look::is_example(secret) {
            return MatchVerdict::Example;
        }
        if candidate.name.as_ref().is_some_and(is_open) {
            return MatchVerdict::OpenName;
        }
        if !rule.look.fits(secret) {
            return MatchVerdict::OtherLook;
        }
        let found =
            Found { secret, whole: &self.text[candidate.whole.clone()], line: self.line_around(&candidate.whole) };
        if self.rules.allows(rule, &found) {
            return MatchVerdict::Allowed;
        }
        MatchVerdict::Taken
    }

    /// Which edges of a find have to be the edges of a word, and are not.
    fn open_edges(&self, candidate: &Candidate) -> (bool, bool) {
        let Candidate { secret, .. } = candidate;
        match candidate.edges {
            Edges::None => (false, false),
            Edges::Right => (false, !glued::is_right_edge(self.text, secret.end)),
            Edges::Both => {
                (!glued::is_left_edge(self.text, secret.start), !glued::is_right_edge(self.text, secret.end))
            }
        }
    }

    fn is_word(&self, span: &Range<usize>) -> bool {
        glued::is_left_edge(self.text, span.start) && glued::is_right_edge(self.text, span.end)
    }

    /// All finds, with those that a neighbour makes a word of their own.
    fn with_glued(self) -> Vec<Find> {
        let mut finds = self.finds;
        let parts = glued::take(self.glued, &mut finds);
        if self.wanted == Wanted::Everything {
            finds.extend(parts.into_iter().map(|find| Find { verdict: MatchVerdict::PartOfWord, ..find }));
        }
        finds
    }

    /// The line that a match is in, as far as it is near.
    fn line_around(&self, whole: &Range<usize>) -> &'a [u8] {
        let before = &self.text[whole.start.saturating_sub(LINE_BYTES_MAX)..whole.start];
        let behind = &self.text[whole.end..self.text.len().min(whole.end + LINE_BYTES_MAX)];
        let start =
            memchr::memrchr(b'\n', before).map_or(whole.start - before.len(), |at| whole.start - before.len() + at + 1);
        let end = memchr::memchr(b'\n', behind).map_or(whole.end + behind.len(), |at| whole.end + at);
        &self.text[start..end]
    }
}

impl Candidate {
    /// A find that nothing around it has to say anything about.
    fn alone(span: Range<usize>) -> Self {
        Self { whole: span.clone(), secret: span, name: None, edges: Edges::None }
    }
}

/// Where the search goes on: behind a long match, so that no text is read again and again, and at `inside` after a short
/// one, for another that overlaps it.
fn done_behind(candidate: &Candidate, inside: usize) -> usize {
    const RETRY_BYTES_MAX: usize = 96;
    if candidate.whole.len() > RETRY_BYTES_MAX { candidate.whole.end } else { inside }
}

/// The quote that closes a value, which begins behind the one that opens it. Inside of the value quotes have more
/// backslashes than that one has.
fn closing_quote(text: &[u8], value_start: usize, end: usize) -> Option<usize> {
    const BACKSLASHES_MAX: usize = 16;
    let backslashes =
        |at: usize| text[..at].iter().rev().take(BACKSLASHES_MAX).take_while(|byte| **byte == b'\\').count();
    let (quote, depth) = (text[value_start - 1], backslashes(value_start - 1));
    let mut quotes = memchr::memchr_iter(quote, &text[value_start..end]).map(|at| value_start + at);
    quotes.find(|at| backslashes(*at) <= depth)
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b'+' | b'=' | b'~' | b'%')
}

/// Joins finds that overlap. The longest gives the joined one its rule, or the earlier rule if two are as long. The
/// span covers all of them, so that no end of a shorter one is left in the text.
pub(super) fn merge(mut finds: Vec<Find>) -> Vec<Find> {
    finds.sort_by_key(|find| (find.span.start, find.rule));
    let mut merged: Vec<Find> = Vec::with_capacity(finds.len());
    let mut longest = 0;
    for find in finds {
        match merged.last_mut() {
            Some(last) if find.span.start < last.span.end => {
                last.span.end = last.span.end.max(find.span.end);
                if (find.span.len(), last.rule) > (longest, find.rule) {
                    longest = find.span.len();
                    last.rule = find.rule;
                }
            }
            _ => {
                longest = find.span.len();
                merged.push(find);
            }
        }
    }
    merged
}
