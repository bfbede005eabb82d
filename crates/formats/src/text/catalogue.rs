//! The formats that are looked for in a paste, in the order in which they are asked.
//!
//! A format that is sure by its first line comes before one that reads anything that looks like a table or a log.

use super::{
    TextFormat, bandwidth_test, card_tools, container, figures, host, kernel_log, kubernetes, load_test,
    nvidia_bug_report, nvidia_smi, nvidia_smi_csv, nvidia_smi_list, nvidia_smi_mig, nvidia_smi_monitor,
    nvidia_smi_nvlink, nvidia_smi_query, nvidia_smi_topology, nvidia_smi_version, nvml_session, profiles,
    program, prometheus, slurm, stacks,
};
use crate::{Format, nvidia_smi_xml, trace};

pub(super) static FORMATS: &[TextFormat] = &[
    TextFormat { format: Format::NvidiaSmiXml, read: nvidia_smi_xml::read_lines },
    TextFormat { format: Format::Trace, read: trace::read_lines },
    TextFormat { format: Format::NvidiaSmiCsv, read: nvidia_smi_csv::read },
    TextFormat { format: Format::NvidiaSmiNvlink, read: nvidia_smi_nvlink::read },
    TextFormat { format: Format::NvidiaSmiTopology, read: nvidia_smi_topology::read },
    TextFormat { format: Format::NvidiaSmiMig, read: nvidia_smi_mig::read },
    TextFormat { format: Format::NvidiaSmiVersion, read: nvidia_smi_version::read },
    TextFormat { format: Format::NvidiaBugReport, read: nvidia_bug_report::read },
    TextFormat { format: Format::NvidiaSmiList, read: nvidia_smi_list::read },
    TextFormat { format: Format::NvidiaSmi, read: nvidia_smi::read },
    TextFormat { format: Format::NvidiaSmiQuery, read: nvidia_smi_query::read },
    TextFormat { format: Format::NvidiaSmiDmon, read: nvidia_smi_monitor::read_devices },
    TextFormat { format: Format::NvidiaSmiPmon, read: nvidia_smi_monitor::read_processes },
    TextFormat { format: Format::SlurmJson, read: slurm::read_json },
    TextFormat { format: Format::Scontrol, read: slurm::read_scontrol },
    TextFormat { format: Format::Squeue, read: slurm::read_squeue },
    TextFormat { format: Format::Sinfo, read: slurm::read_sinfo },
    TextFormat { format: Format::Sacct, read: slurm::read_sacct },
    TextFormat { format: Format::Sprio, read: slurm::read_sprio },
    TextFormat { format: Format::Sshare, read: slurm::read_sshare },
    TextFormat { format: Format::Sacctmgr, read: slurm::read_sacctmgr },
    TextFormat { format: Format::JobTable, read: slurm::read_job_table },
    TextFormat { format: Format::JobEfficiency, read: slurm::read_efficiency },
    TextFormat { format: Format::Sdiag, read: slurm::read_sdiag },
    TextFormat { format: Format::JobScript, read: slurm::read_script },
    TextFormat { format: Format::SlurmMessages, read: slurm::read_messages },
    TextFormat { format: Format::Squeue, read: slurm::read_reasons },
    TextFormat { format: Format::Sacctmgr, read: slurm::read_limit },
    TextFormat { format: Format::Scontrol, read: slurm::read_gres },
    TextFormat { format: Format::Sacct, read: slurm::read_used },
    TextFormat { format: Format::Prometheus, read: prometheus::read },
    TextFormat { format: Format::Stacks, read: stacks::read },
    TextFormat { format: Format::PySpyTop, read: profiles::read_functions },
    TextFormat { format: Format::StraceSummary, read: profiles::read_system_calls },
    TextFormat { format: Format::Strace, read: profiles::read_calls },
    TextFormat { format: Format::NvmlSession, read: nvml_session::read },
    TextFormat { format: Format::BandwidthTest, read: bandwidth_test::read },
    TextFormat { format: Format::KubernetesObject, read: kubernetes::read_objects },
    TextFormat { format: Format::ContainerInspect, read: container::read_inspect },
    TextFormat { format: Format::KubectlDescribe, read: kubernetes::read_describe },
    TextFormat { format: Format::KubectlGet, read: kubernetes::read_table },
    TextFormat { format: Format::ContainerTable, read: container::read_table },
    TextFormat { format: Format::ContainerInformation, read: container::read_information },
    TextFormat { format: Format::DeviceRules, read: container::read_device_rules },
    TextFormat { format: Format::ContainerError, read: container::read_refusal },
    TextFormat { format: Format::KubernetesLog, read: kubernetes::read_log },
    TextFormat { format: Format::PerfAnalyzer, read: load_test::read_perf_analyzer },
    TextFormat { format: Format::LoadTest, read: load_test::read_table },
    TextFormat { format: Format::Gpustat, read: card_tools::gpustat },
    TextFormat { format: Format::Nvitop, read: card_tools::nvitop },
    TextFormat { format: Format::Nvtop, read: card_tools::nvtop },
    TextFormat { format: Format::CardRows, read: card_tools::rows },
    TextFormat { format: Format::Figures, read: figures::read },
    TextFormat { format: Format::SystemLog, read: kernel_log::read_services },
    TextFormat { format: Format::KernelLog, read: kernel_log::read },
    TextFormat { format: Format::FabricManagerLog, read: host::fabric_manager_log::read },
    TextFormat { format: Format::Top, read: host::top::read },
    TextFormat { format: Format::Htop, read: host::htop::read },
    TextFormat { format: Format::Ps, read: host::ps::read },
    TextFormat { format: Format::Free, read: host::free::read },
    TextFormat { format: Format::Df, read: host::df::read },
    TextFormat { format: Format::Mounts, read: host::mounts::read },
    TextFormat { format: Format::Iostat, read: host::disks::read },
    TextFormat { format: Format::Mpstat, read: host::processors::read },
    TextFormat { format: Format::Vmstat, read: host::vmstat::read },
    TextFormat { format: Format::Uptime, read: host::uptime::read },
    TextFormat { format: Format::ProcFile, read: host::proc_file::read },
    TextFormat { format: Format::Lspci, read: host::lspci::read },
    TextFormat { format: Format::Lsmod, read: host::modules::loaded },
    TextFormat { format: Format::Modinfo, read: host::modules::on_disk },
    TextFormat { format: Format::DkmsStatus, read: host::modules::built },
    TextFormat { format: Format::Modprobe, read: host::modules::refused },
    TextFormat { format: Format::Systemctl, read: host::systemctl::read },
    TextFormat { format: Format::Uname, read: host::system::kernel },
    TextFormat { format: Format::Mokutil, read: host::system::secure_boot },
    TextFormat { format: Format::Ulimit, read: host::system::limits },
    TextFormat { format: Format::Openers, read: host::openers::read },
    TextFormat { format: Format::ProgramLog, read: program::read },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::FORMATS;

    #[test]
    fn no_reader_is_asked_twice() {
        let readers: BTreeSet<usize> = FORMATS.iter().map(|format| format.read as usize).collect();
        assert_eq!(readers.len(), FORMATS.len());
    }
}
