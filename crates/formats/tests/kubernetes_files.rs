//! Real texts of clusters and container runtimes, with values that were read by eye.

#![expect(clippy::unwrap_used, reason = "helpers of tests outside of a test function")]

mod beside;

use std::fs;
use std::path::Path;

use beside::beside;
use gpuwhy_formats::Format;
use gpuwhy_formats::text::{Piece, understand};
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{JobPhase, PluginEvent, ProgramFact, StartObstacle};
use gpuwhy_model::units::{Bytes, Cores, Percent};

/// Returns what of a file is of one of these formats; all of it is read.
fn pieces(folder: &Path, name: &str, format: Format) -> Vec<Piece> {
    let text = fs::read_to_string(folder.join(name)).unwrap();
    let found: Vec<Piece> =
        understand(&text).pieces.into_iter().filter(|piece| piece.format == format).collect();
    assert!(!found.is_empty(), "{name}");
    found
}

#[test]
fn every_file_of_the_cluster_is_recognised() {
    let Some(folder) = beside("testdata/kubernetes") else { return };
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // Lists of a simulation of a scheduler, with columns of its own.
        if path.extension().is_some_and(|kind| kind == "csv") {
            continue;
        }
        let understood = understand(&fs::read_to_string(&path).unwrap());
        assert!(!understood.pieces.is_empty(), "{name}");
        assert!(understood.unknown_lines.len() <= 4, "{name}: {:?}", understood.unknown_lines);
    }
}

#[test]
fn a_pod_that_waits_for_five_cards() {
    let Some(folder) = beside("testdata/kubernetes") else { return };
    let name = "robusta-dev-holmesgpt__12_KubePodNotReady_kubectl_describe.txt";
    let job = &pieces(&folder, name, Format::KubectlDescribe)[0].scene.jobs[0];
    assert_eq!(job.id, "default/user-profile-resources-659d4dd659-cq4kq");
    assert_eq!((&job.phase, &job.asked.cards), (&Reading::Known(JobPhase::Waiting), &Reading::Known(5)));
    assert_eq!(
        (&job.asked.cpus, &job.asked.memory),
        (&Reading::Known(Cores(3.0)), &Reading::Known(Bytes(5 << 30)))
    );
    assert_eq!(
        (job.reasons[0].nodes, job.reasons[0].word.as_str()),
        (Some(1), "Insufficient nvidia.com/gpu")
    );
    assert_eq!(job.preemption[0].word, "No preemption victims found for incoming pod");
}

#[test]
fn nodes_and_pods_as_objects() {
    let Some(folder) = beside("testdata/kubernetes") else { return };
    let name = "run-ai-fake-gpu-operator__node-mig-7g-40gb.yaml";
    let node = &pieces(&folder, name, Format::KubernetesObject)[0].scene.cluster[0];
    assert_eq!(node.name, "qa-mig-worker-gpu-a100");
    assert_eq!((&node.has.cards, &node.counted_cards), (&Reading::Known(1), &Reading::Known(1)));
    assert_eq!(node.has.card_kinds.get("mig-7g.40gb"), Some(&1));
    assert_eq!(node.has.cpus, Reading::Known(Cores(12.0)));
    assert_eq!(node.state, Reading::Known("Ready".to_owned()));
    let labels = "NVIDIA-cloud-native-docs__mig-mixed-node-labels.json";
    assert_eq!(
        pieces(&folder, labels, Format::KubernetesObject)[0].scene.cluster[0].has_cards,
        Reading::Known(true)
    );
    let waiting = &pieces(&folder, "OSC-ood_core__single_unscheduleable_pod.json", Format::KubernetesObject)
        [0]
    .scene
    .jobs[0];
    assert_eq!((waiting.id.as_str(), &waiting.nodes_tried), ("johrstrom/bash", &Reading::Known(3)));
    assert_eq!(waiting.reasons[0].word, "node(s) didn't match node selector");
    assert_eq!(waiting.constraint, Reading::Known("disktype=ssd".to_owned()));
    for (name, phase, state) in [
        ("OSC-ood_core__single_crash_loop_pod.json", JobPhase::Failed, "CrashLoopBackOff"),
        ("OSC-ood_core__single_image_error_pod.json", JobPhase::Starting, "ImagePullBackOff"),
        ("OSC-ood_core__single_running_pod.json", JobPhase::Running, "Running"),
        ("run-ai-fake-gpu-operator__fractional_pod.yaml", JobPhase::Running, "Running"),
    ] {
        let job = &pieces(&folder, name, Format::KubernetesObject)[0].scene.jobs[0];
        assert_eq!(
            (&job.phase, &job.state),
            (&Reading::Known(phase), &Reading::Known(state.to_owned())),
            "{name}"
        );
    }
}

