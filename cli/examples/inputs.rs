//! Makes large inputs for measuring, the same ones every time: in the directory named,
//! 250 captures of 2,000 samples, and two profiles of 50 and 100 MB.

use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message as _;
use tachograph_profile::proto;

const CAPTURES: u64 = 250;
const SAMPLES: usize = 2_000;
const FUNCTIONS: u64 = 3_000;
/// Places in each function that are called from.
const PLACES: u64 = 3;
const LARGE_SAMPLES: usize = 1_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args_os().nth(1).ok_or("name a directory")?;
    let directory = Path::new(&directory);
    let captures = directory.join("captures");
    fs::create_dir_all(&captures)?;
    for number in 0..CAPTURES {
        let message = profile(number + 1, SAMPLES);
        let file = fs::File::create(captures.join(format!("{number:03}.pprof")))?;
        let mut gzip = GzEncoder::new(file, Compression::default());
        gzip.write_all(&message.encode_to_vec())?;
        gzip.finish()?;
    }
    for (name, samples) in [("50MB.pb", LARGE_SAMPLES / 2), ("100MB.pb", LARGE_SAMPLES)] {
        fs::write(directory.join(name), profile(1, samples).encode_to_vec())?;
    }
    Ok(())
}

/// Numbers that look random (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// Stacks of 30 to 60 frames, nearly all different, of a program with long names.
fn profile(seed: u64, samples: usize) -> proto::Profile {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut texts = Texts::default();
    let mut message = proto::Profile {
        sample_type: vec![
            proto::ValueType {
                r#type: texts.number("samples"),
                unit: texts.number("count"),
            },
            proto::ValueType {
                r#type: texts.number("cpu"),
                unit: texts.number("nanoseconds"),
            },
        ],
        period: 10_000_000,
        time_nanos: 1_796_000_000_000_000_000,
        duration_nanos: 30_000_000_000,
        ..Default::default()
    };
    message.period_type = Some(message.sample_type[1]);
    message.mapping.push(proto::Mapping {
        id: 1,
        memory_start: 0x5500_0000_0000,
        memory_limit: 0x5500_0100_0000,
        filename: texts.number("/srv/bin/service"),
        build_id: texts.number("1d3abf24ef9f7a7ff1b0640e62ab99158d76cf84"),
        has_functions: true,
        ..Default::default()
    });
    for id in 1..=FUNCTIONS {
        let name = format!(
            "service::module_{}::Handler<T>::step_{id}::{{{{closure}}}}",
            id % 97
        );
        let name = texts.number(&name);
        message.function.push(proto::Function {
            id,
            name,
            system_name: name,
            ..Default::default()
        });
    }
    for id in 1..=FUNCTIONS * PLACES {
        message.location.push(proto::Location {
            id,
            mapping_id: 1,
            address: 0x5500_0000_1000 + id * 0x40,
            line: vec![proto::Line {
                function_id: (id - 1) / PLACES + 1,
                ..Default::default()
            }],
            is_folded: false,
        });
    }
    let (task, thread) = (texts.number("task"), texts.number("thread"));
    for _ in 0..samples {
        let depth = 30 + random.below(31);
        // What is called from where is not arbitrary: it lies within a stretch that
        // moves with the depth.
        let location_id = (0..depth)
            .rev()
            .map(|depth| {
                let stretch = 20 + depth * 3;
                1 + (depth * 140 + random.below(stretch)) % (FUNCTIONS * PLACES)
            })
            .collect();
        let mut label = |key, name: &str| proto::Label {
            key,
            str: texts.number(&format!("{name}-{}", random.below(8))),
            ..Default::default()
        };
        let label = vec![label(thread, "worker"), label(task, "task")];
        message.sample.push(proto::Sample {
            location_id,
            value: vec![1, 10_000_000],
            label,
        });
    }
    message.string_table = texts.table;
    message
}

struct Texts {
    table: Vec<String>,
    numbers: std::collections::HashMap<String, i64>,
}

impl Default for Texts {
    fn default() -> Self {
        Self {
            table: vec![String::new()],
            numbers: std::collections::HashMap::new(),
        }
    }
}

impl Texts {
    fn number(&mut self, text: &str) -> i64 {
        *self.numbers.entry(text.to_owned()).or_insert_with(|| {
            self.table.push(text.to_owned());
            self.table.len() as i64 - 1
        })
    }
}
