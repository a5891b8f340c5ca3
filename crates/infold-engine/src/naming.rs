//! How callers name sessions, in the store's terms, and sessions that begin because somebody named them.

use infold_core::{Owner, ProjectHash, Refusal, Session, SessionId};
use infold_store::{Loaded, ProjectSlot, SessionKey, Target};

use crate::change::ChangeTarget;
use crate::{Failure, SessionRef, random};

/// Refuses a session that is named together with a project and belongs to another project.
pub(crate) fn check_project(named: &SessionRef, found: &Session) -> Result<(), Refusal> {
    let SessionRef::Project { path, session: Some(id) } = named else { return Ok(()) };
    let is_anothers = found.project.as_ref().is_some_and(|project| *project != ProjectHash::of(path));
    if is_anothers { Err(Refusal::SessionNotFound { session: id.to_string() }) } else { Ok(()) }
}

/// Translates a caller's way of naming a session into the store's.
pub(crate) fn store_target(owner: &Owner, target: &ChangeTarget) -> Target {
    let by_id = |id: &SessionId| Target::Session(SessionKey { owner: owner.clone(), id: id.clone() });
    match target {
        ChangeTarget::Session(SessionRef::Id(id)) => by_id(id),
        ChangeTarget::Session(SessionRef::Project { session: Some(id), .. }) => by_id(id),
        ChangeTarget::Session(SessionRef::Project { path, session: None }) => {
            Target::Project(owner.clone(), ProjectHash::of(path))
        }
        ChangeTarget::Branch(branch) => Target::Branch(owner.clone(), branch.clone()),
    }
}

/// A session that is about to start, in the form of a loaded one.
pub(crate) fn fresh(session: Session) -> Loaded {
    Loaded { session, rate_mark_ms: None, reply: None, counted: Vec::new() }
}

pub(crate) fn new_session(owner: &Owner, session: &SessionRef, now_ms: u64) -> Result<(Session, ProjectSlot), Failure> {
    let (id, project, place) = match session {
        SessionRef::Id(id) => (id.clone(), None, ProjectSlot::Any),
        SessionRef::Project { path, session: Some(id) } => (id.clone(), Some(path), ProjectSlot::Any),
        SessionRef::Project { path, session: None } => (SessionId::mint(random()?), Some(path), ProjectSlot::Current),
    };
    let mut session = Session::new(owner.clone(), id, now_ms);
    session.project = project.map(|path| ProjectHash::of(path));
    Ok((session, place))
}
