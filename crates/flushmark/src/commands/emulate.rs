//! `flushmark emulate`: a drive that one does not own, as real storage.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use emulate::address::Address;
use emulate::chain::{self, Filesystem};
use emulate::drive::{Power, Status};
use emulate::emulation::{Emulation, EmulationConfig, Files, Model, Notification};
use emulate::fixed;
use emulate::honesty::Honesty;
use emulate::runtime;
use emulate::serve::control::{self, Order};
use emulate::serve::handle::Event;
use indicatif::{ProgressBar, ProgressStyle};
use simdrive::target::SimTarget;
use workload::{ByteSize, TargetName};

use super::{look, print};
use crate::args::Format;
use crate::args::emulate::{EmulateAction, EmulateArgs, EmulateOptions, Fs, parse_order};
use crate::exit::{Refused, Verdict, WrongUse, complain, sentence};
use crate::modelled;
use crate::signals::{self, STOP};

/// Of the ideal drive, where none is given.
const IDEAL_BYTES: u64 = 64 << 30;
/// How often the live line is drawn.
const LIVE: Duration = Duration::from_secs(1);
/// How soon a wish to stop is noticed.
const LOOK_AROUND: Duration = Duration::from_millis(100);
/// How long a filesystem may take to be there again after power-on.
const READY_MOST: Duration = Duration::from_mins(2);

/// Serves a drive, or carries out one of the smaller actions.
///
/// # Errors
/// Whatever keeps it from being served.
pub fn run(args: &EmulateArgs) -> anyhow::Result<Verdict> {
    match (&args.action, &args.model) {
        (Some(EmulateAction::Ctl { socket, order, format }), _) => ctl(socket, order, *format),
        (Some(EmulateAction::CleanUp { directory }), _) => clean_up(directory.as_deref()),
        (None, Some(model)) => serve(model, &args.options),
        (None, None) => Err(WrongUse("name a model; `flushmark models` lists them".to_owned()).into()),
    }
}

fn serve(given: &str, options: &EmulateOptions) -> anyhow::Result<Verdict> {
    let model = model(given)?;
    let files = match (&options.mount, &options.fuse) {
        (Some(directory), _) => Files::Mounted(directory.clone(), filesystem(options.filesystem)),
        (None, Some(directory)) if options.loop_device => Files::Device(directory.clone()),
        (None, Some(directory)) => Files::File(directory.clone()),
        (None, None) => Files::None,
    };
    let own = |ending| runtime::socket(model.name(), ending);
    let nbd = options.nbd.clone().or_else(|| (files == Files::None).then(|| Address::Unix(own("sock"))));
    let wishes = EmulationConfig {
        image: options.image.clone(),
        destroy_data: options.destroy_data,
        honesty: Honesty::of(&options.lie),
        // As with a simulated run, a seed in the target is added to the one that applies anyway.
        seed: options.seed.wrapping_add(model.seed()),
        after: options.cut_after,
        fill_percent: options.fill,
        nbd,
        files,
        control: Some(options.control.clone().unwrap_or_else(|| own("ctl"))),
        model,
    };
    signals::listen()?;
    tell_of_left_overs();
    let live = Live::new(options.quiet);
    let mut emulation = Emulation::start(&wishes, &|step| live.draw(step))?;
    live.draw("");
    match options.format {
        Format::Text => print(&report::emulation_page(&emulation.facts, &look()))?,
        Format::Json => print(&(serde_json::to_string_pretty(&emulation.facts)? + "\n"))?,
    }
    watch(&mut emulation, &wishes, options, &live)
}

