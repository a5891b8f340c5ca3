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
    /// searched together, each is searched by itself, and so is the text around each cut; two parts are withheld if
    /// something is hidden there.
    pub(crate) async fn scrub_parts_or_withhold(&self, parts: Vec<String>) -> Result<Vec<Scrubbed>, ScrubError> {
        let error = match self.scrub_parts(parts.clone()).await {
            Err(error) if error != ScrubError::Missing => error,
            scrubbed => return scrubbed,
        };
        let mut scrubbed = self.scrub_each_or_withhold(parts.clone()).await?;
        for (at, pair) in parts.windows(2).enumerate() {
            if self.hides_across(&pair[0], &pair[1]).await {
                scrubbed[at] = withheld(pair[0].len(), &error);
                scrubbed[at + 1] = withheld(pair[1].len(), &error);
            }
        }
        Ok(scrubbed)
    }

    /// Whether a secret may begin in one text and end in the next.
    async fn hides_across(&self, first: &str, second: &str) -> bool {
        const AROUND_BYTES_MAX: usize = 16 << 10;
        let around_bytes = AROUND_BYTES_MAX.min(self.inner.settings.scrub.bytes_max / 2);
        let end = &first[first.ceil_char_boundary(first.len().saturating_sub(around_bytes))..];
        let start = &second[..second.floor_char_boundary(around_bytes)];
        let together = self.scrub_parts(vec![end.to_owned(), start.to_owned()]).await;
        let apart = self.scrub([end.to_owned(), start.to_owned()]).await;
        match (together, apart) {
            (Ok(together), Ok(apart)) => together[..] != apart[..],
            _ => true,
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
