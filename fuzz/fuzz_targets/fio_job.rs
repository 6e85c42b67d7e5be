//! Any text is a plan or an error.

#![no_main]

mod held;

libfuzzer_sys::fuzz_target!(|text: &str| {
    held::check(text, workload::Plan::from_fio("fuzz.fio", text, &|_| None));
});
