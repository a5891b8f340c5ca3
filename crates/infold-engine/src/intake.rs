//! Takes results in, wherever they come from: takes secrets out, writes a stand-in for each, and decides by the room in
//! the thread what is shown. Turns, rescues and the results API all use this.
//!
//! Shaping fails open: if it fails, all results are shown whole.

mod relayed;
mod shaping;

use infold_core::view::{Reason, reads_back};
use infold_core::{
    BlobId, Command, Counter, Field, Mentions, Operation, ScrubError, Scrubbed, Thread, ToolEffect, reference,
};
use infold_store::NewBlob;

use crate::{Engine, Error, random};

pub(crate) use relayed::{CallWords, ScrubbedRelay};

/// Shorter results get no reference in a request, because the reference would be longer.
const REFERENCE_BYTES_MIN: usize = 401;

/// A result that was not seen before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NewResult {
    /// The id of the call that gave it; empty if there is none.
    pub(crate) call_id: String,
    /// The tool's name, as the client spells it.
    pub(crate) tool: String,
    /// The arguments of the call, as JSON.
    pub(crate) arguments: String,
    /// The text parts of the result, decoded, in order.
    pub(crate) texts: Vec<String>,
    /// What the client put into the result behind what the tool printed. It is shown whatever becomes of the rest.
    pub(crate) remarks: Option<Remarks>,
    /// Whether the result holds nothing but text. Anything else, such as an image, could not be read back by a handle,
    /// so a result with it is never offloaded.
    pub(crate) is_all_text: bool,
}

/// A result divided into what the tool printed and what the client put behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remarks {
    pub(crate) printed: String,
    pub(crate) said: String,
}

/// Where results come from, and what follows from that.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ResultSource {
    /// They are part of a request. A text that cannot be searched for secrets is withheld.
    Request {
        offload: Offload,
        counter: Counter,
        /// Whether their thread has a budget. If so, a result may have to be offloaded that would otherwise stay.
        is_bounded: bool,
    },
    /// A caller hands them in, and can put right what is wrong with them.
    HandedIn,
}

/// Whether long results may be offloaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offload {
    /// They may: the model can call `read_result`.
    Allowed,
    /// They may, and are sooner than usual: their thread has little room left.
    Tight,
    /// They may not, because the model could not read them back.
    No,
}

/// What is sent of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ShownResult {
    /// The result as the client sent it.
    AsItIs,
    /// The result's text parts without secrets; `None` for a part that is unchanged.
    Parts(Vec<Option<Scrubbed>>),
    /// One text in place of the whole result, which is offloaded under this handle.
    Reference { text: String, blob: BlobId },
}

impl ShownResult {
    /// Why something other than the client's result is sent.
    pub(crate) fn reason(&self) -> Option<Reason> {
        match self {
            Self::AsItIs => None,
            Self::Parts(_) => Some(Reason::Scrubbed),
            Self::Reference { .. } => Some(Reason::Offloaded),
        }
    }
}

/// A result without its secrets.
pub(crate) struct ScrubbedResult {
    /// The id of the call as the client sent it. The scrubbed id is `None` if that is no proper id.
    pub(crate) call_id: String,
    scrubbed_call_id: Option<Scrubbed>,
    pub(crate) tool: Scrubbed,
    pub(crate) arguments: Scrubbed,
    /// Everything that the tool printed.
    pub(crate) content: Scrubbed,
    /// What the client put behind what the tool printed.
    pub(crate) remarks: Scrubbed,
    /// What is sent if the result is not offloaded.
    pub(crate) stays: ShownResult,
    /// What replaces the result if it is offloaded; `None` if it may not be.
    pub(crate) stand_in: Option<StandIn>,
    /// A digest of the call's id, to recognise it later.
    pub(crate) call: [u8; 16],
    /// A digest of the texts as they came; `None` if the content is to be recognised as it is.
    came_as: Option<[u8; 16]>,
}

/// What replaces a result that is offloaded.
pub(crate) struct StandIn {
    pub(crate) blob: BlobId,
    /// Whether the result is too long to be shown whole.
    is_long: bool,
    /// The reference with the parts of the result that are worth showing, and the bare reference for when there is less
    /// room.
    pub(crate) shaped: Scrubbed,
    pub(crate) reference: Scrubbed,
}

/// What is shown of a result in its thread.
pub(crate) struct Placement<'r> {
    pub(crate) text: &'r Scrubbed,
    /// The stand-in, if the result is offloaded.
    pub(crate) stand_in: Option<&'r StandIn>,
}

impl Engine {
    /// Takes the secrets out of results, and writes a stand-in for each. `mentions` is what their thread has said and
    /// shown before them.
    pub(crate) async fn scrub_results(
        &self,
        results: Vec<NewResult>,
        mentions: Mentions,
        source: ResultSource,
    ) -> Result<Vec<ScrubbedResult>, Error> {
        let mut all = Vec::with_capacity(results.len());
        for new in results {
            let (may_go, bytes_min) = match source {
                ResultSource::Request { offload, .. } => (offload != Offload::No && new.can_go(), REFERENCE_BYTES_MIN),
                ResultSource::HandedIn => (true, 0),
            };
            let mut result = self.scrub_result(new, source).await?;
            if may_go && result.content.as_str().len() >= bytes_min {
                let blob = BlobId::mint(random()?);
                let reference = reference(&result.tool, &result.content, &blob);
                result.stand_in = Some(StandIn { blob, is_long: false, shaped: reference.clone(), reference });
            }
            all.push(result);
        }
        let rules = match source {
            ResultSource::Request { offload: Offload::Tight, .. } => self.inner.settings.shape.tight(),
            ResultSource::Request { .. } | ResultSource::HandedIn => self.inner.settings.shape,
        };
        Ok(shaping::shape_all(all, mentions, source, rules).await)
    }

