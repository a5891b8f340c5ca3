//! What may stand in place of results, and which of them are too long to stay.
//!
//! Shaping fails open: without it, all stay.

use infold_core::{
    BlobId, Counter, Mentions, Scrubbed, ScrubbedSight, ShapeRules, reference_at_sight, shaped_reference,
};

use super::{ResultSource, ScrubbedResult};

/// Results up to this length are shaped where they are; longer ones would hold up other calls.
const INLINE_BYTES_MAX: usize = 65_536;

/// A result as shaping needs it.
struct ToShape {
    tool: Scrubbed,
    arguments: Scrubbed,
    content: Scrubbed,
    /// Where it would be kept.
    blob: Option<BlobId>,
}

/// What stands in place of a result, where it may have to go, and whether it is too long to stay.
type Shaped = Option<(Scrubbed, bool)>;

/// Says which results are too long to stay, and writes what stands in their place.
pub(super) async fn shape_all(
    mut all: Vec<ScrubbedResult>,
    mentions: Mentions,
    source: ResultSource,
    rules: ShapeRules,
) -> Vec<ScrubbedResult> {
    if !all.iter().any(|result| result.stand_in.is_some()) {
        return all;
    }
    let to_shape: Vec<ToShape> = all.iter().map(ToShape::of).collect();
    let bytes: usize = all.iter().map(|result| result.content.as_str().len()).sum();
    let shaped = if bytes <= INLINE_BYTES_MAX {
        shaped(&to_shape, mentions, source, rules)
    } else {
        tokio::task::spawn_blocking(move || shaped(&to_shape, mentions, source, rules)).await.unwrap_or_default()
    };
    for (result, shaped) in all.iter_mut().zip(shaped) {
        if let (Some(stand_in), Some((shaped, is_long))) = (&mut result.stand_in, shaped) {
            (stand_in.shaped, stand_in.is_long) = (shaped, is_long);
        }
    }
    all
}

impl ToShape {
    fn of(result: &ScrubbedResult) -> Self {
        Self {
            tool: result.tool.clone(),
            arguments: result.arguments.clone(),
            content: result.content.clone(),
            blob: result.stand_in.as_ref().map(|stand_in| stand_in.blob.clone()),
        }
    }

    fn shaped(&self, mentions: &Mentions, source: ResultSource, rules: &ShapeRules) -> Shaped {
        let sight = ScrubbedSight { tool: &self.tool, arguments: &self.arguments, content: &self.content };
        let blob = self.blob.as_ref()?;
        let always = || shaped_reference(&sight, blob, mentions, rules);
        match source {
            ResultSource::HandedIn => Some((always(), rules.is_over(&sight.sight()))),
            ResultSource::Request { counter, is_bounded, .. } => self
                .at_sight(&sight, mentions, rules, counter)
                .map(|shaped| (shaped, true))
                .or_else(|| is_bounded.then(|| (always(), false))),
        }
    }

    fn at_sight(
        &self,
        sight: &ScrubbedSight<'_>,
        mentions: &Mentions,
        rules: &ShapeRules,
        counter: Counter,
    ) -> Option<Scrubbed> {
        reference_at_sight(sight, self.blob.as_ref()?, mentions, rules, counter)
    }
}

/// What each result leaves behind is known to those after it.
fn shaped(all: &[ToShape], mut mentions: Mentions, source: ResultSource, rules: ShapeRules) -> Vec<Shaped> {
    let mut found = Vec::with_capacity(all.len());
    for to_shape in all {
        let shaped = to_shape.shaped(&mentions, source, &rules);
        let shown = match &shaped {
            Some((shaped, true)) => shaped.as_str(),
            Some((_, false)) | None => to_shape.content.as_str(),
        };
        mentions.show_result(to_shape.tool.as_str(), to_shape.arguments.as_str(), shown);
        found.push(shaped);
    }
    found
}
