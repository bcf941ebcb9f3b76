//! Makes large inputs for measuring, the same ones every time: in the directory named,
//! 250 captures of 2,000 samples, and two profiles of 50 and 100 MB.

use std::collections::{BTreeSet, HashMap};
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
        let message = profile(number + 1, SAMPLES, walked);
        let file = fs::File::create(captures.join(format!("{number:03}.pprof")))?;
        let mut gzip = GzEncoder::new(file, Compression::default());
        gzip.write_all(&message.encode_to_vec())?;
        gzip.finish()?;
    }
    for (name, samples) in [("50MB.pb", LARGE_SAMPLES / 2), ("100MB.pb", LARGE_SAMPLES)] {
        fs::write(
            directory.join(name),
            profile(1, samples, scattered).encode_to_vec(),
        )?;
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

/// Makes a stack of places in functions, leaf first.
type Stack = fn(&mut Random) -> Vec<u64>;

/// Stacks as programs have them: each function calls a few others, some of them more often.
/// Of 2,000 about 1,700 are different; they have some 3,200 locations.
fn walked(random: &mut Random) -> Vec<u64> {
    let mut stack = Vec::new();
    let mut function = random.below(4);
    // The executor and its tasks are on all stacks.
    while stack.len() < 10 || (stack.len() < 60 && random.below(16) > 0) {
        let mut callee = 0;
        while callee < 5 && random.below(10) < 1 {
            callee += 1;
        }
        stack.push(function * PLACES + callee % PLACES);
        function = Random(0x9e37_79b9 + function * 6 + callee).below(FUNCTIONS);
    }
    stack.reverse();
    stack
}

/// Stacks of 30 to 60 frames, nearly all different: what is called from where is not
/// arbitrary, but lies within a stretch that moves with the depth.
fn scattered(random: &mut Random) -> Vec<u64> {
    let depth = 30 + random.below(31);
    (0..depth)
        .rev()
        .map(|depth| {
            let stretch = 20 + depth * 3;
            (depth * 140 + random.below(stretch)) % (FUNCTIONS * PLACES)
        })
        .collect()
}

/// A profile of a program with long names. Only what is on a stack is in it.
fn profile(seed: u64, samples: usize, stack: Stack) -> proto::Profile {
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
    let stacks: Vec<Vec<u64>> = (0..samples).map(|_| stack(&mut random)).collect();
    let used: BTreeSet<u64> = stacks.iter().flatten().copied().collect();
    let ids: HashMap<u64, u64> = used.into_iter().zip(1..).collect();
    let mut used: Vec<(u64, u64)> = ids.iter().map(|(&place, &id)| (id, place)).collect();
    used.sort_unstable();
    for (id, place) in used {
        let number = place / PLACES;
        let name = format!(
            "service::module_{}::Handler<T>::step_{number}::{{{{closure}}}}",
            number % 97
        );
        let name = texts.number(&name);
        let function_id = match message.function.last() {
            Some(last) if last.name == name => last.id,
            last => last.map_or(1, |it| it.id + 1),
        };
        if message.function.len() < function_id as usize {
            message.function.push(proto::Function {
                id: function_id,
                name,
                system_name: name,
                ..Default::default()
            });
        }
        message.location.push(proto::Location {
            id,
            mapping_id: 1,
            address: 0x5500_0000_1000 + place * 0x40,
            line: vec![proto::Line {
                function_id,
                ..Default::default()
            }],
            is_folded: false,
        });
    }
    let (task, thread) = (texts.number("task"), texts.number("thread"));
    for stack in stacks {
        let mut label = |key, name: &str| proto::Label {
            key,
            str: texts.number(&format!("{name}-{}", random.below(8))),
            ..Default::default()
        };
        let label = vec![label(thread, "worker"), label(task, "task")];
        message.sample.push(proto::Sample {
            location_id: stack.iter().map(|place| ids[place]).collect(),
            value: vec![1, 10_000_000],
            label,
        });
    }
    message.string_table = texts.table;
    message
}

struct Texts {
    table: Vec<String>,
    numbers: HashMap<String, i64>,
}

impl Default for Texts {
    fn default() -> Self {
        Self {
            table: vec![String::new()],
            numbers: HashMap::new(),
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
