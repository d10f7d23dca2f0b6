//! Looks for processes of this machine, to see that tools leave none behind.

/// A time to sleep, in seconds, that no other process of this machine sleeps.
pub fn unique_sleep() -> String {
    format!("1000.{}{}", std::process::id(), rand::random::<u16>())
}

/// How many processes have this parameter.
pub fn sleeping(parameter: &str) -> usize {
    let has = |path: std::path::PathBuf| {
        // A process may end between the listing and the look.
        let line = std::fs::read(path.join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == parameter.as_bytes())
    };
    let entries = std::fs::read_dir("/proc").unwrap();
    entries.filter(|entry| has(entry.as_ref().unwrap().path())).count()
}

/// Returns once exactly so many processes have this parameter. The kernel tells nobody, so it is asked again.
pub async fn wait_for(parameter: &str, count: usize) {
    while sleeping(parameter) != count {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}
