//! fio's command line, as pasted with its output.

use super::options::Options;

/// Name of the section whose options apply to all jobs.
const GLOBAL: &str = "global";

/// The options of a command line: those for all jobs, and those for each job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Command {
    /// Sections in order; each `--name` starts one, and options before the first are global.
    sections: Vec<(String, Options)>,
}

impl Command {
    /// Parses a line that contains a command, with or without a prompt. Options are `-name=value`,
    /// `--name=value`, `--name value`, and flags.
    pub fn in_line(line: &str) -> Option<Command> {
        let begin = if line.starts_with("fio -") {
            0
        } else {
            [" fio -", "/fio -"].iter().find_map(|word| line.find(word))? + 1
        };
        let mut sections = vec![(GLOBAL.to_owned(), Options::default())];
        let mut words = line[begin..].split_whitespace().skip(1).peekable();
        while let Some(word) = words.next() {
            let Some(word) = word.strip_prefix('-') else { continue };
            let word = word.strip_prefix('-').unwrap_or(word);
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, value),
                None => (word, words.next_if(|next| !next.starts_with('-')).unwrap_or("1")),
            };
            let value = value.trim_matches(['"', '\'']);
            if name == "name" {
                sections.push((value.to_owned(), Options::default()));
            } else if let Some((_, options)) = sections.last_mut() {
                options.set(name, value);
            }
        }
        Some(Command { sections })
    }

    /// Adds a line of a pasted job file: `[name]`, and after one, `option=value` or `option`.
    /// Returns whether the line is one.
    pub fn read_job_file(&mut self, line: &str) -> bool {
        let line = line.trim();
        if let Some(section) = job_file_section(line) {
            self.sections.push((section.to_owned(), Options::default()));
            return true;
        }
        let (name, value) = line.split_once('=').unwrap_or((line, "1"));
        let name = name.trim();
        let is_option = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || b"_0123456789".contains(&byte));
        match self.sections.last_mut().filter(|_| is_option) {
            Some((_, options)) => {
                options.set(name, value.trim());
                true
            }
            None => false,
        }
    }

    /// Returns whether no command was pasted.
    pub fn is_unknown(&self) -> bool {
        self.sections.is_empty()
    }

    /// The options of a job, which override the global ones.
    pub fn of_job(&self, job: &str) -> Options {
        let mut options = Options::default();
        for wanted in [job, GLOBAL] {
            self.sections
                .iter()
                .filter(|(name, _)| name == wanted)
                .for_each(|(_, section)| options.set_missing(section));
        }
        options
    }
}

/// The name of a section of a job file, if a line begins one.
pub fn job_file_section(line: &str) -> Option<&str> {
    let name = line.strip_prefix('[')?.strip_suffix(']')?;
    let is_name = !name.is_empty() && !name.contains(['[', ']', ' ', '%']);
    is_name.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling() {
        let command = Command::in_line(
            "[root@db ~]# sudo fio -ioengine=libaio --direct --name test -bs=4k --iodepth 4 \
             -filename=\"/dev/sdx\"",
        );
        let options = command.unwrap().of_job("test");
        for (name, value) in
            [("ioengine", "libaio"), ("direct", "1"), ("bs", "4k"), ("iodepth", "4")]
        {
            assert_eq!(options.get(name), Some(value));
        }
        assert_eq!(options.place(), Some(("/dev/sdx", false)));
        assert_eq!(Command::in_line("what fio does -"), None);
    }

    #[test]
    fn a_job_file_is_read_like_a_command() {
        let mut command = Command::default();
        for line in ["bs=4k", "Jobs: 1 (f=1): [w(1)][100.0%]", "[db@host ~]$ fio job.fio", "[50%]"]
        {
            assert!(!command.read_job_file(line), "{line}");
        }
        for line in ["[global]", "direct=1", "time_based", "[journal]", "fsync = 1"] {
            assert!(command.read_job_file(line), "{line}");
        }
        let options = command.of_job("journal");
        let values = ["direct", "time_based", "fsync"].map(|name| options.get(name));
        assert_eq!(values, [Some("1"), Some("1"), Some("1")]);
    }

    #[test]
    fn each_job_has_its_own_options() {
        let command = Command::in_line(
            "fio --bs=4k --name=a --fsync=1 --name=b --bs=8k --name=global --direct=1",
        )
        .unwrap();
        let values = |job| {
            ["bs", "fsync", "direct"].map(|name| command.of_job(job).get(name).map(str::to_owned))
        };
        assert_eq!(
            values("a"),
            [Some("4k".to_owned()), Some("1".to_owned()), Some("1".to_owned())]
        );
        assert_eq!(values("b"), [Some("8k".to_owned()), None, Some("1".to_owned())]);
    }
}
