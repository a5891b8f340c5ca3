//! What becomes of a tool's text that cannot be searched for secrets to its end: it is withheld as a whole, a text in
//! its place says so, and the session goes on. Otherwise every later request of the session would be refused, because
//! its client sends the text again each time.
//!
//! Operations that a caller can repeat in another form do not come here: they fail.

use infold_core::{ScrubError, Scrubbed, withheld};

use crate::Engine;

impl Engine {
    /// Takes the secrets out of texts. In the place of one that cannot be searched is what says so. It fails only if
    /// there is no scrubber.
    pub(crate) async fn scrub_or_withhold(&self, texts: Vec<String>) -> Result<Vec<Scrubbed>, ScrubError> {
        let bytes_max = self.inner.settings.scrub.bytes_max;
        if texts.iter().all(|text| text.len() <= bytes_max) {
            match self.scrub_list(texts.clone()).await {
                Err(error) if error != ScrubError::Missing => {}
                scrubbed => return scrubbed,
            }
        }
        self.scrub_each_or_withhold(texts).await
    }

    /// The same for the parts of one result: a secret may begin in one part and end in another. If they cannot be
    /// searched together, each is searched by itself.
    pub(crate) async fn scrub_parts_or_withhold(&self, parts: Vec<String>) -> Result<Vec<Scrubbed>, ScrubError> {
        match self.scrub_parts(parts.clone()).await {
            Err(error) if error != ScrubError::Missing => self.scrub_each_or_withhold(parts).await,
            scrubbed => scrubbed,
        }
    }

    /// If one of several texts is the cause of a failure, the others need not suffer for it.
    async fn scrub_each_or_withhold(&self, texts: Vec<String>) -> Result<Vec<Scrubbed>, ScrubError> {
        let mut scrubbed = Vec::with_capacity(texts.len());
        for text in texts {
            let bytes = text.len();
            scrubbed.push(match self.scrub([text]).await {
                Ok([text]) => text,
                Err(ScrubError::Missing) => return Err(ScrubError::Missing),
                Err(error) => {
                    tracing::warn!(bytes, %error, "a text is withheld");
                    withheld(bytes, &error)
                }
            });
        }
        Ok(scrubbed)
    }
}

#[cfg(test)]
mod tests;
