//! Stacks of an aarch64 process, recorded by `tests/recorded/program.c` and
//! walked here, whatever this machine is.
//!
//! Two witnesses say what has to be found, neither of them ours: libgcc's
//! unwinder, which ran in the recorded process, and return addresses that the
//! functions on the stack were told by the compiler.

use std::collections::BTreeMap;
use std::ops::Range;

use framehop::Unwinder;
use tachograph_profile::{Module, Segment};

use super::super::elf::{Bytes, Object, Tables};
use super::super::machine::{Aarch64, Machine};
use super::super::modules::unwind_module;
use super::super::signing;
use super::*;

const PLAIN: &str = include_str!("../../../tests/recorded/aarch64.stacks");
const SIGNED: &str = include_str!("../../../tests/recorded/aarch64-signed.stacks");

/// How much of a stack was recorded, at most.
const ROOM: usize = 4096;

type Unwinding = <Aarch64 as Machine>::Unwinder;

struct Recording {
    unwinder: Unwinding,
    stacks: BTreeMap<&'static str, Stack>,
}

#[derive(Default)]
struct Stack {
    registers: Option<Registers>,
    bytes: Vec<u8>,
    /// By libgcc, as far as it came.
    unwound: Vec<u64>,
    /// By the compiler, with gaps.
    told: Vec<u64>,
    /// Names of addresses of both.
    names: BTreeMap<u64, &'static str>,
}

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text, 16).expect("a number")
}

fn bytes(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks_exact(2);
    digits
        .map(|two| hex(str::from_utf8(two).expect("ASCII")) as u8)
        .collect()
}

/// A module of the recorded process, and of its unwind tables what the stacks
/// need.
struct Recorded {
    name: &'static str,
    bias: u64,
    code: Range<u64>,
    header_start: u64,
    frames_start: u64,
    /// Where functions begin, and their entries; relative to the header.
    index: Vec<[u32; 2]>,
    entries: Vec<(u64, Vec<u8>)>,
}

impl Recorded {
    fn tables(&self) -> Tables {
        let mut header = vec![1, 0x1b, 0x03, 0x3b];
        let distance = self.frames_start.wrapping_sub(self.header_start + 4) as u32;
        header.extend(distance.to_le_bytes());
        header.extend((self.index.len() as u32).to_le_bytes());
        for word in self.index.as_flattened() {
            header.extend(word.to_le_bytes());
        }
        let mut frames = Vec::new();
        for (start, entry) in &self.entries {
            let offset = (start - self.frames_start) as usize;
            let end = offset + entry.len();
            frames.resize(frames.len().max(end), 0);
            frames[offset..end].copy_from_slice(entry);
        }
        let frames = signing::blanked(&frames).unwrap_or(frames);
        Tables {
            header_range: self.header_start..self.header_start + header.len() as u64,
            header: Bytes::Copied(header.into()),
            frames_range: self.frames_start..self.frames_start + frames.len() as u64,
            frames: Bytes::Copied(frames.into()),
        }
    }

    fn add_to(&self, unwinder: &mut Unwinding) {
        let segment = Segment {
            start: self.bias + self.code.start,
            end: self.bias + self.code.end,
            file_offset: 0,
        };
        let code = segment.start..segment.end;
        let object = Object {
            bias: self.bias,
            base: 0,
            code: Vec::from([code]),
            tables: Some(self.tables()),
        };
        let module = Module::new(self.name, self.bias, [segment]);
        unwinder.add_module(unwind_module(&module, &segment, &[object]));
    }
}

impl Recording {
    fn parse(text: &'static str) -> Self {
        let mut stacks = BTreeMap::<_, Stack>::new();
        let mut stack = "";
        let mut modules: Vec<Recorded> = Vec::new();
        for line in text.lines() {
            let fields: Vec<&str> = line.split(' ').collect();
            match *fields {
                ["stack", name] => stack = name,
                ["registers", "pc", pc, "sp", sp, "fp", fp, "lr", lr] => {
                    stacks.entry(stack).or_default().registers = Some(Registers {
                        instruction: hex(pc),
                        stack: hex(sp),
                        frame: hex(fp),
                        link: hex(lr),
                    });
                }
                ["bytes", copy] => stacks.entry(stack).or_default().bytes = bytes(copy),
                [witness @ ("unwound" | "told"), address, name] => {
                    let stack = stacks.entry(stack).or_default();
                    let address = hex(address);
                    stack.names.insert(address, name);
                    match witness {
                        "told" => stack.told.push(address),
                        _ => stack.unwound.push(address),
                    }
                }
                [
                    "module",
                    name,
                    "bias",
                    bias,
                    "code",
                    start,
                    end,
                    "header",
                    header,
                    "frames",
                    frames,
                ] => {
                    modules.push(Recorded {
                        name,
                        bias: hex(bias),
                        code: hex(start)..hex(end),
                        header_start: hex(header),
                        frames_start: hex(frames),
                        index: Vec::new(),
                        entries: Vec::new(),
                    });
                }
                ["index", function, entry] => {
                    let module = modules.last_mut().expect("a module before");
                    module.index.push([hex(function) as u32, hex(entry) as u32]);
                }
                ["entry", start, entry] => {
                    let module = modules.last_mut().expect("a module before");
                    module.entries.push((hex(start), bytes(entry)));
                }
                _ => panic!("a strange line: {line}"),
            }
        }
        let mut unwinder = Unwinding::new();
        for module in &modules {
            module.add_to(&mut unwinder);
        }
        Self { unwinder, stacks }
    }

