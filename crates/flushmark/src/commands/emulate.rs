//! `flushmark emulate`: serves a modelled drive as real storage.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use emulate::{
    Address, Emulation, EmulationConfig, Event, Files, Filesystem, Honesty, IDEAL, LeftMount,
    Model, Notification, Order, Power, Status, StoppedMount, fuse, runtime,
};
use indicatif::{ProgressBar, ProgressStyle};
use simdrive::SimTarget;
use workload::{ByteSize, TargetName};

use super::{look, print};
use crate::args::Format;
use crate::args::emulate::{EmulateAction, EmulateArgs, EmulateOptions, Fs, parse_order};
use crate::exit::{ExitStatus, Refused, WrongUse, complain, sentence};
use crate::modelled;
use crate::signals::{self, STOP};

/// Default capacity of the ideal drive.
const IDEAL_BYTES: u64 = 64 << 30;
/// Interval between updates of the live line.
const LIVE: Duration = Duration::from_secs(1);
/// Interval between checks for a request to stop.
const LOOK_AROUND: Duration = Duration::from_millis(100);
/// Time for the filesystem to return after power-on.
const READY_TIME_MAX: Duration = Duration::from_mins(2);

/// Serves a drive, or runs `ctl` or `clean-up`.
pub fn run(args: &EmulateArgs) -> anyhow::Result<ExitStatus> {
    match (&args.action, &args.model) {
        (Some(EmulateAction::Ctl { socket, order, format }), _) => ctl(socket, order, *format),
        (Some(EmulateAction::CleanUp { directory }), _) => clean_up(directory.as_deref()),
        (None, Some(model)) => serve(model, &args.options),
        (None, None) => {
            Err(WrongUse("missing model; `flushmark models` lists them".to_owned()).into())
        }
    }
}

fn serve(given: &str, options: &EmulateOptions) -> anyhow::Result<ExitStatus> {
    let model = model(given)?;
    // There, the image would be in memory, under the name of a missing device.
    let missing_device = options
        .image
        .as_ref()
        .filter(|image| !image.exists() && drive::leads_to_device_path(image));
    if let Some(image) = missing_device {
        return Err(WrongUse(format!(
            "{} does not exist, and no image is created among the devices; choose another file",
            image.display()
        ))
        .into());
    }
    let files = match (&options.mount, &options.fuse) {
        (Some(directory), _) => Files::Mounted(directory.clone(), filesystem(options.filesystem)),
        (None, Some(directory)) if options.loop_device => Files::Device(directory.clone()),
        (None, Some(directory)) => Files::File(directory.clone()),
        (None, None) => Files::None,
    };
    let own = |ending| runtime::socket(model.name(), ending);
    let nbd =
        options.nbd.clone().or_else(|| (files == Files::None).then(|| Address::Unix(own("sock"))));
    let wishes = EmulationConfig {
        image: options.image.clone(),
        destroy_data: options.destroy_data,
        honesty: Honesty::of(&options.lie),
        // As in a simulated run, a seed in the target is added to the seed option.
        seed: options.seed.wrapping_add(model.seed()),
        after: options.cut_after,
        fill_percent: options.fill,
        nbd,
        files,
        control: Some(options.control.clone().unwrap_or_else(|| own("ctl"))),
        model,
    };
    signals::listen()?;
    report_leftovers();
    let live = Live::new(options.quiet);
    let mut emulation = Emulation::start(&wishes, &|step| live.draw(step))?;
    live.draw("");
    match options.format {
        Format::Text => print(&report::emulation_page(&emulation.facts, &look()))?,
        Format::Json => print(&(serde_json::to_string_pretty(&emulation.facts)? + "\n"))?,
    }
    watch(&mut emulation, &wishes, options, &live)
}

