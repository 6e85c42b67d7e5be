//! Any text is a plan or an error; a plan's smoke run is a plan, too.

#![no_main]

mod held;

libfuzzer_sys::fuzz_target!(|text: &str| {
    held::check(text, workload::Plan::from_toml("fuzz.toml", text));
});
