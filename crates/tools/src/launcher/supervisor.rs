//! Supervises one program: starts it, watches what it uses, and ends everything it started.
//! Started by a server, with a socket as its input; the end of that stream means that the server is gone or has enough.
//! Single-threaded, does nothing but wait most of the time, and never writes to the program's output.

use std::fs::{self, DirBuilder};
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions, WaitStatus,
    getpid, getpriority_process, kill_process_group, pidfd_open, set_child_subreaper,
    set_dumpable_behavior, setpriority_process, setsid, wait, waitid, waitpid,
};

use super::message::{Arriving, Ended, Limit, Message, Order, Problem, receive, send};
use super::record::Record;
use super::{ARGUMENT, BECOME, SUPERVISE, family, record};
use crate::sandbox::Bubble;

/// How often the program's family is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// While they multiply.
const LOOK_CLOSELY: Duration = Duration::from_millis(10);
const MANY_MORE: usize = 16;
/// Killed processes are gone at once, unless the kernel holds them or there are very many.
const PATIENCE: Duration = Duration::from_secs(30);
/// Of a process that must get its turn among any number of others.
const HIGHEST_PRIORITY: i32 = -20;

pub fn run() -> io::Result<()> {
    // No terminal, so that nothing typed there reaches us; no way in for a program of the same user.
    // Already alone in a session: fails, and is as it should be.
    setsid().ok();
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    // Whatever the program starts and abandons becomes a child of this process.
    set_child_subreaper(Some(getpid()))?;
    let mut server = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut order: Order = receive(&mut server)?;
    put_first(&mut order);
    let last = match Folder::make(&order) {
        Ok(own) => supervise(order, own.as_ref(), &mut server),
        Err(problem) => Message::NotStarted(problem),
    };
    // Nobody may be there any more to hear it.
    send(&mut server, &last).ok();
    Ok(())
}

/// Lets this process have its turn before any number of the program's, where it may. The program gets back what was usual.
fn put_first(order: &mut Order) {
    order.priority = order.priority.or_else(|| getpriority_process(None).ok());
    // Only an administrator may, and only an administrator's processes cannot be counted by the kernel.
    if setpriority_process(None, HIGHEST_PRIORITY).is_ok() {
        // Sessions share the processor before processes do, where there is such a file.
        fs::write("/proc/self/autogroup", HIGHEST_PRIORITY.to_string()).ok();
    }
}

fn supervise(order: Order, own: Option<&Folder>, server: &mut UnixStream) -> Message {
    let order = prepared(order, own);
    let mut note = match Notebook::open(&order, own) {
        Ok(note) => note,
        Err(error) => return Message::NotStarted(Problem::other("cannot note what runs", &error)),
    };
    let first = Family::start(&order, own).and_then(|mut family| {
        let last = family.watch(&order, server, &mut note)?;
        Ok((last, family.bubble_failed))
    });
    match first {
        Ok((last, None)) => last,
        Ok((_, Some(reason))) => {
            let order = without_bubble(order, reason);
            let second = Family::start(&order, own)
                .and_then(|mut family| family.watch(&order, server, &mut note));
            second.unwrap_or_else(|error| not_started(&error))
        }
        Err(error) => not_started(&error),
    }
}

fn not_started(error: &io::Error) -> Message {
    Message::NotStarted(Problem::other("cannot start the launcher", error))
}

fn prepared(mut order: Order, own: Option<&Folder>) -> Order {
    order.environment.retain(|(name, _)| name != super::CALL_VARIABLE);
    order.environment.push((super::CALL_VARIABLE.into(), order.call.clone().into()));
    if let Some(own) = own {
        order.environment.retain(|(name, _)| name != "TMPDIR");
        order.environment.push(("TMPDIR".into(), own.path.clone().into()));
    }
    order
}

fn without_bubble(mut order: Order, reason: String) -> Order {
    order.confinement = order.confinement.map(|confinement| confinement.without_bubble(reason));
    order
}

/// The call's own temporary folder.
struct Folder {
    path: PathBuf,
}

impl Folder {
    /// None for a call that is not confined, or is given one already.
    fn make(order: &Order) -> Result<Option<Self>, Problem> {
        let Some(confinement) = &order.confinement else { return Ok(None) };
        if confinement.is_inside_bubble() {
            return Ok(None);
        }
        let make = || {
            let parent = confinement.temporary().canonicalize()?;
            let path = parent.join(format!("agent-world-{}-{}", std::process::id(), since_boot()));
            DirBuilder::new().mode(0o700).create(&path)?;
            Ok(Self { path })
        };
        make().map(Some).map_err(|error: io::Error| {
            let parent = confinement.temporary().display();
            Problem::other(&format!("cannot make a temporary folder in {parent}"), &error)
        })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is left: the program may have taken our right to.
        fs::remove_dir_all(&self.path).ok();
    }
}

/// Tells launchers with the same number apart.
fn since_boot() -> u64 {
    family::stat(std::process::id()).and_then(|stat| stat.started()).unwrap_or_default()
}

