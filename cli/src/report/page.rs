//! The page around a recording.
//!
//! Nothing of a recording stands in the page as text: it is one block of base64, and the
//! script makes elements out of it, never markup. The policy allows this script and this
//! style, by their hashes, and nothing else: no request, no other script, no markup made
//! of text.

use std::io::{self, Write as _};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};
use tachograph_core::CappedWriter;

use super::wire::Recording;
use crate::error::{Error, Result};

const PAGE: &str = include_str!("assets/page.html");

const STYLE: &str = concat!(
    include_str!("assets/colours.css"),
    include_str!("assets/layout.css"),
    include_str!("assets/graphs.css"),
);

/// In one module, in an order in which what runs at once finds what it needs.
const SCRIPT: &str = concat!(
    include_str!("assets/format.js"),
    include_str!("assets/dom.js"),
    include_str!("assets/state.js"),
    include_str!("assets/data.js"),
    include_str!("assets/scope.js"),
    include_str!("assets/sums.js"),
    include_str!("assets/derived.js"),
    include_str!("assets/notes.js"),
    include_str!("assets/time_axis.js"),
    include_str!("assets/timeline.js"),
    include_str!("assets/slots.js"),
    include_str!("assets/facets.js"),
    include_str!("assets/flame_layout.js"),
    include_str!("assets/flame.js"),
    include_str!("assets/functions.js"),
    include_str!("assets/masthead.js"),
    include_str!("assets/keys.js"),
    include_str!("assets/main.js"),
);

/// The most that a page may hold, uncompressed: browsers do not read a longer text.
const PLAIN_BYTES_MAX: usize = 256 << 20;

/// The whole page.
///
/// # Errors
///
/// If the recording is too large for a browser.
pub(super) fn page(recording: &Recording) -> Result<Vec<u8>> {
    let mut page = Vec::new();
    let mut rest = PAGE;
    for (mark, part) in [
        ("@POLICY@", policy()),
        ("@STYLE@", STYLE.to_owned()),
        ("@RECORDING@", packed(recording)?),
        ("@SCRIPT@", SCRIPT.to_owned()),
    ] {
        let (before, after) = rest
            .split_once(mark)
            .expect("the page has its marks in order");
        page.extend_from_slice(before.as_bytes());
        page.extend_from_slice(part.as_bytes());
        rest = after;
    }
    page.extend_from_slice(rest.as_bytes());
    Ok(page)
}

fn policy() -> String {
    format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; \
         base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'",
        hash(SCRIPT),
        hash(STYLE)
    )
}

fn hash(text: &str) -> String {
    format!("sha256-{}", BASE64_STANDARD.encode(Sha256::digest(text)))
}

/// The recording as JSON, compressed, as base64.
fn packed(recording: &Recording) -> Result<String> {
    let mut plain = CappedWriter::new(PLAIN_BYTES_MAX);
    let written = serde_json::to_writer(&mut plain, recording);
    if plain.overflowed() {
        return Err(Error::Finding(format!(
            "the page would hold more than the {} MiB that a browser takes; \
             choose fewer captures with --since and --until",
            PLAIN_BYTES_MAX >> 20
        )));
    }
    written.map_err(io::Error::from)?;
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(&plain.into_bytes())?;
    Ok(BASE64_STANDARD.encode(gzip.finish()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_do_not_end_their_elements() {
        assert!(!SCRIPT.contains("</script") && !SCRIPT.contains("<!--"));
        assert!(!STYLE.contains("</style"));
    }

    #[test]
    fn the_page_names_nothing_outside() {
        for part in [PAGE, STYLE, SCRIPT] {
            for outside in ["http:", "https:", "url(", "@import", "src=", "innerHTML"] {
                assert!(!part.contains(outside), "{outside}");
            }
        }
    }
}
