//! The login of a server: whether the user has made one since the server asked for it.

use infold_core::gateway::{HealthEvent, ServerState};

use super::{Host, lock};
use crate::gateway::{HttpWay, LinkWay, LoginStamp};

impl Host {
    /// Whether the user has logged in since the server asked for it, here or in another process.
    pub(in crate::relay) fn is_login_new(&self) -> bool {
        let waits = lock(&self.health).state == ServerState::NeedsLogin;
        waits && self.login_now().is_some_and(|now| lock(&self.login_tried).as_ref() != Some(&now))
    }

    /// Goes on with the login that is there now.
    pub(super) fn take_login(&self) {
        let now = self.login_now();
        let before = std::mem::replace(&mut *lock(&self.login_tried), now.clone());
        if now.is_some() && now != before {
            self.step(HealthEvent::LoggedIn);
        }
    }

    /// What a caller reads if nobody has logged in.
    pub(in crate::relay) fn login_words(&self) -> String {
        format!("{0} needs a login: ask the user to run `infold servers login {0}`", self.entry.key)
    }

    fn login_now(&self) -> Option<LoginStamp> {
        match &self.way {
            Ok(LinkWay::Http(HttpWay { url, login: Some(login), .. })) => login.store.stamp(url),
            Ok(LinkWay::Http(_) | LinkWay::Child(_)) | Err(_) => None,
        }
    }
}
