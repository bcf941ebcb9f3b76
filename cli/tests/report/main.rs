//! `tachograph report`: what the page holds, and what it shows in a browser.

mod browser;
mod expected;
mod hostile;
mod model;
#[path = "../common/node.rs"]
mod node;
mod page;
mod recording;
mod shown;
mod three_days;
