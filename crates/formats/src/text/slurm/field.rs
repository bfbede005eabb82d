//! What a column, a key or a member of Slurm's outputs is about, whatever each tool calls it.

/// What a value is about. One name serves a job, a node, a queue or a limit, as the record is one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Field {
    // Whose record it is.
    JobId,
    ArrayJob,
    ArrayTask,
    JobName,
    NodeName,
    Partition,
    User,
    Account,
    Qos,
    ReservationName,
    /// A name of something that the other fields tell.
    Name,
    // State.
    State,
    Reason,
    /// A sentence beside the reason.
    ReasonNote,
    /// Nodes, or in brackets why there are none.
    NodesOrReason,
    ReasonBy,
    ReasonAt,
    Avail,
    // Amounts.
    NodeCount,
    Cpus,
    CpusPerNode,
    CpusPerTask,
    Tasks,
    TasksPerNode,
    Memory,
    MemoryPerNode,
    MemoryPerCpu,
    Cards,
    CardsPerNode,
    CardsPerTask,
    /// GRES: of each node.
    Gres,
    GresUsed,
    GresPerJob,
    GresPerTask,
    /// TRES: asked for, given, or one of both.
    AskedTres,
    GivenTres,
    Tres,
    UsedTres,
    UsedTresMean,
    /// Processors of nodes: given/idle/other/all.
    CpusByUse,
    CpusGiven,
    MemoryGiven,
    /// Nodes: given/idle/other/all.
    NodesByUse,
    // Time.
    TimeLimit,
    Elapsed,
    StartTime,
    SubmitTime,
    BeginTime,
    EndTime,
    // What else a job asks for.
    Dependency,
    Constraint,
    OverSubscribe,
    Exclusive,
    Priority,
    Reservation,
    Command,
    WantedNodes,
    ExcludedNodes,
    /// A part of a priority, by its name.
    Factor(&'static str),
    // What a job used.
    MemoryUsed,
    CpuTime,
    ExitCode,
    // What a node has.
    Features,
    ReservedFor,
    // What is in a queue.
    Waiting,
    Running,
    Reasons,
    NodesMost,
    CpusPerNodeMost,
    MemoryPerNodeMost,
    Accounts,
    QosAllowed,
    // Limits.
    GroupTres,
    GroupJobs,
    GroupSubmitted,
    GroupTime,
    JobTres,
    NodeTres,
    UserTres,
    UserJobs,
    UserSubmitted,
    AccountTres,
    AccountJobs,
    AccountSubmitted,
    LeastTres,
    FairShare,
    // A reservation.
    Flags,
    Users,
    /// Known, and of no use here.
    Other,
}

