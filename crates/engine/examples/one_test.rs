//! Runs one workload through the engine, without the command line: `cargo run --release -p engine
//! --example one_test -- TARGET PATTERN DEPTH SYNC SECONDS [zero] [ENGINE]`. A device or file is
//! overwritten: use a scratch one.

use std::time::Duration;

use drive::SystemRoot;
use engine::{Intent, Options, Stop, Target};
use measurement::Outcome;
use workload::{
    BlockBytes, Content, Depth, EngineChoice, Limit, Pattern, SyncMethod, Test, Work, Workload,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [target, pattern, depth, sync, seconds, rest @ ..] = words.as_slice() else {
        return Err("usage: one_test TARGET PATTERN DEPTH SYNC SECONDS [zero] [ENGINE]".into());
    };
    let mut workload =
        Workload::new(Pattern::from_name(pattern).ok_or("pattern")?, BlockBytes::new(4096)?);
    workload.depth = Depth::new(depth.parse()?)?;
    workload.sync = SyncMethod::from_name(sync).ok_or("sync")?;
    workload.limit = Limit::Time(Duration::from_secs_f64(seconds.parse()?));
    for word in rest {
        match EngineChoice::from_name(word) {
            Some(engine) => workload.engine = engine,
            None if word == "zero" => workload.content = Content::Zero,
            None => return Err(format!("unknown word `{word}`: expected zero or an engine").into()),
        }
    }
    let target =
        Target::open(&SystemRoot::default(), target, Intent { writes: true, destroy_data: true })?;
    let test = Test::alone(workload.title(), Work::Blocks(workload));
    for outcome in engine::run(&[test], &target, &Options::default(), &Stop::new(), &mut |_| {})? {
        match outcome {
            Outcome::Measured(result) => {
                println!(
                    "{} on {}: {:.0} IOPS, {:?}",
                    result.test,
                    result.engine,
                    result.iops,
                    result.headline_us()
                );
                println!(
                    "proof {:?} cpu {:?} notes {:?} {:?}",
                    result.proof, result.cpu, result.notes, result.ended
                );
            }
            Outcome::Skipped(skipped) => println!("skipped: {}", skipped.because),
        }
    }
    Ok(())
}
