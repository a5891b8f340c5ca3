//! Lines that report errors: which of them are kept, and a pattern that finds the others.
//!
//! A line that is written as programs write errors counts more than one with a word for an error in it: pages and source code
//! speak of errors all the time. For the same reason lines that look like many others come last: what a text says again and
//! again is what it is about, and what it says once is what happened.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use regex::Regex;
use regex_automata::meta;

use super::kept_lines::{KeptLines, LINE_CHARS_MAX};
use super::kind::ResultKind;
use super::marks::{form, head, is_match};
use super::odd::look_of;
use super::worth::LARGE_BYTES;

/// Most characters of lines that report errors: of a short text, for each hundred of a long one, and of any.
const FLAGGED_CHARS_MIN: usize = 500;
const FLAGGED_PERCENT: usize = 1;
const FLAGGED_CHARS_MAX: usize = 2_400;
const WARNINGS_CHARS_MAX: usize = 250;
/// If so many lines in a row of rank do not fit, the rest is not tried.
const MISSES_MAX: usize = 8;
/// A line that only has a word for an error counts as if four times as many lines were like it, and a long one, which is
/// likely to be a sentence, sixteen times.
const WORD_RANK: u32 = 2;
const SENTENCE_RANK: u32 = 4;
const SENTENCE_BYTES_MIN: usize = 160;
/// How many lines before a field are kept with it: they say whose field it is.
const BEFORE_FIELD_LINES: usize = 2;
/// Most characters of the pattern that is suggested. It takes room, so only a large text gets one.
const PATTERN_CHARS_MAX: usize = 480;
/// What the suggestion takes beside its pattern.
const SUGGESTION_FRAME_CHARS: usize = 50;

/// How texts say that something went wrong, whatever the case of their letters. Each is a pattern for `read_result`.
const SIGNS: [&str; 80] = [
    "error",
    r"\berr\b",
    "errno",
    "exception",
    "traceback",
    "panic",
    "fail",
    r"not ok\b",
    "[✗✘✕×❌⨯]",
    "fatal",
    "critical",
    "severe",
    "emerg",
    "abort",
    "crash",
    r"\bkilled",
    r"\bsig[a-z]{3,4}\b",
    "segmentation",
    "core dump",
    "terminated",
    "back-?off",
    "denied",
    "forbidden",
    "unauthori",
    "refused",
    "reject",
    "not permitted",
    "not allowed",
    "time[ds]?[ _-]?out",
    "deadline",
    "unreachable",
    "unavailable",
    "no route",
    "reset by",
    "broken pipe",
    "closed connection",
    "cannot",
    "can['’]t",
    "could ?n['’o]t",
    "unable to",
    "did not",
    "not found",
    "no such",
    "not exist",
    "missing",
    "undefined",
    "unknown",
    "unresolved",
    "unrecogni",
    "unsupported",
    "unexpected",
    "invalid",
    "illegal",
    "malformed",
    "corrupt",
    "mismatch",
    "conflict",
    "violat",
    "duplicate",
    "exceed",
    "exhaust",
    "overflow",
    "out of ",
    "no space",
    "too many",
    "too large",
    r"\boom",
    "deadlock",
    "expired",
    r"(?-i:\bE(?:ACC|PERM|CONN|ADDR|NO|TIMED|PIPE|EXIST|BUSY|INVAL|HOST|RES|LIFE)[A-Z]+)",
    r"http\S* [45]\d\d\b",
    r"status\w*\W{1,4}[45]\d\d\b",
    r"\W [45]\d\d [a-z0-9]",
    r"^[45]\d\d [a-z]",
    r"exit[^0-9]{1,18}[1-9]",
    r"code\W{1,4}[1-9]",
    r"\b(?:ok|success\w*|passed|valid|healthy).?\s*[:=]\s*(?:false|0|no)\b",
    "unhealthy",
    "degraded",
    "vulnerab",
];