/// Until somebody wants the end.
fn watch(
    emulation: &mut Emulation,
    wishes: &EmulationConfig,
    options: &EmulateOptions,
    live: &Live,
) -> anyhow::Result<Verdict> {
    let mut last: Option<(Instant, Status)> = None;
    let mut power_on_at: Option<Instant> = None;
    let mut complained = false;
    loop {
        if STOP.is_requested() {
            match emulation.unmount() {
                Ok(()) => break,
                // Whoever works there would lose what was not written yet.
                Err(error) if !complained => {
                    live.line(&format!(
                        "flushmark: {error}; waiting until nobody uses it. A second Ctrl-C ends it at once, and `flushmark emulate clean-up` takes away what that leaves"
                    ));
                    complained = true;
                }
                Err(_) => {}
            }
        }
        match emulation.news(LOOK_AROUND) {
            Notification::Nothing => {}
            Notification::Ended => anyhow::bail!("the server has ended by itself: {}", emulation.why_it_ended()),
            Notification::Drive(Event::Unmounted) if wishes.nbd.is_none() => {
                live.line("flushmark: the directory was unmounted; nothing leads to the drive any more");
                break;
            }
            Notification::Drive(Event::Unmounted) => live.line("flushmark: the directory was unmounted; NBD goes on"),
            Notification::Drive(Event::Cut(cut)) => {
                live.line(&format!("power cut; {}", report::cut_sentence(&cut)));
                power_on_at = options.power_on_after.map(|after| Instant::now() + after);
            }
            Notification::Drive(Event::Broken(why)) => live.line(&format!("flushmark: the drive is dead: {why}")),
            Notification::Drive(Event::PoweredOn { cuts }) => {
                // What a cut leaves need not be mountable; the drive is there all the same, to be looked at, or cut again.
                match emulation.rebuild(&wishes.files, cuts).map_err(anyhow::Error::from) {
                    Ok(()) => live.line("power on"),
                    Err(error) => {
                        live.line(&format!("power on; flushmark: {}; the drive is still served", sentence(&error)));
                    }
                }
            }
        }
        if power_on_at.is_some_and(|at| at <= Instant::now()) {
            power_on_at = None;
            let _ = emulation.order(Order::PowerOn);
        }
        if live.is_drawn() && last.as_ref().is_none_or(|(at, _)| at.elapsed() >= LIVE) {
            let status = emulation.order(Order::Status).and_then(|answer| serde_json::from_value(answer).ok());
            if let Some(status) = status {
                let now = Instant::now();
                if let Some((at, before)) = &last {
                    let flushes = emulation.facts.wants_flushes;
                    live.draw(&report::emulation_line(before, &status, now - *at, flushes, &look()));
                }
                last = Some((now, status));
            }
        }
    }
    live.finish();
    // A signal is how it is meant to end.
    Ok(Verdict::Done)
}

/// What a person named.
fn model(given: &str) -> anyhow::Result<Model> {
    let given = match TargetName::parse(given) {
        TargetName::Model(model) => model,
        TargetName::Path(_) | TargetName::Null => given,
    };
    let target = SimTarget::new(given);
    if target.model != fixed::IDEAL {
        // The model of a filesystem is for simulated runs; here the host's own stands on the drive.
        if given.split(',').skip(1).any(|setting| setting.starts_with("filesystem=")) {
            return Err(WrongUse(format!(
                "`{given}`: what is emulated is the drive, without filesystem=; a real one is made by --mount DIR --fs ext4|xfs"
            ))
            .into());
        }
        return Ok(Model::Modelled(Box::new(modelled::machine(given, &target)?)));
    }
    let capacity_bytes = match given.split_once(',').map(|(_, settings)| settings) {
        None => IDEAL_BYTES,
        Some(settings) => {
            let size = settings.strip_prefix("capacity=").and_then(|size| size.parse::<ByteSize>().ok());
            let size = size.map(|ByteSize(bytes)| bytes).filter(|bytes| *bytes >= 4096 && bytes.is_multiple_of(512));
            size.ok_or_else(|| WrongUse(format!("`{settings}`: the ideal drive takes capacity=SIZE and nothing else")))?
        }
    };
    Ok(Model::Ideal { capacity_bytes })
}

const fn filesystem(fs: Fs) -> Filesystem {
    match fs {
        Fs::Ext4 => Filesystem::Ext4,
        Fs::Xfs => Filesystem::Xfs,
    }
}

