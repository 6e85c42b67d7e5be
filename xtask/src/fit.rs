//! `cargo xtask fit MODEL`: the parameters of a drive's model from its published rows;
//! `cargo xtask fit ceph`: the costs of a write in Ceph, measured on a real cluster.

mod ceph;

use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use catalogue::Model;
use simdrive::fit::{Fitted, fit};
use simdrive::published;
use simdrive::sample::median_error;
use toml_edit::{DocumentMut, Item, Value};

use crate::command::root;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Options {
    #[command(subcommand)]
    other: Option<Other>,

    /// The model, which has the same name as its drive in the catalogue
    #[arg(required = true)]
    model: Option<String>,

    /// Start from this model instead; for a drive that has no model yet
    #[arg(long, value_name = "MODEL")]
    like: Option<String>,

    /// Write the parameters into crates/catalogue/models
    #[arg(long)]
    write: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Other {
    /// S and k of `ceph sizing`, on a real cluster whose OSDs are on emulated drives; as root, on a
    /// quiet machine
    Ceph(ceph::Options),
}

/// Fits what the user asked for, and prints how well it fits.
pub fn run(options: &Options) -> anyhow::Result<()> {
    match (&options.other, &options.model) {
        (Some(Other::Ceph(options)), _) => ceph::run(options),
        (None, Some(model)) => fit_model(model, options),
        (None, None) => Err(anyhow!("name a model, or `ceph`")),
    }
}

fn fit_model(name: &str, options: &Options) -> anyhow::Result<()> {
    let drive = catalogue::find(name)?;
    let start_name = options.like.as_deref().unwrap_or(name);
    let own = catalogue::find_model(start_name)?;
    let samples =
        published::samples(drive, own).map_err(|row| anyhow!("no test corresponds to {row:?}"))?;
    let start = Model {
        // A model keeps its name, which may be another of the drive's names.
        model: if options.like.is_some() { drive.name.clone() } else { own.model.clone() },
        label: drive.label.clone(),
        class: drive.class,
        basis: match samples.len() {
            1 => "1 published row".to_owned(),
            rows => format!("{rows} published rows"),
        },
        fitted_to: Some(drive.name.clone()),
        ..own.clone()
    };
    let fitted = fit(&start, &samples, &mut |misfit| eprintln!("misfit {misfit:.5}"))?;
    print(&fitted);
    if options.write {
        let path =
            root().join("crates/catalogue/models").join(format!("{}.toml", fitted.model.model));
        write(&path, start_name, &fitted)?;
    }
    Ok(())
}

fn print(fitted: &Fitted) {
    for (path, from, to) in &fitted.turned {
        println!("{path:<32} {from} -> {to}");
    }
    println!("{:<60} {:>10} {:>10} {:>8}", "test", "published", "modelled", "error");
    for comparison in &fitted.comparisons {
        let (published, modelled) = (comparison.sample.figure.value(), comparison.modelled);
        let mark = if comparison.holds() { "" } else { "  too far" };
        let error = comparison.error() * 100.0;
        println!(
            "{:<60} {published:>10.1} {modelled:>10.1} {error:>+7.1}%{mark}",
            comparison.result.test
        );
    }
    println!("median error {:.1} %", median_error(&fitted.comparisons) * 100.0);
}

/// Changes only numbers, so the comments in the file are kept.
fn write(path: &PathBuf, start: &str, fitted: &Fitted) -> anyhow::Result<()> {
    let text = if path.exists() {
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?
    } else {
        // A new file has the structure of the model it starts from, with its own names.
        let model = &fitted.model;
        let text = catalogue::models::model_text(start).context("no such model")?;
        let mut document: DocumentMut = text.parse()?;
        for (key, value) in
            [("model", &model.model), ("label", &model.label), ("basis", &model.basis)]
        {
            document[key] = toml_edit::value(value.as_str());
        }
        document["fitted_to"] = toml_edit::value(model.fitted_to.as_deref().unwrap_or_default());
        document.to_string()
    };
    let mut document: DocumentMut = text.parse()?;
    for (knob, _, to) in &fitted.turned {
        let is_array = document["drive"].get("member").is_some();
        let place =
            if is_array { knob.replacen("drive.", "drive.member.", 1) } else { (*knob).to_owned() };
        let mut item: &mut Item = document.as_item_mut();
        for key in place.split('.') {
            item =
                item.get_mut(key).with_context(|| format!("{} has no {place}", path.display()))?;
        }
        let value = item.as_value_mut().with_context(|| format!("{place} is not a value"))?;
        let decor = value.decor().clone();
        *value = match value {
            Value::Integer(_) => Value::from(*to as i64),
            Value::String(_) => Value::from(workload::format_bytes(*to as u64)),
            _ => Value::from(*to),
        };
        *value.decor_mut() = decor;
    }
    std::fs::write(path, document.to_string())
        .with_context(|| format!("cannot write {}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}
