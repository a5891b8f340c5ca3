//! Decides which results are too long to be shown whole, and writes what is shown for them.

use infold_core::{BlobId, Mentions, Scrubbed, ScrubbedCall, ShapeRules, reference_if_offloaded, shaped_reference};

use super::{ResultSource, ScrubbedResult};

/// Up to this length results are shaped on the calling thread; longer ones would hold up other calls.
pub(super) const INLINE_BYTES_MAX: usize = 65_536;

/// A copy of what shaping needs of a result, so that it can go to another thread.
struct ToShape {
    tool: Scrubbed,
    arguments: Scrubbed,
    content: Scrubbed,
    /// The handle under which it would be offloaded.
    blob: Option<BlobId>,
}

/// What is shown for an offloaded result, and whether it is too long to be shown whole; `None` if it stays.
type Shaped = Option<(Scrubbed, bool)>;

/// Decides which results are too long to be shown whole, and writes what is shown for them.
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
        let call = ScrubbedCall { tool: &self.tool, arguments: &self.arguments, content: &self.content };
        let blob = self.blob.as_ref()?;
        let always = || shaped_reference(&call, blob, mentions, rules);
        match source {
            ResultSource::HandedIn => Some((always(), rules.offloads_handed_in(&call.as_plain()))),
            ResultSource::Request { counter, is_bounded, .. } => {
                let reference = reference_if_offloaded(&call, blob, mentions, rules, counter);
                reference.map(|shaped| (shaped, true)).or_else(|| is_bounded.then(|| (always(), false)))
            }
        }
    }
}

/// Shapes results in order. What is shown of each one is known when the next one is shaped.
fn shaped(all: &[ToShape], mut mentions: Mentions, source: ResultSource, rules: ShapeRules) -> Vec<Shaped> {
    let mut found = Vec::with_capacity(all.len());
    for (at, to_shape) in all.iter().enumerate() {
        let shaped = to_shape.shaped(&mentions, source, &rules);
        if at + 1 == all.len() {
            found.push(shaped);
            break;
        }
        let shown = match &shaped {
            Some((shaped, true)) => shaped.as_str(),
            Some((_, false)) | None => to_shape.content.as_str(),
        };
        mentions.show_result(to_shape.tool.as_str(), to_shape.arguments.as_str(), shown);
        found.push(shaped);
    }
    found
}
