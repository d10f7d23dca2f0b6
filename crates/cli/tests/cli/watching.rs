//! Tests of a world that follows a folder.

use std::fs;
use std::path::Path;

use crate::home::Home;

#[test]
fn a_folder_is_followed_until_somebody_ends_it() {
    let home = Home::new();
    home.run(&["world", "create", "lab", "--agent", "ada"]).succeeded();
    let path = home.write("x", "");
    let folder = Path::new(&path).with_file_name("lab");
    let path = folder.to_str().unwrap();
    home.run(&["export", "lab", "--folder", "--out", path]).succeeded();
    let file = folder.join("world.toml");
    let text = fs::read_to_string(&file).unwrap();
    let watching = home.start(&["import", path, "--watch"]);
    watching.wait_for("world lab is so already");
    fs::write(&file, format!("turn_limit = 9\n{text}")).unwrap();
    watching.wait_for("lab: turn_limit: 5 -> 9");
    let turn_limit = || {
        let shown = home.run(&["world", "show", "lab", "--json"]).succeeded();
        shown.json()[0]["turn_limit"].clone()
    };
    assert_eq!(turn_limit(), 9);
    fs::write(&file, format!("turnlimit = 8\n{text}")).unwrap();
    watching.wait_for_warning("it has no field `turnlimit`");
    assert_eq!(turn_limit(), 9, "the last good state stays");
    fs::write(&file, format!("turn_limit = 7\n{text}")).unwrap();
    watching.wait_for("lab: turn_limit: 9 -> 7");
    fs::write(&file, format!("turn_limit = 4\nworking_directory = \"/usr\"\n{text}")).unwrap();
    watching.wait_for_warning("what is run for them (working_directory");
    assert_eq!(turn_limit(), 7);
    let program = "[mcp_servers.new]\ncommand = \"/no/such/program\"\n";
    fs::write(&file, format!("turn_limit = 3\n{text}\n{program}")).unwrap();
    watching.wait_for_warning("what is run for them (mcp_servers.new");
    assert_eq!(turn_limit(), 7);
    home.run(&["world", "delete", "lab", "--yes"]).succeeded();
    fs::write(&file, format!("turn_limit = 6\n{text}")).unwrap();
    watching.wait_for("imported world lab");
    assert_eq!(turn_limit(), 6);
    watching.signal("INT");
    watching.wait().succeeded();
}
