//! `/proc/PID/maps`: which libraries of CUDA and of frameworks a process has loaded.

use std::collections::BTreeSet;

use super::bytes::{numbered_lines, printable};

/// Beginnings of file names that say what a program works with.
const LIBRARIES: &[&str] = &[
    "libamdhip64",
    "libc10",
    "libcublas",
    "libcuda",
    "libcudart",
    "libcudnn",
    "libcufile",
    "libggml",
    "libhccl",
    "libllama",
    "libmpi",
    "libnccl",
    "libnvidia-ml",
    "libnvinfer",
    "libnvshmem",
    "libonnxruntime",
    "libpaddle",
    "librccl",
    "libtensorflow",
    "libtorch",
    "libucp",
    "_pywrap_tensorflow",
    "nvml",
    "xla_extension",
];

/// Returns the file names of such libraries, sorted, each once.
pub fn libraries(file: &[u8]) -> Vec<String> {
    let mut found = BTreeSet::new();
    for (_, line) in numbered_lines(file) {
        // Only a line with a file has a slash: ranges, rights, offset, device and number have none.
        let Some(slash) = line.iter().rposition(|byte| *byte == b'/') else {
            continue;
        };
        let name = line[slash + 1..].trim_ascii();
        let name = name.strip_suffix(b" (deleted)").unwrap_or(name);
        if is_library(name) && LIBRARIES.iter().any(|known| name.starts_with(known.as_bytes())) {
            found.insert(printable(name));
        }
    }
    found.into_iter().collect()
}

/// Returns whether a file name is that of a shared library: `libcuda.so`, `libcuda.so.580.95.05`.
fn is_library(name: &[u8]) -> bool {
    name.ends_with(b".so") || name.windows(4).any(|part| part == b".so.")
}

#[cfg(test)]
mod tests {
    use super::{LIBRARIES, libraries};

    #[test]
    fn libraries_are_named_once_whatever_their_folder() {
        let file = b"7f00-7f10 r-xp 00000000 08:01 77 /usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05\n\
                     7f10-7f20 r--p 00000000 08:01 77 /usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05\n\
                     7f20-7f30 r-xp 00000000 08:01 78 /opt/my env/torch/lib/libtorch_cuda.so (deleted)\n\
                     7f30-7f40 r-xp 00000000 08:01 79 /opt/env/libcudart-0fa5.so.12\n\
                     7f40-7f50 r-xp 00000000 08:01 79 /opt/env/libcuda.py\n\
                     7f50-7f60 r-xp 00000000 08:01 80 /usr/lib/libc.so.6\n\
                     7ffd-7ffe rw-p 00000000 00:00 0  [stack]\n7f7f\n\xff/\xff\n";
        assert_eq!(libraries(file), ["libcuda.so.580.95.05", "libcudart-0fa5.so.12", "libtorch_cuda.so"]);
        assert!(libraries(b"").is_empty());
    }

    #[test]
    fn no_beginning_stands_there_twice() {
        let mut sorted = LIBRARIES.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), LIBRARIES.len());
    }
}
