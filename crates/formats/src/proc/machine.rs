//! Small files about the machine: modules, the driver's version, users, links, ids.

use std::collections::BTreeMap;

use super::bytes::{number, numbered_lines, printable, small_number, words};
use crate::Malformed;

/// A loaded kernel module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// Its name, with underscores.
    pub name: String,
    /// How many users hold it; none where the kernel does not count.
    pub users: Option<u64>,
}

/// Reads `/proc/modules`.
pub fn modules(file: &[u8]) -> Vec<Module> {
    let mut modules = Vec::new();
    for (_, line) in numbered_lines(file) {
        let mut fields = words(line);
        let Some(name) = fields.next() else {
            continue;
        };
        modules.push(Module { name: printable(name), users: fields.nth(1).and_then(number) });
    }
    modules
}

/// Reads the version of the loaded NVIDIA kernel module from `/proc/driver/nvidia/version`.
///
/// # Errors
/// Fails when no line names a kernel module and its version.
pub fn nvidia_module_version(file: &[u8]) -> Result<String, Malformed> {
    for (_, line) in numbered_lines(file) {
        if !line.starts_with(b"NVRM version:") {
            continue;
        }
        if let Some(version) = words(line).find(|word| is_version(word)) {
            return Ok(printable(version));
        }
    }
    Err(Malformed::first_line("`NVRM version: … Kernel Module <version>`"))
}

/// Returns whether a word is a driver version: `550.54.14`.
fn is_version(word: &[u8]) -> bool {
    let has_dot = word.contains(&b'.');
    has_dot && word.split(|byte| *byte == b'.').all(|part| number(part).is_some())
}

/// Reads `/etc/passwd`: user names by id; of several with one id the first counts.
pub fn users(file: &[u8]) -> BTreeMap<u32, String> {
    let mut users = BTreeMap::new();
    for (_, line) in numbered_lines(file) {
        let mut fields = line.split(|byte| *byte == b':');
        let (Some(name), Some(uid)) = (fields.next(), fields.nth(1).and_then(small_number)) else {
            continue;
        };
        if !name.is_empty() {
            users.entry(uid).or_insert_with(|| printable(name));
        }
    }
    users
}

/// Reads the number of a namespace from its link: `pid:[4026531836]`.
pub fn namespace_number(link: &[u8]) -> Option<u64> {
    let start = link.iter().position(|byte| *byte == b'[')?;
    number(link.strip_suffix(b"]")?.get(start + 1..)?)
}

/// Reads a number in hexadecimal digits with `0x` in front, as sysfs writes ids.
///
/// # Errors
/// Fails when there is no such number.
pub fn hexadecimal(file: &[u8]) -> Result<u32, Malformed> {
    let malformed = Malformed::first_line("`0x<hexadecimal digits>`");
    let digits = file.trim_ascii().strip_prefix(b"0x").ok_or(malformed)?;
    let digits = std::str::from_utf8(digits).map_err(|_| malformed)?;
    u32::from_str_radix(digits, 16).map_err(|_| malformed)
}

/// Reads a whole number that is all the file holds.
///
/// # Errors
/// Fails when there is something else.
pub fn whole_number(file: &[u8]) -> Result<u64, Malformed> {
    number(file.trim_ascii()).ok_or(Malformed::first_line("a whole number"))
}

/// Returns the first line of a file that holds one word or name, control characters escaped.
pub fn single_line(file: &[u8]) -> String {
    let end = file.iter().position(|byte| *byte == b'\n').unwrap_or(file.len());
    printable(file[..end].trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::{
        Module, hexadecimal, modules, namespace_number, nvidia_module_version, single_line, users,
        whole_number,
    };

    #[test]
    fn modules_have_names_and_users() {
        let modules = modules(b"nvidia_uvm 1540096 2 - Live 0x0 (POE)\nnouveau 1 - - Live 0x0\n\n");
        assert_eq!(modules[0], Module { name: "nvidia_uvm".into(), users: Some(2) });
        assert_eq!(modules[1], Module { name: "nouveau".into(), users: None });
        assert_eq!(modules.len(), 2);
    }

    #[test]
    fn both_kinds_of_kernel_module_tell_their_version() {
        for (file, version) in [
            (
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 2023\nGCC version: 12.2.0",
                "535.129.03",
            ),
            (
                "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (b@h)",
                "580.65.06",
            ),
            ("NVRM version: NVIDIA UNIX aarch64 Kernel Module  440.33.01", "440.33.01"),
        ] {
            assert_eq!(nvidia_module_version(file.as_bytes()).unwrap(), version);
        }
        assert!(nvidia_module_version(b"GCC version: 12.2.0").is_err());
        assert!(nvidia_module_version(b"").is_err());
    }

    #[test]
    fn users_have_names() {
        let users = users(
            b"root:x:0:0:root:/root:/bin/sh\nalice:x:1000:1000::/home/alice:\ntoor:x:0:0\n#\nbob:x:-1:\n",
        );
        assert_eq!(users[&0], "root");
        assert_eq!(users[&1000], "alice");
        assert_eq!(users.len(), 2);
    }

    #[test]
    fn small_files_are_read_or_refused() {
        assert_eq!(namespace_number(b"pid:[4026531836]"), Some(4_026_531_836));
        assert_eq!(namespace_number(b"pid:[x]"), None);
        assert_eq!(namespace_number(b"]"), None);
        assert_eq!(hexadecimal(b"0x10de\n"), Ok(0x10de));
        assert!(hexadecimal(b"10de\n").is_err());
        assert_eq!(whole_number(b"1\n"), Ok(1));
        assert!(whole_number(b"\n").is_err());
        assert_eq!(single_line(b" 6.1.0-13\x07 \nmore"), "6.1.0-13\\u{7}");
    }
}
