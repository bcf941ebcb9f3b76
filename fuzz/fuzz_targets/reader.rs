#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| tachograph_fuzz_targets::reader(input));
