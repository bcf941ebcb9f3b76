use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, SystemTime};

use tachograph_core::{ErrorKind, Name, OptIn, Setting, Timestamp, Window};

/// The operator's two settings, and a name: a wall time in nanoseconds from
/// 1970 (eight bytes), then the directory and the deadline with a zero byte in
/// between.
///
/// Recording may only be on within 72 hours, a deadline that is over must be
/// seen as over, and every refusal must name a setting.
pub fn settings(mut input: &[u8]) {
    let now = SystemTime::UNIX_EPOCH + Duration::from_nanos(crate::number(&mut input));
    let mut fields = input.splitn(2, |byte| *byte == 0);
    let directory = setting(fields.next().unwrap_or_default());
    let until = setting(fields.next().unwrap_or_default());

    let deadline = until.to_str().map(str::parse::<Timestamp>);
    if let Some(Ok(time)) = &deadline {
        let printed = time.to_string();
        assert_eq!(printed.parse::<Timestamp>().ok(), Some(*time), "{printed}");
    }
    let judged = OptIn::judge(
        &Setting::new("DIRECTORY", Some(directory.clone())),
        &Setting::new("UNTIL", Some(until.clone())),
        now,
    );
    match judged {
        Ok(OptIn::Off) => assert!(directory.is_empty() && until.is_empty()),
        Ok(OptIn::Expired(end)) => {
            assert!(end.system_time() <= now);
            assert!(!directory.is_empty());
        }
        Ok(OptIn::On {
            directory: on,
            window,
        }) => {
            assert_eq!(on, Path::new(&directory));
            let ahead = window.end().duration_since(now).expect("not over");
            assert!(!ahead.is_zero() && ahead <= Window::LENGTH_MAX);
            let end = deadline.and_then(Result::ok).expect("it was understood");
            assert_eq!(window.end(), end.system_time());
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Setting);
            let text = format!("{error:#}");
            assert!(
                text.contains("UNTIL") || text.contains("DIRECTORY"),
                "{text}"
            );
        }
    }
    if let Some(text) = until.to_str() {
        name(text);
    }
}

#[cfg(unix)]
fn setting(bytes: &[u8]) -> OsString {
    use std::os::unix::ffi::OsStrExt;
    std::ffi::OsStr::from_bytes(bytes).to_owned()
}

#[cfg(not(unix))]
fn setting(bytes: &[u8]) -> OsString {
    String::from_utf8_lossy(bytes).into_owned().into()
}

fn name(text: &str) {
    let is_good = !text.is_empty()
        && text.len() <= Name::BYTES_MAX
        && !text.chars().any(char::is_control)
        && text != Name::PERIODIC;
    match Name::new(text) {
        Ok(name) => {
            assert!(is_good, "{text:?}");
            assert_eq!(name.as_str(), text);
        }
        Err(error) => {
            assert!(!is_good, "{text:?}");
            // Escapes of 64 characters, and what is said of them.
            assert!(error.to_string().len() <= 64 * 10 + 200, "{error}");
        }
    }
}
