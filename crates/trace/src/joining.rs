//! Joins system calls with the requests that they waited for.
//!
//! A call waits for what its own thread submits during it, and for what the journal submits on its
//! behalf. Which commit of a journal a call waited for is seen from the outside: the call was there
//! when it ended, had no request at the drive, and its thread was off its CPU.

use std::collections::VecDeque;

use drive::DeviceNumber;
use foldhash::{HashMap, HashMapExt as _};

use crate::commits::{Commit, JournalPart, OffCpu, Own, Role};
use crate::event::{Command, Edge, Event, Filesystem, Left, Operation, Syscall, What};
use crate::live::Scope;
use crate::open_files::OpenFiles;
use crate::others::{company, other_writes};
use crate::requests::{Request, Requests};

/// The identity of an open call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    /// A thread is in one system call at a time.
    Thread(u32),
    /// A request of io_uring.
    Uring(u64),
}

/// A time in which a thread works for a call. Its requests of that time belong to the call.
#[derive(Debug, Clone, Copy)]
struct Window {
    thread: u32,
    from: u64,
    /// `None` as long as it is open.
    to: Option<u64>,
    /// A worker of io_uring that syncs a second time does so for another request.
    synced: bool,
    /// The thread was taken for a worker before its name was known.
    guessed: bool,
}

impl Window {
    fn of(thread: u32, from: u64) -> Window {
        Window { thread, from, to: None, synced: false, guessed: false }
    }

    fn ended(self, at: u64) -> Window {
        Window { to: Some(self.to.unwrap_or(at)), ..self }
    }

    fn is_open_for(&self, thread: u32) -> bool {
        self.thread == thread && self.to.is_none()
    }

    fn holds(&self, request: &Request) -> bool {
        request.thread == self.thread
            && request.queued >= self.from
            && self.to.is_none_or(|to| request.queued <= to)
    }
}

#[derive(Debug)]
struct Call {
    by: Syscall,
    thread: u32,
    file: i32,
    flags: u32,
    enter: u64,
    /// A system call has one, from its beginning to its end. A request of io_uring has one while it
    /// is submitted, and one while a worker syncs on its behalf.
    windows: Vec<Window>,
    /// A worker is to do it.
    queued: bool,
    /// One does it.
    has_worker: bool,
    /// The request of io_uring that is linked to it.
    continues_as: Option<u64>,
    filesystem: Option<(Filesystem, Option<DeviceNumber>)>,
    log_forced: Option<u64>,
    off_cpu: Vec<OffCpu>,
    off_since: Option<(u64, Left)>,
    waking: Option<u64>,
}

/// One commit of a journal.
#[derive(Debug, Clone, Copy)]
struct JournalCommit {
    device: DeviceNumber,
    thread: u32,
    from: u64,
    to: Option<u64>,
}

impl JournalCommit {
    /// When it was on the drive. Its thread announces the end a little later, and until then those
    /// that wait for it may run again and return.
    fn durable(&self, submitted: &[&Request]) -> Option<u64> {
        let is_own = |request: &&&Request| {
            request.thread == self.thread
                && request.queued >= self.from
                && self.to.is_none_or(|to| request.queued <= to)
        };
        match submitted.iter().filter(is_own).max_by_key(|request| request.queued) {
            Some(last) if self.to.is_some() || last.makes_durable() => last.done,
            Some(_) => None,
            None => self.to,
        }
    }
}

/// Journal commits kept while no call is open; more than any call overlaps.
const JOURNAL_KEPT: usize = 4096;
/// Fewer requests are not worth a look.
const FORGET_LEAST: usize = 8;

/// Joins events, which must come in the order of time, to commits.
#[derive(Debug)]
pub struct Joiner {
    requests: Requests,
    calls: HashMap<Key, Call>,
    /// The request of io_uring that a thread is submitting.
    submitting: HashMap<u32, u64>,
    /// The last request that a thread submitted, if the next one is linked to it.
    linking: HashMap<u32, u64>,
    journal: VecDeque<JournalCommit>,
    commands: HashMap<u32, Command>,
    files: OpenFiles,
    /// The disks of each filesystem.
    filesystems: HashMap<DeviceNumber, Vec<DeviceNumber>>,
    /// True once the trace has shown an event of the scheduler.
    scheduling: bool,
    /// Events of some processors before this time were lost.
    incomplete_until: u64,
    /// The number of requests at which it is worth while to look which of them are over.
    forget_at: usize,
}

