//! Names that are known by their shape: addresses, paths, unique ids.

use core::net::{Ipv4Addr, Ipv6Addr};

/// Folders that every machine has, and that name nobody.
const COMMON_FOLDERS: &[&str] = &[
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/proc",
    "/run",
    "/sbin",
    "/sys",
    "/usr/bin",
    "/usr/include",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/sbin",
    "/usr/share",
];

/// Folders below the common ones that name somebody.
const OWN_FOLDERS: &[&str] =
    &["/dev/disk", "/dev/mapper", "/dev/fd", "/run/user", "/run/media", "/run/mount"];

/// Ends of names of machines.
const DOMAINS: &[&str] = &[
    "com",
    "org",
    "net",
    "edu",
    "gov",
    "mil",
    "local",
    "localdomain",
    "lan",
    "internal",
    "intranet",
    "corp",
    "cn",
    "de",
    "fr",
    "uk",
    "jp",
    "ch",
    "nl",
    "se",
    "fi",
    "pl",
    "kr",
    "tw",
    "hk",
    "sg",
    "au",
    "ca",
    "eu",
    "ru",
    "cloud",
];

/// Places that everybody knows.
const PUBLIC: &[&str] = &[
    "pytorch.org",
    "nvidia.com",
    "github.com",
    "kernel.org",
    "python.org",
    "tensorflow.org",
    "huggingface.co",
    "schedmd.com",
    "kubernetes.io",
    "docker.com",
    "wikipedia.org",
];

