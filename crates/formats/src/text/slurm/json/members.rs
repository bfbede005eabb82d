//! Members of Slurm's JSON objects as the fields that its tables have.

use gpuwhy_model::scene::QuotaHolder;
use serde_json::{Map, Value};

use super::super::field::Field;
use super::super::gathered::Gathered;
use super::super::record::Record;
use super::super::{job, scontrol};
use super::Entry;
use super::value::{at, is_unlimited, number, text, whole};

type Object = Map<String, Value>;

/// Adds one entry of a list.
pub(super) fn add(entry: Entry, object: &Object, gathered: &mut Gathered) {
    let value = Value::Object(object.clone());
    match entry {
        Entry::Job => {
            if let Some(job) = job::job(&job_record(&value)) {
                gathered.push_job(job);
            }
        }
        Entry::Node => {
            gathered.nodes.add(&node_record(&value));
        }
        Entry::Row => {
            let record = row_record(&value);
            gathered.nodes.add(&record);
            gathered.queues.add(&record);
        }
        Entry::Partition => {
            gathered.queues.add(&partition_record(&value));
        }
        Entry::Reservation => {
            gathered.reservations.extend(scontrol::reservation(&reservation_record(&value)));
        }
        Entry::Quality => {
            gathered.add_quotas(&quality_record(&value), QuotaHolder::Qos);
        }
        Entry::Association => {
            gathered.add_quotas(&association_record(&value), QuotaHolder::Account);
        }
    }
}

/// Adds text that stands at the first of some paths that has any.
fn put(record: &mut Record, value: &Value, field: Field, paths: &[&str]) {
    let found = paths.iter().find_map(|path| at(value, path).and_then(text).filter(|text| !text.is_empty()));
    if let Some(text) = found {
        record.push(field, text);
    }
}

/// Adds a number above zero with a unit behind it; 0 stands for "not set" in many members.
fn put_number(record: &mut Record, value: &Value, field: Field, paths: &[&str], unit: &str) {
    let found = paths
        .iter()
        .find_map(|path| at(value, path).and_then(number).and_then(whole).filter(|number| *number > 0));
    if let Some(number) = found {
        record.push(field, format!("{number}{unit}"));
    }
}

/// Adds a number of minutes as a length of time.
fn put_minutes(record: &mut Record, value: &Value, field: Field, paths: &[&str]) {
    if paths.iter().any(|path| at(value, path).is_some_and(is_unlimited)) {
        record.push(field, "UNLIMITED");
        return;
    }
    put_number(record, value, field, paths, ":00");
}

/// Adds a time that is given in seconds since 1970, in UTC.
fn put_instant(record: &mut Record, value: &Value, field: Field, paths: &[&str]) {
    let found = paths
        .iter()
        .find_map(|path| at(value, path).and_then(number).and_then(whole).filter(|number| *number > 0));
    let instant = found.and_then(|seconds| jiff::Timestamp::from_second(i64::try_from(seconds).ok()?).ok());
    if let Some(instant) = instant {
        record.push(field, instant.to_string());
    }
}

fn job_record(value: &Value) -> Record {
    let mut record = Record::default();
    put(&mut record, value, Field::JobId, &["job_id"]);
    put(&mut record, value, Field::JobName, &["name"]);
    put(&mut record, value, Field::User, &["user_name", "user", "association/user"]);
    put(&mut record, value, Field::Account, &["account"]);
    put(&mut record, value, Field::Partition, &["partition"]);
    put(&mut record, value, Field::Qos, &["qos"]);
    put(&mut record, value, Field::State, &["job_state", "state/current"]);
    put(&mut record, value, Field::Reason, &["state_reason", "state/reason"]);
    put(&mut record, value, Field::ReasonNote, &["state_description"]);
    put(&mut record, value, Field::Priority, &["priority"]);
    put(&mut record, value, Field::Dependency, &["dependency"]);
    put(&mut record, value, Field::NodeName, &["nodes", "job_resources/nodes/list"]);
    put(&mut record, value, Field::WantedNodes, &["required_nodes"]);
    put(&mut record, value, Field::ExcludedNodes, &["excluded_nodes"]);
    put(&mut record, value, Field::Constraint, &["features", "constraints"]);
    put(&mut record, value, Field::Reservation, &["resv_name", "reservation/name"]);
    put(&mut record, value, Field::Command, &["command", "submit_line"]);
    put(&mut record, value, Field::AskedTres, &["tres_req_str"]);
    put(&mut record, value, Field::GivenTres, &["tres_alloc_str"]);
    put(&mut record, value, Field::Gres, &["tres_per_node", "gres"]);
    put(&mut record, value, Field::GresPerJob, &["tres_per_job"]);
    put(&mut record, value, Field::GresPerTask, &["tres_per_task"]);
    put(&mut record, value, Field::Exclusive, &["exclusive"]);
    put_number(&mut record, value, Field::NodeCount, &["node_count", "allocation_nodes"], "");
    put_number(&mut record, value, Field::Cpus, &["cpus", "required/CPUs"], "");
    put_number(&mut record, value, Field::Tasks, &["tasks"], "");
    put_number(&mut record, value, Field::CpusPerTask, &["cpus_per_task"], "");
    put_number(
        &mut record,
        value,
        Field::MemoryPerNode,
        &["memory_per_node", "required/memory_per_node"],
        "M",
    );
    put_number(&mut record, value, Field::MemoryPerCpu, &["memory_per_cpu", "required/memory_per_cpu"], "M");
    put_minutes(&mut record, value, Field::TimeLimit, &["time_limit", "time/limit"]);
    put_instant(&mut record, value, Field::StartTime, &["start_time"]);
    put_instant(&mut record, value, Field::SubmitTime, &["submit_time", "time/submission"]);
    put_instant(&mut record, value, Field::BeginTime, &["eligible_time", "time/eligible"]);
    if let Some(seconds) = at(value, "time/elapsed").and_then(number).and_then(whole) {
        record.push(Field::Elapsed, format!("00:00:{seconds}"));
    }
    put_tasks(&mut record, value);
    put_tres_lists(&mut record, value);
    record
}

