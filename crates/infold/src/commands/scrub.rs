//! `infold scrub`: copies standard input to standard output without its secrets.
//!
//! Fails closed: what cannot be scrubbed whole is not printed at all.

use std::io::{self, Read};

use infold_core::ScrubError;
use serde_json::json;

use super::Invocation;
use crate::failure::{Refused, tell};
use crate::file_scrubber::FileScrubber;
use crate::output::Form;
use crate::telemetry;

/// Scrubs all of standard input, prints it, and says on standard error how many secrets were removed.
pub fn run(invocation: &Invocation) -> anyhow::Result<()> {
    let settings = &invocation.in_force.settings;
    telemetry::log_only(&invocation.logging());
    let text = input(settings.scrub.max_bytes)?;
    let scrubbed = FileScrubber::new(invocation)?.scrub(vec![text])?;
    let scrubbed = scrubbed.first().ok_or(ScrubError::Missing)?;

    match invocation.output.form {
        Form::Text => invocation.output.text(scrubbed.as_str())?,
        Form::Json => {
            invocation.output.json(&json!({"text": scrubbed.as_str(), "secrets_scrubbed": scrubbed.secrets()}))?;
        }
    }
    if scrubbed.secrets() > 0 && !invocation.globals.quiet {
        tell("note", format_args!("{} removed", counted(scrubbed.secrets())));
    }
    Ok(())
}

fn counted(secrets: u32) -> String {
    if secrets == 1 { "1 secret".to_owned() } else { format!("{secrets} secrets") }
}

fn input(bytes_max: usize) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(bytes_max as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > bytes_max {
        return Err(Refused::new(format!("the input is longer than {bytes_max} bytes"))
            .hint("split it, or raise the bound with --set scrub.max_bytes=N")
            .into());
    }
    String::from_utf8(bytes).map_err(|_| {
        Refused::new("the input is not UTF-8, so it cannot be searched for secrets")
            .hint("convert it first, for example with iconv")
            .into()
    })
}
