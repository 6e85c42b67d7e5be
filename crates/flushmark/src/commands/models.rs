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
            let model = simdrive::model(name).map_err(|error| WrongUse(error.to_string()))?;
            match (format, catalogue::models::model_text(&model.model)) {
                (Format::Text, Some(text)) => text.to_owned(),
                (Format::Text, None) => toml::to_string(&*model)?,
                (Format::Json, _) => serde_json::to_string_pretty(&*model)? + "\n",
            }
        }
    };
    print(&text)?;
    Ok(ExitStatus::Done)
}
