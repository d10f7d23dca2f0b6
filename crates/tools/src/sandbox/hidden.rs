//! Decides what programs may not read: the embedder's data, what a world names, and the usual homes of keys.
//! Called when a confinement is made. Never hides what the working directory is made of.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// In a person's home.
const KEYS: [&str; 42] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".vault-token",
    ".terraform.d/credentials.tfrc.json",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/op",
    ".config/agent-world",
    ".local/share/agent-world",
    ".local/share/keyrings",
    ".password-store",
    ".claude",
    ".codex",
    ".gemini",
    ".s3cfg",
    ".databrickscfg",
    ".oci",
    ".cache/huggingface/token",
    ".config/containers/auth.json",
    ".config/rclone",
    ".config/sops",
    ".config/stripe",
    ".config/google-chrome",
    ".config/chromium",
    ".mozilla",
];

/// Of the system. Only an administrator could read the files anyway, and the sockets are ways out.
const SYSTEM: [&str; 12] = [
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/ssl/private",
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
    "/run/dbus/system_bus_socket",
    // A session's services start programs for whoever asks: its bus, its terminals, its screen.
    "/run/user",
    "/run/systemd/private",
    "/tmp/.X11-unix",
];

/// Everything to be hidden that is there, with links resolved and without what lies in another.
pub fn existing(
    named: impl Iterator<Item = PathBuf>,
    home: Option<&Path>,
    working_directory: &Path,
) -> Vec<OsString> {
    let keys = home.into_iter().flat_map(|home| KEYS.iter().map(move |name| home.join(name)));
    let usual = keys.chain(SYSTEM.iter().map(PathBuf::from)).chain(host_keys());
    let mut paths: Vec<PathBuf> = usual
        .filter_map(|path| path.canonicalize().ok())
        // Somebody who works on these files has chosen to.
        .filter(|path| !path.starts_with(working_directory) && !working_directory.starts_with(path))
        .chain(named.filter_map(|path| path.canonicalize().ok()))
        // Not the world itself.
        .filter(|path| path.as_path() != working_directory)
        .collect();
    paths.sort();
    paths.dedup_by(|later, earlier| later.starts_with(earlier.as_path()));
    paths.into_iter().map(PathBuf::into_os_string).collect()
}

fn host_keys() -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir("/etc/ssh").into_iter().flatten().flatten();
    let is_key = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("ssh_host_") && !name.ends_with(".pub")
    };
    entries.map(|entry| entry.path()).filter(is_key)
}
