//! The limits that rules judge by: one TOML text with the built-in values, each of which a box may change.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const BUILT_IN: &str = include_str!("limits.toml");

/// The limits that rules judge by. Units are in the names: `_s` seconds, `_percent` 0 to 100, `_share` 0 to 1,
/// `_bytes` bytes, `_cores` processor cores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Rates, shares and trends with fewer distinct time stamps never get a confidence above 0.8.
    pub trend_samples_min: usize,
    /// A finding below this confidence is only a candidate.
    pub answer_confidence_min: f64,
    /// Of the nodes that could hold a job, this share closed is why it waits.
    pub closed_nodes_share_min: f64,
    /// A cluster of which this share is closed is in trouble, whoever waits.
    pub closed_nodes_share_most: f64,
    /// A card with this much kernel time is busy.
    pub busy_percent_min: f64,
    /// A card with at most this much kernel time does not work.
    pub idle_percent_max: f64,
    /// A card that waits for data has at most this much kernel time.
    pub starved_busy_percent_max: f64,
    /// A card that waits for data has at least this share of samples without any kernel.
    pub starved_zeros_share_min: f64,
    /// A saturated card has at least this much kernel time.
    pub saturated_busy_percent_min: f64,
    /// A card that really works draws at least this share of its power limit.
    pub saturated_power_share_min: f64,
    /// A card whose memory is in use for this much of the time may be bound by it.
    pub memory_bound_busy_percent_min: f64,
    /// A card that heat or a brake slows for this share of time is not just busy.
    pub slowed_share_max: f64,
    /// A busy card that draws less than this share of its power limit does little work.
    pub false_busy_power_share_max: f64,
    /// A resting card draws about this share of its power limit, where no equal card shows it.
    pub idle_power_share: f64,
    /// A card whose memory interface is active for this much of the time is bound by it.
    pub dram_bound_percent_min: f64,
    /// A card bound by its memory draws at most this share of its power limit, where nothing better tells.
    pub memory_bound_power_share_max: f64,
    /// A card bound by its memory uses its matrix units at most this much.
    pub tensor_low_percent_max: f64,
    /// A program that takes part in filling a card works on it at least this much.
    pub contention_percent_min: f64,
    /// Kernels that fill at most this much of the multiprocessors leave a card nearly empty.
    pub few_multiprocessors_percent_max: f64,
    /// Kernels that fill at least this much of the multiprocessors use a card well enough.
    pub half_multiprocessors_percent_min: f64,
    /// Kernels on few multiprocessors draw at most this share of what lies between rest and the power limit.
    pub few_multiprocessors_power_share_max: f64,
    /// A card that waits for launches between many small kernels draws at most this share of its power limit.
    pub launch_power_share_max: f64,
    /// A link used for this share of what it carries holds an exchange back.
    pub exchange_link_share_min: f64,
    /// A link used for less than this share of what it carries does not hold an exchange back.
    pub exchange_link_share_notice: f64,
    /// A card that exchanges most of the time draws at most this share of its power limit.
    pub exchange_power_share_max: f64,
    /// A link over which at most so many bytes a second go is quiet.
    pub quiet_link_bytes: u64,
    /// Members of a job that wait for each other without moving for this long hang.
    pub hang_s: f64,
    /// A card whose kernel waits for ever has at least this much kernel time.
    pub hang_busy_percent_min: f64,
    /// A card whose kernel waits for ever draws at most this share of its power limit.
    pub hang_power_share_max: f64,
    /// A member of a job that differs from the others by this share is the odd one.
    pub member_difference_share_min: f64,
    /// A card whose clock lies below that of the others by this share is slower.
    pub member_clock_difference_share_min: f64,
    /// A job that uses none of this share of its cards has the wrong number of processes.
    pub unused_cards_share_min: f64,
    /// A job younger than this may still be starting its processes.
    pub job_start_s: f64,
    /// Memory below this amount is not worth naming.
    pub held_bytes_worth_naming: u64,
    /// Memory below this share of its card is not worth naming.
    pub held_share_worth_naming: f64,
    /// Memory without a visible owner below this share of its card is the driver's own.
    pub unexplained_share_worth_naming: f64,
    /// A card with this share of its memory used is full.
    pub full_memory_share_min: f64,
    /// A card with at most this much free memory is full.
    pub full_free_bytes_max: u64,
    /// A program whose memory grows must have been watched for this long before that is a leak.
    pub leak_span_s: f64,
    /// A leak grows by at least this share of the card a minute.
    pub leak_minute_share_min: f64,
    /// A leak has grown by at least this share of the card.
    pub leak_growth_share_min: f64,
    /// A framework that takes memory by design takes at least this share of a card.
    pub preallocated_share_min: f64,
    /// A program that took its memory by design and needs little of it keeps its card busy at most this much.
    pub preallocated_busy_percent_max: f64,
    /// The CPU's window into a card's memory is full with this share of it used.
    pub bar1_used_share_min: f64,
    /// Screens and desktops below this amount of a card's memory are usual.
    pub display_bytes_worth_naming: u64,
    /// Screens and desktops below this share of a card's memory take little of a card that nobody computes on.
    pub display_share_worth_naming: f64,
    /// A card that is held this long without work is reserved idle.
    pub idle_reserved_s: f64,
    /// A process with less processor time does nothing.
    pub idle_cores_max: f64,
    /// A holder whose run is over must not have worked for this long.
    pub dead_process_idle_s: f64,
    /// A holder whose run is over uses less processor time than this.
    pub dead_process_cores_max: f64,
    /// A process that moves fewer bytes a second to and from storage leaves it alone.
    pub quiet_io_bytes: u64,
    /// Loaders that are blocked this share of time wait for storage.
    pub loader_blocked_share_min: f64,
    /// Loaders with this share of block-I/O delay wait for storage.
    pub block_delay_share_min: f64,
    /// Loaders that are neither busy nor blocked for more than this share of time have work waiting for the card.
    pub loader_idle_share_max: f64,
    /// I/O pressure from here on supports a cause.
    pub io_pressure_share_notice: f64,
    /// I/O pressure from here on supports a cause strongly.
    pub io_pressure_share_strong: f64,
    /// A loader thread with this much processor time is fully busy.
    pub loader_cores_full: f64,
    /// A process tree that uses this share of the processors it may use is short of them.
    pub tree_cores_share_min: f64,
    /// A quota that stops a group in this share of periods is felt.
    pub throttled_share_notice: f64,
    /// A quota that stops a group in this share of periods binds.
    pub throttled_share_strong: f64,
    /// Threads that wait this share of time for a processor are short of it.
    pub run_delay_share_min: f64,
    /// Processor pressure from here on supports a cause.
    pub cpu_pressure_share_notice: f64,
    /// A hypervisor that takes this share of processor time is felt.
    pub steal_share_min: f64,
    /// A thread with this much processor time never rests.
    pub hot_thread_cores_min: f64,
    /// Beside a hot thread, the other threads of the program have no more processor time than this.
    pub other_threads_cores_max: f64,
    /// A card that is busy for less than this waits between its kernels, even where samples show no gap.
    pub host_code_busy_percent_max: f64,
    /// Input over the network at this share of what the link carries fills it.
    pub network_link_share_min: f64,
    /// Fewer bytes a second over the network are no input.
    pub network_input_bytes_min: f64,
    /// A PCIe link that is used for this share of what it carries holds the work back.
    pub transfer_link_share_min: f64,
    /// A pause for saving the state is at least this long.
    pub checkpoint_dip_s_min: f64,
    /// A pause for saving the state is at most this long.
    pub checkpoint_dip_s_max: f64,
    /// A run that saves its state writes at least so many bytes a second while the card rests.
    pub checkpoint_write_bytes_min: f64,
    /// Pauses that cost a smaller share of the time are not worth naming.
    pub checkpoint_share_min: f64,
    /// A card with too little work has at most this much kernel time.
    pub small_batch_busy_percent_max: f64,
    /// A card with too little work has at most this share of its memory used at its peak.
    pub small_batch_memory_share_max: f64,
    /// A machine with less than this share of its memory left is short of it.
    pub host_memory_available_share_max: f64,
    /// A machine on which all work waits for memory for this share of the time is short of it.
    pub memory_full_pressure_share_min: f64,
    /// Memory pressure from here on supports a cause.
    pub memory_some_pressure_share_min: f64,
    /// So many page faults a second that wait for a disk slow a program down.
    pub major_faults_per_s_min: f64,
    /// So many pages a second to or from swap are swapping.
    pub swap_pages_per_s_min: f64,
    /// Shared memory of which no more than this share is free may be full.
    pub shared_memory_free_share_max: f64,
    /// It is, if no more than so many bytes of it are free.
    pub shared_memory_free_bytes_max: u64,
    /// Shared memory that a container gets when nobody asks for more.
    pub shared_memory_default_bytes: u64,
    /// A limit of a control group of which this share is used is nearly reached.
    pub group_limit_share_min: f64,
    /// Heat that lowers the clocks for more than this share of time is a finding; less is a note.
    pub heat_share_min: f64,
    /// A power limit below this share of the default, or of what was asked for, is lowered.
    pub power_limit_share_min: f64,
    /// Members of one job on healthy cards run at least at this share of each other's clock.
    pub peer_clock_share_min: f64,
    /// A card under load runs at least at this share of its highest clock, unless a reason is given.
    pub low_clocks_share_max: f64,
    /// The same for cards whose highest clock is a boost that load never reaches.
    pub boost_clocks_share_max: f64,
    /// A PCIe link that carries at least this share of what it could is worth looking at.
    pub pcie_traffic_share_notice: f64,
    /// So many damaged packets a second on an `NVLink` matter.
    pub nvlink_crc_per_s_min: f64,
    /// So many packets that an `NVLink` sent again in a look matter.
    pub nvlink_replays_min: u64,
    /// An error of a program that is older hurts nobody now.
    pub program_error_recent_s: f64,
    /// So many corrected memory errors a second are a storm.
    pub ecc_corrected_per_s_min: f64,
    /// So many times the corrected memory errors of the other cards are far above them.
    pub ecc_corrected_peers_ratio: f64,
    /// Fewer corrected memory errors since the driver was loaded are not worth naming.
    pub ecc_corrected_worth_naming: u64,
    /// A card at this temperature in degrees Celsius needs its fan.
    pub fan_needed_c: f64,
    /// A library start that takes longer is slow.
    pub init_slow_s: f64,
    /// Kernel lines older than this say nothing about now.
    pub kernel_log_fresh_s: f64,
    /// So many requests that wait at one server are more than the next moment clears.
    pub serving_waiting_min: u64,
    /// A cache of keys and values with this share in use has no room for what waits.
    pub serving_cache_share_min: f64,
    /// A cache with at most this share in use is not what requests wait for.
    pub serving_cache_roomy_share_max: f64,
    /// Requests that spend this share of their time waiting come faster than they are served.
    pub serving_queue_share_min: f64,
    /// A request that waits this long has waited long.
    pub serving_queue_s: f64,
    /// A traced card that rests for this share of its steps is held back by something.
    pub trace_idle_share_min: f64,
    /// A traced card that only exchanges data for this share of its steps is held back by that.
    pub trace_exchange_share_min: f64,
}

