//! The block of `infold top` with other MCP servers.

use infold_engine::ServerOverview;

use crate::commands::servers::{latency, tone};
use crate::draw::{Align, Column, Spans, Style, Table, Tone, fitted, one_line, short};

/// Most columns of a server's name, and fewest before another column is left out.
const NAME_COLUMNS: usize = 36;
const NAME_COLUMNS_MIN: usize = 12;
/// Columns that are left out where the terminal is narrow, in this order.
const MAY_GO: [&str; 4] = ["TOKENS", "P50", "TOOLS", "CALLS"];

/// A table of the servers, one line each.
pub fn lines(servers: &[ServerOverview], style: &Style) -> Vec<Spans> {
    let left = |heading| Column { heading, align: Align::Left };
    let right = |heading| Column { heading, align: Align::Right };
    let mut table = Table::new(vec![
        left("SERVER"),
        left("STATE"),
        right("TOOLS"),
        right("TOKENS"),
        right("CALLS"),
        right("P50"),
        right("ERRORS"),
    ]);
    for server in servers {
        let figures = &server.figures;
        table.row(vec![
            (Tone::Plain, fitted(&one_line(figures.server.as_str()), NAME_COLUMNS, style)),
            (tone(&server.state), server.state.replace('_', " ")),
            (Tone::Plain, short(figures.tools)),
            (Tone::Plain, short(figures.definition_tokens)),
            (Tone::Plain, short(figures.calls)),
            (Tone::Plain, latency(figures.p50_ms)),
            (if figures.errors > 0 { Tone::Bad } else { Tone::Plain }, short(figures.errors)),
        ]);
    }
    table.cut_to_fit("SERVER", NAME_COLUMNS_MIN, &MAY_GO, style).lines()
}
