//! A time as the API writes it: RFC 3339, in UTC.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The last millisecond of the year 9999, beyond which RFC 3339 has no years.
const LAST_MS: u64 = 253_402_300_799_999;

/// A time in milliseconds since 1970 (UTC).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment(pub(crate) u64);

impl Moment {
    /// The time in RFC 3339; one that is too late for the format becomes the last one it has.
    pub(crate) fn text(self) -> String {
        let nanos = i128::from(self.0.min(LAST_MS)) * 1_000_000;
        let at = OffsetDateTime::from_unix_timestamp_nanos(nanos).unwrap_or(OffsetDateTime::UNIX_EPOCH);
        // Any time of a year with four digits can be written in this format.
        at.format(&Rfc3339).unwrap_or_default()
    }
}

/// A time in milliseconds since 1970 as the API writes it.
pub fn moment_text(at_ms: u64) -> String {
    Moment(at_ms).text()
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl JsonSchema for Moment {
    fn schema_name() -> Cow<'static, str> {
        "Moment".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

#[cfg(test)]
mod tests;
