//! Traces in files.

use std::fs::File;
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};

use anyhow::{Context as _, anyhow};
use measurement::{DocumentError, TraceDocument};
use trace::{Event, Header, Kept, KeptError, Origin, Scope, TextTrace, Trailer};

use super::document as document_of;
use crate::exit::WrongUse;
use crate::tracing::Analysis;

/// Events that are handed over at a time, and how many times they may wait.
const BATCH: usize = 4096;
const BATCHES: usize = 4;
/// Larger texts are not read: people paste excerpts.
const TEXT_MOST: u64 = 1 << 30;

/// The document of a kept trace, or of a text of `blkparse` or the kernel's tracer.
pub fn document(path: &Path) -> anyhow::Result<TraceDocument> {
    let failed = || format!("cannot read {}", path.display());
    let file = File::open(path).with_context(failed)?;
    match Kept::open(file) {
        Ok(kept) => of_kept(kept).map_err(|error| anyhow!("{}: {error}", failed())),
        Err(KeptError::Foreign) => of_text(path),
        Err(KeptError::Io(error)) => Err(error).with_context(failed),
        Err(error) => Err(WrongUse(format!("{}: {error}", failed())).into()),
    }
}

/// The trace in a file, kept or as a document; `None` if there is no such file or no trace in it.
///
/// # Errors
/// If a trace is damaged, or written by a newer version.
pub fn document_of_file(path: &Path) -> anyhow::Result<Option<TraceDocument>> {
    let failed = || format!("cannot read {}", path.display());
    let Ok(file) = File::open(path) else { return Ok(None) };
    match Kept::open(file) {
        Ok(kept) => {
            return of_kept(kept).map(Some).map_err(|error| anyhow!("{}: {error}", failed()));
        }
        Err(KeptError::Foreign | KeptError::Io(_)) => {}
        Err(error) => return Err(WrongUse(format!("{}: {error}", failed())).into()),
    }
    let Ok(text) = std::fs::read_to_string(path) else { return Ok(None) };
    match TraceDocument::from_json(&text) {
        Ok(document) => Ok(Some(document)),
        Err(error @ (DocumentError::Newer { .. } | DocumentError::Damaged { .. })) => {
            Err(WrongUse(format!("{}: {error}", failed())).into())
        }
        Err(_) => Ok(None),
    }
}

/// Decodes events on one thread, and analyses them on another.
fn of_kept(mut kept: Kept<File>) -> Result<TraceDocument, KeptError> {
    let header = kept.header.clone();
    let (sender, batches) = sync_channel::<Vec<Event>>(BATCHES);
    let (analysis, trailer) = std::thread::scope(|scope| {
        let mut analysis = Analysis::of_kept(&header);
        let analysing = scope.spawn(move || {
            for event in batches.into_iter().flatten() {
                analysis.event(&event);
            }
            analysis
        });
        let sent = send(&mut kept, &sender);
        drop(sender);
        let trailer = sent.and_then(|()| kept.trailer());
        (analysing.join(), trailer)
    });
    let analysis = analysis.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    Ok(document_of(&header, analysis.record(&header, &trailer?)))
}

/// Sends all events.
fn send(kept: &mut Kept<File>, to: &SyncSender<Vec<Event>>) -> Result<(), KeptError> {
    let mut batch = Vec::with_capacity(BATCH);
    while let Some(event) = kept.event()? {
        batch.push(event);
        if batch.len() == BATCH {
            // It is not received only if the analysis has panicked.
            let _ = to.send(std::mem::replace(&mut batch, Vec::with_capacity(BATCH)));
        }
    }
    let _ = to.send(batch);
    Ok(())
}

fn of_text(path: &Path) -> anyhow::Result<TraceDocument> {
    let failed = || format!("cannot read {}", path.display());
    let length = std::fs::metadata(path).with_context(failed)?.len();
    let foreign = || {
        WrongUse(format!(
            "{}: it is neither a trace that flushmark kept, nor text of blkparse, trace-cmd report or \
             trace_pipe",
            failed()
        ))
    };
    if length > TEXT_MOST {
        return Err(foreign().into());
    }
    let bytes = std::fs::read(path).with_context(failed)?;
    let text = trace::read_text(&String::from_utf8_lossy(&bytes)).ok_or_else(foreign)?;
    Ok(of_events(text, path))
}

fn of_events(text: TextTrace, path: &Path) -> TraceDocument {
    let origin = match text.origin {
        Origin::Blkparse => "blkparse",
        Origin::Tracer => "the kernel's tracer",
    };
    let header = Header {
        subject: format!("{} (text of {origin})", path.display()),
        kernel: String::new(),
        scope: Scope::default(),
        devices: Vec::new(),
    };
    let mut trailer = Trailer {
        seconds: text.events.last().map_or(0.0, |event| event.at as f64 / 1e9),
        ..Trailer::default()
    };
    trailer.counted.events = text.events.len() as u64;
    let mut analysis = Analysis::of_kept(&header);
    for event in trace::with_calls(text.events) {
        analysis.event(&event);
    }
    document_of(&header, analysis.record(&header, &trailer))
}
