//! What a call that takes long needs beside its answer: progress on the way, and the client's word that it no longer
//! wants the answer.

use rmcp::model::ProgressNotificationParam;

use super::ToolCall;

impl ToolCall {
    /// Waits until the client cancels the call or goes away.
    pub(crate) async fn cancelled(&self) {
        let by_request = async {
            match &self.http {
                Some(http) => http.cancelled.cancelled().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.context.ct.cancelled() => {}
            () = by_request => {}
        }
    }

    /// Whether the client asked for progress notifications.
    pub(crate) fn wants_progress(&self) -> bool {
        self.context.meta.get_progress_token().is_some()
    }

    /// Sends the client a progress notification, if it asked for them.
    pub(crate) async fn report_progress(&self, done: u64, total: u64, message: String) {
        let Some(token) = self.context.meta.get_progress_token() else {
            return;
        };
        let progress =
            ProgressNotificationParam::new(token, done as f64).with_total(total as f64).with_message(message);
        if let Err(problem) = self.context.peer.notify_progress(progress).await {
            // The client may have gone away, which sending the answer will show.
            tracing::debug!(%problem, "progress was not delivered");
        }
    }
}
