//! Who does the same: cards of one model, members of one job; and what the same card did before.

use std::collections::{BTreeMap, BTreeSet};

use gpuwhy_model::limits::Limits;
use gpuwhy_model::process::Pid;
use gpuwhy_model::sample::ProcessRole;
use gpuwhy_model::scene::{Card, Process, Scene};
use gpuwhy_model::trend::Trend;
use gpuwhy_model::units::Quantity;

use super::cards::{Holder, holders, is_worth_naming, whole_cards};
use super::names;
use crate::statistics::{ChangePoint, OddOne, change_point, odd_ones_out};

/// A change of level that is more probable by chance is none.
const CHANCE_MAX: f64 = 0.05;
/// A change by a smaller part of the higher level is none.
const LEVEL_CHANGE_SHARE_MIN: f64 = 0.1;
/// Members of a job that only a text shows hold as much memory as each other, within this share.
const ALIKE_SHARE: f64 = 0.1;

/// Variables that say how many members a job has on all nodes.
const SIZE_VARIABLES: &[&str] = &["WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"];
/// Variables that say how many members a job has on this node.
const LOCAL_SIZE_VARIABLES: &[&str] = &["LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"];
/// Variables that say which member of its job a process is.
const NUMBER_VARIABLES: &[&str] = &["RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"];

/// Processes that do one piece of work together, each on its card or cards.
pub(crate) struct Job<'scene> {
    /// One process on one card each, by card; what holds next to nothing and never worked is left out.
    pub(crate) members: Vec<Holder<'scene>>,
    /// Whether processes, and not only names and sizes in a text, say that they belong together.
    pub(crate) is_certain: bool,
}

impl<'scene> Job<'scene> {
    /// Returns the whole cards on which it has a member, by index.
    pub(crate) fn cards(&self, scene: &'scene Scene) -> Vec<&'scene Card> {
        let indices: BTreeSet<u32> =
            self.members.iter().map(|member| member.card.parent.unwrap_or(member.card.index)).collect();
        indices.into_iter().filter_map(|index| scene.card(index)).collect()
    }

    /// Returns its processes that have an entry in `/proc`, each once, by pid.
    pub(crate) fn processes(&self) -> Vec<&'scene Process> {
        let by_pid: BTreeMap<Pid, &Process> =
            self.members.iter().filter_map(|member| Some((member.client.pid, member.process?))).collect();
        by_pid.into_values().collect()
    }

    /// Returns how many processes of it have a card here.
    pub(crate) fn process_number(&self) -> usize {
        self.members.iter().map(|member| member.client.pid).collect::<BTreeSet<Pid>>().len()
    }

    /// Returns how many members it has on all nodes, by its own word.
    pub(crate) fn world_size(&self) -> Option<u32> {
        self.processes().into_iter().find_map(|process| number(process, SIZE_VARIABLES))
    }

    /// Returns how many members it has on this node, by its own word.
    pub(crate) fn local_size(&self) -> Option<u32> {
        self.processes().into_iter().find_map(|process| number(process, LOCAL_SIZE_VARIABLES))
    }

    /// Returns whether it has members on other nodes too; none when nothing says.
    pub(crate) fn spans_nodes(&self) -> Option<bool> {
        let all = usize::try_from(self.world_size()?).ok()?;
        let here = self.local_size().and_then(|size| usize::try_from(size).ok());
        Some(all > here.unwrap_or(self.process_number()).max(self.process_number()))
    }

    /// Returns whether its members exchange data with each other, as far as variables and threads tell.
    pub(crate) fn is_collective(&self) -> bool {
        let is_one_of_several = |process: &&Process| {
            number(process, SIZE_VARIABLES).is_some_and(|size| size > 1)
                && number(process, NUMBER_VARIABLES).is_some()
        };
        self.processes().iter().any(is_one_of_several) || self.has_exchange_threads()
    }

