//! The log of NVIDIA's fabric manager.

/// What stands before the version.
const MARK: &str = "Fabric Manager version is";

/// Returns the version that the fabric manager said to be when it was started last, as far as the text goes back.
pub fn fabric_manager_version(log: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(log);
    let line = text.lines().rev().find(|line| line.contains(MARK))?;
    let (_, rest) = line.split_once(MARK)?;
    let version: String = rest
        .trim_start_matches([' ', ':', '\t'])
        .chars()
        .take_while(|character| character.is_ascii_digit() || *character == '.')
        .collect();
    let is_version = version.split('.').count() >= 2 && version.split('.').all(|part| !part.is_empty());
    is_version.then_some(version)
}

#[cfg(test)]
mod tests {
    use super::fabric_manager_version;

    #[test]
    fn the_newest_start_counts() {
        let log = b"[INFO] [tid 1] Fabric Manager version is : 470.57.02\n\xff\n[INFO] Initializing\n\
                    [INFO] [tid 2] Fabric Manager version is : 535.104.12\n[INFO] done\n";
        assert_eq!(fabric_manager_version(log).as_deref(), Some("535.104.12"));
        assert_eq!(fabric_manager_version(b"Fabric Manager version is : \n"), None);
        assert_eq!(fabric_manager_version(b""), None);
    }
}
