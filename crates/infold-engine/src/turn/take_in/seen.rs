//! Results without their secrets, with what would stand in the place of each.

use infold_core::{
    BlobId, Counter, Field, Mentions, Scrubbed, ScrubbedSight, ShapeRules, reference, reference_at_sight,
    shaped_reference,
};

use super::{FirstSeen, Offload, Shown, may_go};
use crate::results::INLINE_BYTES_MAX;
use crate::{Engine, Error, random};

/// Results shorter than this are shown or not; a reference would be longer.
const REFERENCE_BYTES_MIN: usize = 400;

/// What results are shaped by.
#[derive(Clone, Copy)]
pub(super) struct Shaping {
    pub(super) offload: Offload,
    pub(super) rules: ShapeRules,
    pub(super) counter: Counter,
    /// Whether their thread has a budget: then one may have to go that could stay otherwise.
    pub(super) bounded: bool,
}

/// A result without its secrets.
pub(super) struct Seen {
    pub(super) call_id: String,
    pub(super) tool: Scrubbed,
    pub(super) arguments: Scrubbed,
    pub(super) scrubbed_call_id: Option<Scrubbed>,
    /// All that the tool printed.
    pub(super) content: Scrubbed,
    /// What the client put behind that.
    pub(super) remarks: Scrubbed,
    /// What is shown of it if it stays.
    pub(super) stays: Shown,
    /// What may stand in its place.
    pub(super) instead: Option<Instead>,
    /// Digests of the call's id and of the result, to know both again.
    pub(super) call: [u8; 16],
    pub(super) digest: [u8; 16],
}

/// What stands in place of a result that is kept elsewhere.
pub(super) struct Instead {
    pub(super) blob: BlobId,
    /// Whether the result is too long to stay.
    pub(super) is_long: bool,
    /// With what is worth showing of it, where there is room; and without, where there is less.
    pub(super) shaped: Scrubbed,
    pub(super) reference: Scrubbed,
}

impl Engine {
    pub(super) async fn seen(
        &self,
        results: Vec<FirstSeen>,
        mentions: Mentions,
        shaping: Shaping,
    ) -> Result<Vec<Seen>, Error> {
        let mut all = Vec::with_capacity(results.len());
        for result in results {
            let goes = may_go(&result, shaping.offload);
            let mut seen = self.scrub_seen(result).await?;
            if goes && seen.content.as_str().len() > REFERENCE_BYTES_MIN {
                let blob = BlobId::mint(random()?);
                let reference = reference(&seen.tool, &seen.content, &blob);
                seen.instead = Some(Instead { blob, is_long: false, shaped: reference.clone(), reference });
            }
            all.push(seen);
        }
        Ok(shape_all(all, mentions, shaping).await)
    }

    /// Takes the secrets out of one result. Each has the scrubber's whole time, and a text that is too long
    /// for it does not get through.
    async fn scrub_seen(&self, result: FirstSeen) -> Result<Seen, Error> {
        let bytes_max = self.inner.settings.scrub.bytes_max;
        let within = |text: String| if text.len() > bytes_max { withheld(text.len(), bytes_max) } else { text };
        let (call, digest) = (digest(&[&result.call_id]), digest(&result.texts));
        let before: Vec<String> = result.texts.into_iter().collect();
        let parted = result.remarks.map(|remarks| [remarks.printed, remarks.said]);
        let tool = Field::TOOL_NAME.clean(&result.tool).unwrap_or_else(|_| "tool".to_owned());
        // What a client sends along is its own affair: an id that is none is left out, not refused.
        let call_id = Field::CALL_ID.clean(&result.call_id).ok();
        let mut texts = vec![tool, within(result.arguments), call_id.clone().unwrap_or_default()];
        texts.extend(before.iter().cloned().map(within));
        let is_parted = parted.is_some();
        texts.extend(parted.into_iter().flatten().map(within));

        let mut scrubbed = self.scrub_list(texts).await?.into_iter();
        let [tool, arguments, scrubbed_call_id] = [(); 3].map(|()| scrubbed.next().unwrap_or_default());
        let parts: Vec<Scrubbed> = scrubbed.by_ref().take(before.len()).collect();
        let stays = stays(&before, &parts);
        let (content, remarks) = match (is_parted, parts.len()) {
            (true, _) => (scrubbed.next().unwrap_or_default(), scrubbed.next().unwrap_or_default()),
            (false, 1) => (parts.into_iter().next().unwrap_or_default(), Scrubbed::default()),
            (false, _) => (Scrubbed::join(&parts.iter().collect::<Vec<_>>(), "\n"), Scrubbed::default()),
        };
        Ok(Seen {
            call_id: result.call_id,
            tool,
            arguments,
            scrubbed_call_id: call_id.map(|_| scrubbed_call_id),
            content,
            remarks,
            stays,
            instead: None,
            call,
            digest,
        })
    }
}

