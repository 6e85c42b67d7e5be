//! A running database with a client: the database's shell, which stays open for all statements.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::ChildStdin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};

use super::ledger::payload;
use super::machine::{Machine, drain, end_of};
use super::{Database, Durability, PATIENCE, Place};

/// Marks the end of a statement's output.
const END: &str = "that-was-all";

/// A client: the pipe to the database's shell.
pub struct Client {
    database: &'static dyn Database,
    stdin: ChildStdin,
    lines: Receiver<String>,
}

impl Client {
    /// Starts the database's shell, which ends with the machine.
    pub fn connect(
        database: &'static dyn Database,
        place: &Place,
        durability: Durability,
    ) -> anyhow::Result<(Machine, Client)> {
        let (machine, pipes) = Machine::start(database.account(), &database.shell(place))?;
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let lines = BufReader::new(pipes.stdout).lines().map_while(Result::ok);
            // The receiver is gone once the client is.
            lines.map(|line| sender.send(line)).all(|sent| sent.is_ok())
        });
        let mut client = Client { database, stdin: pipes.stdin, lines };
        client.ask(database.greeting(durability)).with_context(|| end_of(&machine.said()))?;
        Ok((machine, client))
    }

    /// Executes statements and returns what they print.
    pub fn ask(&mut self, sql: &str) -> anyhow::Result<Vec<String>> {
        self.send(&format!("{sql}\n{}", self.database.say(END)))?;
        let mut lines = Vec::new();
        loop {
            let line = self.line()?;
            if line == END {
                return Ok(lines);
            }
            lines.push(line);
        }
    }

    /// Commits one transaction; it is acknowledged when this returns. The shell executes the next
    /// statement only then, and none is skipped after an error.
    pub fn commit(&mut self, number: u64) -> anyhow::Result<()> {
        let (table, content) = (self.database.table(), payload(number));
        let said = self.database.say(&number.to_string());
        self.send(&format!("insert into {table} values ({number}, '{content}');\n{said}"))?;
        let line = self.line()?;
        ensure!(line == number.to_string(), "`{line}` instead of an acknowledgement of {number}");
        Ok(())
    }

    fn send(&mut self, text: &str) -> anyhow::Result<()> {
        self.stdin.write_all(format!("{text}\n").as_bytes()).context("the shell has ended")
    }

    fn line(&self) -> anyhow::Result<String> {
        self.lines.recv_timeout(PATIENCE).context("the shell has ended, or no longer responds")
    }
}

pub struct Session {
    database: &'static dyn Database,
    place: Place,
    /// The server first, if there is one; the shell last. They are killed in this order.
    machines: Vec<Machine>,
    client: Option<Client>,
}

/// The transactions of a client until its database was gone.
#[derive(Debug, Default)]
pub struct Load {
    /// The highest number sent.
    pub sent: u64,
    /// The acknowledged numbers, each with its time.
    pub acknowledged: Vec<(u64, Instant)>,
}

impl Session {
    /// Starts the database on the data in its directory, recovers it if necessary, and connects.
    pub fn open(
        database: &'static dyn Database,
        place: &Place,
        durability: Durability,
    ) -> anyhow::Result<Session> {
        Session::open_with(database, place, durability, &[])
    }

    /// The same with more arguments of the server, which override earlier ones.
    pub fn open_with(
        database: &'static dyn Database,
        place: &Place,
        durability: Durability,
        arguments: &[&str],
    ) -> anyhow::Result<Session> {
        let mut machines = Vec::new();
        if let Some(mut server) = database.server(place, durability) {
            server.words.extend(arguments.iter().map(|&word| word.to_owned()));
            let (mut machine, pipes) = Machine::start(database.account(), &server.words)?;
            drain(pipes.stdout);
            machine.wait_for(server.ready)?;
            machines.push(machine);
        }
        let (machine, client) = Client::connect(database, place, durability)?;
        machines.push(machine);
        Ok(Session { database, place: place.clone(), machines, client: Some(client) })
    }

    /// Executes statements and returns what they print.
    pub fn ask(&mut self, sql: &str) -> anyhow::Result<Vec<String>> {
        let client = self.client.as_mut().context("the client is busy")?;
        client.ask(sql).with_context(|| self.logs())
    }

    /// Creates the table of transactions.
    pub fn make_table(&mut self) -> anyhow::Result<()> {
        self.ask(self.database.make_table()).map(drop)
    }

    pub fn rows(&mut self) -> anyhow::Result<BTreeMap<u64, String>> {
        let lines = self.ask(&format!(
            "select number, content from {} order by number;",
            self.database.table()
        ))?;
        let row = |line: &String| {
            let (number, content) = line.split_once('\t')?;
            Some((number.parse().ok()?, content.to_owned()))
        };
        lines
            .iter()
            .map(|line| row(line).with_context(|| format!("invalid row `{line}`")))
            .collect()
    }

    /// Runs the database's consistency check.
    pub fn check(&mut self) -> anyhow::Result<()> {
        let client = self.client.as_mut().context("the client is busy")?;
        self.database.check(&self.place, client)
    }

    /// Commits transactions, starting with this number, until the database is gone. Sends a message
    /// when the first one is acknowledged.
    pub fn commit_until_gone(
        &mut self,
        first: u64,
        under_way: Sender<()>,
    ) -> anyhow::Result<impl FnOnce() -> Load + use<>> {
        let mut client = self.client.take().context("the client is busy")?;
        let load = std::thread::spawn(move || {
            let mut load = Load::default();
            for number in first.. {
                load.sent = number;
                if client.commit(number).is_err() {
                    break;
                }
                load.acknowledged.push((number, Instant::now()));
                let _ = under_way.send(());
            }
            load
        });
        Ok(move || load.join().unwrap_or_default())
    }

    /// Kills all of its processes at once.
    pub fn lose_power(&mut self) {
        self.machines.iter_mut().for_each(Machine::switch_off);
    }

    /// The process of the server, or the first of them.
    pub fn server_pid(&self) -> anyhow::Result<u32> {
        self.machines.first().context("nothing is running")?.first_process()
    }

    /// Stops all processes of the server: it holds its connections, and says nothing.
    pub fn freeze(&self) -> anyhow::Result<()> {
        self.machines.first().context("nothing is running")?.freeze()
    }

    /// The last messages of its processes.
    pub fn logs(&self) -> String {
        self.machines.iter().map(|machine| end_of(&machine.said())).collect::<Vec<_>>().join("\n")
    }
}

/// Compares what a check printed with what it should print.
pub fn expect(what: &str, printed: &[String], clean: impl Fn(&str) -> bool) -> anyhow::Result<()> {
    match printed.iter().find(|line| !clean(line)) {
        Some(line) => bail!("{what}: {line}"),
        None => Ok(()),
    }
}
