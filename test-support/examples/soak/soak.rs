//! Runs the scenarios, and is each of them.

use std::error::Error;
use std::process::Command;
use std::time::Duration;
use std::{env, str};

use tachograph_core::Sampler;
use tachograph_sampler_linux::LinuxSampler;
use tachograph_sampler_pprof::PprofSampler;
use tachograph_test_support::run_alone;
use tachograph_test_support::torture::{SCENARIOS, Scenario, Subject};

const SAMPLERS: [&str; 2] = ["linux", "pprof"];

const USAGE: &str = "soak SECONDS [linux|pprof [SCENARIO]]";

/// The variable that tells this program that it is a scenario.
const SCENARIO: &str = "TACHOGRAPH_SOAK_SCENARIO";

/// How much longer than asked for a scenario may take: starts and stops are counted,
/// and others may have the processors.
fn time_max(time: Duration) -> Duration {
    10 * time + Duration::from_secs(900)
}

pub(super) fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = env::args().skip(1).collect();
    let time = match words.first().map(|it| it.parse()) {
        Some(Ok(seconds)) => Duration::from_secs(seconds),
        _ => return Err(USAGE.into()),
    };
    let is_chosen = |number: usize, name: &str| words.get(number).is_none_or(|it| it == name);
    let samplers = SAMPLERS.iter().filter(|it| is_chosen(1, it));
    let chosen: Vec<_> = samplers
        .flat_map(|sampler| SCENARIOS.iter().map(move |scenario| (*sampler, scenario)))
        .filter(|(_, scenario)| is_chosen(2, scenario.name))
        .collect();
    match &chosen[..] {
        [] => return Err(USAGE.into()),
        [(sampler, scenario)] if env::var_os(SCENARIO).is_some() => {
            return be(sampler, scenario, time);
        }
        _ => {}
    }
    let mut failures = 0;
    for (sampler, scenario) in chosen {
        failures += run(sampler, scenario, time)?;
    }
    println!("{failures} failures");
    if failures > 0 {
        return Err("not all is as it should be".into());
    }
    Ok(())
}

/// Is the scenario.
fn be(sampler: &str, scenario: &Scenario, time: Duration) -> Result<(), Box<dyn Error>> {
    let sampler: Box<dyn Sampler> = match sampler {
        "linux" => Box::new(LinuxSampler::new()),
        _ => Box::new(PprofSampler::new()),
    };
    let subject = match sampler.info().name {
        "linux" => Subject::linux(&*sampler),
        _ => Subject::pprof(&*sampler),
    };
    let figures = (scenario.run)(subject, time);
    println!("{figures}");
    if figures.results.wrong > 0 {
        return Err("wrong results".into());
    }
    Ok(())
}

/// Runs the scenario in a process of its own; says how many failures there were.
fn run(sampler: &str, scenario: &Scenario, time: Duration) -> Result<u32, Box<dyn Error>> {
    let mut command = Command::new(env::current_exe()?);
    command
        .args([&time.as_secs().to_string(), sampler, scenario.name])
        .env(SCENARIO, "1");
    let output = run_alone(&mut command, time_max(time))?;
    let (crashes, hangs, figures, errors) = match &output {
        None => (0, 1, "", String::new()),
        Some(output) => {
            let figures = str::from_utf8(&output.stdout)?.trim();
            // One with figures has ended by itself, and told of wrong results.
            let crashed = !output.status.success() && figures.is_empty();
            let errors = format!(
                "{}: {}",
                output.status,
                String::from_utf8_lossy(&output.stderr)
            );
            (u32::from(crashed), 0, figures, errors)
        }
    };
    let has_wrong = output.as_ref().is_some_and(|it| !it.status.success()) && crashes == 0;
    let name = scenario.name;
    println!("{sampler} {name}: {figures}, {crashes} crashes, {hangs} hangs");
    let failures = crashes + hangs + u32::from(has_wrong);
    if failures > 0 {
        println!("{errors}");
    }
    Ok(failures)
}
