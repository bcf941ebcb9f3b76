//! What stands in the directory afterwards.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tachograph::Sidecar;
use tachograph_profile::Profile;

/// A path in the temporary directory at which nothing stands yet. The recorder
/// makes the directory itself, private.
pub(crate) fn fresh_directory(service: &str) -> Result<PathBuf, Box<dyn Error>> {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    let name = format!(
        "tachograph-{service}-{}-{}",
        std::process::id(),
        since_epoch.as_nanos()
    );
    Ok(std::env::temp_dir().canonicalize()?.join(name))
}

/// Prints every capture in `directory` with its CPU time by task.
pub(crate) fn print_all(directory: &Path) -> Result<(), Box<dyn Error>> {
    println!("captures in {}", directory.display());
    let mut profiles: Vec<PathBuf> = fs::read_dir(directory)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>, std::io::Error>>()?;
    profiles.retain(|path| path.extension().is_some_and(|it| it == "pprof"));
    profiles.sort();
    for path in &profiles {
        print_one(path)?;
    }
    if let Some(last) = profiles.last() {
        println!(
            "\nlook into one:  go tool pprof -top -tagfocus task=compaction {}",
            last.display()
        );
    }
    Ok(())
}

fn print_one(path: &Path) -> Result<(), Box<dyn Error>> {
    let mut json = path.as_os_str().to_owned();
    json.push(".json");
    let sidecar = Sidecar::from_json(&fs::read(json)?)?;
    let profile = Profile::decode(&fs::read(path)?, 64 << 20)?;

    let name = path.file_name().unwrap_or_default();
    println!(
        "\n{}\n  {}: {:.1} s, {} samples ({} lost), {} bytes",
        name.to_string_lossy(),
        sidecar.reason,
        profile.duration().as_secs_f64(),
        sidecar.samples,
        sidecar.lost,
        sidecar.bytes
    );
    let mut by_task: Vec<_> = profile.by_label("task", "cpu").into_iter().collect();
    by_task.sort_by_key(|(_, nanos)| -nanos);
    for (task, nanos) in by_task {
        println!(
            "  {:>8.2} s CPU  {}",
            nanos as f64 / 1e9,
            task.map_or("(no task)".into(), |task| format!("task {task}"))
        );
    }
    Ok(())
}