#[test]
fn incidents_of_clusters() {
    let Some(folder) = beside("corpus") else { return };
    let node =
        &pieces(&folder, "B-12-k8s-allocatable-zero-of-16/kubectl-get-node.yaml", Format::KubernetesObject)
            [0];
    let node = &node.scene.cluster[0];
    assert_eq!((&node.built_in.cards, &node.has.cards), (&Reading::Known(16), &Reading::Known(0)));
    let plugin =
        &pieces(&folder, "B-13-k8s-xid-marks-unhealthy-forever/device-plugin.log", Format::KubernetesLog)[0];
    let reports: Vec<(PluginEvent, Option<u32>)> = plugin
        .scene
        .program
        .iter()
        .filter_map(|line| match &line.fact {
            Some(ProgramFact::Plugin(report)) => Some((report.event, report.xid)),
            _ => None,
        })
        .collect();
    assert_eq!(reports, [(PluginEvent::Error, Some(69)), (PluginEvent::Unhealthy, None)]);
    let idle = "B-15-k8s-idle-pod-holds-3-h200";
    let used =
        &pieces(&folder, &format!("{idle}/gpus-in-running-pod.csv"), Format::KubectlGet)[0].scene.jobs[0];
    assert_eq!((used.id.as_str(), &used.asked.cards), ("judge", &Reading::Known(3)));
    assert_eq!(
        (&used.usage.gpu_busy, &used.usage.gpu_processes),
        (&Reading::Known(Percent(0.0)), &Reading::Known(0))
    );
    let waits = &pieces(&folder, &format!("{idle}/events.txt"), Format::KubernetesLog)[0].scene.jobs[0];
    let reasons: Vec<Option<u64>> = waits.reasons.iter().map(|reason| reason.nodes).collect();
    assert_eq!((&waits.nodes_tried, reasons), (&Reading::Known(317), vec![Some(2), Some(2), Some(313)]));
    let queue = &pieces(&folder, "B-57-kueue-preempted-then-pending/events.txt", Format::KubectlDescribe)[0]
        .scene
        .jobs[0];
    assert_eq!(queue.phase, Reading::Known(JobPhase::Waiting));
    assert_eq!(queue.reasons[1].note.as_deref(), Some("2 more needed"), "the newest of them");
}

#[test]
fn incidents_of_containers() {
    let Some(folder) = beside("corpus") else { return };
    for name in ["A-38-azure-persistence-off-timeout/docker.txt", "A-39-runc-hook-rpc-timeout/docker.txt"] {
        let line = &pieces(&folder, name, Format::ContainerError)[0].scene.program[0];
        let Some(ProgramFact::ContainerNotStarted(not_started)) = &line.fact else {
            panic!("{name}: {line:?}");
        };
        assert_eq!(not_started.obstacle, StartObstacle::DriverTimedOut, "{name}");
    }
    let pod = &pieces(&folder, "A-33-in-place-resize-loses-gpu/pod-status.yaml", Format::KubernetesObject)[0]
        .scene
        .jobs[0];
    assert_eq!((&pod.asked.cards, &pod.asked.cpus), (&Reading::Known(1), &Reading::Known(Cores(2.0))));
    let wiped = "A-32-devices-list-wiped-by-reload";
    let after =
        &pieces(&folder, &format!("{wiped}/devices.list.after"), Format::DeviceRules)[0].scene.cgroups[0];
    assert_eq!(after.device_rules, Reading::Known(vec!["c 195:* m".to_owned()]));
    assert_eq!(
        pieces(&folder, &format!("{wiped}/bpftrace.txt"), Format::DeviceRules)[0].scene.cgroups.len(),
        2
    );
}