/// Serves until the user stops it.
fn watch(
    emulation: &mut Emulation,
    wishes: &EmulationConfig,
    options: &EmulateOptions,
    live: &Live,
) -> anyhow::Result<ExitStatus> {
    let mut last: Option<(Instant, Status)> = None;
    let mut power_on_at: Option<Instant> = None;
    let mut complained = false;
    loop {
        if STOP.is_requested() {
            match emulation.unmount() {
                Ok(()) => break,
                // Its users would lose what was not written yet.
                Err(error) if !complained => {
                    live.line(&format!(
                        "flushmark: {error}; waiting until it is no longer in use. A second Ctrl-C \
                         stops at once; `flushmark emulate clean-up` then removes what is left"
                    ));
                    complained = true;
                }
                Err(_) => {}
            }
        }
        match emulation.news(LOOK_AROUND) {
            Notification::Nothing => {}
            Notification::Ended => {
                anyhow::bail!("the server stopped unexpectedly: {}", emulation.why_it_ended())
            }
            Notification::Drive(Event::Unmounted) if wishes.nbd.is_none() => {
                live.line(
                    "flushmark: the directory was unmounted, so the drive is no longer accessible",
                );
                break;
            }
            Notification::Drive(Event::Unmounted) => {
                live.line("flushmark: the directory was unmounted; NBD is still served");
            }
            Notification::Drive(Event::Cut(cut)) => {
                live.line(&format!("power cut; {}", report::cut_sentence(&cut)));
                power_on_at = options.power_on_after.map(|after| Instant::now() + after);
            }
            Notification::Drive(Event::Broken(why)) => {
                live.line(&format!("flushmark: the drive is dead: {why}"));
            }
            Notification::Drive(Event::PoweredOn { cuts }) => {
                // The filesystem may not mount after a cut; the drive is still served, to be
                // inspected or cut again.
                match emulation.rebuild(&wishes.files, cuts).map_err(anyhow::Error::from) {
                    Ok(()) => live.line("power on"),
                    Err(error) => {
                        live.line(&format!(
                            "power on; flushmark: {}; the drive is still served",
                            sentence(&error)
                        ));
                    }
                }
            }
        }
        if power_on_at.is_some_and(|at| at <= Instant::now()) {
            power_on_at = None;
            let _ = emulation.order(Order::PowerOn);
        }
        if live.is_drawn() && last.as_ref().is_none_or(|(at, _)| at.elapsed() >= LIVE) {
            last = draw(emulation, live, last);
        }
    }
    live.finish();
    // A signal is the normal way to stop.
    Ok(ExitStatus::Done)
}

/// Draws the activity since the last status, and returns the present one.
fn draw(
    emulation: &Emulation,
    live: &Live,
    last: Option<(Instant, Status)>,
) -> Option<(Instant, Status)> {
    let answer = emulation.order(Order::Status);
    let Some(status) = answer.and_then(|answer| serde_json::from_value(answer).ok()) else {
        return last;
    };
    let now = Instant::now();
    if let Some((at, before)) = &last {
        let flushes = emulation.facts.wants_flushes;
        live.draw(&report::emulation_line(before, &status, now - *at, flushes, &look()));
    }
    Some((now, status))
}

