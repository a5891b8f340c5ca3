//! The tables of the page: policies, prices, forks, sessions, and what was left out.

use super::Page;
use super::curves::drawn;
use infold_core::grouped;

use super::write::{escape, money, of, percent, plain, tokens};
use crate::{PolicyOutcome, SessionReport};

/// The heads of a table that can be sorted; columns of text are aligned to the left.
fn heads(names: &[&str]) -> String {
    let head = |name: &&str| {
        let class = if TEXT_HEADS.contains(name) { "text" } else { "" };
        format!("<th scope=\"col\" class=\"{class}\" aria-sort=\"none\"><button type=\"button\">{name}</button></th>")
    };
    names.iter().map(head).collect()
}

const TEXT_HEADS: [&str; 2] = ["client", "model"];

fn cell(value: f64, shown: &str) -> String {
    format!("<td data-value=\"{value}\">{shown}</td>")
}

fn maybe(value: Option<f64>, shown: String) -> String {
    value.map_or_else(|| "<td data-value=\"-1\">–</td>".to_owned(), |value| cell(value, &shown))
}

/// The table of every measure of every policy.
pub(super) fn policies(page: &Page<'_>) -> String {
    let Some(was) = page.report.policies.first() else { return String::new() };
    let was = &was.total.measures;
    let has_cost = page.report.policies.iter().any(|row| row.total.cost.is_some());
    let mut rows = String::new();
    for (at, row) in page.report.policies.iter().enumerate() {
        let it = &row.total.measures;
        let share = |part: f64, whole: f64| cell(of(part, whole), &format!("{:.0}", of(part, whole)));
        rows += &format!("<tr class=\"{}\"><th scope=\"row\">{}</th>", page.emphasis(at), escape(&row.label));
        rows += &share(it.peak_tokens as f64, was.peak_tokens as f64);
        rows += &share(it.prompt_tokens as f64, was.prompt_tokens as f64);
        rows += &share(it.billed, was.billed);
        rows += &share(it.adjusted, was.adjusted);
        if has_cost {
            rows += &maybe(row.total.cost, row.total.cost.map_or_else(String::new, money));
        }
        rows += &cell(it.cache_read_tokens as f64, &tokens(it.cache_read_tokens as f64));
        rows += &cell(it.cache_write_tokens as f64, &tokens(it.cache_write_tokens as f64));
        for recall in [it.recall_percent(), it.far_recall_percent(), it.line_recall_percent()] {
            rows += &maybe(recall, percent(recall));
        }
        rows += &cell(it.fetches as f64, &grouped(it.fetches));
        rows += &cell(it.invalid_reasoning_requests as f64, &grouped(it.invalid_reasoning_requests));
        rows += "</tr>";
    }
    let mut names = vec!["policy", "peak", "sent", "bill", "adjusted"];
    names.extend(has_cost.then_some("cost of the bill"));
    names.extend(["cache reads", "cache writes", "recall", "far", "edit lines", "fetches", "invalid reasoning"]);
    format!(
        "<section class=\"card\"><h2>Policies</h2><p class=\"note\">Peak, sent, bill and adjusted in percent of the first \
         row; recall in percent. Choose a heading to sort by it.</p><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table class=\"sortable\"><thead><tr>{}</tr></thead><tbody>{rows}</tbody></table></div></section>\n",
        heads(&names),
    )
}

/// The table of what all sessions would cost at each known price.
pub(super) fn prices(page: &Page<'_>) -> String {
    let prices = &page.report.prices;
    if prices.is_empty() {
        return String::new();
    }
    let mut head = String::from("<th scope=\"col\">price of</th>");
    for row in &page.report.policies {
        head += &format!("<th scope=\"col\">{}</th>", escape(&row.label));
    }
    let mut rows = String::new();
    for (at, price) in prices.iter().enumerate() {
        rows += &format!("<tr><th scope=\"row\"><bdi>{}</bdi></th>", escape(&plain(&price.model)));
        for row in &page.report.policies {
            rows += &row.cost_at.get(at).map_or_else(|| "<td>–</td>".to_owned(), |&cost| cell(cost, &money(cost)));
        }
        rows += "</tr>";
    }
    format!(
        "<section class=\"card\"><h2>At every price</h2><p class=\"note\">All sessions, had they been paid at each price of the \
         table. Tokens are those of the models that were used.</p><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table><thead><tr>{head}</tr></thead>\
         <tbody>{rows}</tbody></table></div></section>\n"
    )
}