/// Returns a header without case, blanks and marks.
pub(super) fn normal(header: &str) -> String {
    header.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

/// Returns what a column is about by its header.
pub(super) fn column(header: &str) -> Option<Field> {
    // Shares of something (`%CPU`) stand in tables of other tools. No name has a digit.
    let has_digit = header.bytes().any(|byte| byte.is_ascii_digit());
    if header.len() > 40 || header.starts_with('%') || has_digit {
        return None;
    }
    let field = match normal(header).as_str() {
        "jobid" | "jobidraw" => Field::JobId,
        "arrayjobid" => Field::ArrayJob,
        "arraytaskid" => Field::ArrayTask,
        "jobname" => Field::JobName,
        "name" => Field::Name,
        "nodelist" | "hostnames" | "nodename" | "hostname" | "node" | "hosts" | "allocnodelist" => {
            Field::NodeName
        }
        "partition" | "partitionname" | "queue" => Field::Partition,
        "user" | "username" | "owner" => Field::User,
        "account" | "acct" => Field::Account,
        "qos" => Field::Qos,
        "st" | "state" | "jobstate" | "status" | "statecompact" | "statelong" => Field::State,
        "reason" | "statereason" | "pendingreason" | "waitreason" | "pendreason" => Field::Reason,
        "statedescription" => Field::ReasonNote,
        "nodelistreason" | "reasonlist" | "nodesreason" => Field::NodesOrReason,
        "reasonby" => Field::ReasonBy,
        "timestamp" | "reasonat" => Field::ReasonAt,
        "avail" => Field::Avail,
        "nodes" | "nnodes" | "numnodes" | "nodecount" | "allocnodes" | "nodect" => Field::NodeCount,
        "cpus" | "ncpus" | "numcpus" | "alloccpus" | "reqcpus" | "mincpus" | "cores" | "cpu" => Field::Cpus,
        "cpuspertask" => Field::CpusPerTask,
        "tasks" | "numtasks" | "ntasks" => Field::Tasks,
        "ntaskspernode" | "taskspernode" => Field::TasksPerNode,
        "reqmem" => Field::Memory,
        "minmemory" | "minmemorynode" | "memory" | "mem" => Field::MemoryPerNode,
        "memorypercpu" | "mempercpu" => Field::MemoryPerCpu,
        "gpus" | "ngpus" | "numgpus" | "gpucount" | "gpusrequested" | "reqgpus" | "gpusreq" | "gpu"
        | "requestedgpus" => Field::Cards,
        "gpuspernode" => Field::CardsPerNode,
        "gres" | "trespernode" | "reqgres" | "allocgres" => Field::Gres,
        "gresused" => Field::GresUsed,
        "tresperjob" => Field::GresPerJob,
        "trespertask" => Field::GresPerTask,
        "reqtres" | "tresreq" | "tresrequested" | "trestequested" => Field::AskedTres,
        "alloctres" | "tresalloc" | "tresallocated" => Field::GivenTres,
        "tres" => Field::Tres,
        "tresusageintot" => Field::UsedTres,
        "tresusageinave" => Field::UsedTresMean,
        "cpusaiot" | "cpusstate" => Field::CpusByUse,
        "nodesaiot" => Field::NodesByUse,
        "timelimit"
        | "timelimi"
        | "timelim"
        | "walltime"
        | "timelimitraw"
        | "maxwall"
        | "maxwalldurationperjob"
        | "maxwallpj" => Field::TimeLimit,
        "time" | "elapsed" | "timeused" | "runtime" | "runningtime" => Field::Elapsed,
        "start" | "starttime" => Field::StartTime,
        "submit" | "submittime" => Field::SubmitTime,
        "eligible" | "eligibletime" => Field::BeginTime,
        "end" | "endtime" => Field::EndTime,
        "dependency" => Field::Dependency,
        "constraints" | "constraint" => Field::Constraint,
        "features" | "availfe" | "availfeatures" | "activefeatures" | "featuresact" => Field::Features,
        "oversubscribe" | "oversubs" | "shared" | "share" => Field::OverSubscribe,
        "exclusive" => Field::Exclusive,
        "priority" => Field::Priority,
        "reservation" | "resvname" => Field::Reservation,
        "command" | "maincommand" | "submitline" | "script" => Field::Command,
        "reqnodelist" => Field::WantedNodes,
        "excnodes" | "excnodelist" => Field::ExcludedNodes,
        "maxrss" => Field::MemoryUsed,
        "totalcpu" => Field::CpuTime,
        "exitcode" => Field::ExitCode,
        "pending" | "waiting" | "pendingjobs" | "queued" | "pd" => Field::Waiting,
        "running" | "runningjobs" => Field::Running,
        "reasons" | "pendingreasons" | "reasoncounts" => Field::Reasons,
        "age" | "site" | "fairsharefactor" | "jobsize" | "assoc" | "nice" => return factor(header),
        "grptres" | "grptreslimit" => Field::GroupTres,
        "grpjobs" => Field::GroupJobs,
        "grpsubmit" | "grpsubmitjobs" => Field::GroupSubmitted,
        "grpwall" => Field::GroupTime,
        "maxtres" | "maxtresperjob" | "maxtrespj" => Field::JobTres,
        "maxtrespernode" => Field::NodeTres,
        "maxtrespu" | "maxtresperuser" => Field::UserTres,
        "maxjobspu" | "maxjobs" | "maxjobsperuser" => Field::UserJobs,
        "maxsubmitpu" | "maxsubmit" | "maxsubmitjobs" | "maxsubmitjobsperuser" => Field::UserSubmitted,
        "maxtrespa" | "maxtresperaccount" => Field::AccountTres,
        "maxjobspa" | "maxjobsperaccount" => Field::AccountJobs,
        "maxsubmitpa" | "maxsubmitjobsperaccount" => Field::AccountSubmitted,
        "mintres" | "mintresperjob" => Field::LeastTres,
        "fairshare" => Field::FairShare,
        _ if OTHERS.contains(&normal(header).as_str()) => Field::Other,
        _ => return None,
    };
    Some(field)
}

/// Returns the part of a priority that a column of `sprio` holds.
fn factor(header: &str) -> Option<Field> {
    let name = match normal(header).as_str() {
        "age" => "age",
        "site" => "site",
        "jobsize" => "job size",
        "assoc" => "association",
        "nice" => "nice",
        _ => return None,
    };
    Some(Field::Factor(name))
}

/// Headers that these tools have and that say nothing of interest.
const OTHERS: &[&str] = &[
    "cluster",
    "group",
    "groups",
    "gid",
    "uid",
    "comment",
    "wckey",
    "admincomment",
    "schednodes",
    "exechost",
    "workdir",
    "sct",
    "hsct",
    "cores",
    "sockets",
    "threads",
    "socketspernode",
    "corespersocket",
    "threadspercore",
    "mintmpdisk",
    "tmpdisk",
    "weight",
    "freemem",
    "cpuload",
    "version",
    "root",
    "jobsizelimit",
    "nodesai",
    "maxcpuspernode",
    "preemptmode",
    "preempt",
    "defaulttime",
    "nodeaddr",
    "priotier",
    "priojobfactor",
    "prioritytier",
    "timeleft",
    "lefttime",
    "licenses",
    "network",
    "contiguous",
    "corespec",
    "stdout",
    "stderr",
    "stdin",
    "batchhost",
    "batchflag",
    "requeue",
    "reboot",
    "restarts",
    "hetjobid",
    "profile",
    "selectjobinfo",
    "port",
    "allocsid",
    "accruetime",
    "lastschedeval",
    "deadline",
    "delayboot",
    "mcslabel",
    "eventtime",
    "derivedexitcode",
    "jobsizestr",
    "gracetime",
    "preemptexempttime",
    "flags",
    "usagethres",
    "usagefactor",
    "grptresmins",
    "grptresrunmins",
    "maxtresmins",
    "maxtresrunminspu",
    "maxtresrunminspa",
    "maxtresrunmins",
    "defqos",
    "org",
    "descr",
    "parent",
    "rawshares",
    "normshares",
    "rawusage",
    "effectvusage",
    "normusage",
    "levelfs",
    "grptresraw",
    "adminlevel",
    "defaultaccount",
    "defacct",
    "def",
    "limitfactor",
    "lineage",
    "id",
    "resvid",
    "avecpu",
    "averss",
    "avevmsize",
    "maxvmsize",
    "consumedenergy",
    "nodelistalloc",
    "reqcpufreq",
    "blockid",
    "layout",
    "planned",
    "reserved",
    "suspended",
    "usercpu",
    "systemcpu",
    "timelimitleft",
    "submitnode",
    "container",
    "arraymaxtasks",
    "arraybitmap",
];

#[cfg(test)]
mod tests {
    use super::{Field, column};

    #[test]
    fn headers_of_all_tools_are_known() {
        for (header, field) in [
            ("JOBID", Field::JobId),
            ("JobID", Field::JobId),
            ("job_id", Field::JobId),
            ("NODELIST(REASON)", Field::NodesOrReason),
            ("NODES(A/I/O/T)", Field::NodesByUse),
            ("CPUS(A/I/O/T) ", Field::CpusByUse),
            ("S:C:T", Field::Other),
            ("AVAIL_FE", Field::Features),
            ("TRES_PER_NODE", Field::Gres),
            ("ReqTRES", Field::AskedTres),
            ("MaxTRESPU", Field::UserTres),
            ("gpus_requested", Field::Cards),
            ("AGE", Field::Factor("age")),
        ] {
            assert_eq!(column(header), Some(field), "{header}");
        }
        for header in ["READY", "RESTARTS", "PID", "%CPU", "CONTAINER", "IP", ""] {
            assert_ne!(column(header).filter(|field| *field != Field::Other), Some(Field::JobId), "{header}");
            assert!(column(header).is_none_or(|field| field == Field::Other), "{header}");
        }
    }
}
