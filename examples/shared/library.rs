//! A small library: documents come in over HTTP, words are looked up, and two
//! jobs keep it in order.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Request, Response, StatusCode};
use tachograph::{Value, json};

use super::give_way;

/// The most documents it keeps; the oldest go.
const DOCUMENTS_MAX: usize = 400;

#[derive(Default)]
pub(crate) struct Library {
    shelves: Mutex<Shelves>,
}

#[derive(Default)]
struct Shelves {
    documents: Vec<String>,
    /// How often each word occurs, as of the last compaction.
    words: BTreeMap<String, u64>,
}

impl Library {
    /// A library with something to read in it.
    pub(crate) fn with_documents() -> Self {
        let library = Self::default();
        for number in 0..DOCUMENTS_MAX as u64 {
            library.add(document(number));
        }
        library
    }

    fn shelves(&self) -> std::sync::MutexGuard<'_, Shelves> {
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, document: String) {
        let mut shelves = self.shelves();
        if shelves.documents.len() == DOCUMENTS_MAX {
            shelves.documents.remove(0);
        }
        shelves.documents.push(document);
    }

    /// What the recorder writes beside every profile.
    pub(crate) fn snapshot(&self) -> Value {
        let shelves = self.shelves();
        json!({ "documents": shelves.documents.len(), "words": shelves.words.len() })
    }

    /// Answers `POST /documents` and `GET /words/WORD`.
    pub(crate) async fn answer(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, Infallible> {
        let answer = |status, value: Value| {
            let mut response = Response::new(Full::from(value.to_string()));
            *response.status_mut() = status;
            Ok(response)
        };
        let path = request.uri().path().to_owned();
        match (request.method(), path.strip_prefix("/words/")) {
            (&Method::GET, Some(word)) => {
                let times = self.shelves().words.get(word).copied();
                answer(StatusCode::OK, json!({ "word": word, "times": times }))
            }
            (&Method::POST, None) if path == "/documents" => {
                let Ok(body) = request.into_body().collect().await else {
                    return answer(StatusCode::BAD_REQUEST, json!("no document"));
                };
                let bytes = body.to_bytes();
                self.add(String::from_utf8_lossy(&bytes).into_owned());
                answer(StatusCode::CREATED, json!({ "bytes": bytes.len() }))
            }
            _ => answer(StatusCode::NOT_FOUND, json!("no such thing")),
        }
    }

    /// The expensive job: counts all words of all documents anew.
    pub(crate) async fn compact(&self) {
        let documents = self.shelves().documents.clone();
        let mut words = BTreeMap::new();
        for document in documents {
            count_words(&document, &mut words);
            give_way().await;
        }
        self.shelves().words = words;
    }

    /// The cheap job: a checksum of everything.
    pub(crate) async fn check(&self) -> u64 {
        let documents = self.shelves().documents.clone();
        let mut sum = 0;
        for document in documents {
            sum = checksum(&document, sum);
            give_way().await;
        }
        sum
    }
}

#[inline(never)]
fn count_words(document: &str, words: &mut BTreeMap<String, u64>) {
    for word in document.split_whitespace() {
        *words.entry(word.to_lowercase()).or_default() += 1;
    }
}

/// FNV-1a.
#[inline(never)]
fn checksum(document: &str, start: u64) -> u64 {
    document
        .bytes()
        .fold(start ^ 0xcbf2_9ce4_8422_2325, |sum, byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
}

/// The request of that number: a new document now and then, otherwise a word
/// to look up.
pub(crate) fn request(number: u32) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
    if number.is_multiple_of(10) {
        Request::builder()
            .method(Method::POST)
            .uri("/documents")
            .body(Full::from(document(u64::from(number))))
    } else {
        Request::builder()
            .uri("/words/lorry7")
            .body(Full::default())
    }
}

/// The document of that number: always the same.
fn document(number: u64) -> String {
    const WORDS: [&str; 12] = [
        "Lorry", "axle", "Brake", "clutch", "Driver", "engine", "Fuel", "gear", "Hub", "idle",
        "Jack", "kingpin",
    ];
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut text = String::new();
    for _ in 0..400 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let word = WORDS[(state % WORDS.len() as u64) as usize];
        text.push_str(word);
        text.push_str(&(state % 97).to_string());
        text.push(' ');
    }
    text
}