/// Adds the tasks of an array that wait together.
fn put_tasks(record: &mut Record, value: &Value) {
    let array = at(value, "array_job_id").and_then(number).and_then(whole).filter(|number| *number > 0);
    let array =
        array.or_else(|| at(value, "array/job_id").and_then(number).and_then(whole).filter(|id| *id > 0));
    let tasks =
        ["array_task_string", "array/task"].iter().find_map(|path| at(value, path)).and_then(Value::as_str);
    let task = ["array_task_id", "array/task_id"]
        .iter()
        .find_map(|path| at(value, path))
        .and_then(number)
        .and_then(whole);
    let Some(array) = array else {
        return;
    };
    match (tasks.filter(|tasks| !tasks.is_empty()), task) {
        (Some(tasks), _) => record.put_first(Field::JobId, &format!("{array}_[{tasks}]")),
        (None, Some(task)) => record.put_first(Field::JobId, &format!("{array}_{task}")),
        (None, None) => {}
    }
}

/// Adds the lists of `sacct --json`: `[{ "type": "gres", "name": "gpu", "count": 2 }]`.
fn put_tres_lists(record: &mut Record, value: &Value) {
    for (field, path) in [(Field::AskedTres, "tres/requested"), (Field::GivenTres, "tres/allocated")] {
        let Some(Value::Array(entries)) = at(value, path) else {
            continue;
        };
        let part = |entry: &Value| -> Option<String> {
            let kind = at(entry, "type").and_then(Value::as_str)?;
            let count = at(entry, "count").and_then(number).and_then(whole)?;
            let name = at(entry, "name").and_then(Value::as_str).filter(|name| !name.is_empty());
            Some(match (kind, name) {
                ("mem", _) => format!("mem={count}M"),
                (kind, Some(name)) => format!("{kind}/{name}={count}"),
                (kind, None) => format!("{kind}={count}"),
            })
        };
        let parts: Vec<String> = entries.iter().filter_map(part).collect();
        if !parts.is_empty() {
            record.push(field, parts.join(","));
        }
    }
}

fn node_record(value: &Value) -> Record {
    let mut record = Record::default();
    put(&mut record, value, Field::NodeName, &["name", "hostname"]);
    let state = at(value, "state").and_then(text).unwrap_or_default();
    let flags = at(value, "state_flags").and_then(text);
    let state = match flags {
        Some(flags) if !flags.is_empty() => format!("{state},{flags}"),
        _ => state,
    };
    if !state.is_empty() {
        record.push(Field::State, state.replace(',', "+"));
    }
    put(&mut record, value, Field::Partition, &["partitions"]);
    put(&mut record, value, Field::Reason, &["reason"]);
    put(&mut record, value, Field::ReasonBy, &["reason_set_by_user"]);
    put_instant(&mut record, value, Field::ReasonAt, &["reason_changed_at"]);
    for (field, path) in [(Field::Gres, "gres"), (Field::GresUsed, "gres_used")] {
        if let Some(gres) = at(value, path).and_then(Value::as_str) {
            record.push(field, gres);
        }
    }
    put(&mut record, value, Field::Features, &["active_features", "features"]);
    put(&mut record, value, Field::Tres, &["tres"]);
    if let Some(given) = at(value, "tres_used") {
        record.push(Field::GivenTres, text(given).unwrap_or_default());
    }
    put_number(&mut record, value, Field::Cpus, &["cpus"], "");
    put_number(&mut record, value, Field::MemoryPerNode, &["real_memory"], "M");
    for (field, path, unit) in
        [(Field::CpusGiven, "alloc_cpus", ""), (Field::MemoryGiven, "alloc_memory", "M")]
    {
        if let Some(number) = at(value, path).and_then(number).and_then(whole) {
            record.push(field, format!("{number}{unit}"));
        }
    }
    record
}