impl Joiner {
    /// For a trace of this scope.
    pub fn new(scope: &Scope) -> Joiner {
        Joiner {
            requests: Requests::new(scope.partitions.clone()),
            calls: HashMap::new(),
            submitting: HashMap::new(),
            linking: HashMap::new(),
            journal: VecDeque::new(),
            commands: HashMap::new(),
            files: OpenFiles::default(),
            filesystems: scope.filesystems.clone().into_iter().collect(),
            scheduling: false,
            incomplete_until: 0,
            forget_at: FORGET_LEAST,
        }
    }

    /// Takes note of an event. A call that returns is complete.
    pub fn event(&mut self, event: &Event) -> Option<Commit> {
        let (at, thread) = (event.at, event.thread);
        if at < self.incomplete_until && !event.is_loss() {
            return None;
        }
        // A thread with an event runs, even without a switch to it: Linux 6.18 was seen to leave out
        // some that follow an interrupt of an idle processor.
        if let Some(call) = self.calls.get_mut(&Key::Thread(thread)) {
            call.back_on_cpu(at);
        }
        self.take(event)
    }

    fn take(&mut self, event: &Event) -> Option<Commit> {
        let (at, thread) = (event.at, event.thread);
        match event.what {
            What::Enter { call, file, flags } => {
                self.calls.insert(Key::Thread(thread), Call::new(call, thread, file, flags, at));
            }
            What::Return { result } => {
                self.submitted(thread, at);
                let call = self.calls.remove(&Key::Thread(thread))?;
                // Its requests are separate calls.
                if call.by != Syscall::IoUringEnter {
                    return Some(self.finish(&call, at, result));
                }
            }
            What::UringSubmit { request, call, links } => {
                self.submit(thread, request, call, at);
                if links {
                    self.linking.insert(thread, request);
                }
            }
            What::UringQueue { request } => {
                if let Some(call) = self.calls.get_mut(&Key::Uring(request)) {
                    call.queued = true;
                }
            }
            What::UringComplete { request, result } => {
                return self.uring_complete(request, at, result);
            }
            What::Open { .. }
            | What::Opened { .. }
            | What::Duplicate { .. }
            | What::Create { .. }
            | What::End => self.files.event(event),
            What::SyncFile { filesystem, device } => {
                if let Some(call) = self.syncing_for(thread, device, at) {
                    call.filesystem.get_or_insert((filesystem, device));
                }
            }
            What::ForceLog { .. } => {
                if let Some(call) = self.working_for(thread) {
                    call.log_forced.get_or_insert(at);
                }
            }
            What::JournalCommit { device, edge: Edge::Start } => {
                if self.journal.len() == JOURNAL_KEPT {
                    self.journal.pop_front();
                }
                let from = self.journal_begins(thread, at);
                self.journal.push_back(JournalCommit { device, thread, from, to: None });
            }
            What::JournalCommit { device, edge: Edge::End } => {
                let is_it = |one: &&mut JournalCommit| one.device == device && one.to.is_none();
                if let Some(commit) = self.journal.iter_mut().rev().find(is_it) {
                    commit.to = Some(at);
                }
            }
            What::Switch { from, from_state, to } => {
                self.scheduling = true;
                if from_state == Left::Waiting {
                    self.submitted(from, at);
                }
                if let Some(call) = self.calls.get_mut(&Key::Thread(from)) {
                    (call.off_since, call.waking) = (Some((at, from_state)), None);
                }
                if let Some(call) = self.calls.get_mut(&Key::Thread(to)) {
                    call.back_on_cpu(at);
                }
            }
            What::Waking { thread } => {
                if let Some(call) = self.calls.get_mut(&Key::Thread(thread)) {
                    call.waking.get_or_insert(at);
                }
            }
            What::Bio { command, .. } => {
                self.commands.insert(thread, command);
                self.reconsider(thread, command);
                // Without a filesystem, its requests are all that shows that it works.
                if command.is_uring_worker() && self.working_for(thread).is_none() {
                    self.begin_work(thread, None, at);
                }
                self.requests.event(event);
                if self.calls.is_empty() {
                    self.forget(at);
                }
            }
            What::Lost { until } => {
                self.begin_anew();
                self.incomplete_until = self.incomplete_until.max(until);
            }
            _ => self.requests.event(event),
        }
        None
    }

    /// Whatever is open now may have lost its end, and numbers of files may have got another
    /// meaning.
    fn begin_anew(&mut self) {
        self.calls.clear();
        self.submitting.clear();
        self.linking.clear();
        self.journal.clear();
        self.files.clear();
        self.requests.clear();
    }

