//! The messages of `profile.proto`, as the format defines them.
//!
//! Written by field number after
//! <https://github.com/google/pprof/blob/main/proto/profile.proto>. Every
//! `…_index`-like `i64` that the comments call a *string* is an index into
//! [`Profile::string_table`], whose entry 0 is the empty string and stands for
//! "not given".
//!
//! These structs promise nothing: [`crate::Profile`] is the checked form.

use prost::Message;

/// A whole profile; the root message.
#[derive(Clone, PartialEq, Message)]
pub struct Profile {
    /// What each entry of [`Sample::value`] measures, in that order.
    #[prost(message, repeated, tag = "1")]
    pub sample_type: Vec<ValueType>,
    /// The samples.
    #[prost(message, repeated, tag = "2")]
    pub sample: Vec<Sample>,
    /// What was mapped where. The first one is the main binary.
    #[prost(message, repeated, tag = "3")]
    pub mapping: Vec<Mapping>,
    /// The addresses that samples refer to.
    #[prost(message, repeated, tag = "4")]
    pub location: Vec<Location>,
    /// The functions that locations refer to.
    #[prost(message, repeated, tag = "5")]
    pub function: Vec<Function>,
    /// All text; entry 0 is the empty string.
    #[prost(string, repeated, tag = "6")]
    pub string_table: Vec<String>,
    /// String: a regular expression; frames whose function matches it are dropped.
    #[prost(int64, tag = "7")]
    pub drop_frames: i64,
    /// String: a regular expression; frames that match it are kept after all.
    #[prost(int64, tag = "8")]
    pub keep_frames: i64,
    /// Start of collection, nanoseconds since 1970-01-01 UTC.
    #[prost(int64, tag = "9")]
    pub time_nanos: i64,
    /// Length of collection, nanoseconds.
    #[prost(int64, tag = "10")]
    pub duration_nanos: i64,
    /// What happens once every [`period`](Self::period).
    #[prost(message, optional, tag = "11")]
    pub period_type: Option<ValueType>,
    /// Distance between two samples, in the unit of [`period_type`](Self::period_type).
    #[prost(int64, tag = "12")]
    pub period: i64,
    /// Strings: free text for people.
    #[prost(int64, repeated, tag = "13")]
    pub comment: Vec<i64>,
    /// String: the name of the sample type to show first.
    #[prost(int64, tag = "14")]
    pub default_sample_type: i64,
    /// String: a page that explains this profile.
    #[prost(int64, tag = "15")]
    pub doc_url: i64,
}

/// What a value measures, and in which unit.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct ValueType {
    /// String: what is measured, such as `cpu`.
    #[prost(int64, tag = "1")]
    pub r#type: i64,
    /// String: the unit, such as `nanoseconds`.
    #[prost(int64, tag = "2")]
    pub unit: i64,
}

/// One stack with its values and labels.
#[derive(Clone, PartialEq, Message)]
pub struct Sample {
    /// Ids of [`Location`]s, leaf first.
    #[prost(uint64, repeated, tag = "1")]
    pub location_id: Vec<u64>,
    /// One value for each [`Profile::sample_type`].
    #[prost(int64, repeated, tag = "2")]
    pub value: Vec<i64>,
    /// What else is known about this sample.
    #[prost(message, repeated, tag = "3")]
    pub label: Vec<Label>,
}

/// A key with a text or a number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct Label {
    /// String: the key.
    #[prost(int64, tag = "1")]
    pub key: i64,
    /// String: the text, if this label is text.
    #[prost(int64, tag = "2")]
    pub str: i64,
    /// The number, if this label is a number.
    #[prost(int64, tag = "3")]
    pub num: i64,
    /// String: the unit of [`num`](Self::num).
    #[prost(int64, tag = "4")]
    pub num_unit: i64,
}

/// A stretch of a file mapped into the process.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct Mapping {
    /// Unique and not 0.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// First address, as in the process.
    #[prost(uint64, tag = "2")]
    pub memory_start: u64,
    /// First address behind it.
    #[prost(uint64, tag = "3")]
    pub memory_limit: u64,
    /// Where in the file [`memory_start`](Self::memory_start) comes from, bytes.
    #[prost(uint64, tag = "4")]
    pub file_offset: u64,
    /// String: the file's path.
    #[prost(int64, tag = "5")]
    pub filename: i64,
    /// String: what identifies this build of the file.
    #[prost(int64, tag = "6")]
    pub build_id: i64,
    /// Whether all locations in it name functions out of its symbols.
    #[prost(bool, tag = "7")]
    pub has_functions: bool,
    /// Whether they name source files.
    #[prost(bool, tag = "8")]
    pub has_filenames: bool,
    /// Whether they name lines.
    #[prost(bool, tag = "9")]
    pub has_line_numbers: bool,
    /// Whether inlined calls are shown as lines of their own.
    #[prost(bool, tag = "10")]
    pub has_inline_frames: bool,
}

/// An address, with the function or functions it lies in.
#[derive(Clone, PartialEq, Message)]
pub struct Location {
    /// Unique and not 0.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Id of the [`Mapping`] it lies in; 0 if in none.
    #[prost(uint64, tag = "2")]
    pub mapping_id: u64,
    /// Address of the instruction, as in the process; for a caller, an address
    /// inside the call instruction.
    #[prost(uint64, tag = "3")]
    pub address: u64,
    /// Several if calls were inlined here: the last one is the caller of those
    /// before it.
    #[prost(message, repeated, tag = "4")]
    pub line: Vec<Line>,
    /// Whether other symbols share this address, so that the name may be the
    /// wrong one of them.
    #[prost(bool, tag = "5")]
    pub is_folded: bool,
}

/// A line of source in a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct Line {
    /// Id of the [`Function`].
    #[prost(uint64, tag = "1")]
    pub function_id: u64,
    /// Line in [`Function::filename`], from 1; 0 if not known.
    #[prost(int64, tag = "2")]
    pub line: i64,
    /// Column in that line, from 1; 0 if not known.
    #[prost(int64, tag = "3")]
    pub column: i64,
}

/// A function.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct Function {
    /// Unique and not 0.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// String: its name for people.
    #[prost(int64, tag = "2")]
    pub name: i64,
    /// String: its name for the linker.
    #[prost(int64, tag = "3")]
    pub system_name: i64,
    /// String: the source file.
    #[prost(int64, tag = "4")]
    pub filename: i64,
    /// First line in that file, from 1; 0 if not known.
    #[prost(int64, tag = "5")]
    pub start_line: i64,
}
