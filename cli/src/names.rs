//! Names of functions, for people.

use std::collections::HashMap;

use tachograph_profile::reader::{Frame, readable};

/// Generic arguments longer than this are left out of a shortened name.
const GENERICS_MAX: usize = 16;

/// How a frame is called: by its function, with file and line if they were asked
/// for; without a name by its binary.
pub(crate) fn name(frame: &Frame, full: bool) -> String {
    let mut name = function(frame, full);
    if frame.line != 0 {
        name.push_str(&format!(" {}:{}", frame.file, frame.line));
    } else if !frame.file.is_empty() {
        name.push_str(&format!(" {}", frame.file));
    }
    name
}

/// How frames of one table are called: those that would look alike when shortened,
/// in full.
pub(crate) fn distinct(frames: &[&Frame], full: bool) -> Vec<String> {
    let mut names: Vec<String> = frames.iter().map(|it| name(it, full)).collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for name in &names {
        *counts.entry(name).or_default() += 1;
    }
    let alike: Vec<bool> = names.iter().map(|it| counts[it.as_str()] > 1).collect();
    for ((shown, frame), is_alike) in names.iter_mut().zip(frames).zip(alike) {
        if is_alike {
            *shown = name(frame, true);
        }
    }
    names
}

fn function(frame: &Frame, full: bool) -> String {
    if !frame.name.is_empty() {
        // Others leave names as the linker has them, or with the hash that makes them unique.
        let name = readable(&frame.name, full);
        match full {
            true => name,
            false => short(&name),
        }
    } else if !frame.module.is_empty() {
        let file = frame.module.rsplit('/').next().unwrap_or_default();
        format!("[{file}]")
    } else {
        "[unknown]".to_owned()
    }
}

/// The name without its hash and without long generic arguments.
fn short(name: &str) -> String {
    let name = without_hash(name);
    let mut short = String::with_capacity(name.len());
    let mut shown = 0;
    for (open, close) in brackets(name) {
        // What is left out has brackets, too.
        if open < shown {
            continue;
        }
        let before = &name[..open];
        // `<T as Trait>::method` begins with what names it, and is kept. Closures and
        // operators of C++ end in brackets of their own.
        let is_end_of_name = |it: char| it.is_alphanumeric() || "_:})".contains(it);
        let is_qualified = !before.ends_with(is_end_of_name);
        if !is_qualified && close - open >= GENERICS_MAX {
            short.push_str(&name[shown..open]);
            short.push_str("<…>");
            shown = close + 1;
        }
    }
    short.push_str(&name[shown..]);
    short
}

/// Where brackets open and where each is closed, up to one that is not. Arrows close
/// nothing.
fn brackets(name: &str) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let mut open = Vec::new();
    let mut before = b' ';
    for (place, byte) in name.bytes().enumerate() {
        match byte {
            b'<' => {
                open.push(pairs.len());
                pairs.push((place, place));
            }
            b'>' if before != b'-' && before != b'=' => {
                if let Some(number) = open.pop() {
                    pairs[number].1 = place;
                }
            }
            _ => {}
        }
        before = byte;
    }
    pairs.truncate(open.first().copied().unwrap_or(pairs.len()));
    pairs
}

/// Older manglings end in `::h` and 16 hexadecimal digits.
fn without_hash(name: &str) -> &str {
    match name.rsplit_once("::h") {
        Some((path, hash)) if hash.len() == 16 && hash.bytes().all(|it| it.is_ascii_hexdigit()) => {
            path
        }
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_look_alike_is_told_apart() {
        let frame = |name: &str| Frame {
            name: name.into(),
            file: "".into(),
            line: 0,
            module: "".into(),
        };
        let frames = [
            frame("f::h0123456789abcdef"),
            frame("f::h0123456789abcde0"),
            frame("g::h0123456789abcdef"),
        ];
        let frames: Vec<&Frame> = frames.iter().collect();
        assert_eq!(
            distinct(&frames, false),
            ["f::h0123456789abcdef", "f::h0123456789abcde0", "g"]
        );
    }

    #[test]
    fn deep_brackets_take_no_longer_than_their_length() {
        // By the square of their length they would take hours.
        let deep = format!("{}{}", "<".repeat(2_000_000), ">".repeat(2_000_000));
        assert!(short(&deep) == deep);
        assert_eq!(short(&format!("f{deep}")), "f<…>");
        assert!(short(&deep[1..]) == deep[1..]);
    }

    #[test]
    fn hashes_and_long_generics_are_left_out() {
        for (long, expected) in [
            ("demo::f::h0123456789abcdef", "demo::f"),
            ("_ZN4demo5outer17h0123456789abcdefE", "demo::outer"),
            ("Vec<u8>::push", "Vec<u8>::push"),
            (
                "core::iter::Map<core::slice::Iter<alloc::string::String>, F>::next",
                "core::iter::Map<…>::next",
            ),
            (
                "<alloc::vec::Vec<alloc::string::String> as core::ops::Drop>::drop",
                "<alloc::vec::Vec<…> as core::ops::Drop>::drop",
            ),
            (
                "{closure#0}<core::task::poll::Poll<()>, a::poll::{closure_env#0}<u8>>",
                "{closure#0}<…>",
            ),
            (
                "shop::Cart::operator()<std::vector<int>>(int)",
                "shop::Cart::operator()<…>(int)",
            ),
            ("call::<fn(usize) -> alloc::string::String>", "call::<…>"),
            (
                "<<alloc::vec::Vec<u8> as a::T>::U as b::V<alloc::string::String>>::f::<u8>",
                "<<alloc::vec::Vec<u8> as a::T>::U as b::V<…>>::f::<u8>",
            ),
            (
                "f<a>::g<alloc::string::String",
                "f<a>::g<alloc::string::String",
            ),
            ("operator<<", "operator<<"),
            (">a<alloc::string::String>", ">a<…>"),
            ("a->b", "a->b"),
            ("runtime.mallocgc", "runtime.mallocgc"),
            ("", ""),
        ] {
            assert_eq!(short(&readable(long, false)), expected);
        }
    }
}