    fn finish(&mut self, call: &Call, exit: u64, result: i64) -> Commit {
        let commit = self.complete(call, exit, result);
        self.forget_from_time_to_time(exit);
        commit
    }

    /// Forgets what no open call can have waited for, if much has come since the last time.
    fn forget_from_time_to_time(&mut self, at: u64) {
        if self.requests.count() >= self.forget_at {
            self.forget(self.calls.values().map(|call| call.enter).min().unwrap_or(at));
            self.forget_at = FORGET_LEAST.max(2 * self.requests.count());
        }
    }

    /// False for a write of io_uring that asked for nothing that makes it durable: nothing else can.
    fn may_be_commit(&self, call: &Call) -> bool {
        call.by != Syscall::UringWrite
            || self
                .requests
                .submitted_since(call.enter)
                .any(|one| one.makes_durable() && call.submitted(one))
    }

    /// When the journal's thread began with the commit that it announces at this time: the first one
    /// after a mount is preceded by a write of the journal's superblock.
    fn journal_begins(&self, thread: u32, at: u64) -> u64 {
        let before = self.journal.iter().rev().find(|commit| commit.thread == thread);
        let ended = before.map_or(0, |commit| commit.to.unwrap_or(at));
        let own = self.requests.since(ended);
        let own = own.filter(|one| one.thread == thread && one.queued > ended);
        own.map(|request| request.queued).min().unwrap_or(at)
    }

    /// The thread begins to submit a request of io_uring.
    fn submit(&mut self, thread: u32, request: u64, call: Option<Syscall>, at: u64) {
        self.submitted(thread, at);
        let before = self.linking.remove(&thread).map(Key::Uring);
        let Some(call) = call else { return };
        let mut call = Call::new(call, thread, -1, 0, at);
        // The chain is one commit, from the beginning of its first request.
        if let Some(before) = before.and_then(|before| self.calls.get_mut(&before)) {
            before.continues_as = Some(request);
            call.enter = before.enter;
        }
        self.calls.insert(Key::Uring(request), call);
        self.submitting.insert(thread, request);
    }

    /// A request of io_uring is complete; the last one of a chain completes the commit.
    fn uring_complete(&mut self, request: u64, at: u64, result: i64) -> Option<Commit> {
        self.submitting.retain(|_, submitting| *submitting != request);
        let call = self.calls.remove(&Key::Uring(request))?;
        let next = call.continues_as.map(Key::Uring);
        let Some(next) = next.and_then(|next| self.calls.get_mut(&next)) else {
            // Most writes are none, and there are very many of them.
            if self.may_be_commit(&call) {
                return Some(self.finish(&call, at, result));
            }
            self.forget_from_time_to_time(at);
            return None;
        };
        let ended = call.windows.into_iter().map(|window| window.ended(at));
        next.windows = ended.chain(std::mem::take(&mut next.windows)).collect();
        None
    }

    /// The thread has submitted its request of io_uring.
    fn submitted(&mut self, thread: u32, at: u64) {
        let request = self.submitting.remove(&thread);
        if let Some(call) = request.and_then(|request| self.calls.get_mut(&Key::Uring(request)))
            && let Some(window) = call.windows.first_mut()
        {
            *window = window.ended(at);
        }
    }

    /// The call for which a thread works.
    fn working_for(&mut self, thread: u32) -> Option<&mut Call> {
        let mut calls = self.calls.values_mut();
        calls.find(|call| call.windows.iter().any(|window| window.is_open_for(thread)))
    }

    /// The call for which a thread syncs a file: its own, or a request of io_uring.
    fn syncing_for(
        &mut self,
        thread: u32,
        filesystem: Option<DeviceNumber>,
        at: u64,
    ) -> Option<&mut Call> {
        if self.calls.contains_key(&Key::Thread(thread)) {
            return self.calls.get_mut(&Key::Thread(thread));
        }
        let mut is_new = true;
        if let Some(call) = self.working_for(thread) {
            for window in call.windows.iter_mut().filter(|window| window.is_open_for(thread)) {
                is_new = window.synced;
                if window.synced {
                    window.to = Some(at);
                } else {
                    window.synced = true;
                }
            }
        }
        if !is_new {
            return self.working_for(thread);
        }
        let call = self.begin_work(thread, filesystem, at)?;
        call.windows.last_mut()?.synced = true;
        Some(call)
    }

