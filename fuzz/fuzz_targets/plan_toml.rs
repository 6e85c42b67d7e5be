//! Any text is a plan or an error; a plan's smoke run is a plan, too.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    match workload::Plan::from_toml("fuzz.toml", text) {
        Ok(plan) => {
            assert!(!plan.tests.is_empty());
            let tests = plan.tests.len();
            assert_eq!(plan.smoke().tests.len(), tests);
        }
        Err(error) => assert!(error.line >= 1 && !error.to_string().contains('\n')),
    }
});