impl Seen {
    /// What stands in place of a result, with what the client put behind that.
    pub(super) fn with_remarks(&self, text: &Scrubbed) -> String {
        match self.remarks.as_str() {
            "" => text.as_str().to_owned(),
            remarks => format!("{}\n\n{remarks}", text.as_str()),
        }
    }
}

/// What is shown of a result that stays.
fn stays(before: &[String], parts: &[Scrubbed]) -> Shown {
    let changed = |(before, part): (&String, &Scrubbed)| (before != part.as_str()).then(|| part.as_str().to_owned());
    let parts: Vec<Option<String>> = before.iter().zip(parts).map(changed).collect();
    if parts.iter().all(Option::is_none) { Shown::AsItIs } else { Shown::Parts(parts) }
}

/// What stands in place of a text that is too long to be looked through.
pub(crate) fn withheld(bytes: usize, bytes_max: usize) -> String {
    format!(
        "[infold withheld this text: it has {bytes} bytes, and only {bytes_max} can be searched for secrets \
         (scrub.max_bytes). Ask for a part of it.]"
    )
}

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

/// Says which results are too long to stay, and writes what stands in their place. Shaping fails open:
/// without it, all stay.
async fn shape_all(mut all: Vec<Seen>, mentions: Mentions, shaping: Shaping) -> Vec<Seen> {
    if !all.iter().any(|seen| seen.instead.is_some()) {
        return all;
    }
    let to_shape: Vec<ToShape> = all.iter().map(ToShape::of).collect();
    let bytes: usize = all.iter().map(|seen| seen.content.as_str().len()).sum();
    let shaped = if bytes <= INLINE_BYTES_MAX {
        shaped(&to_shape, mentions, shaping)
    } else {
        tokio::task::spawn_blocking(move || shaped(&to_shape, mentions, shaping)).await.unwrap_or_default()
    };
    for (seen, shaped) in all.iter_mut().zip(shaped) {
        if let (Some(instead), Some((shaped, is_long))) = (&mut seen.instead, shaped) {
            (instead.shaped, instead.is_long) = (shaped, is_long);
        }
    }
    all
}

impl ToShape {
    fn of(seen: &Seen) -> Self {
        Self {
            tool: seen.tool.clone(),
            arguments: seen.arguments.clone(),
            content: seen.content.clone(),
            blob: seen.instead.as_ref().map(|instead| instead.blob.clone()),
        }
    }

    fn shaped(&self, mentions: &Mentions, shaping: Shaping) -> Shaped {
        let sight = ScrubbedSight { tool: &self.tool, arguments: &self.arguments, content: &self.content };
        let blob = self.blob.as_ref()?;
        match reference_at_sight(&sight, blob, mentions, &shaping.rules, shaping.counter) {
            Some(shaped) => Some((shaped, true)),
            None => shaping.bounded.then(|| (shaped_reference(&sight, blob, mentions, &shaping.rules), false)),
        }
    }
}

/// What each result leaves behind is known to those after it.
fn shaped(all: &[ToShape], mut mentions: Mentions, shaping: Shaping) -> Vec<Shaped> {
    let mut found = Vec::with_capacity(all.len());
    for to_shape in all {
        let shaped = to_shape.shaped(&mentions, shaping);
        let shown = match &shaped {
            Some((shaped, true)) => shaped.as_str(),
            Some((_, false)) | None => to_shape.content.as_str(),
        };
        mentions.show_result(to_shape.tool.as_str(), to_shape.arguments.as_str(), shown);
        found.push(shaped);
    }
    found
}

/// A digest of texts that tells where each ends.
fn digest<T: AsRef<str>>(texts: &[T]) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    for text in texts {
        let text = text.as_ref();
        hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
    }
    let mut digest = [0; 16];
    hasher.finalize_xof().fill(&mut digest);
    digest
}
