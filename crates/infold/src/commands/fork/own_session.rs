//! Forks a session of infold's own in the store, so that the child is a session there and can go on.

use infold_core::{Principal, Refusal, SessionId};
use infold_engine::{ForkSession, ForkSource, SessionRef};

use super::{ChildStart, ForkArgs};
use crate::commands::Invocation;
use crate::failure::Refused;
use crate::parts;

/// Forks the session with the id `name`, or with the only id that begins with it, and loads what its child begins with.
pub fn fork(name: &str, args: &ForkArgs, invocation: &Invocation) -> anyhow::Result<ChildStart> {
    let absent = || {
        Refused::new(format!("there is no file and no session {name}"))
            .hint("`infold sessions` lists infold's own; name a file for any other")
    };
    if args.from.is_some() {
        return Err(Refused::new("--from is for transcripts; a session of infold's own has its own form").into());
    }
    SessionId::parse(name).map_err(|_| absent())?;
    let folder = invocation.data_folder_in_use()?.ok_or_else(absent)?;
    let mut settings = invocation.in_force.settings.clone();
    if let Some(chars) = args.budget {
        settings.fork.char_budget = chars as usize;
    }
    let engine = parts::engine(&folder, &settings)?;
    let who = Principal::local();
    let view = parts::asking_runtime()?.block_on(async {
        let session = SessionRef::Id(engine.resolve_session(&who, name).await?);
        let request = ForkSession {
            source: ForkSource::Session { session, thread: Some("main".to_owned()) },
            prompt: args.prompt.clone(),
            profile: args.profile,
            child: None,
            idempotency_key: None,
        };
        let forked = engine.fork(&who, request).await?;
        engine.fork_view(&who, &SessionRef::Id(forked.session_id)).await
    });
    let view = view.map_err(|error| match error {
        infold_engine::Error::Refused(Refusal::SessionNotFound { .. }) => absent().into(),
        other => parts::command_error(other),
    })?;
    Ok(ChildStart {
        session: Some(view.forked.session_id),
        parent: view.forked.parent,
        profile: view.forked.profile,
        preamble: view.forked.preamble,
        context: view.context,
        prompt: view.prompt,
        stats: view.forked.stats,
    })
}