    /// Takes the secrets out of one result. Each result has the scrubber's whole time.
    async fn scrub_result(&self, new: NewResult, source: ResultSource) -> Result<ScrubbedResult, ScrubError> {
        let (call, came_as) = (digest(&[&new.call_id]), Some(digest(&new.texts)));
        let parted = new.remarks.map(|remarks| [remarks.printed, remarks.said]);
        let tool = Field::TOOL_NAME.clean(&new.tool).unwrap_or_else(|_| "tool".to_owned());
        // A client may send any id along: an improper one is left out, not refused.
        let call_id = Field::CALL_ID.clean(&new.call_id).ok();
        let mut texts = vec![tool, new.arguments, call_id.clone().unwrap_or_default()];
        let is_parted = parted.is_some();
        texts.extend(parted.into_iter().flatten());

        let (scrubbed, parts) = match source {
            ResultSource::Request { .. } => {
                (self.scrub_or_withhold(texts).await?, self.scrub_parts_or_withhold(new.texts.clone()).await?)
            }
            ResultSource::HandedIn => (self.scrub_list(texts).await?, self.scrub_parts(new.texts.clone()).await?),
        };
        let mut scrubbed = scrubbed.into_iter();
        let [tool, arguments, scrubbed_call_id] = [(); 3].map(|()| scrubbed.next().unwrap_or_default());
        let stays = stays(&new.texts, &parts);
        let (content, remarks) = match (is_parted, parts.len()) {
            (true, _) => (scrubbed.next().unwrap_or_default(), scrubbed.next().unwrap_or_default()),
            (false, 1) => (parts.into_iter().next().unwrap_or_default(), Scrubbed::default()),
            (false, _) => (Scrubbed::join(&parts.iter().collect::<Vec<_>>(), "\n"), Scrubbed::default()),
        };
        let scrubbed_call_id = call_id.map(|_| scrubbed_call_id);
        let (call_id, stand_in) = (new.call_id, None);
        Ok(ScrubbedResult {
            call_id,
            scrubbed_call_id,
            tool,
            arguments,
            content,
            remarks,
            stays,
            stand_in,
            call,
            came_as,
        })
    }
}

impl NewResult {
    /// Whether the result could be read back if it were offloaded. Results of infold's own tools are not offloaded.
    pub(crate) fn can_go(&self) -> bool {
        self.is_all_text && can_be_read_back(&self.tool, &self.arguments)
    }
}

impl ScrubbedResult {
    /// A digest of the result, to recognise it later.
    pub(crate) fn digest(&self) -> [u8; 16] {
        self.came_as.unwrap_or_else(|| digest(&[self.content.as_str()]))
    }

    /// Decides what is shown of the result; `fits` says what there is room for. It is the longest text that has room,
    /// if that is shorter than the result itself. What does not fit is stored in any case: if even its reference is too
    /// long, its branch folds, and the partial result says where to read on.
    pub(crate) fn place(&self, fits: impl Fn(&Scrubbed) -> bool) -> Placement<'_> {
        let is_shorter = |text: &Scrubbed| text.as_str().len() < self.content.as_str().len();
        let stand_in = self.stand_in.as_ref().filter(|stand_in| stand_in.is_long || !fits(&self.content));
        let text = match stand_in {
            Some(stand_in) if is_shorter(&stand_in.shaped) && fits(&stand_in.shaped) => &stand_in.shaped,
            Some(stand_in) if stand_in.is_long || is_shorter(&stand_in.reference) => &stand_in.reference,
            Some(_) | None => &self.content,
        };
        Placement { text, stand_in }
    }

    /// The command that records the result in its thread, and the blob if it is offloaded.
    pub(crate) fn recorded(
        &self,
        placement: &Placement<'_>,
        thread: &Thread,
        tokens: u64,
    ) -> (Command, Option<NewBlob>) {
        let operation = Operation {
            tool: self.tool.clone(),
            call_id: self.scrubbed_call_id.clone(),
            arguments: self.arguments.clone(),
            result: placement.text.clone(),
            blob: placement.stand_in.map(|stand_in| stand_in.blob.clone()),
            tokens,
        };
        let blob = placement.stand_in.map(|stand_in| self.blob(&stand_in.blob, thread));
        (Command::Observe { thread: Some(thread.clone()), operation: Box::new(operation) }, blob)
    }

    /// The whole result, to be stored under a handle.
    pub(crate) fn blob(&self, id: &BlobId, thread: &Thread) -> NewBlob {
        NewBlob {
            id: id.clone(),
            tool_name: self.tool.clone(),
            content: self.content.clone(),
            branch: thread.branch().cloned(),
        }
    }

    /// A text that replaces the result, followed by what the client put behind it.
    pub(crate) fn with_remarks(&self, text: &Scrubbed) -> String {
        match self.remarks.as_str() {
            "" => text.as_str().to_owned(),
            remarks => format!("{}\n\n{remarks}", text.as_str()),
        }
    }
}

/// Whether a text that a call gave could be read back if it were offloaded.
fn can_be_read_back(tool: &str, arguments: &str) -> bool {
    ToolEffect::of(tool).is_none() && !reads_back(tool, arguments)
}

/// What is sent of a result that is not offloaded.
fn stays(before: &[String], parts: &[Scrubbed]) -> ShownResult {
    let changed = |(before, part): (&String, &Scrubbed)| (before != part.as_str()).then(|| part.clone());
    let parts: Vec<Option<Scrubbed>> = before.iter().zip(parts).map(changed).collect();
    if parts.iter().all(Option::is_none) { ShownResult::AsItIs } else { ShownResult::Parts(parts) }
}

/// A digest of several texts that also depends on where each of them ends.
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