fn ctl(socket: &Path, words: &[String], format: Format) -> anyhow::Result<Verdict> {
    let order = parse_order(words).map_err(WrongUse)?;
    let ask = |order| {
        control::send(socket, order)
            .with_context(|| format!("no emulated drive answers on {}", socket.display()))
            .and_then(|answer| match answer.get("error").and_then(serde_json::Value::as_str) {
                Some(error) => anyhow::bail!("{error}"),
                None => Ok(answer),
            })
    };
    let mut answer = ask(order)?;
    let trouble = |answer: &serde_json::Value| answer.get("trouble").and_then(|why| why.as_str()).map(str::to_owned);
    if order == Order::PowerOn {
        // What stands above the drive is put back by the process that serves it.
        let begun = Instant::now();
        while answer.get("ready").and_then(serde_json::Value::as_bool) == Some(false) && trouble(&answer).is_none() {
            if answer.get("power").and_then(|power| power.as_str()) != Some("on") {
                anyhow::bail!("the drive has lost its power again");
            }
            if begun.elapsed() > READY_MOST {
                anyhow::bail!(
                    "the drive is on, and what stands above it is not there after {} s",
                    READY_MOST.as_secs()
                );
            }
            std::thread::sleep(Duration::from_millis(20));
            answer = ask(Order::Status)?;
        }
        if let Some(trouble) = trouble(&answer) {
            anyhow::bail!("the drive is on, and what stands above it could not be put back: {trouble}");
        }
    }
    match format {
        Format::Json => print(&(serde_json::to_string_pretty(&answer)? + "\n"))?,
        Format::Text => {
            let status: Status = serde_json::from_value(answer)?;
            match order {
                Order::Cut => {
                    let cut = status.last_cut.unwrap_or_default();
                    let dead = if status.power == Power::Dead { "; the drive is dead" } else { "" };
                    print(&format!("power cut; {}{dead}\n", report::cut_sentence(&cut)))?;
                }
                _ => print(&report::emulation_status(&status, &look()))?,
            }
        }
    }
    Ok(Verdict::Done)
}

fn clean_up(directory: Option<&Path>) -> anyhow::Result<Verdict> {
    // Of a dead mount not even the path can be made canonical.
    let wanted = directory.map(|path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
    let left = chain::left_behind()?;
    let named = |left: &chain::LeftMount| {
        wanted.as_ref().is_none_or(|wanted| left.directory == *wanted || left.mounts.contains(wanted))
    };
    for stopped in chain::stopped()? {
        let is_wanted = wanted.as_ref().map(|wanted| stopped.directory == *wanted || stopped.mounts.contains(wanted));
        let (directory, process) = (stopped.directory.display(), stopped.process);
        let said = format!(
            "{directory} belongs to an emulated drive that is stopped, not gone, and is left alone; continue the drive \
             with `kill -CONT {process}`, or end it with `kill -KILL {process}` and clean up again"
        );
        match is_wanted {
            Some(true) => return Err(Refused(said).into()),
            None => complain(&said),
            Some(false) => {}
        }
    }
    let chosen: Vec<_> = left.iter().filter(|left| named(left)).collect();
    for left in &chosen {
        left.clean_up()?;
        let also: Vec<String> = left.mounts.iter().chain(&left.loops).map(|path| path.display().to_string()).collect();
        let also = if also.is_empty() { String::new() } else { format!(", with {}", also.join(", ")) };
        print(&format!("taken away: {}{also}\n", left.directory.display()))?;
    }
    let others = if wanted.is_none() { runtime::left_behind()? } else { Vec::new() };
    for path in &others {
        match if path.is_dir() { std::fs::remove_dir(path) } else { std::fs::remove_file(path) } {
            Ok(()) => print(&format!("taken away: {}\n", path.display()))?,
            Err(error) => complain(&format!("{} cannot be removed: {error}", path.display())),
        }
    }
    if chosen.is_empty() && others.is_empty() {
        print("nothing was left by a killed process\n")?;
    }
    Ok(Verdict::Done)
}

fn tell_of_left_overs() {
    let Ok(left) = chain::left_behind() else { return };
    for left in left {
        complain(&format!(
            "{} was left by an emulated drive whose process was killed; `flushmark emulate clean-up {}` takes it away",
            left.directory.display(),
            left.directory.display()
        ));
    }
}

/// The line that is drawn again and again.
struct Live {
    bar: Option<ProgressBar>,
}

impl Live {
    fn new(quiet: bool) -> Live {
        use std::io::IsTerminal as _;
        let drawn = !quiet && std::io::stderr().is_terminal();
        let bar = drawn.then(|| {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
                bar.set_style(style);
            }
            bar
        });
        Live { bar }
    }

    fn is_drawn(&self) -> bool {
        self.bar.is_some()
    }

    fn draw(&self, line: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(line.to_owned());
            bar.tick();
        }
    }

    fn line(&self, line: &str) {
        let write = || {
            use std::io::Write as _;
            let _ = writeln!(std::io::stderr(), "{line}");
        };
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