/// The model that the user named.
fn model(given: &str) -> anyhow::Result<Model> {
    let given = match TargetName::parse(given) {
        TargetName::Model(model) => model,
        _ => given,
    };
    let target = SimTarget::new(given);
    if target.model != IDEAL {
        // The modelled filesystem is for simulated runs; here the host's own filesystem is used.
        if given.split(',').skip(1).any(|setting| setting.starts_with("filesystem=")) {
            return Err(WrongUse(format!(
                "`{given}`: filesystem= does not apply to an emulated drive; use --mount DIR --fs \
                 ext4|xfs for a real filesystem"
            ))
            .into());
        }
        return Ok(Model::Modelled(Box::new(modelled::machine(given, &target)?)));
    }
    let capacity_bytes = match given.split_once(',').map(|(_, settings)| settings) {
        None => IDEAL_BYTES,
        Some(settings) => {
            let size =
                settings.strip_prefix("capacity=").and_then(|size| size.parse::<ByteSize>().ok());
            let size = size
                .map(|ByteSize(bytes)| bytes)
                .filter(|bytes| *bytes >= 4096 && bytes.is_multiple_of(512));
            size.ok_or_else(|| {
                WrongUse(format!(
                    "invalid setting `{settings}`: the ideal drive only accepts capacity=SIZE"
                ))
            })?
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

fn ctl(socket: &Path, words: &[String], format: Format) -> anyhow::Result<ExitStatus> {
    let order = parse_order(words).map_err(WrongUse)?;
    let send = |order: Order| {
        order
            .send(socket)
            .with_context(|| format!("no emulated drive responds on {}", socket.display()))
            .and_then(|answer| match answer.get("error").and_then(serde_json::Value::as_str) {
                Some(error) => anyhow::bail!("{error}"),
                None => Ok(answer),
            })
    };
    let mut answer = send(order)?;
    let trouble = |answer: &serde_json::Value| {
        answer.get("trouble").and_then(|why| why.as_str()).map(str::to_owned)
    };
    if order == Order::PowerOn {
        // The process that serves the drive restores the layers above it.
        let begun = Instant::now();
        while answer.get("ready").and_then(serde_json::Value::as_bool) == Some(false)
            && trouble(&answer).is_none()
        {
            if answer.get("power").and_then(|power| power.as_str()) != Some("on") {
                anyhow::bail!("the drive has lost power again");
            }
            if begun.elapsed() > READY_TIME_MAX {
                anyhow::bail!(
                    "the drive is on, but the layers above it did not return within {} s",
                    READY_TIME_MAX.as_secs()
                );
            }
            std::thread::sleep(Duration::from_millis(20));
            answer = send(Order::Status)?;
        }
        if let Some(trouble) = trouble(&answer) {
            anyhow::bail!(
                "the drive is on, but the layers above it could not be restored: {trouble}"
            );
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
    Ok(ExitStatus::Done)
}

fn clean_up(directory: Option<&Path>) -> anyhow::Result<ExitStatus> {
    let wanted = directory.map(fuse::resolved);
    let left = LeftMount::find_all()?;
    let named = |left: &LeftMount| {
        wanted
            .as_ref()
            .is_none_or(|wanted| left.directory == *wanted || left.mounts.contains(wanted))
    };
    for stopped in StoppedMount::find_all()? {
        let is_wanted = wanted
            .as_ref()
            .map(|wanted| stopped.directory == *wanted || stopped.mounts.contains(wanted));
        let (directory, process) = (stopped.directory.display(), stopped.process);
        let said = format!(
            "{directory} belongs to an emulated drive that is stopped but still exists, so it was \
             left alone; continue it \
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
        let also: Vec<String> =
            left.mounts.iter().chain(&left.loops).map(|path| path.display().to_string()).collect();
        let also =
            if also.is_empty() { String::new() } else { format!(", with {}", also.join(", ")) };
        print(&format!("removed: {}{also}\n", left.directory.display()))?;
    }
    let others = if wanted.is_none() { runtime::left_behind()? } else { Vec::new() };
    for path in &others {
        match if path.is_dir() { std::fs::remove_dir(path) } else { std::fs::remove_file(path) } {
            Ok(()) => print(&format!("removed: {}\n", path.display()))?,
            Err(error) => complain(&format!("cannot remove {}: {error}", path.display())),
        }
    }
    if chosen.is_empty() && others.is_empty() {
        print("nothing to remove: no killed process left anything\n")?;
    }
    Ok(ExitStatus::Done)
}

fn report_leftovers() {
    let Ok(left) = LeftMount::find_all() else { return };
    for left in left {
        complain(&format!(
            "{} was left by an emulated drive whose process was killed; run `flushmark emulate \
             clean-up {}` to remove it",
            left.directory.display(),
            left.directory.display()
        ));
    }
}

/// The live status line.
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
