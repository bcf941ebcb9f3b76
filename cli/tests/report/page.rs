//! Running the command, and reading the page that it writes.

use std::collections::HashSet;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::Value;

/// A directory of one test: what was recorded, and a place for the page.
pub(crate) struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        fs::create_dir(folder.path().join("profiles")).expect("a folder");
        Self { folder }
    }

    /// The recorded directory.
    pub(crate) fn recorded(&self) -> PathBuf {
        self.folder.path().join("profiles")
    }

    pub(crate) fn page(&self) -> PathBuf {
        self.folder.path().join("report.html")
    }

    /// Runs `tachograph report` with these arguments behind the directory.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_tachograph"))
            .arg("report")
            .arg(self.recorded())
            .args(arguments)
            .current_dir(self.folder.path())
            .output()
            .expect("the command runs")
    }

    /// Writes the page, which must succeed; without a word unless `status` is 1.
    pub(crate) fn report(&self, status: i32) -> String {
        let output = self.run(&["-o", "report.html", "--force"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(status), "{said}");
        assert_eq!(said.is_empty(), status == 0, "{said}");
        assert!(output.stdout.is_empty());
        said
    }

    /// What the page holds, as its script reads it.
    pub(crate) fn model(&self) -> Model {
        model_of(&self.page())
    }
}

fn model_of(page: &Path) -> Model {
    let html = fs::read_to_string(page).expect("the page is UTF-8");
    let (_, rest) = html
        .split_once("id=\"recording\">")
        .expect("the data block");
    let (block, _) = rest.split_once('<').expect("its end");
    let packed = BASE64_STANDARD.decode(block).expect("base64");
    let mut json = String::new();
    flate2::read::GzDecoder::new(&packed[..])
        .read_to_string(&mut json)
        .expect("gzip of UTF-8");
    Model {
        plain_bytes: json.len(),
        page_bytes: html.len(),
        json: serde_json::from_str(&json).expect("JSON"),
    }
}

/// The data block of a page.
pub(crate) struct Model {
    pub(crate) json: Value,
    pub(crate) plain_bytes: usize,
    pub(crate) page_bytes: usize,
}

/// One row of a capture, with its numbers looked up.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Row {
    /// The outermost caller first.
    pub(crate) stack: Vec<String>,
    pub(crate) task: Option<String>,
    pub(crate) thread: Option<String>,
    pub(crate) count: i64,
    pub(crate) nanos: i64,
}

impl Model {
    fn numbers<'a>(&'a self, column: &'a Value) -> impl Iterator<Item = usize> + 'a {
        let column = column.as_array().expect("a column");
        column
            .iter()
            .map(|it| it.as_u64().expect("a number") as usize)
    }

    pub(crate) fn text(&self, number: &Value) -> Option<String> {
        let number = number.as_u64()? as usize;
        Some(
            self.json["strings"][number]
                .as_str()
                .expect("a text")
                .to_owned(),
        )
    }

    pub(crate) fn captures(&self) -> &[Value] {
        self.json["captures"].as_array().expect("captures")
    }

    /// Names of the functions that are not the application's own.
    pub(crate) fn libraries(&self) -> HashSet<String> {
        let functions = &self.json["functions"];
        let names = functions["name"].as_array().expect("names").iter();
        names
            .zip(self.numbers(&functions["library"]))
            .filter(|(_, library)| *library == 1)
            .filter_map(|(name, _)| self.text(name))
            .collect()
    }

    /// The functions of every stack, the outermost caller first.
    pub(crate) fn stacks(&self) -> Vec<Vec<String>> {
        let stacks = &self.json["stacks"];
        let mut all: Vec<Vec<String>> = Vec::new();
        for (up, function) in self
            .numbers(&stacks["up"])
            .zip(self.numbers(&stacks["function"]))
        {
            let mut stack = match up {
                0 => {
                    assert!(all.is_empty(), "only the root extends nothing");
                    all.push(Vec::new());
                    continue;
                }
                up => all[all.len() - up].clone(),
            };
            let name = &self.json["functions"]["name"][function];
            stack.push(self.text(name).expect("every function has a name"));
            all.push(stack);
        }
        all
    }

    /// The rows of a capture, sorted.
    pub(crate) fn rows(&self, capture: &Value, stacks: &[Vec<String>]) -> Vec<Row> {
        let column = |name: &str| capture["rows"][name].as_array().expect("a column");
        let mut stack = 0;
        let mut rows = Vec::new();
        for at in 0..column("stack").len() {
            let number = |name: &str| column(name)[at].as_i64().expect("a number");
            stack += number("stack") as usize;
            let label = number("label") as usize;
            let name_of = |list: &str, key: &str| {
                let place = self.json["labels"][key][label].as_u64().expect("a place");
                self.text(&self.json[list][place as usize])
            };
            rows.push(Row {
                stack: stacks[stack].clone(),
                task: name_of("tasks", "task"),
                thread: name_of("threads", "thread"),
                count: number("count"),
                nanos: number("cpu"),
            });
        }
        rows.sort();
        rows
    }
}