/// The record of what runs, where one is kept. Removed when everything has ended.
struct Notebook {
    record: Option<(Record, PathBuf)>,
}

impl Notebook {
    fn open(order: &Order, own: Option<&Folder>) -> io::Result<Self> {
        let Some(note) = &order.record else { return Ok(Self { record: None }) };
        let own = own.map(|own| own.path.as_path());
        let record = Record::new(&order.call, note.server, own)
            .ok_or_else(|| io::Error::other("/proc is not readable"))?;
        let path = PathBuf::from(&note.path);
        record.write(&path)?;
        Ok(Self { record: Some((record, path)) })
    }

    fn note(&mut self, processes: &[u32]) {
        if let Some((record, path)) = &mut self.record
            && record.note(processes)
        {
            // The marks in the processes' environment are there for the case that it cannot be written.
            record.write(path).ok();
        }
    }
}

impl Drop for Notebook {
    fn drop(&mut self) {
        if let Some((_, path)) = &self.record {
            // Found by the next start, which removes it.
            record::remove(path).ok();
        }
    }
}

/// The program and everything it has started.
struct Family {
    head: Pid,
    /// Becomes readable when the head ends; not to be had on old kernels.
    ended: Option<OwnedFd>,
    /// What the head says before it becomes the program, or about it from inside a bubble.
    socket: Option<UnixStream>,
    arriving: Arriving,
    said: Vec<Message>,
    inside: Inside,
    bubble_failed: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inside {
    Nothing,
    /// Another supervisor runs in there, and its word counts.
    Bubble,
}

/// Why there is nothing to wait for any longer.
enum Over {
    HeadEnded,
    ServerGone,
    Exceeded(Limit),
}

impl Family {
    fn start(order: &Order, own: Option<&Folder>) -> io::Result<Self> {
        let (mut socket, theirs) = UnixStream::pair()?;
        let (mut command, inside, order) = command(order, own);
        let child = command.env_clear().stdin(Stdio::from(OwnedFd::from(theirs))).spawn()?;
        // Our copy of the head's end goes with the command: only the head must hold it.
        drop(command);
        let head = family::pid(child.id()).ok_or_else(|| io::Error::other("no process"))?;
        let ended = pidfd_open(head, PidfdFlags::empty()).ok();
        // One that dies before it has read everything says so by ending.
        send(&mut socket, &order).ok();
        socket.set_nonblocking(true)?;
        let arriving = Arriving::default();
        let said = Vec::new();
        Ok(Self { head, ended, socket: Some(socket), arriving, said, inside, bubble_failed: None })
    }

    /// Returns when everything has ended.
    fn watch(
        &mut self,
        order: &Order,
        server: &mut UnixStream,
        note: &mut Notebook,
    ) -> io::Result<Message> {
        let mut next_look = Instant::now();
        let mut before = 0;
        let over = loop {
            if Instant::now() >= next_look {
                let processes = match self.look(order, note) {
                    Ok(processes) => processes,
                    Err(limit) => break Over::Exceeded(limit),
                };
                let pause = if processes > before + MANY_MORE { LOOK_CLOSELY } else { LOOK };
                before = processes;
                next_look = Instant::now() + pause;
            }
            let server_gone = self.wait(server, next_look)?;
            self.listen(server);
            if self.has_ended() {
                break Over::HeadEnded;
            }
            if server_gone {
                break Over::ServerGone;
            }
        };
        let (status, survivors) = self.end();
        self.listen(server);
        Ok(self.conclude(&over, status, survivors))
    }