    /// Gives a worker the oldest request of io_uring that waits for one.
    fn begin_work(
        &mut self,
        thread: u32,
        filesystem: Option<DeviceNumber>,
        at: u64,
    ) -> Option<&mut Call> {
        let command = self.commands.get(&thread).copied();
        let disks = filesystem.and_then(|device| self.filesystems.get(&device));
        let waits = |(key, call): &(&Key, &Call)| {
            if matches!(key, Key::Thread(_)) || call.has_worker {
                return false;
            }
            let is_there = |request: &Request| {
                disks.is_none_or(|disks| disks.contains(&request.extent.device))
            };
            let own = || self.requests.since(call.enter).filter(|one| call.submitted(one));
            // A request that would wait goes to a worker of io_uring. The sync after a direct write
            // is done by a worker of the kernel.
            let is_handed_over = call.queued && command.is_none_or(|one| one.is_uring_worker());
            let is_written = || {
                call.by == Syscall::UringWrite
                    && command.is_none_or(|one| one.is_kernel_worker())
                    && own().any(|one| is_there(one) && one.done.is_some())
            };
            // Any thread may sync a file at that moment, but not what was written to another drive.
            let may_be_it = || command.is_some() || own().next().is_none() || own().any(is_there);
            (is_handed_over || is_written()) && may_be_it()
        };
        let oldest = self.calls.iter().filter(waits).min_by_key(|(_, call)| call.enter);
        let key = *oldest?.0;
        let call = self.calls.get_mut(&key)?;
        call.windows.iter_mut().for_each(|window| *window = window.ended(at));
        call.windows.push(Window { guessed: command.is_none(), ..Window::of(thread, at) });
        call.has_worker = true;
        Some(call)
    }

    /// The name of a thread is known now. A call that took it for a worker still waits for one if it
    /// is not.
    fn reconsider(&mut self, thread: u32, command: Command) {
        let is_guess = |window: &Window| window.guessed && window.thread == thread;
        for call in self.calls.values_mut() {
            if !call.windows.iter().any(is_guess) {
                continue;
            }
            if command.is_uring_worker() || command.is_kernel_worker() {
                let guesses = call.windows.iter_mut().filter(|window| is_guess(window));
                guesses.for_each(|window| window.guessed = false);
            } else {
                call.windows.retain(|window| !is_guess(window));
                (call.has_worker, call.filesystem) = (false, None);
            }
        }
    }

    fn forget(&mut self, from: u64) {
        self.requests.forget(from);
        let is_over = |commit: &JournalCommit| commit.to.is_some_and(|to| to < from);
        while self.journal.front().is_some_and(is_over) {
            self.journal.pop_front();
        }
    }

    fn complete(&self, call: &Call, exit: u64, result: i64) -> Commit {
        let (thread, enter) = (call.thread, call.enter);
        let waits_for = |request: &&Request| {
            request.queued >= enter && request.done.is_some_and(|done| done <= exit)
        };
        let is_own = |request: &&Request| call.submitted(request);
        let submitted: Vec<&Request> = self.requests.since(enter).collect();
        let mut requests: Vec<Own> = submitted
            .iter()
            .copied()
            .filter(waits_for)
            .filter(is_own)
            .filter(|request| request.flags.operation != Operation::Read)
            .map(|request| Own { request: request.clone(), role: role(call, request) })
            .collect();
        let journal = self.journal_commits(call, exit, &submitted, &requests);
        let log_disks = call
            .filesystem
            .and_then(|(_, device)| self.filesystems.get(&device?))
            .map_or(&[][..], Vec::as_slice);
        for request in submitted.iter().copied().filter(waits_for) {
            let by_journal = journal.iter().any(|(part, by)| {
                !part.earlier && *by == request.thread && request.queued >= part.from
            });
            let by_log_worker = call.log_forced.is_some_and(|from| from <= request.queued)
                && log_disks.contains(&request.extent.device)
                && request.command.is_kernel_worker()
                && request.flags.operation == Operation::Write
                && request.flags.meta()
                && request.flags.sync();
            if by_journal || by_log_worker {
                requests.push(Own { request: request.clone(), role: Role::Journal });
            }
        }
        requests.sort_by_key(|own| own.request.queued);
        let company = company(thread, &submitted, &requests);
        let off_cpu = call.off_cpu(exit, self.scheduling);
        let drives = requests.iter().map(|own| own.request.extent.device);
        let drives = drives.chain(log_disks.iter().copied()).collect();
        let other_writes =
            other_writes(off_cpu.as_deref().unwrap_or(&[]), &drives, &submitted, &requests);
        Commit {
            call: call.by,
            thread,
            command: self.commands.get(&thread).copied(),
            file: call.file,
            flags: call.flags,
            opened: self.files.flags(thread, call.file),
            enter,
            exit,
            result,
            filesystem: call.filesystem.map(|(filesystem, _)| filesystem),
            requests,
            journal: journal.into_iter().map(|(part, _)| part).collect(),
            log_forced: call.log_forced,
            off_cpu,
            other_writes,
            company,
        }
    }

