//! Any path and header fields as a request: it gets an answer whose body lies within the object, and
//! a name that stays below the folder.
#![no_main]

#[path = "../../crates/daemon/tests/daemon/request.rs"]
mod request;

libfuzzer_sys::fuzz_target!(|data: &[u8]| request::check_lines(data));