/// All signs together; a match says which of them it is.
static SIGN: LazyLock<Option<meta::Regex>> = LazyLock::new(|| {
    let signs: Vec<String> = SIGNS.iter().map(|sign| format!("(?i){sign}")).collect();
    meta::Regex::new_many(&signs).ok()
});
/// What says that nothing went wrong, with the same words.
static NOTHING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let word =
        r"(?:err(?:or|s)?|fail|exception|abort|crash|timeout|time.?out|conflict|missing|invalid|rejected|killed)";
    let empty = r#"(?:null|none|nil|\[\s*\]|\{\s*\}|""|''|0\b|false)"#;
    Regex::new(&format!(
        r#"(?i)[\w.-]*{word}\w*["']?\s*[:=]\s*{empty}|\b(?:0|no|zero|without)\s+(?:\w+\s+)?{word}\w*|\b(?:exit|code)\w*(?: with)?(?: code| status)?\W{{1,4}}0\b"#
    ))
    .ok()
});
/// Error messages as compilers, test runners, interpreters, loggers and records of JSON or YAML write them.
static MESSAGE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let starts = r"(?i:error|fatal|fatal error|panic|failed|failure|fail|exception|traceback|aborted)\b(?:\[[^\]]{1,40}\])?\]?\s*[:(]";
    let others =
        r"FAIL\b|FAILED\b|ERROR\b|not ok\b|Traceback \(|E\s{3}|--- FAIL|[✗✘✕×❌]|\w*(?:Error|Exception)(?::|$|\s\()";
    let begin = r#"(?:^|["|>,]|: |\\n)\s*"#;
    let within = r"\bpanicked at\b|: (?:error|fatal error|fatal)\b|\b(?:ERR!|FATAL|CRITICAL)|\s(?:ERROR|FAIL|FAILED)\b|: \*\*\* |\[(?:error|fatal|crit)\]|\*Failed\b|\b[A-Z]\w+(?:Error|Exception): ";
    let value = r"(?i:error|fatal|critical|fail\w*|err|timed?[ _]?out|unhealthy|crash\w*|abort\w*|denied|rejected)\b";
    let field = format!(
        r#"\b(?:level|severity|status|state|result|outcome|conclusion|phase|health)"?\s*[=:]\s*"?{value}|\b(?:ok|success|passed)"?\s*[=:]\s*false\b|\bis_?[eE]rror"?\s*[=:]\s*true|"(?:error|errors|exception|failure)"\s*:\s*(?:"[^"]|\[\s*[{{"]|\{{\s*")"#
    );
    // A program's name, what it did, and why that went wrong.
    let why = r#":\s[^:]{0,60}\b(?i:time-?out|timed out|denied|refused|failed|not found|unreachable|unavailable|closed|reset by peer|invalid|exceeded|no such file or directory|no space left on device|exists|mismatch|expired)\.?["']?,?$"#;
    let said = r"(?i:assertion\b.{0,80}\bfailed|exited with (?:code|status) [1-9]|command not found|no such file|permission denied|timed out|segmentation fault|out of memory|cannot find|undefined reference)";
    Regex::new(&format!(r"{begin}(?:\S+:\d+(?::\d+)?:?\s+)?(?:\[?{starts}|{others})|{within}|{field}|{why}|{said}"))
        .ok()
});
static WARNINGS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^\s*(?:\S+ )?(?i:warn|warning)\b(?:\[[^\]]{1,40}\])?\s*[: ]|: warning\b|\s(?:WARN|WARNING)\b").ok()
});
static FIELD: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"^\s*"?[\w-]+"?\s*:\s"#).ok());

/// The lines of a text that report errors, those first that say most.
pub(super) struct FlaggedLines {
    flags: Vec<ErrorFlag>,
    /// How long the text is, in bytes.
    text_bytes: usize,
}

/// A line that reports an error.
struct ErrorFlag {
    at: usize,
    /// Which of the signs it has.
    sign: usize,
    look: u64,
    /// How little it says: 0 if it is written as an error message.
    rank: u32,
    is_message: bool,
}

impl FlaggedLines {
    pub(super) fn of(kept: &KeptLines<'_>, text: &str) -> Self {
        // Short output is mostly about code, which is full of words for errors: only messages count there.
        let counts = |flag: &ErrorFlag| flag.is_message || text.len() > LARGE_BYTES;
        let mut flags: Vec<ErrorFlag> =
            (0..kept.lines().len()).filter_map(|at| flag(kept, at)).filter(counts).collect();
        let mut alike: HashMap<(usize, u64), u32> = HashMap::new();
        let mut signs = [0_u32; SIGNS.len()];
        for flag in &flags {
            *alike.entry((flag.sign, flag.look)).or_default() += 1;
            signs[flag.sign] += 1;
        }
        flags.sort_by_key(|flag| {
            let alike = alike.get(&(flag.sign, flag.look)).copied().unwrap_or(1);
            (alike.max(1).ilog2() + flag.rank, signs[flag.sign].max(1).ilog2(), flag.at)
        });
        Self { flags, text_bytes: text.len() }
    }

