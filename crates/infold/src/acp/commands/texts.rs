//! What commands say: Markdown, from the same figures as `infold show`.

use infold_core::grouped;
use infold_core::record::TokenBreakdown;

use crate::agent::{Conversation, WentBack};
use crate::draw::{money, one_line};

/// Points that are listed, the newest.
const POINTS_MAX: usize = 30;
/// Characters of what was said at a point.
const WORDS_CHARS_MAX: usize = 80;

/// What fills the context.
pub async fn context(conversation: &Conversation) -> anyhow::Result<String> {
    let figures = conversation.figures().await?;
    let Some(main) = &figures.main else { return Ok("Nothing was sent to a model yet.".to_owned()) };
    let percent = (main.tokens * 100).checked_div(main.window_tokens).unwrap_or_default();
    let (used, window) = (grouped(main.tokens), grouped(main.window_tokens));
    let mut text = format!("**{used} of {window} tokens ({percent} %)**, as the provider counts them.\n");
    if let Some(sent) = &figures.sent {
        text.push_str("\nThe last request, by infold's count:\n\n");
        parts(sent).into_iter().filter(|(_, tokens)| *tokens > 0).for_each(|(name, tokens)| {
            text.push_str(&format!("- {name}: {}\n", grouped(tokens)));
        });
    }
    let (folded, returned) = figures.folded;
    if !figures.branches.is_empty() {
        let (count, folded, returned) = (figures.branches.len(), grouped(folded), grouped(returned));
        text.push_str(&format!("\n{count} branches: {folded} tokens of work were folded into {returned}.\n"));
    }
    Ok(text)
}

fn parts(sent: &TokenBreakdown) -> Vec<(&'static str, u64)> {
    let sum = |named: &[infold_core::record::NamedTokens]| named.iter().map(|part| part.tokens).sum();
    vec![
        ("instructions", sent.system_tokens),
        ("definitions of tools", sum(&sent.tools)),
        ("your words and the agent's", sent.user_tokens),
        ("the model's words", sent.assistant_tokens),
        ("calls", sent.call_tokens),
        ("results", sum(&sent.results)),
        ("reasoning", sent.reasoning_tokens),
        ("other", sent.other_tokens),
    ]
}

/// What the session cost.
pub async fn cost(conversation: &Conversation) -> anyhow::Result<String> {
    let totals = conversation.figures().await?.totals;
    if totals.requests == 0 {
        return Ok("Nothing was sent to a model yet.".to_owned());
    }
    let usage = totals.usage;
    let mut text = format!(
        "{} requests: {} input tokens, {} of them cached, {} output tokens.",
        grouped(totals.requests),
        grouped(usage.prompt_tokens()),
        grouped(usage.cache_read_tokens),
        grouped(usage.output_tokens)
    );
    if totals.priced > 0 {
        text.push_str(&format!(" About {}.", money(totals.cost_micros)));
    }
    Ok(text)
}

/// The points that the session can go back to.
pub async fn points(conversation: &Conversation) -> anyhow::Result<String> {
    if conversation.agent()?.session().records == 0 {
        return Ok("Nothing was said yet.".to_owned());
    }
    let points = conversation.log().await?.points();
    let left_out = points.len().saturating_sub(POINTS_MAX);
    let mut text = "`/rewind N` goes back to one of these, with the files that the agent wrote since:\n\n".to_owned();
    if left_out > 0 {
        text.push_str(&format!("({left_out} before these)\n\n"));
    }
    for point in points.iter().skip(left_out) {
        let words: String = one_line(&point.words).chars().take(WORDS_CHARS_MAX).collect();
        text.push_str(&format!("- `{}` {}: {words}\n", point.record, point.kind.word()));
    }
    Ok(text)
}

/// What going back did.
pub fn went_back(went: &WentBack) -> String {
    let mut text = format!("The session is back at record {}: what came behind it is no longer part of it", went.to);
    text.push_str(", though the editor may still show it.\n");
    went.files.iter().for_each(|file| text.push_str(&format!("- put back `{file}`\n")));
    went.branches.iter().for_each(|branch| text.push_str(&format!("- closed branch `{branch}`\n")));
    text
}
