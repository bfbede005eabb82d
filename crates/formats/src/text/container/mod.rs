//! What container runtimes print: why a container does not start, what they inspect, list and measure.

mod device_rules;
mod information;
mod inspect;
mod obstacle;
mod refusal;
mod table;

#[cfg(test)]
mod tests;

pub(super) use device_rules::read as read_device_rules;
pub(super) use information::read as read_information;
pub(super) use inspect::read as read_inspect;
pub(super) use obstacle::obstacle_of;
pub(super) use refusal::read as read_refusal;
pub(super) use table::read as read_table;
