//! Any text is a plan or an error.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    match workload::Plan::from_fio("fuzz.fio", text) {
        Ok(plan) => assert!(!plan.tests.is_empty()),
        Err(error) => assert!(error.line >= 1 && !error.to_string().contains('\n')),
    }
});