    /// Keeps as many of them as fit, each form once. A message is kept with the line after it, because compilers name the
    /// place there; a field with the lines before it.
    pub(super) fn keep(&self, kept: &mut KeptLines<'_>) {
        let chars_max = (self.text_bytes * FLAGGED_PERCENT / 100).clamp(FLAGGED_CHARS_MIN, FLAGGED_CHARS_MAX);
        let mut share = kept.share(chars_max);
        let (mut forms, mut misses) = (HashSet::new(), 0);
        for flag in &self.flags {
            let at = flag.at;
            if misses >= MISSES_MAX {
                return;
            }
            if !forms.insert(form(head(bare_of(kept, at), LINE_CHARS_MAX))) {
                continue;
            }
            let is_beside = |other: usize| {
                kept.lines().get(other).is_some_and(|line| !line.text.trim().is_empty() && !line.goes_on)
            };
            let around = match flag.is_message {
                true if is_match(&FIELD, kept.text(at)) => at.saturating_sub(BEFORE_FIELD_LINES)..at + 1,
                true if is_beside(at + 1) => at..at + 2,
                true | false => at..at + 1,
            };
            let fits = kept.take(&mut share, around) || kept.take(&mut share, at..at + 1);
            misses += usize::from(!fits);
        }
    }

    /// A pattern that finds those of a large text that are not shown, and how many it finds; empty if all are shown.
    pub(super) fn suggestion(&self, kept: &KeptLines<'_>) -> String {
        if self.text_bytes <= LARGE_BYTES {
            return String::new();
        }
        let mut unseen = [0_usize; SIGNS.len()];
        self.flags.iter().filter(|flag| !kept.has(flag.at)).for_each(|flag| unseen[flag.sign] += 1);
        let mut signs: Vec<usize> = (0..SIGNS.len()).filter(|sign| unseen[*sign] > 0).collect();
        // Short ones first, so that as many as possible fit.
        signs.sort_by_key(|sign| SIGNS[*sign].len());
        let (mut pattern, mut lines) = (String::new(), 0);
        for sign in signs {
            let before = if pattern.is_empty() { "(?i)" } else { "|" };
            if pattern.chars().count() + before.len() + SIGNS[sign].chars().count() <= PATTERN_CHARS_MAX {
                pattern.push_str(before);
                pattern.push_str(SIGNS[sign]);
                lines += unseen[sign];
            }
        }
        if pattern.is_empty() { pattern } else { format!("Try pattern \"{pattern}\": {lines} more") }
    }
}

/// The most that a suggestion takes.
pub(super) fn suggestion_chars_max(text: &str) -> usize {
    if text.len() > LARGE_BYTES { PATTERN_CHARS_MAX + SUGGESTION_FRAME_CHARS } else { 0 }
}

/// Keeps warnings, each form once.
pub(super) fn keep_warnings(kept: &mut KeptLines<'_>) {
    let mut share = kept.share(WARNINGS_CHARS_MAX);
    let mut forms = HashSet::new();
    for (at, line) in kept.lines().iter().enumerate() {
        let line = head(line.text, LINE_CHARS_MAX);
        let is_new = is_match(&WARNINGS, line) && forms.insert(form(line));
        if is_new && !kept.take(&mut share, at..at + 1) {
            return;
        }
    }
}

/// What a line says about an error, if it does.
fn flag(kept: &KeptLines<'_>, at: usize) -> Option<ErrorFlag> {
    let text = bare_of(kept, at);
    let signs = SIGN.as_ref()?;
    let mut found = signs.find_iter(text).peekable();
    found.peek()?;
    let nothing: Vec<_> = NOTHING.as_ref()?.find_iter(text).map(|found| found.range()).collect();
    let sign = found.find(|sign| !nothing.iter().any(|range| range.contains(&sign.start())))?;
    let (sign, is_message) = (sign.pattern().as_usize(), is_match(&MESSAGE, text));
    let rank = match text.len() {
        _ if is_message => 0,
        ..SENTENCE_BYTES_MIN => WORD_RANK,
        _ => SENTENCE_RANK,
    };
    Some(ErrorFlag { at, sign, look: look_of(text), rank, is_message })
}

/// A line without the place at which a search found it.
fn bare_of<'a>(kept: &KeptLines<'a>, at: usize) -> &'a str {
    let text = kept.text(at);
    match kept.kind() {
        ResultKind::Search => text.splitn(3, ':').nth(2).unwrap_or(text),
        ResultKind::File | ResultKind::Text | ResultKind::Output => text,
    }
}

#[cfg(test)]
pub(super) fn compile() -> bool {
    SIGN.is_some() && NOTHING.is_some() && MESSAGE.is_some() && WARNINGS.is_some() && FIELD.is_some()
}
