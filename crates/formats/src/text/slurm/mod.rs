//! Outputs of Slurm's tools, and tables that people make of them.

mod efficiency;
mod field;
mod gathered;
mod hostlist;
mod job;
mod json;
mod lone;
mod message;
mod node;
mod queue;
mod quota;
mod reason;
mod record;
mod scontrol;
mod script;
mod sdiag;
mod state;
mod table;
mod tres;
mod usage;
mod words;

pub(super) use efficiency::read as read_efficiency;
pub(super) use json::read as read_json;
pub(super) use lone::{read_gres, read_limit, read_reasons, read_used};
pub(super) use message::read as read_messages;
pub(super) use scontrol::read as read_scontrol;
pub(super) use script::read as read_script;
pub(super) use sdiag::read as read_sdiag;
pub(super) use table::{
    read_job_table, read_sacct, read_sacctmgr, read_sinfo, read_sprio, read_squeue, read_sshare,
};
