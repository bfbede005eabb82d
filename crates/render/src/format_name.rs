//! What an input is called: the name of a tool is the same in every language, other names are words.

use crate::texts::input;
use crate::words::Words;

/// Returns what a format is called, by the name that it has in reports.
pub(crate) fn format_name(format: &str, words: &Words<'_>) -> String {
    let text = match format {
        "kernel log" => input::format_kernel_log(),
        "log of services" => input::format_system_log(),
        "file of /proc" => input::format_proc_file(),
        "fuser or lsof" => input::format_openers(),
        "log of a program" => input::format_program_log(),
        "object of Kubernetes" => input::format_kubernetes_object(),
        "log of Kubernetes" => input::format_kubernetes_log(),
        "error of a container runtime" => input::format_container_error(),
        "devices of a control group" => input::format_device_rules(),
        "messages of sbatch, srun or salloc" => input::format_slurm_messages(),
        "seff or jobstats" => input::format_job_efficiency(),
        "#SBATCH lines" => input::format_job_script(),
        "table of jobs" => input::format_job_table(),
        "Prometheus metrics" => input::format_prometheus(),
        "stacks of threads" => input::format_stacks(),
        "result of a load test" => input::format_load_test(),
        "profiler trace" => input::format_trace(),
        "rows about cards" => input::format_card_rows(),
        "table of figures" => input::format_figures(),
        "bandwidth between cards" => input::format_bandwidth(),
        "recording of gpuwhy" => input::format_recording(),
        tool => return tool.to_owned(),
    };
    words.flowing(&text)
}
