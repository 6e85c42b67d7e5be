//! The result of importing other tools' files.

use measurement::RunDocument;
use store::Copied;

use crate::columns::{Column, Columns};
use crate::look::{Look, paint};
use crate::prose::{counted, hanging};

#[derive(Debug, Clone, Copy)]
pub struct ImportedFile<'a> {
    /// Name as given on the command line.
    pub name: &'a str,
    /// Tool that wrote it, with the format: `fio (JSON)`.
    pub tool: &'a str,
    pub documents: &'a [RunDocument],
    /// Remarks on skipped tests and messages in the file.
    pub remarks: &'a [String],
    /// Ids of the stored runs; empty if they were not stored.
    pub kept: &'a str,
}

/// The result of copying the runs of another store.
pub fn copied_line(name: &str, copied: &Copied) -> String {
    let already = match copied.already {
        0 => String::new(),
        already => format!(", {already} already present"),
    };
    let running = match copied.running {
        0 => String::new(),
        running => format!(", {running} skipped because they are still being measured"),
    };
    format!("{name}: {} copied{already}{running}.\n", counted(copied.new.len() as u64, "run"))
}

/// The result for each file, then the totals. The `unread` files have already been reported.
pub fn import_page(files: &[ImportedFile<'_>], unread: usize, look: &Look) -> String {
    let tests = |documents: &[RunDocument]| {
        documents.iter().map(|document| document.results.len()).sum::<usize>()
    };
    let table = Columns::<ImportedFile<'_>>::new()
        .with(Column::left("file"), |file| file.name)
        .with(Column::left("from"), |file| file.tool)
        .with(Column::left("drive"), |file| {
            let mut drives: Vec<&str> = file.documents.iter().filter_map(drive).collect();
            drives.dedup();
            if drives.is_empty() { "not named".to_owned() } else { drives.join(", ") }
        })
        .with(Column::right("tests"), |file| tests(file.documents).to_string())
        .with(Column::right("left out").optional(), |file| {
            let left_out: usize =
                file.documents.iter().map(|document| document.skipped.len()).sum();
            (left_out > 0).then(|| left_out.to_string())
        })
        .with(Column::left("kept as").optional(), |file| {
            (!file.kept.is_empty()).then_some(file.kept)
        });
    let mut text = if files.is_empty() { String::new() } else { table.of(files, look) + "\n" };
    for file in files {
        let skipped = file.documents.iter().flat_map(|document| &document.skipped);
        let skipped =
            skipped.map(|skipped| format!("{}: {}: {}", file.name, skipped.test, skipped.because));
        let remarks = file.remarks.iter().map(|remark| format!("{}: {remark}", file.name));
        for sentence in skipped.chain(remarks) {
            text += &hanging("  ", 4, &sentence, look.columns());
        }
    }
    if files.iter().any(|file| {
        !file.remarks.is_empty()
            || file.documents.iter().any(|document| !document.skipped.is_empty())
    }) {
        text += "\n";
    }
    let runs: usize = files.iter().map(|file| file.documents.len()).sum();
    let results: usize = files.iter().map(|file| tests(file.documents)).sum();
    text += &format!(
        "{} read: {}, {}.\n",
        counted(files.len() as u64, "file"),
        counted(runs as u64, "run"),
        counted(results as u64, "test")
    );
    if unread > 0 {
        text += &format!(
            "{}\n",
            paint(
                look.palette.warning,
                &format!("{} could not be read.", counted(unread as u64, "file"))
            )
        );
    }
    look.finish(text)
}

fn drive(document: &RunDocument) -> Option<&str> {
    document.source.as_ref().and_then(|source| source.drive.as_deref())
}

#[cfg(test)]
mod golden {
    use super::*;
    use measurement::{Skipped, Source};

    #[test]
    fn each_file_with_its_tests_and_skipped_ones() {
        let source = Source {
            tool: "fio".to_owned(),
            drive: Some("nvme0n1".to_owned()),
            ..Source::default()
        };
        let one = RunDocument { source: Some(source), ..samples::document(samples::check()) };
        let skipped =
            vec![Skipped { test: "trims".to_owned(), because: "it only trimmed".to_owned() }];
        let two = RunDocument {
            source: None,
            skipped,
            ..samples::document(samples::check()[..1].to_vec())
        };
        let remarks =
            ["message from fio outside the document: fio: pid=5, err=28/file:filesetup.c"
                .to_owned()];
        let files = [
            ImportedFile {
                name: "nvme.json",
                tool: "fio (JSON)",
                documents: &[one.clone(), one],
                remarks: &remarks,
                kept: "7, 3 already",
            },
            ImportedFile {
                name: "post.txt",
                tool: "fio (text)",
                documents: &[two],
                remarks: &[],
                kept: "8",
            },
        ];
        insta::assert_snapshot!(import_page(&files, 2, &Look::plain()), @"
          file       from        drive      tests  left out  kept as
          nvme.json  fio (JSON)  nvme0n1       16         -  7, 3 already
          post.txt   fio (text)  not named      1         1  8

          nvme.json: message from fio outside the document: fio: pid=5, err=28/file:filesetup.c
          post.txt: trims: it only trimmed

        2 files read: 3 runs, 17 tests.
        2 files could not be read.
        ");
        let copied = Copied { new: Vec::new(), already: 3, running: 1 };
        insta::assert_snapshot!(copied_line("old.db", &copied), @"old.db: 0 runs copied, 3 already present, 1 skipped because they are still being measured.");
        insta::assert_snapshot!(import_page(&[], 1, &Look::plain()), @"
        0 files read: 0 runs, 0 tests.
        1 file could not be read.
        ");
    }
}
