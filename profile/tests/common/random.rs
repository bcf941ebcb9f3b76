//! Random profiles out of a fixed seed.

use tachograph_profile::proto;

/// SplitMix64: small, and the same everywhere.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Less than `end`, which must not be 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn flag(&mut self) -> bool {
        self.below(2) == 1
    }

    /// Numbers of all magnitudes, both signs.
    fn number(&mut self) -> i64 {
        let shift = self.below(64);
        (self.next() >> shift) as i64
    }

    fn list<T>(&mut self, end: u64, mut item: impl FnMut(&mut Self, u64) -> T) -> Vec<T> {
        let len = self.below(end);
        (0..len).map(|number| item(self, number)).collect()
    }
}

/// A coherent message that uses every field of the format.
pub(crate) fn profile(random: &mut Random) -> proto::Profile {
    let mut string_table = vec![String::new()];
    string_table.extend(random.list(20, |random, number| {
        let letter = char::from_u32(0x20 + random.below(0x2000) as u32).unwrap_or('x');
        format!("{letter}{number}")
    }));
    let strings = string_table.len() as u64;
    let string = |random: &mut Random| random.below(strings) as i64;
    let value_type = |random: &mut Random| proto::ValueType {
        r#type: string(random),
        unit: string(random),
    };
    // Ids need not be dense, only unique and not 0.
    let stride = 1 + random.below(1_000);
    let id = |number: u64| (number + 1) * stride;

    let mapping = random.list(4, |random, number| proto::Mapping {
        id: id(number),
        memory_start: random.next(),
        memory_limit: random.next(),
        file_offset: random.next(),
        filename: string(random),
        build_id: string(random),
        has_functions: random.flag(),
        has_filenames: random.flag(),
        has_line_numbers: random.flag(),
        has_inline_frames: random.flag(),
    });
    let function = random.list(10, |random, number| proto::Function {
        id: id(number),
        name: string(random),
        system_name: string(random),
        filename: string(random),
        start_line: random.number(),
    });
    let location = random.list(10, |random, number| proto::Location {
        id: id(number),
        // 0 is in no mapping.
        mapping_id: random.below(mapping.len() as u64 + 1) * stride,
        address: random.next(),
        line: if function.is_empty() {
            Vec::new()
        } else {
            random.list(4, |random, _| proto::Line {
                function_id: id(random.below(function.len() as u64)),
                line: random.number(),
                column: random.number(),
            })
        },
        is_folded: random.flag(),
    });
    let mut sample_type = vec![value_type(random)];
    sample_type.extend(random.list(3, |random, _| value_type(random)));
    let sample = random.list(12, |random, _| proto::Sample {
        location_id: if location.is_empty() {
            Vec::new()
        } else {
            random.list(8, |random, _| id(random.below(location.len() as u64)))
        },
        value: sample_type.iter().map(|_| random.number()).collect(),
        label: random.list(3, |random, _| proto::Label {
            key: string(random),
            str: string(random),
            num: random.number(),
            num_unit: string(random),
        }),
    });
    proto::Profile {
        sample_type,
        sample,
        mapping,
        location,
        function,
        drop_frames: string(random),
        keep_frames: string(random),
        time_nanos: random.number(),
        duration_nanos: random.number(),
        period_type: random.flag().then(|| value_type(random)),
        period: random.number(),
        comment: random.list(3, |random, _| string(random)),
        default_sample_type: string(random),
        doc_url: string(random),
        string_table,
    }
}
