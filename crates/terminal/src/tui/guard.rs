//! Takes the terminal over and gives it back, however the program ends: by leaving, by an error, by a panic.
//! Used by the loop in `tui` only.

use std::io::{self, Stdout, stdout};
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crossterm::cursor::Show;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::execute;
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

static IS_OURS: AtomicBool = AtomicBool::new(false);

/// The terminal while it is ours.
#[derive(Debug)]
pub struct Guard {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Guard {
    pub fn enter() -> io::Result<Self> {
        give_back_on_panic();
        enable_raw_mode()?;
        IS_OURS.store(true, Ordering::SeqCst);
        // Not every terminal gives an empty screen.
        let entered = execute!(
            stdout(),
            EnterAlternateScreen,
            Clear(ClearType::All),
            EnableMouseCapture,
            EnableBracketedPaste
        );
        match entered.and_then(|()| Terminal::new(CrosstermBackend::new(stdout()))) {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    pub fn terminal(&mut self) -> &mut Terminal<CrosstermBackend<Stdout>> {
        &mut self.terminal
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives it back once: doing so again would put the cursor on what was said meanwhile. The terminal may be gone: then there
/// is nothing to give back.
fn give_back() {
    if !IS_OURS.swap(false, Ordering::SeqCst) {
        return;
    }
    let left =
        execute!(stdout(), DisableBracketedPaste, DisableMouseCapture, LeaveAlternateScreen, Show);
    left.ok();
    disable_raw_mode().ok();
}

/// What is said of a panic must be readable. A task that panics elsewhere ends nothing, and keeps its words for the end.
fn give_back_on_panic() {
    let ours = thread::current().id();
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if thread::current().id() == ours {
            give_back();
            before(info);
        }
    }));
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::num::NonZeroU16;

    use portable_pty::{CommandBuilder, PtySize, native_pty_system};

    use super::*;

    /// Set for the process that panics.
    const PANICS: &str = "AGENT_WORLD_TEST_PANICS";

    #[test]
    fn panics_on_a_terminal() {
        if std::env::var_os(PANICS).is_some() {
            let mut guard = Guard::enter().unwrap();
            guard.terminal().draw(|frame| frame.render_widget("drawn", frame.area())).unwrap();
            panic!("on purpose");
        }
    }

    #[test]
    fn a_panic_gives_the_terminal_back_and_is_readable() {
        let pty = native_pty_system().openpty(PtySize::default()).unwrap();
        let mut command = CommandBuilder::new(std::env::current_exe().unwrap());
        command.args(["--exact", "tui::guard::tests::panics_on_a_terminal", "--nocapture"]);
        command.env(PANICS, "1");
        command.env("RUST_BACKTRACE", "0");
        let settings = || format!("{:?}", pty.master.get_termios().unwrap().local_flags);
        let before = settings();
        let mut child = pty.slave.spawn_command(command).unwrap();
        let mut output = pty.master.try_clone_reader().unwrap();
        let size = (NonZeroU16::new(24).unwrap(), NonZeroU16::new(80).unwrap());
        let mut terminal = vt100::Parser::new(size.0, size.1, 0);
        let mut all = String::new();
        let mut buffer = [0; 4_096];
        while !all.contains("test result") {
            let length = output.read(&mut buffer).unwrap();
            terminal.process(&buffer[..length]);
            all.push_str(&String::from_utf8_lossy(&buffer[..length]));
        }
        child.wait().unwrap();
        assert!(all.contains("drawn"), "{all}");
        let screen = terminal.screen();
        assert!(screen.contents().contains("on purpose"), "{}", screen.contents());
        assert!(!screen.alternate_screen() && !screen.hide_cursor() && !screen.bracketed_paste());
        assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None);
        assert_eq!(settings(), before);
    }
}
