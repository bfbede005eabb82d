//! What the names of `scontrol` are about.

use super::super::field::Field;

/// What a block of values describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Job,
    Node,
    Partition,
    Reservation,
    /// A quality of service and its use.
    Quality,
    /// An account or a user in it, and its use.
    Association,
}

/// Returns what a key is about.
pub(super) fn field(kind: Kind, key: &str) -> Option<Field> {
    match kind {
        Kind::Job => of_job(key),
        Kind::Node => of_node(key),
        Kind::Partition => of_partition(key),
        Kind::Reservation => of_reservation(key),
        Kind::Quality | Kind::Association => of_limits(key),
    }
}

fn of_job(key: &str) -> Option<Field> {
    let field = match key {
        "JobId" => Field::JobId,
        "ArrayJobId" => Field::ArrayJob,
        "ArrayTaskId" => Field::ArrayTask,
        "JobName" => Field::JobName,
        "UserId" => Field::User,
        "Account" => Field::Account,
        "QOS" => Field::Qos,
        "JobState" => Field::State,
        "Reason" => Field::Reason,
        "Priority" => Field::Priority,
        "Dependency" => Field::Dependency,
        "Partition" => Field::Partition,
        "NodeList" => Field::NodeName,
        "ReqNodeList" => Field::WantedNodes,
        "ExcNodeList" => Field::ExcludedNodes,
        "NumNodes" => Field::NodeCount,
        "NumCPUs" => Field::Cpus,
        "NumTasks" => Field::Tasks,
        "CPUs/Task" => Field::CpusPerTask,
        "ReqTRES" => Field::AskedTres,
        "AllocTRES" => Field::GivenTres,
        "TRES" => Field::Tres,
        "TresPerNode" | "Gres" => Field::Gres,
        "TresPerJob" => Field::GresPerJob,
        "TresPerTask" => Field::GresPerTask,
        "MinCPUsNode" => Field::CpusPerNode,
        "MinMemoryNode" => Field::MemoryPerNode,
        "MinMemoryCPU" => Field::MemoryPerCpu,
        "TimeLimit" => Field::TimeLimit,
        "RunTime" => Field::Elapsed,
        "StartTime" => Field::StartTime,
        "SubmitTime" => Field::SubmitTime,
        "EligibleTime" => Field::BeginTime,
        "Features" => Field::Constraint,
        "OverSubscribe" | "Shared" => Field::OverSubscribe,
        "Reservation" => Field::Reservation,
        "Command" => Field::Command,
        "ExitCode" => Field::ExitCode,
        _ => return None,
    };
    Some(field)
}

fn of_node(key: &str) -> Option<Field> {
    let field = match key {
        "NodeName" => Field::NodeName,
        "State" => Field::State,
        "Reason" => Field::Reason,
        "Gres" => Field::Gres,
        "GresUsed" => Field::GresUsed,
        "CPUTot" | "CPUEfctv" => Field::Cpus,
        "CPUAlloc" => Field::CpusGiven,
        "RealMemory" => Field::MemoryPerNode,
        "AllocMem" => Field::MemoryGiven,
        "Partitions" => Field::Partition,
        "AvailableFeatures" | "ActiveFeatures" | "Features" => Field::Features,
        "CfgTRES" => Field::Tres,
        "AllocTRES" => Field::GivenTres,
        "ReservationName" => Field::ReservedFor,
        _ => return None,
    };
    Some(field)
}

fn of_partition(key: &str) -> Option<Field> {
    let field = match key {
        "PartitionName" => Field::Partition,
        "State" => Field::Avail,
        "MaxTime" => Field::TimeLimit,
        "MaxNodes" => Field::NodesMost,
        "MaxMemPerNode" => Field::MemoryPerNodeMost,
        "MaxCPUsPerNode" => Field::CpusPerNodeMost,
        "Nodes" => Field::NodeName,
        "OverSubscribe" | "Shared" => Field::OverSubscribe,
        "PriorityTier" => Field::Priority,
        "AllowAccounts" => Field::Accounts,
        "AllowQos" => Field::QosAllowed,
        "TRES" => Field::Tres,
        _ => return None,
    };
    Some(field)
}

fn of_reservation(key: &str) -> Option<Field> {
    let field = match key {
        "ReservationName" => Field::ReservationName,
        "StartTime" => Field::StartTime,
        "EndTime" => Field::EndTime,
        "Nodes" => Field::NodeName,
        "Flags" => Field::Flags,
        "State" => Field::State,
        "Users" | "Accounts" => Field::Users,
        _ => return None,
    };
    Some(field)
}

fn of_limits(key: &str) -> Option<Field> {
    let field = match key {
        "QOS" => Field::Qos,
        "Account" => Field::Account,
        "UserName" => Field::User,
        "GrpTRES" => Field::GroupTres,
        "GrpJobs" => Field::GroupJobs,
        "GrpSubmitJobs" => Field::GroupSubmitted,
        "MaxTRESPJ" => Field::JobTres,
        "MaxTRESPN" => Field::NodeTres,
        "MaxWallPJ" => Field::TimeLimit,
        "MaxTRESPU" => Field::UserTres,
        "MaxJobsPU" | "MaxJobs" => Field::UserJobs,
        "MaxSubmitJobsPU" | "MaxSubmitJobs" => Field::UserSubmitted,
        "MaxTRESPA" => Field::AccountTres,
        "MaxJobsPA" => Field::AccountJobs,
        "MinTRESPJ" => Field::LeastTres,
        _ => return None,
    };
    Some(field)
}
