//! The last part a launcher plays: confines itself and becomes the program.
//! Started by the supervisor, with a socket as its input. Says what is in force before it is gone; the socket is closed by
//! becoming the program, so that the program never holds it.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{setpriority_process, setsid};

use super::message::{Message, Order, Problem, receive, send};
use crate::sandbox::InForce;

/// Does not return if all goes well.
pub fn run() -> io::Result<()> {
    // A copy that is closed by becoming the program; the input itself is replaced.
    let mut socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    close_others(&socket)?;
    let order: Order = receive(&mut socket)?;
    // A session of its own: the launcher's advantages end here.
    setsid()?;
    if let Some(priority) = order.priority {
        setpriority_process(None, priority)?;
    }
    let problem = become_program(&order, &mut socket);
    send(&mut socket, &Message::NotStarted(problem))
}

/// Closes what the server opened, or was given, without saying that it is not for others.
fn close_others(socket: &UnixStream) -> io::Result<()> {
    let open: Vec<i32> = std::fs::read_dir("/proc/self/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    for number in open.into_iter().filter(|number| *number > 2 && *number != socket.as_raw_fd()) {
        // The one that listed them is among them, and closed already. Nothing else in this process has any.
        nix::unistd::close(number).ok();
    }
    Ok(())
}

fn become_program(order: &Order, socket: &mut UnixStream) -> Problem {
    // Before the confinement, under which it could be anywhere.
    if let Err(error) = std::env::set_current_dir(order.directory()) {
        return Problem::other("cannot enter the directory", &error);
    }
    match confine(order).map(|in_force| send(socket, &Message::Confined(in_force))) {
        Ok(Ok(())) => {}
        Ok(Err(error)) => return Problem::other("cannot tell the launcher", &error),
        Err(refusal) => return Problem::Refused(refusal),
    }
    let error = Command::new(&order.program)
        .arg0(&order.name)
        .args(&order.arguments)
        .env_clear()
        .envs(order.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .exec();
    match error.raw_os_error() {
        Some(number) => Problem::Program(number),
        None => Problem::Other(error.to_string()),
    }
}

fn confine(order: &Order) -> Result<InForce, String> {
    let Some(confinement) = &order.confinement else {
        return Ok(InForce::nothing("the world's sandbox is switched off"));
    };
    let own = order.environment.iter().find(|(name, _)| name == "TMPDIR");
    let own =
        own.map_or_else(|| confinement.temporary().to_owned(), |(_, path)| PathBuf::from(path));
    confinement.enter(&own, Path::new(&order.program))
}