/// The table of how forks did; empty if forks were not measured.
pub(super) fn forks(page: &Page<'_>) -> String {
    let Some(forks) = &page.report.forks else { return String::new() };
    let mut rows = String::new();
    for row in &forks.rows {
        rows += &format!("<tr><th scope=\"row\">{}</th>", escape(&row.label));
        rows += &cell(row.tokens, &tokens(row.tokens));
        rows += &cell(row.recall_percent, &percent(Some(row.recall_percent)));
        rows += &cell(row.line_recall_percent, &percent(Some(row.line_recall_percent)));
        rows += "</tr>";
    }
    format!(
        "<section class=\"card\"><h2>Forks</h2><p class=\"note\">A child forked at {} places: the size of its context, and how \
         much of what the next ten calls used was in it, in percent.</p><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table class=\"sortable\"><thead><tr>{}</tr></thead>\
         <tbody>{rows}</tbody></table></div></section>\n",
        grouped(forks.cuts),
        heads(&["fork", "tokens", "recall of 10 calls", "edit lines"]),
    )
}

/// The table with a row for each session.
pub(super) fn sessions(page: &Page<'_>) -> String {
    let drawn = drawn(page);
    let mut rows = String::new();
    for (at, session) in page.report.sessions.iter().enumerate() {
        let chart = drawn.iter().position(|(place, _)| *place == at);
        rows += &session_row(page, session, chart);
    }
    format!(
        "<section class=\"card\"><h2>Sessions</h2><p class=\"note\">Choose a name to see it over time. Saved is of the \
         adjusted bill.</p><div class=\"scroll tall\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table class=\"sortable\"><thead><tr>{}</tr></thead><tbody>{rows}</tbody></table></div></section>\n",
        heads(&[
            "session",
            "client",
            "model",
            "requests",
            "peak",
            "peak, infold",
            "bill",
            "adjusted, infold",
            "saved",
            "recall",
            "edit lines",
        ]),
    )
}

fn session_row(page: &Page<'_>, session: &SessionReport, chart: Option<usize>) -> String {
    let name = escape(&plain(&session.name));
    let name = match chart {
        Some(at) => format!(
            "<button type=\"button\" class=\"name\" data-session=\"{at}\" title=\"{name}\"><bdi>{name}</bdi></button>"
        ),
        None => format!("<span class=\"name\" title=\"{name}\"><bdi>{name}</bdi></span>"),
    };
    let mut row = format!(
        "<tr><th scope=\"row\">{name}</th><td class=\"text\">{}</td><td class=\"text\"><bdi>{}</bdi></td>",
        escape(&session.client),
        escape(&plain(&session.model)),
    );
    let nothing = PolicyOutcome::default();
    let was = &session.outcomes.first().unwrap_or(&nothing).measures;
    let ours = &page.ours.and_then(|at| session.outcomes.get(at)).unwrap_or(&nothing).measures;
    row += &cell(was.requests as f64, &grouped(was.requests));
    for tokens_of in [was.peak_tokens as f64, ours.peak_tokens as f64, was.billed, ours.adjusted] {
        row += &cell(tokens_of, &tokens(tokens_of));
    }
    let saved = 100.0 - of(ours.adjusted, was.adjusted);
    let class = if saved >= 0.0 { "good" } else { "bad" };
    row += &format!("<td data-value=\"{saved}\" class=\"{class}\">{saved:.0} %</td>");
    for recall in [ours.recall_percent(), ours.line_recall_percent()] {
        row += &maybe(recall, percent(recall));
    }
    row + "</tr>"
}

/// The table of what could not be replayed, and why; empty if everything could.
pub(super) fn skipped(page: &Page<'_>) -> String {
    let skipped = &page.report.skipped;
    if skipped.is_empty() {
        return String::new();
    }
    let rows: String = skipped
        .iter()
        .map(|skipped| {
            let (name, reason) = (escape(&plain(&skipped.name)), escape(&plain(&skipped.reason)));
            format!("<tr><th scope=\"row\"><span class=\"name\" title=\"{name}\"><bdi>{name}</bdi></span></th><td class=\"text\">{reason}</td></tr>")
        })
        .collect();
    format!(
        "<section class=\"card\"><h2>Left out</h2><div class=\"scroll tall\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table><thead><tr><th scope=\"col\">file</th>\
         <th scope=\"col\" class=\"text\">why</th></tr></thead><tbody>{rows}</tbody></table></div></section>\n"
    )
}
