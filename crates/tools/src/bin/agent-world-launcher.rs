//! The smallest program that has a launcher: runs one call of `shell_cmd`, as a server would.
//! Started by this crate's tests, which kill it in the middle of its work. Its arguments are the working directory, a
//! folder for records, `alone` or `wrapped` for whether bubblewrap may be used, and the call's arguments as JSON.

use std::process::ExitCode;

use agent_world_tools::launcher::{Bubblewrap, Launcher, main_if_asked};
use agent_world_tools::shell::ShellCmd;
use agent_world_tools::{Invocation, Tool as _};

fn main() -> ExitCode {
    match main_if_asked() {
        Some(done) => done,
        None => serve(),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn serve() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, records, bubblewrap, call] = arguments.as_slice() else {
        eprintln!(
            "usage: agent-world-launcher WORKING_DIRECTORY RECORD_FOLDER alone|wrapped ARGUMENTS"
        );
        return ExitCode::FAILURE;
    };
    let call = match serde_json::from_str(call) {
        Ok(call) => call,
        Err(error) => {
            eprintln!("the arguments are no JSON: {error}");
            return ExitCode::FAILURE;
        }
    };
    let bubblewrap = match bubblewrap.as_str() {
        "wrapped" => Bubblewrap::WhereItWorks,
        _ => Bubblewrap::Never,
    };
    let launcher = Launcher::this_program().bubblewrap(bubblewrap);
    let tool = ShellCmd::new().launched_by(launcher).recording_in(records);
    let id = format!("call_{}", std::process::id());
    let ids = (id.as_str().into(), "world".into(), "chat_1".into(), "ada".into());
    let invocation = Invocation {
        working_directory: Some(folder.into()),
        ..Invocation::new(ids.0, ids.1, ids.2, ids.3, call)
    };
    match tool.run(invocation).await {
        Ok(output) => {
            println!("{}\n{}", output.text, output.details);
            ExitCode::SUCCESS
        }
        Err(failure) => {
            let output = failure.into_output();
            println!("{}\n{}", output.text, output.details);
            ExitCode::FAILURE
        }
    }
}
