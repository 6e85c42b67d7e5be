//! Documents of every earlier version can still be read. Each addition to the document adds an
//! older one here.

use measurement::RunDocument;

/// Name and text; a new version adds files and never removes one.
const KEPT: [(&str, &str); 2] = [
    // Before `series.commit_bins`, `source` and `merged_runs`.
    ("run-1-check.json", include_str!("documents/run-1-check.json")),
    ("run-1-model.json", include_str!("documents/run-1-model.json")),
];

#[test]
fn every_kept_document_reads() {
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/documents")).unwrap();
    assert_eq!(files.count(), KEPT.len(), "a document is not listed in KEPT");
    for (name, text) in KEPT {
        let document =
            RunDocument::from_json(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!document.results.is_empty(), "{name}");
        for result in &document.results {
            let headline = result.headline_us().map(|latency| latency.count);
            let histogram = result.histograms.commit.as_ref().or(result.histograms.write.as_ref());
            let histogram =
                histogram.or(result.histograms.read.as_ref()).map(measurement::Histogram::count);
            assert_eq!(headline, histogram, "{name}: {}", result.test);
        }
    }
}
