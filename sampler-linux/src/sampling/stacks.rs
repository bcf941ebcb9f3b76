//! Which memory is a thread's own stack, and so stays mapped while it lives.

use std::fs;
use std::io;
use std::ops::Range;

/// The mappings of this process that can be a stack.
#[derive(Debug)]
pub(crate) struct Stacks {
    /// By address.
    stacks: Vec<Stack>,
}

#[derive(Debug, PartialEq, Eq)]
struct Stack {
    range: Range<u64>,
    /// The first thread's, which the kernel made.
    is_main: bool,
}

impl Stacks {
    pub(crate) fn now() -> io::Result<Self> {
        Ok(Self::parse(&fs::read_to_string("/proc/self/maps")?))
    }

    /// A stack is a readable and writable mapping right behind an inaccessible
    /// one, its guard. Without a guard the kernel may have joined it to other
    /// memory, which need not stay.
    fn parse(maps: &str) -> Self {
        let mut stacks = Vec::new();
        let mut guard_end = 0;
        for line in maps.lines() {
            let mut fields = line.split_ascii_whitespace();
            let Some((range, permissions)) = fields.next().zip(fields.next()) else {
                continue;
            };
            let Some(range) = range.split_once('-').and_then(|(start, end)| {
                let hexadecimal = |text| u64::from_str_radix(text, 16).ok();
                Some(hexadecimal(start)?..hexadecimal(end)?)
            }) else {
                continue;
            };
            let is_main = line.ends_with("[stack]");
            if permissions.starts_with("---") {
                guard_end = range.end;
            } else if permissions.starts_with("rw") && (is_main || range.start == guard_end) {
                stacks.push(Stack { range, is_main });
            }
        }
        Self { stacks }
    }

    /// The part of the stack of a thread that is known to stay, given where
    /// its stack pointer was once. The C library keeps what it knows of a
    /// thread at the top of the very stack it made or took for it, so a mapping
    /// with both in it is that one, and not one of a coroutine.
    pub(crate) fn of_thread(
        &self,
        stack_pointer: u64,
        thread_pointer: u64,
        is_main_thread: bool,
    ) -> Option<Range<u64>> {
        let after = self
            .stacks
            .partition_point(|it| it.range.start <= stack_pointer);
        let stack = self.stacks.get(after.checked_sub(1)?)?;
        if !stack.range.contains(&stack_pointer) {
            return None;
        }
        if stack.is_main {
            return is_main_thread.then(|| stack.range.clone());
        }
        let is_own = stack.range.contains(&thread_pointer) && stack_pointer < thread_pointer;
        is_own.then_some(stack.range.start..thread_pointer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
5000-6000 rw-p 00000000 00:00 0                          [heap]
7000-8000 ---p 00000000 00:00 0
8000-a000 rw-p 00000000 00:00 0
a000-b000 rw-p 00000000 fe:00 9                          /lib/x.so
b000-c000 ---p 00001000 fe:00 9                          /lib/x.so
c000-d000 r--p 00001000 fe:00 9                          /lib/x.so
not a line at all
e000-f000 rw-p 00000000 00:00 0                          [stack]
";

    #[test]
    fn a_stack_has_a_guard_below_and_its_thread_at_the_top() {
        let stacks = Stacks::parse(MAPS);
        assert_eq!(stacks.stacks.len(), 2);
        assert_eq!(
            stacks.of_thread(0x9000, 0x9800, false),
            Some(0x8000..0x9800)
        );
        // The thread pointer is elsewhere: a coroutine's stack.
        assert_eq!(stacks.of_thread(0x9000, 0x5800, false), None);
        assert_eq!(stacks.of_thread(0x9900, 0x9800, false), None);
        // No guard.
        assert_eq!(stacks.of_thread(0x5100, 0x5200, false), None);
        assert_eq!(stacks.of_thread(0xa100, 0xa200, false), None);
        // Not mapped at all.
        assert_eq!(stacks.of_thread(0x100, 0x9800, false), None);
        assert_eq!(stacks.of_thread(0xd100, 0xd200, false), None);
    }

    #[test]
    fn the_first_stack_belongs_to_the_first_thread() {
        let stacks = Stacks::parse(MAPS);
        assert_eq!(stacks.of_thread(0xe800, 0x9800, true), Some(0xe000..0xf000));
        assert_eq!(stacks.of_thread(0xe800, 0xe900, false), None);
    }
}
