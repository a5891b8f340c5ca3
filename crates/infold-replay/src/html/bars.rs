//! The bar charts: what each policy costs, where the tokens went, and what folding saved.

use super::Page;
use super::hero::whole_cost;
use super::write::{escape, money, of, plain, tokens};
use crate::{Measures, Portion};

/// How many portions of the tokens get a bar of their own; the others share one.
const PORTIONS_MAX: usize = 7;

/// One bar: a name, a value, and one or two lengths in percent of the chart's width.
struct Bar<'b> {
    class: String,
    name: &'b str,
    value: String,
    length_percent: f64,
    again_percent: f64,
}

impl Bar<'_> {
    fn html(&self) -> String {
        let again = if self.again_percent > 0.05 {
            format!("<i class=\"again\" style=\"--w:{:.1}%\"></i>", self.again_percent)
        } else {
            String::new()
        };
        format!(
            "<li class=\"{}\"><span class=\"head\"><span><bdi>{}</bdi></span><span class=\"value\">{}</span></span>\
             <span class=\"track\"><i style=\"--w:{:.1}%\"></i>{again}</span></li>",
            self.class,
            escape(&plain(self.name)),
            self.value,
            self.length_percent,
        )
    }
}

/// The chart of each policy's bill, with the cost of what would be fetched again on top.
pub(super) fn costs(page: &Page<'_>) -> String {
    let rows = &page.report.policies;
    let Some(was) = rows.first() else { return String::new() };
    let most = rows.iter().map(|row| row.total.measures.adjusted).fold(1.0, f64::max);
    let mut bars = String::new();
    for (at, row) in rows.iter().enumerate() {
        let measures = &row.total.measures;
        let cost = whole_cost(was, row).map_or_else(|| tokens(measures.adjusted), money);
        let share = of(measures.adjusted, was.total.measures.adjusted);
        let bar = Bar {
            class: format!("{} {}", page.key(at), page.emphasis(at)),
            name: &row.label,
            value: format!("{cost} &nbsp; <b>{share:.0} %</b>"),
            length_percent: of(measures.billed, most),
            again_percent: of(measures.adjusted - measures.billed, most),
        };
        bars += &bar.html();
    }
    format!(
        "<section class=\"card\"><h2>What each policy costs</h2>\
         <p class=\"note\">The bill, and what fetching again would add. Amounts include both; percentages are of {}.</p>\
         <ul class=\"bars\">{bars}</ul>\
         <p class=\"key\"><span><i></i>bill</span><span><i class=\"again\"></i>fetched again</span>{}</p></section>\n",
        escape(&was.label),
        unpriced(page),
    )
}

/// A note for charts with money that does not cover all sessions; else empty.
fn unpriced(page: &Page<'_>) -> String {
    let (unpriced, all) = (page.report.unpriced_sessions, page.report.sessions.len() as u64);
    if unpriced == 0 || unpriced == all {
        return String::new();
    }
    format!("<span>Money is of {} sessions: {unpriced} used a model without a price.</span>", all - unpriced)
}

/// The chart of where the tokens went in the recorded sessions.
pub(super) fn portions(page: &Page<'_>) -> String {
    let portions = &page.report.portions;
    let all: u64 = portions.iter().map(|portion| portion.share.carried_tokens).sum();
    if all == 0 {
        return String::new();
    }
    let most = portions.first().map_or(1, |portion| portion.share.carried_tokens) as f64;
    let mut bars = String::new();
    for portion in portions.iter().take(PORTIONS_MAX) {
        let (class, name) = portion_name(&portion.portion);
        bars += &portion_bar(class, &name, portion.share.carried_tokens, all, most);
    }
    let rest: u64 = portions.iter().skip(PORTIONS_MAX).map(|portion| portion.share.carried_tokens).sum();
    if rest > 0 {
        let name = format!("{} others", portions.len() - PORTIONS_MAX);
        bars += &portion_bar("k0", &name, rest, all, most.max(rest as f64));
    }
    let once: u64 = portions.iter().map(|portion| portion.share.once_tokens).sum();
    format!(
        "<section class=\"card\"><h2>Where the tokens went</h2>\
         <p class=\"note\">Each token was sent {:.0} times on average: once when it was new, and again with every request \
         after it.</p><ul class=\"bars\">{bars}</ul></section>\n",
        all as f64 / once.max(1) as f64,
    )
}

fn portion_bar(class: &str, name: &str, carried: u64, all: u64, most: f64) -> String {
    let bar = Bar {
        class: class.to_owned(),
        name,
        value: format!("{} &nbsp; <b>{:.1} %</b>", tokens(carried as f64), of(carried as f64, all as f64)),
        length_percent: of(carried as f64, most),
        again_percent: 0.0,
    };
    bar.html()
}

fn portion_name(portion: &Portion) -> (&'static str, String) {
    match portion {
        Portion::Base => ("k0", "system prompt and tools".to_owned()),
        Portion::User => ("k3", "the user's words".to_owned()),
        Portion::Assistant => ("k4", "the model's words".to_owned()),
        Portion::Reasoning => ("k2", "reasoning".to_owned()),
        Portion::Calls => ("k6", "arguments of calls".to_owned()),
        Portion::Results(tool) if tool.is_empty() => ("k1", "results".to_owned()),
        Portion::Results(tool) => ("k1", format!("results of {tool}")),
        Portion::Summaries => ("k7", "summaries".to_owned()),
        Portion::Other => ("k0", "other".to_owned()),
    }
}

/// The chart of what the recorded sub-tasks saved; empty if there were none.
pub(super) fn folding(page: &Page<'_>) -> String {
    let Some(folding) = &page.report.folding else { return String::new() };
    let rows: [(&str, &str, &Measures); 3] = [
        ("k5", "done in the main thread", &folding.inline),
        ("k0", "folded, as it was", &folding.folded),
        ("ko ours", "folded and shaped by infold", &folding.folded_and_shaped),
    ];
    let list = |measure: fn(&Measures) -> f64| {
        let most = rows.iter().map(|(_, _, measures)| measure(measures)).fold(1.0, f64::max);
        let bars: String = rows
            .iter()
            .map(|(class, name, measures)| {
                let value = measure(measures);
                let share = of(value, measure(&folding.inline));
                let bar = Bar {
                    class: (*class).to_owned(),
                    name,
                    value: format!("{} &nbsp; <b>{share:.0} %</b>", tokens(value)),
                    length_percent: of(value, most),
                    again_percent: 0.0,
                };
                bar.html()
            })
            .collect();
        format!("<ul class=\"bars\">{bars}</ul>")
    };
    format!(
        "<section class=\"card\"><h2>What folding saves</h2><p class=\"note\">{} sub-tasks were recorded: {} tokens of work, \
         of which {} came back. Had the session done them itself, every later request would have carried them.</p>\
         <div class=\"pair\"><div><h3>Bill, with the sub-tasks' own</h3>{}</div><div><h3>Largest request, summed over sessions</h3>{}</div></div>\
         </section>\n",
        folding.subtasks,
        tokens(folding.work_tokens as f64),
        tokens(folding.returned_tokens as f64),
        list(|measures| measures.billed),
        list(|measures| measures.peak_tokens as f64),
    )
}