    /// Returns whether its processes have threads of collective communication; none where threads were not read, and no
    /// such one was seen. A library of it is no sign: it is loaded with the framework, used or not.
    pub(crate) fn exchange_threads(&self) -> Option<bool> {
        let is_exchanging = |name: &str| gpuwhy_knowledge::role(name) == Some(ProcessRole::Communication);
        let processes = self.processes();
        let has_one = processes.iter().any(|process| {
            process.threads.known().into_iter().flatten().any(|thread| is_exchanging(&thread.name))
        });
        let all_were_read = processes.iter().all(|process| process.threads.is_known());
        if has_one { Some(true) } else { all_were_read.then_some(false) }
    }

    /// Returns whether its processes surely have threads of collective communication.
    pub(crate) fn has_exchange_threads(&self) -> bool {
        self.exchange_threads() == Some(true)
    }

    /// Returns whether a process is one of its members.
    pub(crate) fn has(&self, pid: Pid) -> bool {
        self.members.iter().any(|member| member.client.pid == pid)
    }
}

/// Returns which member of its job a process is, by its own word.
pub(crate) fn member_number(process: &Process) -> Option<u32> {
    number(process, NUMBER_VARIABLES)
}

/// Returns the first of some variables that is set to a whole number.
fn number(process: &Process, variables: &[&str]) -> Option<u32> {
    let environment = process.environment.known()?;
    variables.iter().filter_map(|name| environment.get(*name)).find_map(|value| value.trim().parse().ok())
}

/// Returns the jobs that have members on at least one card, by their first card; one process on one card is a job too.
pub(crate) fn jobs<'scene>(scene: &'scene Scene, limits: &Limits) -> Vec<Job<'scene>> {
    let mut by_key: BTreeMap<String, Vec<Holder<'scene>>> = BTreeMap::new();
    for card in whole_cards(scene) {
        for holder in holders(scene, card) {
            let takes_part =
                is_worth_naming(holder.bytes(), holder.card, limits) || holder.worked(limits) == Some(true);
            if takes_part {
                by_key.entry(key(scene, &holder)).or_default().push(holder);
            }
        }
    }
    let mut jobs: Vec<Job<'scene>> = by_key.into_values().filter_map(job).collect();
    jobs.sort_by_key(|job| job.members.first().map(|member| (member.card.index, member.client.pid)));
    jobs
}

/// Makes a job of holders that bear the same key.
fn job(members: Vec<Holder<'_>>) -> Option<Job<'_>> {
    let first = *members.first()?;
    let is_certain = members.len() == 1 || first.process.is_some();
    // Of a text, the largest holder's equals belong together as far as one can see.
    let is_alike = |member: &Holder<'_>| {
        let (own, other) = (member.bytes().0 as f64, first.bytes().0 as f64);
        is_certain || (own - other).abs() <= ALIKE_SHARE * own.max(other)
    };
    Some(Job { members: members.into_iter().filter(is_alike).collect(), is_certain })
}

/// Returns what holders of one job have in common and others do not.
fn key(scene: &Scene, holder: &Holder<'_>) -> String {
    let Some(process) = holder.process else {
        return match (scene.processes.is_empty(), holder.client.name.known()) {
            (true, Some(name)) => format!("text {name}"),
            _ => format!("pid {}", holder.client.pid),
        };
    };
    let variable = |name: &str| process.environment.known().and_then(|environment| environment.get(name));
    let owner = &process.owner;
    let place = owner.job.as_ref().or(owner.pod.as_ref()).or(owner.container.as_ref());
    let place = place.map_or("", String::as_str);
    let program = names::called(process);
    let user = process.uid.known().map_or_else(String::new, u32::to_string);
    if let (Some(address), Some(port)) = (variable("MASTER_ADDR"), variable("MASTER_PORT")) {
        return format!("meeting {address} {port} {place} {user}");
    }
    // Launchers of a scheduler start every member from a service of the node: no tree joins them.
    let step = variable("SLURM_STEP_ID").map_or("", String::as_str);
    if !place.is_empty() && member_number(process).is_some() {
        return format!("job {place} {step} {program} {user}");
    }
    let root = holder.workload.map_or(holder.client.pid, |workload| workload.root);
    format!("run {root}")
}

