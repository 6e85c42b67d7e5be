//! Any text is another tool's output or an error; what comes of it can be written in every format.

#![no_main]

use formats::columns::Run;
use formats::fio::write::{Bins, json};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = formats::decoded(bytes) else { return };
    if let Ok(imported) = formats::import("fuzz", &text, None) {
        assert!(!imported.documents.is_empty());
        for document in &imported.documents {
            let _ = json(document, Bins::With);
        }
        let runs: Vec<Run<'_>> = imported
            .documents
            .iter()
            .map(|document| Run { document, host: Some("fuzz") })
            .collect();
        let _ = formats::csv::table(&runs);
        let _ = formats::openmetrics::text(&imported.documents);
        assert!(formats::parquet::tests(&runs).is_ok() && formats::parquet::bins(&runs).is_ok());
    }
});
