//! Checking whether a file is sorted.

use clierror::WrongUse;
use sortfile::first_disorder;

use crate::PROGRAM;
use crate::args::{Args, CheckAs};
use crate::inputs;
use crate::progress::Bar;

/// Returns whether the input is sorted. If not, prints where, unless a quiet check is wanted.
pub fn run(args: &Args, check_as: CheckAs) -> anyhow::Result<bool> {
    let inputs = inputs::of(args)?;
    let [input] = &inputs[..] else {
        return Err(WrongUse("--check takes exactly one file".to_owned()).into());
    };
    inputs::expect_readable(input)?;
    let bar = Bar::new(args.quiet, inputs::expected(&inputs));
    let disorder =
        first_disorder(&args.order(), inputs::open(input)?, |read| bar.advance("checking", read));
    let Some(disorder) = disorder.map_err(|error| inputs::of_input(error, input))? else {
        return Ok(true);
    };
    if check_as == CheckAs::DiagnoseFirst {
        let what = if args.unique { "out of order or duplicate" } else { "out of order" };
        let (name, record) = (inputs::name(input), shown(&disorder.record));
        PROGRAM.complain(&format!("{name}:{}: {what}: {record}", disorder.number));
    }
    Ok(false)
}

/// The beginning of a record, escaped so that a terminal does not interpret it.
fn shown(record: &[u8]) -> String {
    const CHARACTERS_MAX: usize = 80;
    let text: String = String::from_utf8_lossy(&record[..record.len().min(4 * CHARACTERS_MAX)])
        .chars()
        .take(CHARACTERS_MAX)
        .collect();
    let more = if record.len() > text.len() { "…" } else { "" };
    format!("{}{more}", text.escape_debug())
}
