//! The JSON Schema accepts the plans that the parser accepts, and sees the mistakes that a schema
//! can see.

use jsonschema::Validator;
use serde_json::Value;
use workload::{Plan, plan, suites};

fn validator() -> Validator {
    jsonschema::draft202012::new(&plan::json_schema()).expect("the schema is a schema")
}

/// A plan as a TOML editor hands it to a schema.
fn json(text: &str) -> Value {
    let table: toml::Table = text.parse().expect("the text is TOML");
    serde_json::to_value(table).expect("every TOML value has a JSON form")
}

#[test]
fn every_built_in_plan_is_valid() {
    let validator = validator();
    for suite in suites::all() {
        let text = suites::text(&suite.name).expect("a suite has a text");
        let errors: Vec<String> =
            validator.iter_errors(&json(text)).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{}: {errors:?}", suite.name);
    }
}

#[test]
fn both_accept_these() {
    let validator = validator();
    for text in [
        "[[test]]\npattern = \"rw\"\nblock = 512\nsize = \"1 GiB\"\ntime = \"1h 30min\"\nwarm_up \
         = \"0s\"\nrate = 1e3\n",
        "[[test]]\npattern = \"write\"\ntime = \"1.5 s\"\nblock = \"64k\"\nmatrix = \
         { time = [\"1s\", \"5s\"], direct = [true, false] }\n",
        "[defaults]\nseed = 0\n[[test]]\nsteps = [\"write f same 1B\"]\nfiles = \
         { f = { size = 1, layout = \"append\" } }\n",
        "[[test]]\nsort = \"composite\"\nmemory = \"8MiB\"\nsync = \"fsync\"\nmatrix = \
         { sort = [\"urls\", \"composite\"] }\n",
    ] {
        assert!(Plan::from_toml("plan.toml", text).is_ok(), "{text}");
        let errors: Vec<String> =
            validator.iter_errors(&json(text)).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?} in\n{text}");
    }
}

#[test]
fn both_refuse_these() {
    let validator = validator();
    let write = "[[test]]\npattern = \"write\"\n";
    for text in [
        "name = \"empty\"\n".to_owned(),
        "test = []\n".to_owned(),
        "[test]\npattern = \"write\"\n".to_owned(),
        "[[test]]\npatern = \"write\"\n".to_owned(),
        "[[test]]\npattern = \"trimwrite\"\n".to_owned(),
        format!("block = \"4KiB\"\n{write}"),
        format!("[defaults]\nname = \"x\"\n{write}"),
        format!("{write}depth = 0\n"),
        format!("{write}depth = \"1\"\n"),
        format!("{write}block = \"4 XiB\"\n"),
        format!("{write}block = 511\n"),
        format!("{write}time = 5\n"),
        format!("{write}time = \"5\"\n"),
        format!("{write}rate = 0\n"),
        format!("{write}direct = 1\n"),
        format!("{write}matrix = {{ depth = 3 }}\n"),
        format!("{write}matrix = {{ depth = [] }}\n"),
        format!("{write}matrix = {{ name = [\"a\"] }}\n"),
        "[[test]]\nsort = \"numbers\"\n".to_owned(),
        "[[test]]\nsort = \"urls\"\nmemory = 4096\n".to_owned(),
        "[[test]]\nsteps = []\nfiles = { f = {} }\n".to_owned(),
        "[[test]]\nsteps = [\"sync-dir\"]\nfiles = {}\n".to_owned(),
        "[[test]]\nsteps = [\"sync-dir\"]\nfiles = { f = { open = \"o_direct\" } }\n".to_owned(),
    ] {
        assert!(Plan::from_toml("plan.toml", &text).is_err(), "{text}");
        assert!(!validator.is_valid(&json(&text)), "{text}");
    }
}
