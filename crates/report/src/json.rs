//! Reports as files.

use std::io::{Read, Write};

use airlane_base::InputError;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use crate::model::{FORMAT, Report, VERSION};

/// The two bytes that every gzip file starts with (RFC 1952, 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

impl Report {
    /// The report as JSON. The same report gives the same bytes.
    pub fn to_json(&self) -> Vec<u8> {
        // Serialising fails for maps whose keys are not text only, and the model has no maps.
        serde_json::to_vec(self).expect("the model holds text, numbers and lists")
    }

    /// The report as gzipped JSON, without a date in it.
    pub fn to_json_gz(&self) -> Vec<u8> {
        let mut gz = GzEncoder::new(Vec::new(), Compression::default());
        gz.write_all(&self.to_json()).expect("writing to memory");
        gz.finish().expect("writing to memory")
    }

    /// Reads what [`Report::to_json`] or [`Report::to_json_gz`] wrote.
    ///
    /// # Errors
    /// If the text is no report, or one of a later version; with the line, but without the file,
    /// which the caller knows ([`InputError::at_file`]).
    pub fn from_json(bytes: &[u8]) -> Result<Self, InputError> {
        let mut plain = Vec::new();
        let text = if bytes.starts_with(&GZIP_MAGIC) {
            GzDecoder::new(bytes).read_to_end(&mut plain).map_err(|e| {
                InputError::new(
                    format!("cannot unzip: {e}"),
                    "the file is damaged or cut short; run the scenario again",
                )
            })?;
            &plain
        } else {
            bytes
        };
        check_version(text)?;
        serde_json::from_slice(text).map_err(|e| not_a_report(&e))
    }
}

/// Looks at format and version alone, so that a later format is called that and not "missing
/// field".
fn check_version(text: &[u8]) -> Result<(), InputError> {
    #[derive(serde::Deserialize)]
    struct Head {
        #[serde(default)]
        format: String,
        #[serde(default)]
        version: u32,
    }
    let head: Head = serde_json::from_slice(text).map_err(|e| not_a_report(&e))?;
    if head.format != FORMAT {
        return Err(InputError::new(
            format!("\"{}\" is not a report's format", head.format),
            format!("expected \"{FORMAT}\""),
        )
        .at_key("format"));
    }
    if !(1..=VERSION).contains(&head.version) {
        return Err(InputError::new(
            format!("version {} is unknown", head.version),
            format!("this airlane reads versions 1 to {VERSION}"),
        )
        .at_key("version"));
    }
    Ok(())
}

fn not_a_report(e: &serde_json::Error) -> InputError {
    InputError::new(e.to_string(), "expected a report written by airlane").at_line(e.line().max(1))
}
