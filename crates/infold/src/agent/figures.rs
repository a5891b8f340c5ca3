//! The figures of a session, as a face shows them: from the same place as those of `infold show`.

use infold_core::Principal;
use infold_core::record::{MainFill, RequestTotals, TokenBreakdown};
use infold_core::view::RequestKind;
use infold_core::{Branch, SessionId, Thread};
use infold_engine::{Engine, RequestQuery, RequestSelection};

use crate::parts::{self, command_error};
use crate::settings::Settings;

/// How many of the latest requests are looked at for the main thread's last one.
const REQUESTS_MAX: usize = 200;

/// The figures of a session.
#[derive(Debug, Clone, Default)]
pub struct SessionFigures {
    /// How full the main thread is, as its provider reported it; `None` before its first answer.
    pub main: Option<MainFill>,
    /// What the main thread's last request was made of, by infold's count.
    pub sent: Option<TokenBreakdown>,
    /// The sums of all requests.
    pub totals: RequestTotals,
    /// Its branches, in the order in which they were opened.
    pub branches: Vec<Branch>,
    /// Tokens of work that folds have replaced, and of what replaced it.
    pub folded: (u64, u64),
}

impl SessionFigures {
    /// Loads them. A session that is new has none.
    pub async fn load(engine: &Engine, session: &SessionId, settings: &Settings) -> anyhow::Result<Self> {
        engine.flush_requests().await;
        let who = Principal::local();
        let (known, view) = match engine.listed_session(&who, session).await {
            Ok(found) => found,
            Err(infold_engine::Error::Refused(infold_core::Refusal::SessionNotFound { .. })) => {
                return Ok(Self::default());
            }
            Err(error) => return Err(command_error(error)),
        };
        let query = RequestQuery {
            session: Some(session.clone()),
            selection: RequestSelection::Newest,
            limit: REQUESTS_MAX,
        };
        let requests = engine.requests(&who, query).await.map_err(command_error)?;
        let is_main = |thread: &Thread, kind: RequestKind| *thread == Thread::Main && kind == RequestKind::Turn;
        let last = requests.iter().map(|row| &row.record).rfind(|record| is_main(&record.thread, record.kind));
        let room = parts::room(settings);
        Ok(Self {
            main: known.main(&room.windows),
            sent: last.map(|record| record.sent.clone()),
            totals: known.totals.unwrap_or_default(),
            branches: view.as_ref().map(|view| view.branches().into_iter().cloned().collect()).unwrap_or_default(),
            folded: view.as_ref().map_or((0, 0), |view| (view.session.folded_tokens, view.session.returned_tokens)),
        })
    }
}