/// Returns the job that the processes on a card belong to; none where they belong to several.
pub(crate) fn job_of<'jobs, 'scene>(
    jobs: &'jobs [Job<'scene>],
    holders: &[Holder<'_>],
) -> Option<&'jobs Job<'scene>> {
    let first = holders.first()?;
    let job = jobs.iter().find(|job| job.has(first.client.pid))?;
    holders.iter().all(|holder| job.has(holder.client.pid)).then_some(job)
}

/// Returns the whole cards of one product that answer, in groups of at least two, by index.
pub(crate) fn same_products(scene: &Scene) -> Vec<Vec<&Card>> {
    let mut by_name: BTreeMap<&str, Vec<&Card>> = BTreeMap::new();
    for card in whole_cards(scene).filter(|card| card.handle.is_known()) {
        if let Some(name) = card.name.known() {
            by_name.entry(name.as_str()).or_default().push(card);
        }
    }
    by_name.into_values().filter(|cards| cards.len() > 1).collect()
}

/// Returns the cards of a group whose value is not like that of the others (see [`odd_ones_out`]); cards without the
/// value are left out.
pub(crate) fn odd_cards<'scene>(
    cards: &[&'scene Card],
    least_share: f64,
    value: impl Fn(&Card) -> Option<f64>,
) -> Vec<(&'scene Card, OddOne)> {
    let known: Vec<(&Card, f64)> = cards.iter().filter_map(|card| Some((*card, value(card)?))).collect();
    let values: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
    odd_ones_out(&values, least_share).into_iter().map(|odd| (known[odd.place].0, odd)).collect()
}

