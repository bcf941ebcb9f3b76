//! Listens to what the recorder logs.

use std::cell::RefCell;
use std::fmt::{self, Write};
use std::sync::Once;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// A line that was logged.
#[derive(Debug, Default)]
pub(crate) struct Line {
    pub(crate) warns: bool,
    pub(crate) message: String,
    pub(crate) reason: Option<String>,
    pub(crate) why: Option<String>,
}

thread_local! {
    static LINES: RefCell<Vec<Line>> = const { RefCell::new(Vec::new()) };
}

/// What this thread's recorders have logged since the last call.
pub(crate) fn take() -> Vec<Line> {
    LINES.with(|lines| std::mem::take(&mut *lines.borrow_mut()))
}

/// Listens in the whole process: whether anybody listens to a line is
/// remembered for all threads, so that one which does not would make lines of
/// the others disappear. And lets panics that are played pass in silence.
///
/// # Panics
///
/// If somebody else listens already.
pub(crate) fn listen() {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| {
        tracing::subscriber::set_global_default(Listener)
            .expect("nobody else in this process listens to the log");
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            // Those of the doubles have a formatted message.
            let message = panic.payload().downcast_ref::<String>();
            let played = message.is_some_and(|message| message.starts_with("injected fault"));
            if !played {
                others(panic);
            }
        }));
    });
}

struct Listener;

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "tachograph" && metadata.is_event()
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line {
            warns: *event.metadata().level() <= Level::WARN,
            ..Line::default()
        };
        event.record(&mut line);
        LINES.with(|lines| lines.borrow_mut().push(line));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "reason" => self.reason = Some(value.to_owned()),
            _ => self.record_debug(field, &value),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => {
                // Writing to a string cannot fail.
                let _ = write!(self.message, "{value:?}");
            }
            "why" => self.why = Some(format!("{value:?}")),
            _ => {}
        }
    }
}