/// A limit that differs from the built-in one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitChange {
    /// Its name.
    pub limit: String,
    /// The built-in value.
    pub built_in: f64,
    /// The value in force.
    pub value: f64,
}

/// Why limits could not be taken from a text.
#[derive(Debug, thiserror::Error)]
#[error("limits: not what is expected")]
pub struct LimitsError(#[source] Box<toml::de::Error>);

impl Limits {
    /// Returns the built-in limits with the values of a table (`[limits]` of `gpuwhy.toml`) laid over them.
    ///
    /// # Errors
    /// Fails when a name is unknown or a value has the wrong type.
    pub fn with_changes(changes: &toml::Table) -> Result<Self, LimitsError> {
        let mut table: toml::Table =
            toml::from_str(BUILT_IN).map_err(|error| LimitsError(Box::new(error)))?;
        for (name, value) in changes {
            let value = match (table.get(name), value) {
                // A whole number is as good as a number with a point.
                (Some(toml::Value::Float(_)), toml::Value::Integer(whole)) => {
                    toml::Value::Float(*whole as f64)
                }
                _ => value.clone(),
            };
            table.insert(name.clone(), value);
        }
        toml::Value::Table(table).try_into().map_err(|error| LimitsError(Box::new(error)))
    }

    /// Returns the limits that differ from the built-in ones, by name.
    pub fn changes(&self) -> Vec<LimitChange> {
        let numbers = |limits: &Self| match serde_json::to_value(limits) {
            Ok(serde_json::Value::Object(members)) => members,
            _ => serde_json::Map::new(),
        };
        let built_in = numbers(&Self::default());
        let mut changes: Vec<LimitChange> = numbers(self)
            .into_iter()
            .filter_map(|(limit, value)| {
                let (built_in, value) = (built_in.get(&limit)?.as_f64()?, value.as_f64()?);
                let is_changed = (built_in - value).abs() > f64::EPSILON;
                is_changed.then_some(LimitChange { limit, built_in, value })
            })
            .collect();
        changes.sort_by(|one, other| one.limit.cmp(&other.limit));
        changes
    }
}

impl Default for Limits {
    fn default() -> Self {
        toml::from_str(BUILT_IN).expect("the built-in limits are checked by a test")
    }
}

#[cfg(test)]
mod tests {
    use super::Limits;

    fn table(text: &str) -> toml::Table {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn built_in_limits_are_complete() {
        assert!(Limits::default().changes().is_empty());
    }

    #[test]
    fn changed_limits_are_named() {
        let limits = Limits::with_changes(&table("idle_reserved_s = 8")).unwrap();
        let changes = limits.changes();
        assert_eq!(changes.len(), 1);
        assert_eq!(changes[0].limit, "idle_reserved_s");
        assert!((changes[0].value - 8.0).abs() < 1e-9);
    }

    #[test]
    fn unknown_limits_are_refused() {
        assert!(Limits::with_changes(&table("idle_reserved = 8")).is_err());
        assert!(Limits::with_changes(&table("idle_reserved_s = 'long'")).is_err());
    }
}