    /// Waits for the server, the head or the time; says whether the server has gone.
    fn wait(&self, server: &UnixStream, until: Instant) -> io::Result<bool> {
        let mut time = until.saturating_duration_since(Instant::now());
        if self.ended.is_none() {
            time = time.min(Duration::from_millis(5));
        }
        let time = Timespec::try_from(time).map_err(io::Error::other)?;
        let mut polled = vec![PollFd::new(server, PollFlags::IN)];
        polled.extend(self.ended.iter().map(|fd| PollFd::new(fd, PollFlags::IN)));
        polled.extend(self.socket.iter().map(|fd| PollFd::new(fd, PollFlags::IN)));
        match poll(&mut polled, Some(&time)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        // The server sends nothing after the order: whatever is to be read is the end.
        Ok(polled.first().is_some_and(|server| !server.revents().is_empty()))
    }

    /// Hears what the head has to say, and passes on what the server waits for.
    fn listen(&mut self, server: &mut UnixStream) {
        let Some(socket) = &mut self.socket else { return };
        let mut buffer = [0; 4096];
        let open = loop {
            match socket.read(&mut buffer) {
                Ok(0) => break false,
                Ok(length) => self.arriving.bytes.extend(buffer.iter().take(length)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break error.kind() == io::ErrorKind::WouldBlock,
            }
        };
        while let Ok(Some(message)) = self.arriving.next::<Message>() {
            if let Message::Confined(_) = message {
                // A server that has gone is noticed elsewhere.
                send(server, &message).ok();
            }
            self.said.push(message);
        }
        if !open {
            self.socket = None;
        }
    }

    fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        matches!(
            waitid(WaitId::Pid(self.head), options),
            Ok(Some(_)) | Err(rustix::io::Errno::CHILD)
        )
    }

    /// Counts, notes and reaps. Returns how many there are, or the limit that is exceeded.
    fn look(&self, order: &Order, note: &mut Notebook) -> Result<usize, Limit> {
        let confinement =
            order.confinement.as_ref().filter(|confinement| !confinement.is_inside_bubble());
        let most = confinement.map_or(usize::MAX, |limits| limits.processes as usize);
        // The bubble's own three are not the program's.
        let most = if self.inside == Inside::Bubble { most.saturating_add(3) } else { most };
        let processes = family::descendants(std::process::id(), most);
        if processes.len() > most {
            return Err(Limit::Processes);
        }
        note.note(&processes);
        self.reap_orphans(&processes);
        let memory = || processes.iter().map(|id| family::memory(*id)).fold(0, u64::saturating_add);
        if confinement.is_some_and(|limits| memory() > limits.memory_bytes) {
            return Err(Limit::Memory);
        }
        Ok(processes.len())
    }

    /// What the program abandoned has become our child, and ours to reap. The head is kept until the end.
    fn reap_orphans(&self, processes: &[u32]) {
        for process in processes {
            let over = family::stat(*process)
                .is_some_and(|stat| stat.is_over() && stat.parent() == Some(std::process::id()));
            let id = family::pid(*process).filter(|id| over && *id != self.head);
            if id.is_some() {
                waitpid(id, WaitOptions::NOHANG).ok();
            }
        }
    }

    /// Kills everything, and reaps until no child is left: then there is no descendant either.
    fn end(&self) -> (Option<WaitStatus>, u32) {
        let give_up = Instant::now() + PATIENCE;
        let mut status = None;
        loop {
            if status.is_none() {
                // Not reaped yet, so the group's number is still its own.
                kill_process_group(self.head, Signal::KILL).ok();
            }
            let left = loop {
                match wait(WaitOptions::NOHANG) {
                    Ok(Some((process, how))) if process == self.head => status = Some(how),
                    Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                    Ok(None) => break true,
                    Err(_) => break false,
                }
            };
            if !left {
                return (status, 0);
            }
            let others = family::stop_descendants();
            if Instant::now() > give_up {
                return (status, u32::try_from(others.len()).unwrap_or(u32::MAX));
            }
            for process in others {
                family::signal_descendant(process, Signal::KILL);
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    fn conclude(&mut self, over: &Over, status: Option<WaitStatus>, survivors: u32) -> Message {
        let confined = self.said.iter().any(|message| matches!(message, Message::Confined(_)));
        let last = self.said.pop();
        let mut ended = Ended {
            exit_code: status.and_then(|status| status.exit_status()),
            signal: status.and_then(|status| status.terminating_signal()),
            limit: None,
            survivors,
        };
        match (over, last) {
            (Over::HeadEnded, Some(problem @ Message::NotStarted(_))) => return problem,
            (Over::HeadEnded, Some(Message::Ended(inside))) => {
                ended = Ended { survivors, ..inside }
            }
            (Over::HeadEnded, _) if !confined => {
                let reason = "it ended before it could start the program".to_owned();
                // With this code bubblewrap gives up before it starts anything. However else it ended, the program may
                // have run, and must not run again.
                if self.inside == Inside::Bubble && ended.exit_code == Some(1) {
                    self.bubble_failed = Some(format!("bubblewrap failed: {reason}"));
                }
                return Message::NotStarted(Problem::Other(reason));
            }
            (Over::Exceeded(limit), _) => ended.limit = Some(*limit),
            _ => {}
        }
        if ended.signal == Some(Signal::XFSZ.as_raw()) {
            ended.limit = Some(Limit::FileSize);
        }
        Message::Ended(ended)
    }
}

/// What to start, and what to tell it.
fn command(order: &Order, own: Option<&Folder>) -> (Command, Inside, Order) {
    let bubble = order.confinement.as_ref().and_then(|confinement| {
        let bubblewrap = confinement.bubblewrap.as_ref().ok()?;
        let launcher = whole_path()?;
        let bubble = Bubble { confinement, own: &own?.path, launcher: &launcher };
        let mut command = bubble.command(bubblewrap);
        command.arg(&launcher).args([ARGUMENT, SUPERVISE]).process_group(0);
        let confinement = Some(confinement.inside_bubble());
        Some((command, Inside::Bubble, Order { confinement, record: None, ..order.clone() }))
    });
    bubble.unwrap_or_else(|| {
        // Leads a session of its own as soon as it runs.
        let mut command = Command::new("/proc/self/exe");
        command.args([ARGUMENT, BECOME]);
        (command, Inside::Nothing, order.clone())
    })
}

/// Inside a bubble this program must be found by its path. None if its file was replaced.
fn whole_path() -> Option<PathBuf> {
    std::env::current_exe().ok().filter(|path| path.exists())
}
