//! A buffer with a limit.

use std::io::{self, Write};

/// A writer into memory that refuses to grow past its limit.
///
/// ```
/// use std::io::Write;
/// use tachograph_core::CappedWriter;
///
/// let mut writer = CappedWriter::new(4);
/// writer.write_all(b"1234")?;
/// assert!(writer.write_all(b"5").is_err());
/// assert!(writer.overflowed());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct CappedWriter {
    bytes: Vec<u8>,
    bytes_max: usize,
    overflowed: bool,
}

impl CappedWriter {
    /// An empty writer that takes at most `bytes_max` bytes.
    pub fn new(bytes_max: usize) -> Self {
        Self {
            bytes: Vec::new(),
            bytes_max,
            overflowed: false,
        }
    }

    /// Whether something was refused.
    pub fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// What was written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl Write for CappedWriter {
    /// # Errors
    ///
    /// [`io::ErrorKind::FileTooLarge`] if `data` does not fit whole; nothing of
    /// it is kept then.
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if data.len() > self.bytes_max - self.bytes.len() {
            self.overflowed = true;
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("more than {} bytes", self.bytes_max),
            ));
        }
        self.bytes.extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_whole_is_refused_and_remembered() {
        let mut writer = CappedWriter::new(3);
        writer.write_all(b"abc").expect("just fits");
        assert!(!writer.overflowed());
        let error = writer.write_all(b"d").expect_err("full");
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert!(writer.overflowed());
        assert_eq!(writer.into_bytes(), b"abc");
    }
}