    fn stack(&self, name: &str) -> &Stack {
        self.stacks.get(name).expect("it was recorded")
    }

    fn walk(&self, name: &str, room: usize) -> (Vec<u64>, End) {
        let stack = self.stack(name);
        let mut found = Vec::new();
        let registers = stack.registers.as_ref().expect("they were recorded");
        let end = Walker::<Aarch64>::new().each(
            &self.unwinder,
            registers,
            &stack.bytes,
            room,
            |address| found.push(address),
        );
        (found, end)
    }

    /// Checks that the walk over `name` finds all that both witnesses say, but
    /// for as many functions at the root as `left_out`.
    fn assert_whole(&self, name: &str, left_out: usize) {
        let stack = self.stack(name);
        let (found, end) = self.walk(name, ROOM);
        let expected = &stack.unwound[..stack.unwound.len() - left_out];
        assert_eq!(found, expected, "{name}: {:x?}", stack.names);
        assert_eq!(end, End::Root, "{name}");
        assert_told(&found, stack, name);
    }
}

/// Checks that what the compiler told is there, in its order.
fn assert_told(found: &[u64], stack: &Stack, name: &str) {
    let mut rest = found.iter();
    for told in &stack.told {
        let function = stack.names.get(told);
        assert!(
            rest.any(|address| address == told),
            "{name}: {told:x} in {function:?} is not in {found:x?}"
        );
    }
}

/// What following the frame pointers alone would find.
fn frame_pointer_chain(stack: &Stack) -> Vec<u64> {
    let registers = stack.registers.as_ref().expect("they were recorded");
    let word = |address: u64| {
        let offset = address.checked_sub(registers.stack)? as usize;
        let word = stack.bytes.get(offset..offset + 8)?;
        Some(u64::from_le_bytes(word.try_into().expect("eight bytes")))
    };
    let mut chain = vec![registers.instruction];
    let mut frame = registers.frame;
    while let Some((next, address)) = word(frame).zip(word(frame + 8)) {
        chain.push(address);
        frame = next;
    }
    chain
}

/// Every stack but those that only we can walk, or only in part.
fn assert_all_whole(recording: &Recording) {
    for name in [
        "a_leaf",
        "a_prologue",
        "a_callback_of_the_c_library",
        "a_leaf_of_the_c_library",
    ] {
        recording.assert_whole(name, 0);
        let last = recording.stack(name).unwound.last();
        let root = last.and_then(|address| recording.stack(name).names.get(address));
        assert_eq!(root, Some(&"_start"));
    }
    // A saved frame pointer of zero is the end for our unwinder: that is in the
    // C library's `start_thread`, and one more function called it.
    recording.assert_whole("a_thread", 1);
}

#[test]
fn walks_agree_with_both_witnesses() {
    let recording = Recording::parse(PLAIN);
    assert_all_whole(&recording);
    // They went through functions that keep no frame pointer.
    let stack = recording.stack("a_leaf");
    let chain = frame_pointer_chain(stack);
    assert!(!stack.told.iter().all(|told| chain.contains(told)));
}

#[test]
fn the_caller_of_a_leaf_is_in_the_link_register() {
    let recording = Recording::parse(PLAIN);
    for name in ["a_leaf", "a_leaf_of_the_c_library"] {
        let registers = recording.stack(name).registers.expect("recorded");
        let (found, _) = recording.walk(name, ROOM);
        assert_eq!(found[..2], [registers.instruction, registers.link]);
    }
}

#[test]
fn code_without_tables_is_walked_by_its_frame_pointers() {
    let recording = Recording::parse(PLAIN);
    let stack = recording.stack("code_without_tables");
    let (found, end) = recording.walk("code_without_tables", ROOM);
    assert_eq!(end, End::Root);
    // Here libgcc gave up.
    assert_eq!(stack.unwound.len(), 2);
    assert!(found.len() > 2);
    assert_eq!(found[..2], stack.unwound);
    assert_told(&found, stack, "code_without_tables");
}

#[test]
fn a_stack_is_cut_where_its_copy_was_full_and_broken_where_it_was_not() {
    let recording = Recording::parse(PLAIN);
    let stack = recording.stack("more_than_is_copied");
    assert_eq!(stack.bytes.len(), ROOM);
    let (found, end) = recording.walk("more_than_is_copied", ROOM);
    assert_eq!(end, End::Cut);
    assert!(found.len() > 100, "{}", found.len());
    assert_eq!(found, stack.unwound[..found.len()]);
    let (again, end) = recording.walk("more_than_is_copied", ROOM + 1);
    assert_eq!((again, end), (found, End::Broken));
}

#[test]
fn signed_return_addresses_are_addresses() {
    let recording = Recording::parse(SIGNED);
    // The program's functions sign, the C library's do not.
    let signed = |address: &u64| address >> 48 != 0;
    let chain = frame_pointer_chain(recording.stack("a_leaf"));
    assert!(chain.iter().any(signed), "{chain:x?}");
    assert_all_whole(&recording);
}
