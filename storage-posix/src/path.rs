//! What the text of the path alone says. Pure.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use tachograph_core::{Error, ErrorKind};

/// The path to open: without trailing `/` and `/.`, which would make an open
/// that follows no symlink follow one after all.
pub(crate) fn judge(path: &Path) -> Result<&Path, Error> {
    let refused = |what: &str| Error::new(ErrorKind::Setting, format!("directory {path:?} {what}"));
    let mut bytes = path.as_os_str().as_bytes();
    if bytes.first() != Some(&b'/') {
        return Err(refused("is not absolute: set an absolute path"));
    }
    if bytes.contains(&0) {
        return Err(refused("has a NUL byte in it: no path can have one"));
    }
    while let Some(shorter) = bytes
        .strip_suffix(b"/")
        .or_else(|| bytes.strip_suffix(b"/."))
    {
        bytes = shorter;
    }
    if bytes.ends_with(b"/..") {
        return Err(refused(
            "ends in \"..\": set a path that ends in the name of the directory",
        ));
    }
    if bytes.is_empty() {
        return Ok(Path::new("/"));
    }
    Ok(Path::new(OsStr::from_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_void_no_follow_is_stripped() {
        for (path, opened) in [
            ("/a/b", "/a/b"),
            ("/a/b/", "/a/b"),
            ("/a/b///", "/a/b"),
            ("/a/b/.", "/a/b"),
            ("/a/b/./", "/a/b"),
            ("/a/b//.//./.", "/a/b"),
            ("/a/../b", "/a/../b"),
            ("/a/b.", "/a/b."),
            ("/a/...", "/a/..."),
            ("/a/b..", "/a/b.."),
            ("/a/.b", "/a/.b"),
            ("/", "/"),
            ("//", "/"),
            ("/.", "/"),
        ] {
            let judged = judge(Path::new(path)).expect(path);
            assert_eq!(judged.as_os_str(), OsStr::new(opened), "{path}");
        }
    }

    #[test]
    fn a_path_that_is_not_utf8_is_a_path() {
        let path = Path::new(OsStr::from_bytes(b"/a/\xff\xfe/./"));
        let judged = judge(path).expect("acceptable");
        assert_eq!(judged.as_os_str().as_bytes(), b"/a/\xff\xfe");
    }

    #[test]
    fn the_rest_is_refused_and_quoted() {
        for (path, said) in [
            ("", "directory \"\" is not absolute"),
            ("a/b", "directory \"a/b\" is not absolute"),
            ("./a", "directory \"./a\" is not absolute"),
            ("~/a", "directory \"~/a\" is not absolute"),
            ("/..", "directory \"/..\" ends in \"..\""),
            ("/a/..", "directory \"/a/..\" ends in \"..\""),
            ("/a/../", "directory \"/a/../\" ends in \"..\""),
            ("/a/.././.", "directory \"/a/.././.\" ends in \"..\""),
            ("/a\0b", "directory \"/a\\0b\" has a NUL byte"),
        ] {
            let error = judge(Path::new(path)).expect_err(path);
            assert_eq!(error.kind(), ErrorKind::Setting, "{path}");
            assert!(error.to_string().starts_with(said), "{error}");
        }
    }
}
