//! What a process was started with: its arguments and a few variables of its environment.

use std::collections::BTreeMap;

use gpuwhy_model::command_line::{CommandLine, masked_text};

use super::bytes::printable;

/// The variables that are kept; no other one leaves the file. Their values say to which job, rank or container a
/// process belongs and which cards it was given.
pub const KEPT_VARIABLES: &[&str] = &[
    "APPTAINER_CONTAINER",
    "APPTAINER_NAME",
    "CUDA_DEVICE_ORDER",
    "CUDA_MPS_PIPE_DIRECTORY",
    "CUDA_VERSION",
    "CUDA_VISIBLE_DEVICES",
    "KUBERNETES_SERVICE_HOST",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "LSB_JOBID",
    "MASTER_ADDR",
    "MASTER_PORT",
    "NVIDIA_VISIBLE_DEVICES",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "PBS_JOBID",
    "PMI_RANK",
    "RANK",
    "RAY_ADDRESS",
    "SINGULARITY_CONTAINER",
    "SINGULARITY_NAME",
    "SLURM_JOBID",
    "SLURM_JOB_GPUS",
    "SLURM_JOB_ID",
    "SLURM_JOB_PARTITION",
    "SLURM_JOB_USER",
    "SLURM_LOCALID",
    "SLURM_NTASKS",
    "SLURM_PROCID",
    "SLURM_STEP_GPUS",
    "SLURM_STEP_ID",
    "TORCHELASTIC_RUN_ID",
    "WORLD_SIZE",
];

/// Reads `/proc/PID/cmdline`, secrets masked; empty for threads of the kernel and for zombies.
///
/// A program may have written a title of its own over its arguments, with blanks where the zeros were: the words of
/// one argument are masked like separate ones.
pub fn command_line(file: &[u8]) -> CommandLine {
    let end = file.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    if end == 0 {
        return CommandLine::masked(<[&str; 0]>::default());
    }
    CommandLine::masked(file[..end].split(|byte| *byte == 0).map(String::from_utf8_lossy))
}

/// Reads the kept variables of `/proc/PID/environ`, their values masked; of a name that is set twice the first counts.
pub fn environment(file: &[u8]) -> BTreeMap<String, String> {
    let mut kept = BTreeMap::new();
    for variable in file.split(|byte| *byte == 0) {
        let Some(equals) = variable.iter().position(|byte| *byte == b'=') else {
            continue;
        };
        let Some(name) = KEPT_VARIABLES.iter().find(|name| name.as_bytes() == &variable[..equals]) else {
            continue;
        };
        let value = || masked_text(&printable(&variable[equals + 1..]));
        kept.entry((*name).to_owned()).or_insert_with(value);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::{KEPT_VARIABLES, command_line, environment};

    #[test]
    fn arguments_stand_between_zeros() {
        let command = command_line(b"python\0train.py\0--name\0\0--lr\x003e-4\0");
        assert_eq!(command.arguments(), ["python", "train.py", "--name", "", "--lr", "3e-4"]);
    }

    #[test]
    fn a_kernel_thread_has_no_arguments() {
        assert!(command_line(b"").arguments().is_empty());
        assert!(command_line(b"\0\0\0").arguments().is_empty());
    }

    #[test]
    fn secrets_are_masked_however_they_stand_there() {
        for (file, shown) in [
            (&b"run\0--api-key\0hunter2\0"[..], "run --api-key ***"),
            (b"run --api-key hunter2 --lr 3\0\0\0\0", "run --api-key *** --lr 3"),
            (b"worker: --password=hunter2 x", "worker: --password=*** x"),
            (b"sh\0-c\0TOKEN=hunter2 python t.py\0", "sh -c TOKEN=*** python t.py"),
            (b"x\0\xff--token\0a\0", "x \u{fffd}--token ***"),
        ] {
            let line = command_line(file).line();
            assert!(!line.contains("hunter2"), "{line}");
            if !shown.contains('\u{fffd}') {
                assert_eq!(line, shown);
            }
        }
    }

    #[test]
    fn only_listed_variables_are_kept() {
        let kept = environment(
            b"HOME=/root\0AWS_SECRET_ACCESS_KEY=hunter2\0LOCAL_RANK=3\0LOCAL_RANK=4\0RANKED=1\0RANK\0=x\0\
              CUDA_VISIBLE_DEVICES=0,1\0SLURM_JOB_ID=8841\0RAY_ADDRESS=ray://u:hunter2@h:1",
        );
        let shown: Vec<String> = kept.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            shown,
            ["CUDA_VISIBLE_DEVICES=0,1", "LOCAL_RANK=3", "RAY_ADDRESS=ray://***@h:1", "SLURM_JOB_ID=8841"]
        );
    }

    #[test]
    fn kept_variables_are_sorted() {
        assert!(KEPT_VARIABLES.is_sorted());
    }
}
