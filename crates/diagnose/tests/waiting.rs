//! Whatever a scheduler says, a verdict comes out, holds to its contract, and comes out the same again.

use gpuwhy_diagnose::diagnose;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{
    ClusterNode, Job, JobPhase, NodeActivity, NodeCondition, Provenance, Queue, Quota, QuotaHolder,
    QuotaReach, Resources, Scene, Scheduler, SourceKind, WaitReason, Window,
};
use gpuwhy_model::units::{Bytes, Cores, Seconds};
use proptest::collection::vec;
use proptest::prelude::*;

fn perhaps<T: std::fmt::Debug + Clone + 'static>(
    value: impl Strategy<Value = T> + 'static,
) -> impl Strategy<Value = Reading<T>> {
    prop_oneof![3 => value.prop_map(Reading::Known), 1 => Just(Reading::Unsupported), 2 => Just(Reading::default())]
}

fn resources() -> impl Strategy<Value = Resources> {
    let number = || perhaps(prop_oneof![4 => 0_u64..70, 1 => Just(u64::MAX)]);
    (
        (number(), number(), number()),
        (
            perhaps(0.0..512.0_f64),
            perhaps(prop_oneof![4 => 0_u64..1 << 44, 1 => Just(u64::MAX)]),
            perhaps(0.0..1e7_f64),
        ),
        any::<bool>(),
    )
        .prop_map(|((nodes, cards, jobs), (cpus, memory, time), has_kind)| Resources {
            card_kinds: has_kind.then(|| ("a100".to_owned(), 2)).into_iter().collect(),
            nodes,
            cards,
            jobs,
            cpus: cpus.map(Cores),
            memory: memory.map(Bytes),
            time: time.map(Seconds),
        })
}

fn job() -> impl Strategy<Value = Job> {
    let word = prop_oneof![
        Just("Resources"),
        Just("Priority"),
        Just("QOSMaxGRESPerUser"),
        Just("AssocGrpMemLimit"),
        Just("QOSMaxWallDurationPerJobLimit"),
        Just("ReqNodeNotAvail"),
        Just("JobHeldUser"),
        Just("None"),
        Just("Insufficient nvidia.com/gpu"),
        Just("node(s) were unschedulable"),
        Just("something else"),
    ];
    let phase = prop_oneof![4 => Just(JobPhase::Waiting), 2 => Just(JobPhase::Running), 1 => Just(JobPhase::Refused), 1 => Just(JobPhase::OutOfMemory)];
    let scheduler = prop_oneof![Just(Scheduler::Slurm), Just(Scheduler::Kubernetes)];
    (
        (
            0_u32..6,
            prop_oneof![4 => Just(0_u64), 1 => Just(200), 1 => Just(u64::MAX)],
            scheduler,
            vec(word, 0..4),
            perhaps(phase),
        ),
        (resources(), resources(), resources()),
        (perhaps(any::<bool>()), 0_u32..3, vec(0_u32..6, 0..3)),
    )
        .prop_map(
            |(
                (id, alike, scheduler, words, phase),
                (asked, asked_per_node, given),
                (exclusive, queue, wanted),
            )| Job {
                id: if id == 0 { String::new() } else { id.to_string() },
                alike,
                scheduler,
                reasons: words
                    .into_iter()
                    .map(|word| WaitReason {
                        word: word.to_owned(),
                        named_nodes: vec!["n1".to_owned()],
                        ..WaitReason::default()
                    })
                    .collect(),
                phase,
                asked,
                asked_per_node,
                given,
                exclusive,
                queues: if queue == 0 { Vec::new() } else { vec![format!("q{queue}")] },
                wanted_nodes: wanted.into_iter().map(|node| format!("n{node}")).collect(),
                ..Job::default()
            },
        )
}

fn node() -> impl Strategy<Value = ClusterNode> {
    let activity =
        prop_oneof![Just(NodeActivity::Idle), Just(NodeActivity::Mixed), Just(NodeActivity::Allocated)];
    let condition = prop_oneof![
        Just(NodeCondition::Drained),
        Just(NodeCondition::Planned),
        Just(NodeCondition::Maintenance)
    ];
    let scheduler = prop_oneof![Just(Scheduler::Slurm), Just(Scheduler::Kubernetes)];
    (
        (0_u32..6, prop_oneof![4 => Just(0_u64), 1 => Just(u64::MAX)], scheduler, perhaps(activity)),
        (
            perhaps(vec(condition, 0..3)),
            resources(),
            resources(),
            0_u32..3,
            perhaps(Just("Kill task failed".to_owned())),
        ),
    )
        .prop_map(|((name, alike, scheduler, activity), (conditions, has, given, queue, reason))| {
            ClusterNode {
                name: if name == 0 { String::new() } else { format!("n{name}") },
                alike,
                scheduler,
                activity,
                conditions,
                has,
                given,
                reason,
                queues: if queue == 0 { Vec::new() } else { vec![format!("q{queue}")] },
                ..ClusterNode::default()
            }
        })
}

fn scene() -> impl Strategy<Value = Scene> {
    let quota = (resources(), resources(), any::<bool>()).prop_map(|(most, used, is_of_user)| Quota {
        holder: if is_of_user { QuotaHolder::Qos } else { QuotaHolder::Account },
        reach: if is_of_user { QuotaReach::User } else { QuotaReach::Group },
        most,
        used,
        ..Quota::default()
    });
    let queue =
        (1_u32..3, perhaps(any::<bool>()), vec(1_u32..6, 0..4)).prop_map(|(number, is_open, nodes)| Queue {
            name: format!("q{number}"),
            is_open,
            nodes: nodes.into_iter().map(|node| format!("n{node}")).collect(),
            ..Queue::default()
        });
    (vec(job(), 0..12), vec(node(), 0..10), vec(quota, 0..3), vec(queue, 0..3)).prop_map(
        |(jobs, cluster, quotas, queues)| Scene {
            window: Window { samples: 1, ..Window::default() },
            provenance: Provenance { source: SourceKind::Text, ..Provenance::default() },
            jobs,
            cluster,
            quotas,
            queues,
            ..Scene::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn a_verdict_comes_out(scene in scene()) {
        let limits = Limits::default();
        let verdict = diagnose(&scene, &limits);
        prop_assert_eq!(&verdict, &diagnose(&scene, &limits));
        prop_assert!(!verdict.findings.is_empty());
        prop_assert!(verdict.notes.iter().all(|note| note.id != "diagnose.note_broken_rule"), "{:?}", verdict.notes);
        for finding in &verdict.findings {
            prop_assert!((0.0..=1.0).contains(&finding.confidence));
            let is_of_waiting = matches!(finding.cause, Cause::SchedulerPending | Cause::QueueCongested);
            prop_assert!(!is_of_waiting || scene.jobs.iter().any(|job| matches!(job.phase, Reading::Known(JobPhase::Waiting | JobPhase::Refused))));
        }
    }

    #[test]
    fn nobody_waits_without_a_job_that_waits(scene in scene()) {
        let running = Scene { jobs: Vec::new(), ..scene };
        let verdict = diagnose(&running, &Limits::default());
        prop_assert!(verdict.findings.iter().all(|finding| !matches!(finding.cause, Cause::SchedulerPending | Cause::QueueCongested)));
    }
}
