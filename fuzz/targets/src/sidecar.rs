use serde_json::Value;
use tachograph_core::{ErrorKind, Sidecar};

/// No file that is read as a sidecar is larger.
const BYTES_MAX: usize = 16 << 10;

/// A sidecar's JSON.
///
/// What was read and is written is read again as the same, and stays the same
/// text from then on. Limits are kept to the byte.
pub fn sidecar(input: &[u8]) {
    let input = &input[..input.len().min(BYTES_MAX)];
    let sidecar = match Sidecar::from_json(input) {
        Ok(sidecar) => sidecar,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Storage);
            assert!(!format!("{error:#}").is_empty());
            return;
        }
    };
    let json = sidecar.to_json(u64::MAX).expect("no limit");
    let again = Sidecar::from_json(&json).expect("it was written by us");
    assert_eq!(again, sidecar);
    assert_eq!(again.to_json(u64::MAX).expect("no limit"), json);
    // It is JSON for others, too.
    let value: Value = serde_json::from_slice(&json).expect("JSON");
    assert!(value.is_object());

    let bytes = json.len() as u64;
    assert!(sidecar.to_json(bytes).is_ok());
    let error = sidecar.to_json(bytes - 1).expect_err("a byte too many");
    assert_eq!(error.kind(), ErrorKind::TooLarge);
}
