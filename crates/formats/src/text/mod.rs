//! From a paste to what is understood in it: blocks of lines, each in one format, and the lines that nobody knows.

mod bandwidth_test;
mod block;
mod card_tools;
mod catalogue;
mod container;
mod figures;
mod foreign;
mod host;
mod json_document;
mod kernel_log;
mod kubernetes;
mod load_test;
mod nvidia_bug_report;
mod nvidia_scene;
mod nvidia_smi;
mod nvidia_smi_csv;
mod nvidia_smi_list;
mod nvidia_smi_mig;
mod nvidia_smi_monitor;
mod nvidia_smi_nvlink;
mod nvidia_smi_query;
mod nvidia_smi_topology;
mod nvidia_smi_version;
mod nvml_session;
mod profiles;
mod program;
mod prometheus;
mod slurm;
mod stacks;
mod understood;

pub use block::{Block, Context, Remark};
pub use understood::{Met, Piece, Understood, understand, understand_paste};

use block::TextFormat;
