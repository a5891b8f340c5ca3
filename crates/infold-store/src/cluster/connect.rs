//! Connecting to the servers, and what to do if that fails: most of it is for a setting to put right.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_nats::rustls::{self, AlertDescription, CertificateError};
use async_nats::{ConnectError, ConnectErrorKind, ConnectOptions, Event};

use super::log::describe;
use super::settings::{ClusterAccess, ClusterSettings};
use super::{SharedState, note};
use crate::StoreError;

/// The waits between attempts to connect.
const RECONNECT_MS: [u64; 4] = [50, 100, 250, 500];

/// Connects to any of the servers.
pub(super) async fn connect(settings: &ClusterSettings, state: &SharedState) -> Result<async_nats::Client, StoreError> {
    let options = options(settings, Arc::clone(state))?;
    let wait = Duration::from_millis(settings.timeout_ms);
    match tokio::time::timeout(wait, options.connect(&settings.servers)).await {
        Ok(Ok(client)) => Ok(client),
        Ok(Err(error)) => Err(failed(settings, &error)),
        Err(_) => Err(unreachable(settings, format!("no answer within {} ms", settings.timeout_ms))),
    }
}

fn options(settings: &ClusterSettings, state: SharedState) -> Result<ConnectOptions, StoreError> {
    let attempt = Duration::from_millis(settings.attempt_ms);
    let mut options = ConnectOptions::new()
        .name("infold")
        .connection_timeout(attempt)
        .request_timeout(Some(attempt))
        .ping_interval(Duration::from_secs(2))
        .reconnect_delay_callback(|attempts| {
            Duration::from_millis(RECONNECT_MS[attempts.saturating_sub(1).min(RECONNECT_MS.len() - 1)])
        })
        .event_callback(move |event| {
            if matches!(event, Event::Connected) {
                note(&state, |state| state.reconnects += 1);
            }
            tracing::info!(%event, "connection to the cluster");
            std::future::ready(())
        });
    options = match &settings.access {
        ClusterAccess::Anyone => options,
        ClusterAccess::Password { user, password } => options.user_and_password(user.clone(), password.clone()),
        ClusterAccess::Nkey { seed } => options.nkey(seed.clone()),
        ClusterAccess::Credentials { text } => options.credentials(text).map_err(|error| {
            unfit(settings, &format!("cannot be asked with these credentials ({error})"), access_remedy(settings))
        })?,
    };
    if let Some(path) = &settings.ca_file {
        options = options.add_root_certificates(path.clone());
    }
    if let Some((certificate, key)) = &settings.client_certificate {
        options = options.add_client_certificate(certificate.clone(), key.clone());
    }
    Ok(options)
}

/// Why there is no connection, with the setting that puts it right if there is one.
fn failed(settings: &ClusterSettings, error: &ConnectError) -> StoreError {
    let problem = describe(error);
    let remedy = match error.kind() {
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => Some(access_remedy(settings)),
        ConnectErrorKind::Tls => {
            Some("check the files that store.nats.ca_file, certificate_file and certificate_key_file name")
        }
        ConnectErrorKind::ServerParse => {
            Some("an address in store.nats.servers is nats://HOST:PORT or tls://HOST:PORT")
        }
        ConnectErrorKind::Io => io_cause(error).and_then(|cause| io_remedy(settings, cause)),
        ConnectErrorKind::Dns | ConnectErrorKind::TimedOut | ConnectErrorKind::MaxReconnects => None,
    };
    match remedy {
        Some(remedy) => unfit(settings, &format!("cannot be worked with ({problem})"), remedy),
        None => unreachable(settings, problem),
    }
}

fn access_remedy(settings: &ClusterSettings) -> &'static str {
    match &settings.access {
        ClusterAccess::Anyone => {
            "the servers ask who this is: set store.nats.user and password_file, or nkey_file, or credentials_file"
        }
        ClusterAccess::Password { .. } => {
            "check store.nats.user, and the password in the file store.nats.password_file"
        }
        ClusterAccess::Nkey { .. } => {
            "check that store.nats.nkey_file has the seed (SU...) of an nkey that the servers' configuration names"
        }
        ClusterAccess::Credentials { .. } => {
            "check that store.nats.credentials_file is whole, has not expired, and is of an account that the servers know"
        }
    }
}

fn io_cause(error: &ConnectError) -> Option<&io::Error> {
    std::error::Error::source(error)?.downcast_ref()
}

fn io_remedy(settings: &ClusterSettings, error: &io::Error) -> Option<&'static str> {
    let tls = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    match tls {
        // An authority that was made anew has its old name and another key.
        Some(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature)) => {
            Some(match &settings.ca_file {
                None => {
                    "set store.nats.ca_file to a file with the certificate of the authority that signed the servers'"
                }
                Some(_) => "store.nats.ca_file has to have the certificate of the authority that signed the servers'",
            })
        }
        Some(rustls::Error::InvalidCertificate(_)) => {
            Some("the servers' certificate has to be valid now, and for the host that store.nats.servers names")
        }
        Some(rustls::Error::AlertReceived(alert)) => Some(client_remedy(settings, *alert)),
        Some(rustls::Error::InvalidMessage(_)) => {
            Some("the server does not speak TLS: use nats:// in store.nats.servers, or configure TLS on the servers")
        }
        Some(_) => Some("check the servers' TLS configuration, and store.nats.ca_file"),
        // A server that misses a certificate may hang up before its reason arrives.
        None if hung_up(error) && settings.speaks_tls() && settings.client_certificate.is_none() => {
            Some(client_remedy(settings, AlertDescription::CertificateRequired))
        }
        None => None,
    }
}

fn client_remedy(settings: &ClusterSettings, alert: AlertDescription) -> &'static str {
    match (&settings.client_certificate, alert) {
        (None, _) => {
            "the servers ask for a certificate of this machine: set store.nats.certificate_file and certificate_key_file"
        }
        (Some(_), AlertDescription::CertificateExpired) => "renew the certificate in store.nats.certificate_file",
        (Some(_), _) => "store.nats.certificate_file has to be signed by the authority that the servers check by",
    }
}

fn hung_up(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
}

pub(super) fn unreachable(settings: &ClusterSettings, problem: String) -> StoreError {
    StoreError::Unreachable { servers: settings.servers.join(", "), problem }
}

fn unfit(settings: &ClusterSettings, problem: &str, remedy: &str) -> StoreError {
    StoreError::Unfit {
        path: format!("the cluster ({})", settings.servers.join(", ")),
        problem: problem.to_owned(),
        remedy: remedy.to_owned(),
    }
}