/// Returns where a value changed its level inside the window, if that is neither chance nor small.
pub(crate) fn level_change<T: Quantity>(trend: &Trend<T>) -> Option<ChangePoint> {
    let values: Vec<f64> = trend.outline.points().map(|(_, value)| value).collect();
    let change = change_point(&values)?;
    let higher = change.level_before.abs().max(change.level_after.abs());
    let is_large = (change.level_after - change.level_before).abs() >= LEVEL_CHANGE_SHARE_MIN * higher;
    (change.chance <= CHANCE_MAX && higher > 0.0 && is_large).then_some(change)
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::command_line::CommandLine;
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::sample::{CardMemory, ClientKind, Owner, TimedValue};
    use gpuwhy_model::scene::{Client, Workload};
    use gpuwhy_model::units::{Bytes, Percent};

    use super::*;

    const GIBIBYTE: u64 = 1 << 30;

    fn client(pid: u32, gibibytes: u64) -> Client {
        Client {
            pid: Pid(pid),
            kind: ClientKind::Compute,
            memory: Reading::Known(Bytes(gibibytes * GIBIBYTE)),
            memory_trend: Reading::default(),
            name: Reading::Known("python3".to_owned()),
            sm: Reading::default(),
            idle_for: Reading::default(),
            seen_working: false,
        }
    }

    fn card(index: u32, clients: Vec<Client>) -> Card {
        let memory = CardMemory { total: Bytes(80 * GIBIBYTE), ..CardMemory::default() };
        Card {
            index,
            handle: Reading::Known(()),
            name: Reading::Known("NVIDIA A100".to_owned()),
            memory: Reading::Known(memory),
            clients: Reading::Known(clients),
            ..Card::default()
        }
    }

    fn process(pid: u32, variables: &[(&str, &str)], job: Option<&str>) -> Process {
        let variable = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let mut process = Process {
            command: Reading::Known(CommandLine::masked(["python3", "train.py"])),
            environment: Reading::Known(variables.iter().map(variable).collect()),
            owner: Owner { job: job.map(str::to_owned), ..Owner::default() },
            ..Process::default()
        };
        process.key.pid = Pid(pid);
        process
    }

    fn scene(cards: Vec<Card>, processes: Vec<Process>) -> Scene {
        Scene { cards, processes, ..Scene::default() }
    }

    fn pids(job: &Job<'_>) -> Vec<u32> {
        job.members.iter().map(|member| member.client.pid.0).collect()
    }

    #[test]
    fn ranks_are_joined_by_where_they_meet_and_by_their_step() {
        let meeting = |rank: &'static str| {
            vec![("MASTER_ADDR", "n1"), ("MASTER_PORT", "29500"), ("RANK", rank), ("WORLD_SIZE", "16")]
        };
        let step = |rank: &'static str| vec![("SLURM_PROCID", rank), ("SLURM_STEP_ID", "0")];
        let cards = (0..4).map(|index| card(index, vec![client(100 + index, 40)])).collect();
        let processes = vec![
            process(100, &meeting("0"), None),
            process(101, &meeting("1"), None),
            process(102, &step("0"), Some("8841")),
            process(103, &step("1"), Some("8841")),
        ];
        let scene = scene(cards, processes);
        let jobs = jobs(&scene, &Limits::default());
        assert_eq!(jobs.iter().map(pids).collect::<Vec<_>>(), [[100, 101], [102, 103]]);
        assert!(jobs[0].is_collective() && jobs[0].spans_nodes() == Some(true));
        assert_eq!((jobs[1].spans_nodes(), jobs[1].is_certain), (None, true));
    }

    #[test]
    fn a_tree_is_a_job_and_a_small_context_no_member() {
        let cards = vec![card(0, vec![client(100, 40), client(7, 0)]), card(1, vec![client(101, 40)])];
        let mut scene =
            scene(cards, vec![process(7, &[], None), process(100, &[], None), process(101, &[], None)]);
        scene.workloads = vec![Workload {
            root: Pid(7),
            processes: vec![Pid(7), Pid(100), Pid(101)],
            gpu_processes: vec![Pid(7), Pid(100), Pid(101)],
            cards: vec![0, 1],
        }];
        let jobs = jobs(&scene, &Limits::default());
        assert_eq!(jobs.iter().map(pids).collect::<Vec<_>>(), [[100, 101]]);
        assert!(!jobs[0].is_collective());
        assert_eq!(jobs[0].cards(&scene).len(), 2);
    }

    #[test]
    fn equals_of_a_text_may_belong_together() {
        let cards = vec![
            card(0, vec![client(100, 40)]),
            card(1, vec![client(101, 41)]),
            card(2, vec![client(102, 12)]),
        ];
        let scene = scene(cards, Vec::new());
        let jobs = jobs(&scene, &Limits::default());
        assert_eq!(jobs.iter().map(pids).collect::<Vec<_>>(), [[100, 101]]);
        assert!(!jobs[0].is_certain);
    }

    #[test]
    fn odd_cards_are_found_among_those_that_say() {
        let cards: Vec<Card> = (0..4).map(|index| card(index, Vec::new())).collect();
        let cards: Vec<&Card> = cards.iter().collect();
        let width = |card: &Card| (card.index != 1).then_some(if card.index == 3 { 8.0 } else { 16.0 });
        let odd = odd_cards(&cards, 0.1, width);
        assert_eq!(odd.iter().map(|(card, _)| card.index).collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn a_change_of_level_is_told_from_noise() {
        let trend = |value: fn(u64) -> f64| {
            let series: Vec<TimedValue> =
                (0..60).map(|time| TimedValue { time_us: time * 1_000_000, value: value(time) }).collect();
            Trend::<Percent>::of(&series).unwrap()
        };
        let change = level_change(&trend(|time| if time < 30 { 90.0 } else { 40.0 })).unwrap();
        assert!(change.level_before > 80.0 && change.level_after < 50.0);
        assert_eq!(level_change(&trend(|time| 90.0 + (time * 7 % 5) as f64)), None);
    }
}
