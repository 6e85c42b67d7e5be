//! The flags with which files were opened, as far as a trace shows them.

use foldhash::HashMap;

use crate::event::{Event, What};

/// The flags of files that were opened during the trace.
#[derive(Debug, Default)]
pub(crate) struct OpenFiles {
    /// The flags of files that are being opened, by thread.
    opening: HashMap<u32, u32>,
    /// The flags of open files, by thread and file descriptor.
    opened: HashMap<(u32, i32), u32>,
}

impl OpenFiles {
    /// Takes note of an event about files and the threads that have them; ignores others.
    pub fn event(&mut self, event: &Event) {
        let OpenFiles { opening, opened } = self;
        let thread = event.thread;
        match event.what {
            What::Open { flags } => drop(opening.insert(thread, flags)),
            What::Opened { file } => {
                if let (Some(flags), Ok(file)) = (opening.remove(&thread), u32::try_from(file)) {
                    opened.insert((thread, file as i32), flags);
                }
            }
            What::Duplicate { file, into } => match opened.get(&(thread, file)) {
                Some(&flags) => drop(opened.insert((thread, into), flags)),
                None => drop(opened.remove(&(thread, into))),
            },
            What::Create { thread: created } => {
                let of_creator = opened.iter().filter(|((by, _), _)| *by == thread);
                let inherited: Vec<_> =
                    of_creator.map(|(&(_, file), &flags)| ((created, file), flags)).collect();
                opened.extend(inherited);
            }
            What::End => opened.retain(|(by, _), _| *by != thread),
            _ => {}
        }
    }

    /// The flags with which a thread's file was opened, if that was seen.
    pub fn flags(&self, thread: u32, file: i32) -> Option<u32> {
        self.opened.get(&(thread, file)).copied()
    }

    /// Forgets everything: numbers may have got another meaning.
    pub fn clear(&mut self) {
        self.opening.clear();
        self.opened.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_their_flags_in_threads_that_inherit_them() {
        let mut files = OpenFiles::default();
        let events = [
            (7, What::Open { flags: 0o10000 }),
            (8, What::Opened { file: 5 }),
            (7, What::Opened { file: 3 }),
            (7, What::Create { thread: 9 }),
            (9, What::Duplicate { file: 3, into: 1 }),
            (7, What::Duplicate { file: 4, into: 3 }),
            (7, What::Open { flags: 0 }),
            (7, What::Opened { file: -2 }),
        ];
        for (thread, what) in events {
            files.event(&Event { at: 0, thread, what });
        }
        let flags =
            [(7, 3), (8, 5), (9, 3), (9, 1)].map(|(thread, file)| files.flags(thread, file));
        assert_eq!(flags, [None, None, Some(0o10000), Some(0o10000)]);
        files.event(&Event { at: 0, thread: 9, what: What::End });
        assert_eq!(files.flags(9, 3), None);
    }
}