    /// The commits of the journal that the call waited for, with the threads that made them.
    fn journal_commits(
        &self,
        call: &Call,
        exit: u64,
        submitted: &[&Request],
        own: &[Own],
    ) -> Vec<(JournalPart, u32)> {
        let Some((Filesystem::Ext4, Some(device))) = call.filesystem else { return Vec::new() };
        let waited_for = |commit: &&JournalCommit| {
            let durable = commit.durable(submitted).filter(|&at| at > call.enter && at <= exit);
            let Some(at) = durable else { return false };
            let own_at_work = own.iter().any(|own| {
                own.request.queued < at && own.request.done.is_some_and(|done| done > at)
            });
            let off_cpu = !self.scheduling
                || call.by == Syscall::UringFsync
                || call.off_cpu.iter().any(|off| off.from < at && at <= off.to);
            // Linux 6.18 was seen to keep a thread on its processor while it waits. A call that
            // does nothing itself from the commit's beginning to its end waits for it.
            let own_done = |own: &Own| own.request.done.is_some_and(|done| done <= commit.from);
            let idle = commit.from >= call.enter && own.iter().all(own_done);
            commit.device == device && (off_cpu || idle) && !own_at_work
        };
        let of_call: Vec<_> = self.journal.iter().filter(waited_for).copied().collect();
        let last = of_call.len().saturating_sub(1);
        let part = |(index, commit): (usize, JournalCommit)| {
            let earlier = index < last && commit.from < call.enter;
            let (from, to) = (commit.from.max(call.enter), commit.to.unwrap_or(exit).min(exit));
            (JournalPart { from, to, earlier }, commit.thread)
        };
        of_call.into_iter().enumerate().map(part).collect()
    }
}

impl Call {
    fn new(by: Syscall, thread: u32, file: i32, flags: u32, enter: u64) -> Call {
        Call {
            by,
            thread,
            file,
            flags,
            enter,
            windows: vec![Window::of(thread, enter)],
            queued: false,
            has_worker: false,
            continues_as: None,
            filesystem: None,
            log_forced: None,
            off_cpu: Vec::new(),
            off_since: None,
            waking: None,
        }
    }

    fn submitted(&self, request: &Request) -> bool {
        self.windows.iter().any(|window| window.holds(request))
    }

    /// The times in which its thread is off its CPU. A request of io_uring waits like that until a
    /// worker begins with it; whether the worker then runs is not traced.
    fn off_cpu(&self, exit: u64, scheduling: bool) -> Option<Vec<OffCpu>> {
        if !matches!(self.by, Syscall::UringFsync | Syscall::UringWrite) {
            return scheduling.then(|| self.off_cpu.clone());
        }
        let ends = self.windows.iter().map(|window| window.to.unwrap_or(exit));
        let begins = self.windows.iter().skip(1).map(|window| window.from).chain([exit]);
        let gaps = ends.zip(begins).filter(|(from, to)| from < to);
        Some(gaps.map(|(from, to)| OffCpu { from, waking: from, to }).collect())
    }

    fn back_on_cpu(&mut self, at: u64) {
        if let Some((from, state)) = self.off_since.take() {
            let waking = match state {
                Left::Runnable => from,
                Left::Waiting => self.waking.unwrap_or(at).clamp(from, at),
            };
            self.off_cpu.push(OffCpu { from, waking, to: at });
        }
        self.waking = None;
    }
}

/// Requests of a call's own thread are data, unless a filesystem writes its log on that thread.
fn role(call: &Call, request: &Request) -> Role {
    let writes_log = match call.filesystem {
        Some((Filesystem::Btrfs, _)) => true,
        _ => call.log_forced.is_some_and(|from| from <= request.queued),
    };
    let is_log = writes_log && request.flags.meta() && request.extent.sectors > 0;
    if is_log { Role::Journal } else { Role::Data }
}
