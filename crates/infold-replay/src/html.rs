//! Writes the report as one HTML page that needs no other file, no network, and nothing installed.
//!
//! Names of sessions and tools come from files that anybody may have written. Every name is escaped where it is put
//! into the page, and the page's content security policy allows no script but its own and no fetching at all.

mod bars;
mod curves;
mod hero;
mod labels;
mod plot;
mod tables;
mod write;

#[cfg(test)]
mod tests;

use crate::{Policy, Report};

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");
/// The hash of [`SCRIPT`], so that a browser runs this script and no other. A test checks it and prints the right one.
const SCRIPT_HASH: &str = "sha256-dypCBOOA0a07LLNvwo4e8Ha73XYQqG/Gj7ZlxUet78U=";

/// What all parts of the page use.
struct Page<'r> {
    report: &'r Report,
    /// The index of infold's own policy, which the page is about; `None` if it was not played.
    ours: Option<usize>,
}

impl<'r> Page<'r> {
    fn new(report: &'r Report) -> Self {
        let ours = report.policies.iter().position(|row| matches!(row.policy, Policy::Shaped { .. }));
        Self { report, ours }
    }

    /// The CSS class that gives a policy its colour, the same everywhere on the page.
    fn key(&self, policy: usize) -> String {
        if self.ours == Some(policy) { "ko".to_owned() } else { format!("k{}", policy % 8) }
    }

    /// The CSS class that emphasises infold's own policy.
    fn emphasis(&self, policy: usize) -> &'static str {
        if self.ours == Some(policy) { "ours" } else { "" }
    }
}

/// Writes the report as one self-contained HTML page.
pub fn html(report: &Report) -> String {
    let page = Page::new(report);
    let mut out = String::with_capacity(1 << 16);
    out.push_str(&format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src '{SCRIPT_HASH}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>infold replay</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n"
    ));
    for part in [
        hero::hero(&page),
        curves::section(&page),
        format!("<div class=\"pair\">{}{}</div>\n", bars::costs(&page), bars::portions(&page)),
        plot::section(&page),
        bars::folding(&page),
        tables::policies(&page),
        tables::prices(&page),
        tables::forks(&page),
        tables::sessions(&page),
        tables::skipped(&page),
        METHOD.to_owned(),
    ] {
        out.push_str(&part);
    }
    out.push_str("</main>\n");
    out.push_str(&format!("<script id=\"data\" type=\"application/json\">{}</script>\n", curves::data(&page)));
    out.push_str(&format!("<script>{SCRIPT}</script>\n</body>\n</html>\n"));
    out
}

const METHOD: &str = "<section class=\"card\"><details><summary>How this was measured</summary><dl>\
    <dt>Playing</dt><dd>Each recorded request is put together again as the policy would have sent it. What the client \
    itself did, compacting and clearing, happens under every policy. Nothing was sent to a model.</dd>\
    <dt>Bill</dt><dd>Tokens at the price of input: what stood at the front of the request before is read from the cache \
    at 0.1, the rest is written at 1.25 (OpenAI: 1), answers count 5 (OpenAI: 8).</dd>\
    <dt>Adjusted bill</dt><dd>The bill, and one more round trip for everything that the agent went on to use and that the \
    policy had taken out of sight.</dd>\
    <dt>Reference recall</dt><dd>Paths, identifiers, numbers and hashes in the arguments of calls that had occurred before: \
    the share still in sight. Far: only those last seen before the last ten results.</dd>\
    <dt>Edit lines</dt><dd>Lines of the old text of edits that had occurred before: the share still in sight, \
    verbatim.</dd>\
    <dt>Invalid reasoning</dt><dd>Requests with a signed reasoning block behind something that had changed since it was \
    signed. Newer models refuse these.</dd>\
    <dt>What it does not say</dt><dd>These figures say what was in sight, not whether a task would have succeeded. \
    Tokens are counted by a local vocabulary, fitted to what providers report.</dd></dl></details></section>\n";
