//! Somebody plants things at the path, in a folder that all may write to.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use tachograph::testing::{InlineOffload, ManualClock, ScriptedSampler, Simulation};
use tachograph::{End, Error, ErrorKind, State, Timestamp};

use crate::process::{Process, answer, played, told};
use crate::{NOBODY, is_root, names, say, set_mode, turn};

const STARTS: u32 = 500;

/// A folder that all may write to.
struct Yard {
    folder: PathBuf,
    /// Where recorders start.
    path: PathBuf,
    /// A private directory of ours, to which somebody may want to lead us.
    vault: PathBuf,
    /// A directory of theirs.
    own: PathBuf,
}

impl Yard {
    fn at(around: &Path) -> Self {
        let folder = around.join("yard");
        Self {
            path: folder.join("profiles"),
            vault: around.join("vault"),
            own: around.join("own"),
            folder,
        }
    }

    fn set(around: &Path, mode: u32) -> Self {
        let yard = Self::at(around);
        set_mode(around, 0o755);
        for directory in [&yard.folder, &yard.vault, &yard.own] {
            fs::create_dir(directory).expect("created");
        }
        set_mode(&yard.folder, mode);
        set_mode(&yard.vault, 0o700);
        chown(&yard.own, Some(NOBODY), Some(NOBODY)).expect("root may");
        yard
    }

    /// What of ours is where somebody has led us.
    fn judge(&self) -> Vec<String> {
        let mut failures = Vec::new();
        let mut led_to = vec![self.vault.clone(), self.own.clone()];
        while let Some(directory) = led_to.pop() {
            for name in names(&directory) {
                let entry = directory.join(name);
                let stat = fs::symlink_metadata(&entry).expect("it stands there");
                if stat.uid() != NOBODY {
                    failures.push(format!("{entry:?}"));
                }
                if stat.is_dir() {
                    led_to.push(entry);
                }
            }
        }
        if is_theirs(&self.path) && !names(&self.path).is_empty() {
            failures.push(format!("{:?} in theirs", names(&self.path)));
        }
        failures
    }

    /// Takes away what stands at the path.
    fn clear(&self) {
        match fs::symlink_metadata(&self.path) {
            Ok(stat) if stat.is_dir() => fs::remove_dir_all(&self.path).expect("removed"),
            Ok(_) => fs::remove_file(&self.path).expect("removed"),
            Err(_) => {}
        }
    }
}

fn is_theirs(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|stat| stat.is_dir() && stat.uid() == NOBODY)
}

type Plant = fn(&Yard) -> io::Result<()>;

const PLANTS: [(&str, Plant); 9] = [
    ("a symlink to a private directory of ours", |yard| {
        symlink(&yard.vault, &yard.path)
    }),
    ("a symlink to a directory of theirs", |yard| {
        symlink(&yard.own, &yard.path)
    }),
    ("a symlink to nothing", |yard| {
        symlink(yard.own.join("new"), &yard.path)
    }),
    ("a symlink to itself", |yard| {
        symlink(&yard.path, &yard.path)
    }),
    ("a private directory of theirs", |yard| {
        fs::create_dir(&yard.path)?;
        fs::set_permissions(&yard.path, Permissions::from_mode(0o700))
    }),
    ("an open directory of theirs", |yard| {
        fs::create_dir(&yard.path)?;
        fs::set_permissions(&yard.path, Permissions::from_mode(0o777))
    }),
    ("a file", |yard| File::create_new(&yard.path).map(drop)),
    ("a hard link", |yard| {
        fs::write(yard.own.join("bait"), "bait")?;
        fs::hard_link(yard.own.join("bait"), &yard.path)
    }),
    ("a socket", |yard| UnixListener::bind(&yard.path).map(drop)),
];

/// What somebody did in the end.
#[derive(Default)]
struct Doings {
    plants: u64,
    moves: u64,
    attempts: u64,
    successes: u64,
}