/// Returns where a UUID stands in a word, with the `GPU-` or `MIG-` before it.
pub(super) fn uuid(word: &str) -> Option<(usize, usize)> {
    const LENGTH: usize = 36;
    let bytes = word.as_bytes();
    let is_uuid = |text: &[u8]| {
        text.iter().enumerate().all(|(place, byte)| match place {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
    };
    let start = bytes.windows(LENGTH).position(is_uuid)?;
    let before = ["MIG-GPU-", "GPU-", "MIG-"].iter().find(|before| word[..start].ends_with(**before));
    Some((start - before.map_or(0, |before| before.len()), start + LENGTH))
}

/// Returns the address at the begin of a word: what follows is a port or a mask.
pub(super) fn address(word: &str) -> Option<&str> {
    let is_address = |text: &str| text.parse::<Ipv4Addr>().is_ok_and(|address| !is_everybodys(address));
    let end = word.find([':', '/', '%']).unwrap_or(word.len());
    if is_address(&word[..end]) {
        return Some(&word[..end]);
    }
    let whole = &word[..word.find(['/', '%']).unwrap_or(word.len())];
    let is_ipv6 =
        whole.parse::<Ipv6Addr>().is_ok_and(|address| !address.is_loopback() && !address.is_unspecified());
    let parts: Vec<&str> = whole.split([':', '-']).collect();
    let is_hardware = parts.len() == 6
        && parts.iter().all(|part| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_hexdigit()));
    (is_ipv6 || is_hardware).then_some(whole)
}

fn is_everybodys(address: Ipv4Addr) -> bool {
    // A version may have four numbers; none of a machine begins with zero.
    address.is_loopback() || address.octets()[0] == 0 || address.is_broadcast()
}

/// Returns whether a word is a path that could name somebody; as an argument of a command also one without a root.
pub(super) fn is_path(word: &str, is_argument: bool) -> bool {
    let mut characters = word.chars();
    let (first, second) = (characters.next(), characters.next());
    let is_drive = first.is_some_and(|first| first.is_ascii_alphabetic())
        && (word.get(1..3) == Some(":\\") || word.get(1..3) == Some(":/"));
    let is_rooted = match (first, second) {
        (Some('/'), Some(second)) => second.is_alphanumeric() || "._-~@".contains(second),
        (Some('~'), Some(second)) => second == '/' || second.is_ascii_alphabetic(),
        (Some('.'), Some(_)) => word.starts_with("./") || word.starts_with("../"),
        (Some('\\'), Some(second)) => second == '\\',
        _ => is_drive,
    };
    let is_relative = is_argument && word.contains('/') && !word.starts_with('-');
    (is_rooted || is_relative) && !is_common(word)
}

fn is_common(path: &str) -> bool {
    let is_within =
        |folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let is_cuda = path.starts_with("/usr/local/cuda");
    (is_cuda || COMMON_FOLDERS.iter().any(|folder| is_within(folder)))
        && !OWN_FOLDERS.iter().any(|folder| is_within(folder))
}

/// Returns whether a word is the full name of a machine that not everybody knows.
pub(super) fn is_domain(word: &str) -> bool {
    let labels: Vec<&str> = word.split('.').collect();
    let is_label = |label: &&str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    let ends = labels.last().is_some_and(|last| DOMAINS.contains(last));
    labels.len() > 1 && ends && labels.iter().all(is_label) && !is_public(word)
}

/// Returns whether an address of the web is one that everybody knows.
pub(super) fn is_public(place: &str) -> bool {
    let host = place.split(['/', ':', '?']).next().unwrap_or_default();
    PUBLIC
        .iter()
        .any(|known| host.strip_suffix(known).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}

#[cfg(test)]
mod tests {
    use super::{address, is_domain, is_path, is_public, uuid};

    #[test]
    fn unique_ids_are_found_with_what_stands_before_them() {
        const ID: &str = "5d1c7a52-9f0e-4a77-b1a3-0a1f6f1f2c02";
        assert_eq!(uuid(ID), Some((0, 36)));
        assert_eq!(uuid(&format!("(UUID:GPU-{ID})")), Some((6, 46)));
        assert_eq!(uuid(&format!("MIG-GPU-{ID}/1/0")), Some((0, 44)));
        assert_eq!(uuid("5d1c7a52-9f0e-4a77-b1a3"), None);
    }

    #[test]
    fn addresses_are_told_from_versions_times_and_slots() {
        for (word, found) in [
            ("10.1.2.3", Some("10.1.2.3")),
            ("10.1.2.3:29500", Some("10.1.2.3")),
            ("10.1.0.0/16", Some("10.1.0.0")),
            ("fe80::1ff:fe23:4567:890a", Some("fe80::1ff:fe23:4567:890a")),
            ("aa:bb:cc:dd:ee:0f", Some("aa:bb:cc:dd:ee:0f")),
            ("127.0.0.1", None),
            ("580.95.05", None),
            ("0000:65:00.0", None),
            ("00000000:65:00.0", None),
            ("10:00:05", None),
            ("::1", None),
            ("", None),
        ] {
            assert_eq!(address(word), found, "{word}");
        }
    }

    #[test]
    fn paths_of_people_are_told_from_those_of_every_machine() {
        for path in [
            "/home/a/x.py",
            "/data",
            "~/x",
            "~bob",
            "./x",
            "C:\\Users\\x",
            "\\\\nas\\x",
            "/run/user/7",
            "/usr/local/acme",
        ] {
            assert!(is_path(path, false), "{path}");
        }
        for word in [
            "/proc/1/io",
            "/usr/bin/python3",
            "/dev/nvidia0",
            "/",
            "GiB/s",
            "a/b",
            "I/O",
            "/usr/local/cuda-12",
        ] {
            assert!(!is_path(word, false), "{word}");
        }
        assert!(is_path("data/train", true) && !is_path("-x/y", true));
    }

    #[test]
    fn names_of_machines_are_told_from_files_and_versions() {
        assert!(is_domain("gpu7.acme.com") && is_domain("n1.cluster.local"));
        for word in ["train.py", "libcuda.so.580.95", "torch.cuda", "v1.2", "docs.nvidia.com", "com"] {
            assert!(!is_domain(word), "{word}");
        }
        assert!(is_public("pytorch.org/docs") && !is_public("notpytorch.org"));
    }
}
