//! `flushmark models`: the modelled drives.

use super::{look, print};
use crate::args::{Format, ModelsArgs};
use crate::exit::{ExitStatus, WrongUse};

/// Lists the models, or prints the parameters of one.
pub fn run(args: &ModelsArgs) -> anyhow::Result<ExitStatus> {
    let models = catalogue::models();
    let text = match (&args.model, args.format) {
        (None, Format::Text) => report::models(models, &look()),
        (None, Format::Json) => serde_json::to_string_pretty(models)? + "\n",
        (Some(name), format) => {
            let model = catalogue::find_model(name).map_err(|error| WrongUse(error.to_string()))?;
            match format {
                Format::Text => {
                    catalogue::models::model_text(&model.model).unwrap_or_default().to_owned()
                }
                Format::Json => serde_json::to_string_pretty(model)? + "\n",
            }
        }
    };
    print(&text)?;
    Ok(ExitStatus::Done)
}