/// In the process of the other user: plants what it is told to, then anything
/// all the time.
fn play(around: &Path) {
    let yard = Arc::new(Yard::at(around));
    let is_over = Arc::new(AtomicBool::new(false));
    let mut hands = None;
    for line in told() {
        if let Ok(which) = line.parse::<usize>() {
            PLANTS[which].1(&yard).expect("the path is free");
        } else if line == "anything" {
            let (yard, is_over) = (Arc::clone(&yard), Arc::clone(&is_over));
            hands = Some(thread::spawn(move || plant_anything(&yard, &is_over)));
        } else {
            break;
        }
        answer("done");
    }
    is_over.store(true, Ordering::SeqCst);
    let doings = hands.map(|hands| hands.join().expect("to the end"));
    let Doings {
        plants,
        moves,
        attempts,
        successes,
    } = doings.unwrap_or_default();
    answer(&format!("{plants} {moves} {attempts} {successes}"));
}

fn plant_anything(yard: &Yard, is_over: &AtomicBool) -> Doings {
    let mut doings = Doings::default();
    loop {
        for (_, plant) in PLANTS {
            let is_planted = plant(yard).is_ok();
            doings.plants += u64::from(is_planted);
            thread::yield_now();
            if is_planted {
                let _ = fs::remove_file(&yard.path).or_else(|_| fs::remove_dir(&yard.path));
            }
            // Somebody may start while nothing is planted.
            for _ in 0..10 {
                intrude(yard, &mut doings);
            }
        }
        if is_over.load(Ordering::SeqCst) {
            return doings;
        }
    }
}

/// Tries to get into every directory that is not theirs.
fn intrude(yard: &Yard, doings: &mut Doings) {
    let moved = yard.folder.join(format!("moved-{}", doings.moves));
    if !is_theirs(&yard.path) {
        // The folder may allow that.
        doings.moves += u64::from(fs::rename(&yard.path, &moved).is_ok());
    }
    for name in [yard.path.clone(), moved] {
        if is_theirs(&name) {
            continue;
        }
        for attempt in [
            fs::read_dir(&name).map(drop),
            File::create_new(name.join("mine")).map(drop),
            fs::rename(&name, yard.own.join("loot")),
            fs::set_permissions(&name, Permissions::from_mode(0o777)),
        ] {
            doings.attempts += 1;
            // What has become theirs in between is no loot.
            doings.successes += u64::from(attempt.is_ok() && !is_theirs(&name));
        }
    }
}

/// Starts a recorder, lets it begin a capture and stops it.
fn record(path: &Path, wall: SystemTime) -> Result<End, Error> {
    let until = Timestamp::from(wall + Duration::from_secs(3600));
    let clock = ManualClock::new(wall);
    let (recorder, driver) = tachograph::builder()
        .directory(path)
        .until(until.to_string())
        .sampler(ScriptedSampler::new())
        .build(clock.clone(), InlineOffload)?;
    let mut simulation = Simulation::new(clock);
    simulation.spawn(driver);
    simulation.settle();
    assert!(simulation.run_to_end(recorder.stop()), "it never stops");
    match recorder.status().state {
        State::Ended(end) => Ok(end),
        other => panic!("{other:?}"),
    }
}

fn each_plant_is_refused(yard: &Yard, hostile: &mut Process) {
    for (which, (what, _)) in PLANTS.iter().enumerate() {
        hostile.tell(&which.to_string());
        assert_eq!(hostile.hear(), "done");
        let planted = fs::symlink_metadata(&yard.path).expect("it is planted");
        let error = record(&yard.path, SystemTime::now()).expect_err(what);
        assert_eq!(error.kind(), ErrorKind::Directory, "{what}: {error}");
        let still = fs::symlink_metadata(&yard.path).expect("it is left");
        assert_eq!(
            (planted.ino(), planted.mode(), planted.ctime_nsec()),
            (still.ino(), still.mode(), still.ctime_nsec()),
            "{what}"
        );
        assert_eq!(yard.judge(), [""; 0], "{what}");
        yard.clear();
        // Theirs, left by what was planted before.
        let _ = fs::remove_file(yard.own.join("bait"));
    }
}