/// Makes a record of a row of `sinfo --json`.
fn row_record(value: &Value) -> Record {
    let mut record = Record::default();
    put(&mut record, value, Field::NodeName, &["nodes/nodes"]);
    put_number(&mut record, value, Field::NodeCount, &["nodes/total"], "");
    if let Some(state) = at(value, "node/state").and_then(text) {
        record.push(Field::State, state.replace(',', "+"));
    }
    put(&mut record, value, Field::Partition, &["partition/name", "partition"]);
    put(&mut record, value, Field::Avail, &["partition/partition/state"]);
    put(&mut record, value, Field::Reason, &["reason/description"]);
    put(&mut record, value, Field::ReasonBy, &["reason/user"]);
    put_instant(&mut record, value, Field::ReasonAt, &["reason/time"]);
    put(&mut record, value, Field::Gres, &["gres/total"]);
    put(&mut record, value, Field::GresUsed, &["gres/used"]);
    put(&mut record, value, Field::Features, &["features/active", "features/total"]);
    put_number(&mut record, value, Field::MemoryPerNode, &["memory/minimum"], "M");
    put_number(&mut record, value, Field::Cpus, &["cpus/minimum"], "");
    put_minutes(&mut record, value, Field::TimeLimit, &["partition/maximums/time"]);
    record
}

fn partition_record(value: &Value) -> Record {
    let mut record = Record::default();
    put(&mut record, value, Field::Partition, &["name"]);
    put(&mut record, value, Field::Avail, &["partition/state", "state"]);
    put(&mut record, value, Field::NodeName, &["nodes/configured", "nodes"]);
    put(&mut record, value, Field::Tres, &["tres/configured", "tres"]);
    put(&mut record, value, Field::Accounts, &["accounts/allowed", "allowed_accounts"]);
    put(&mut record, value, Field::QosAllowed, &["qos/allowed", "allowed_qos"]);
    put_minutes(&mut record, value, Field::TimeLimit, &["maximums/time", "max_time_limit"]);
    put_number(&mut record, value, Field::NodesMost, &["maximums/nodes", "maximum_nodes_per_job"], "");
    put_number(&mut record, value, Field::MemoryPerNodeMost, &["maximums/memory_per_node"], "M");
    put_number(&mut record, value, Field::Priority, &["priority/tier", "priority_tier"], "");
    record
}

fn reservation_record(value: &Value) -> Record {
    let mut record = Record::default();
    put(&mut record, value, Field::ReservationName, &["name"]);
    put(&mut record, value, Field::NodeName, &["node_list"]);
    put(&mut record, value, Field::Flags, &["flags"]);
    put(&mut record, value, Field::Users, &["users"]);
    put(&mut record, value, Field::Users, &["accounts"]);
    put_instant(&mut record, value, Field::StartTime, &["start_time"]);
    put_instant(&mut record, value, Field::EndTime, &["end_time"]);
    record
}

/// Adds a list of TRES that stands at a path.
fn put_limits(record: &mut Record, value: &Value, limits: &[(Field, &str)]) {
    for (field, path) in limits {
        let Some(Value::Array(entries)) = at(value, path) else {
            continue;
        };
        let mut list = Record::default();
        put_tres_lists(&mut list, &serde_json::json!({ "tres": { "requested": entries } }));
        if let Some(list) = list.get(Field::AskedTres) {
            record.push(*field, list);
        }
    }
}

fn quality_record(value: &Value) -> Record {
    let mut record = Record::default();
    put(&mut record, value, Field::Name, &["name"]);
    put_limits(
        &mut record,
        value,
        &[
            (Field::GroupTres, "limits/max/tres/total"),
            (Field::JobTres, "limits/max/tres/per/job"),
            (Field::NodeTres, "limits/max/tres/per/node"),
            (Field::UserTres, "limits/max/tres/per/user"),
            (Field::AccountTres, "limits/max/tres/per/account"),
            (Field::LeastTres, "limits/min/tres/per/job"),
        ],
    );
    put_number(
        &mut record,
        value,
        Field::UserJobs,
        &["limits/max/jobs/active_jobs/per/user", "limits/max/jobs/per/user"],
        "",
    );
    put_number(&mut record, value, Field::AccountJobs, &["limits/max/jobs/active_jobs/per/account"], "");
    put_minutes(&mut record, value, Field::TimeLimit, &["limits/max/wall_clock/per/job"]);
    record
}

fn association_record(value: &Value) -> Record {
    let mut record = Record::default();
    put(&mut record, value, Field::Account, &["account"]);
    put(&mut record, value, Field::User, &["user"]);
    put_limits(
        &mut record,
        value,
        &[
            (Field::GroupTres, "max/tres/total"),
            (Field::GroupTres, "max/tres/group"),
            (Field::JobTres, "max/tres/per/job"),
            (Field::NodeTres, "max/tres/per/node"),
        ],
    );
    put_number(&mut record, value, Field::UserJobs, &["max/jobs/per/count", "max/jobs/active"], "");
    record
}
