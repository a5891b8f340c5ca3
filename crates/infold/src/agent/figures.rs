//! The figures of a session, as a face shows them: from the same place as those of `infold show`.

use infold_core::Principal;
use infold_core::record::{MainFill, NamedTokens, RequestTotals, TokenBreakdown};
use infold_core::view::RequestKind;
use infold_core::{Branch, SessionId, Thread};
use infold_engine::{Engine, RequestQuery, RequestSelection};

use crate::draw::{money, thousands};
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
        let query =
            RequestQuery { session: Some(session.clone()), selection: RequestSelection::Newest, limit: REQUESTS_MAX };
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

/// A component of a prompt: its letter, its name, and what it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Component {
    /// The letter in bars.
    pub letter: char,
    /// The name.
    pub name: &'static str,
    /// The tokens.
    pub tokens: u64,
}

/// The components of a prompt, in the order in which it has them.
pub fn components(sent: &TokenBreakdown) -> [Component; 8] {
    let sum = |named: &[NamedTokens]| named.iter().map(|named| named.tokens).sum();
    let component = |letter, name, tokens| Component { letter, name, tokens };
    [
        component('s', "system", sent.system_tokens),
        component('t', "tools", sum(&sent.tools)),
        component('u', "your words", sent.user_tokens),
        component('a', "answers", sent.assistant_tokens),
        component('c', "calls", sent.call_tokens),
        component('r', "results", sum(&sent.results)),
        component('h', "reasoning", sent.reasoning_tokens),
        component('o', "other", sent.other_tokens),
    ]
}

impl SessionFigures {
    /// How full the context is: tokens, window, percent; `None` before the first answer.
    pub fn fill(&self) -> Option<(u64, u64, u64)> {
        let main = self.main.as_ref()?;
        let percent = main.tokens.saturating_mul(100) / main.window_tokens.max(1);
        Some((main.tokens, main.window_tokens, percent))
    }

    /// What `/context` says.
    pub fn context_words(&self) -> String {
        let (Some((tokens, window, percent)), Some(sent)) = (self.fill(), &self.sent) else {
            return "nothing was sent yet".to_owned();
        };
        let model = self.main.as_ref().map_or("", |main| main.model.as_str());
        let mut words =
            format!("context: {} of {} tokens ({percent} %), {model}\n", thousands(tokens), thousands(window));
        for component in components(sent).iter().filter(|component| component.tokens > 0) {
            words.push_str(&format!(
                "  {} {:<12}{:>10}\n",
                component.letter,
                component.name,
                thousands(component.tokens)
            ));
        }
        words.push_str(&format!(
            "    {:<12}{:>10}  in the last request, by infold's count\n",
            "together",
            thousands(sent.total_tokens())
        ));
        let (folded, returned) = self.folded;
        if folded > 0 {
            words.push_str(&format!(
                "folded: {} tokens of work replaced by {}\n",
                thousands(folded),
                thousands(returned)
            ));
        }
        words
    }

    /// What `/cost` says.
    pub fn cost_words(&self) -> String {
        let totals = &self.totals;
        let usage = &totals.usage;
        let input = usage.prompt_tokens();
        let cached = (usage.cache_read_tokens * 100).checked_div(input).unwrap_or(0);
        let mut words = format!(
            "{} requests: {} input tokens ({cached} % cached), {} output tokens\n",
            thousands(totals.requests),
            thousands(input),
            thousands(usage.output_tokens)
        );
        match totals.priced {
            0 => words.push_str("the model has no price: set one in [prices]\n"),
            _ => words.push_str(&format!("{} so far\n", money(totals.cost_micros))),
        }
        words
    }
}