/// Private directories of ours that stood at the path, and what is in them.
fn recorded(places: [&Path; 2]) -> u64 {
    let mut files = 0;
    for place in places {
        for name in names(place) {
            let directory = place.join(name);
            let stat = fs::symlink_metadata(&directory).expect("it stands there");
            if stat.is_dir() && stat.uid() != NOBODY {
                assert_eq!(stat.mode() & 0o7777, 0o700, "{directory:?}");
                let names = names(&directory);
                assert!(
                    names.iter().all(|it| !it.ends_with(".partial")),
                    "{names:?}"
                );
                files += names.len() as u64;
            }
        }
    }
    files
}

fn scene(test: &str, folder_mode: u32) {
    if let Some(around) = played() {
        return play(&around);
    }
    let _turn = turn();
    let around = tempfile::tempdir().expect("a directory");
    if !is_root(around.path()) {
        return;
    }
    let yard = Yard::set(around.path(), folder_mode);
    let kept = around.path().join("kept");
    fs::create_dir(&kept).expect("created");
    let mut hostile = Process::start(test, around.path(), Some(NOBODY));
    each_plant_is_refused(&yard, &mut hostile);

    hostile.tell("anything");
    assert_eq!(hostile.hear(), "done");
    let (mut refused, mut removed, mut saved) = (0, 0, 0);
    for start in 0..STARTS {
        let wall = SystemTime::UNIX_EPOCH + start * Duration::from_secs(3600);
        match record(&yard.path, wall) {
            Ok(End::Stopped) => saved += 1,
            // They may remove an empty directory, where the folder allows it.
            Ok(End::Failed { why }) if why.contains("No such file") => removed += 1,
            Ok(end) => panic!("{end}"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Directory, "{error}");
                refused += 1;
            }
        }
        if !is_theirs(&yard.path) {
            // Unless they are faster.
            let _ = fs::rename(&yard.path, kept.join(start.to_string()));
        }
    }
    hostile.tell("report");
    let doings: Vec<u64> = hostile
        .hear()
        .split(' ')
        .map(|number| number.parse().expect("a number"))
        .collect();
    hostile.join();
    let [plants, moves, attempts, successes] = doings[..] else {
        panic!("{doings:?}");
    };
    let led_astray = yard.judge();
    say(&format!(
        "planted by another user, folder {folder_mode:04o}: {STARTS} starts, {refused} refused, \
         {removed} without a directory, {saved} saved, {plants} plants, {moves} moves, \
         {attempts} attempts, {} failures",
        successes + led_astray.len() as u64
    ));
    assert_eq!(led_astray, [""; 0]);
    assert_eq!(successes, 0);
    assert_eq!(recorded([&kept, &yard.folder]), 2 * saved);
    assert!(plants > 0 && attempts > 0);
    if folder_mode & 0o1000 != 0 {
        assert_eq!((moves, removed), (0, 0), "the folder is sticky");
    }
    yard.clear();
    let end = record(&yard.path, SystemTime::now()).expect("all is well again");
    assert_eq!(end, End::Stopped);
}

#[test]
fn in_a_sticky_folder() {
    scene("planting::in_a_sticky_folder", 0o1777);
}

#[test]
fn in_an_open_folder() {
    scene("planting::in_an_open_folder", 0o777);
}

#[test]
fn a_start_that_follows_what_is_planted_would_be_noticed() {
    let around = tempfile::tempdir().expect("a directory");
    if !is_root(around.path()) {
        return;
    }
    let yard = Yard::set(around.path(), 0o777);
    let mut noticed = Vec::new();
    for (what, plant) in PLANTS {
        plant(&yard).expect("the path is free");
        if !yard.path.is_symlink() {
            chown(&yard.path, Some(NOBODY), None).expect("root may");
        }
        // Whoever takes what stands there, or makes it, wherever it leads.
        let _ = fs::create_dir_all(&yard.path);
        let _ = fs::write(yard.path.join("capture"), "profile");
        if yard.judge().iter().any(|it| it.contains("capture")) {
            noticed.push(what);
        }
        for directory in [&yard.vault, &yard.own] {
            let _ = fs::remove_file(directory.join("capture"));
        }
        yard.clear();
    }
    let expected = [
        "a symlink to a private directory of ours",
        "a symlink to a directory of theirs",
        "a private directory of theirs",
        "an open directory of theirs",
    ];
    assert_eq!(noticed, expected);
}
