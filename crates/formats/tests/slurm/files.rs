//! Outputs of real clusters, with values that were read by eye.

use std::fs;
use std::path::Path;

use gpuwhy_formats::Format;
use gpuwhy_formats::text::{Understood, understand};
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{JobPhase, NodeCondition, QuotaReach};
use gpuwhy_model::units::{Bytes, Cores, Seconds};

use super::beside::beside;
use super::{known, node};

fn read(folder: &Path, name: &str) -> Understood {
    let bytes = fs::read(folder.join(name)).unwrap();
    understand(&String::from_utf8_lossy(&bytes))
}

#[test]
fn every_file_is_what_it_is() {
    let Some(folder) = beside("testdata/slurm") else { return };
    let expected = [
        ("DataDog-integrations-core__sdiag.txt", Format::Sdiag),
        ("NordicHPC-sonar__node_output.txt", Format::Sinfo),
        ("NordicHPC-sonar__sacct_output.txt", Format::Sacct),
        ("NordicHPC-sonar__scontrol_resource1.txt", Format::Scontrol),
        ("OSC-ood_core__owens_partitions.txt", Format::Scontrol),
        ("OSC-ood_core__sinfo_gres_long_hostnames.txt", Format::Sinfo),
        ("facebookresearch-gcm__sample-sacct-output.txt", Format::Sacct),
        ("facebookresearch-gcm__sample-sacct-running-output.txt", Format::Sacct),
        ("facebookresearch-gcm__sample-sacct-one-multiline.txt", Format::Sacct),
        ("facebookresearch-gcm__sample-sacct-output-with-invalid-lines.txt", Format::Sacct),
        ("facebookresearch-gcm__sample-sacctmgr-qos.txt", Format::Sacctmgr),
        ("facebookresearch-gcm__sample-scontrol-output.txt", Format::Scontrol),
        ("facebookresearch-gcm__sample-sinfo-output.txt", Format::Sinfo),
        ("facebookresearch-gcm__sample-squeue-output.txt", Format::Squeue),
        ("facebookresearch-gcm__scontrol_out_all_gpus.txt", Format::Scontrol),
        ("facebookresearch-gcm__scontrol_out_multi_node.txt", Format::Scontrol),
        ("facebookresearch-gcm__sinfo-output-for-structured.txt", Format::Sinfo),
        ("influxdata-telegraf__diag.json", Format::SlurmJson),
        ("influxdata-telegraf__jobs.json", Format::SlurmJson),
        ("influxdata-telegraf__nodes.json", Format::SlurmJson),
        ("influxdata-telegraf__partitions.json", Format::SlurmJson),
        ("overdodactyl-muster__scontrol_nodes.json", Format::SlurmJson),
        ("overdodactyl-muster__scontrol_partitions.json", Format::SlurmJson),
        ("overdodactyl-muster__squeue.json", Format::SlurmJson),
        ("rivosinc-prometheus-slurm-exporter__sdiag_2405.json", Format::SlurmJson),
        ("rivosinc-prometheus-slurm-exporter__sinfo_out.json", Format::SlurmJson),
        ("rivosinc-prometheus-slurm-exporter__squeue_out.json", Format::SlurmJson),
    ];
    for (name, format) in expected {
        let understood = read(&folder, name);
        let formats = super::formats(&understood);
        assert_eq!(formats.first(), Some(&format), "{name}: {formats:?} {:?}", understood.unknown_lines);
        assert!(formats.iter().all(|other| *other == format), "{name}: {formats:?}");
    }
}

#[test]
fn jobs_say_what_the_file_says() {
    let Some(folder) = beside("testdata/slurm") else { return };
    let jobs = read(&folder, "overdodactyl-muster__squeue.json").pieces.remove(0).scene.jobs;
    let of = |id: &str| jobs.iter().find(|job| job.id == id).unwrap();
    assert_eq!(
        (known(&of("100001").phase), of("100001").nodes.join(",")),
        (Some(JobPhase::Running), "node01,node02".to_owned())
    );
    assert_eq!(known(&of("100001").asked.cards), Some(2));
    assert_eq!(
        (of("100002").reasons[0].word.as_str(), known(&of("100002").asked.time)),
        ("BeginTime", Some(Seconds(3600.0)))
    );
    assert_eq!(of("200000_[2-9%3]").alike, 7);
    let jobs = read(&folder, "facebookresearch-gcm__scontrol_out_multi_node.txt").pieces.remove(0).scene.jobs;
    assert_eq!(
        (known(&jobs[0].given.cards), known(&jobs[0].given.cpus), jobs[0].nodes.len()),
        (Some(64), Some(Cores(2048.0)), 8)
    );
    assert_eq!(
        (known(&jobs[0].exclusive), known(&jobs[0].given.memory)),
        (Some(false), Some(Bytes(12_000 << 30)))
    );
    let jobs = read(&folder, "facebookresearch-gcm__scontrol_out_all_gpus.txt").pieces.remove(0).scene.jobs;
    assert_eq!(
        (jobs[0].id.as_str(), known(&jobs[0].exclusive), known(&jobs[0].given.cards)),
        ("30185_28", Some(true), Some(8))
    );
    let jobs = read(&folder, "NordicHPC-sonar__scontrol_resource1.txt").pieces.remove(0).scene.jobs;
    assert_eq!(
        (jobs.len(), jobs[0].reasons[0].word.as_str(), known(&jobs[0].priority)),
        (3, "Priority", Some(11_603.0))
    );
    let jobs = read(&folder, "facebookresearch-gcm__sample-squeue-output.txt").pieces.remove(0).scene.jobs;
    assert_eq!(jobs.len(), 5);
    assert_eq!(
        (jobs[3].phase.clone(), jobs[3].reasons[0].word.as_str()),
        (Reading::Known(JobPhase::Waiting), "DependencyNeverSatisfied")
    );
    assert_eq!(known(&jobs[2].given.cards), Some(256));
}

#[test]
fn nodes_say_what_the_file_says() {
    let Some(folder) = beside("testdata/slurm") else { return };
    let scene = read(&folder, "OSC-ood_core__sinfo_gres_long_hostnames.txt").pieces.remove(0).scene;
    let second = node(&scene, "gpu-node-02.cluster.example.org");
    assert_eq!((known(&second.has.cards), known(&second.given.cards)), (Some(8), Some(4)));
    assert_eq!(node(&scene, "gpu-node-03.cluster.example.org").takes_jobs(), Some(false));
    let scene = read(&folder, "NordicHPC-sonar__node_output.txt").pieces.remove(0).scene;
    assert_eq!(known(&node(&scene, "gpu-2").conditions), Some(vec![NodeCondition::Drained]));
    assert_eq!(known(&node(&scene, "gpu-7").conditions), Some(vec![NodeCondition::Reserved]));
    assert_eq!(node(&scene, "c1-19").takes_jobs(), Some(true));
    let scene = read(&folder, "overdodactyl-muster__scontrol_nodes.json").pieces.remove(0).scene;
    assert_eq!((scene.cluster.len(), known(&node(&scene, "node015a").has.cards)), (15, Some(3)));
    let scene = read(&folder, "facebookresearch-gcm__sample-sinfo-output.txt").pieces.remove(0).scene;
    assert_eq!(
        (known(&node(&scene, "node0201").reason).as_deref(), known(&node(&scene, "node1537").has.cards)),
        (Some("replace"), Some(8))
    );
    let scene = read(&folder, "facebookresearch-gcm__sample-sacctmgr-qos.txt").pieces.remove(0).scene;
    let of_user =
        scene.quotas.iter().find(|quota| quota.name == "normal3" && quota.reach == QuotaReach::User).unwrap();
    assert_eq!(
        (known(&of_user.most.cards), known(&of_user.most.memory)),
        (Some(16), Some(Bytes(3600 << 30)))
    );
}

#[test]
fn labelled_incidents_are_read() {
    let Some(folder) = beside("corpus") else { return };
    let of = |name: &str| read(&folder, name).pieces;
    let nodes = of("B-21-slurm-nodes-draining-for-reboot/sinfo.txt").remove(0).scene;
    assert_eq!(
        known(&node(&nodes, "c012").conditions),
        Some(vec![NodeCondition::Drained, NodeCondition::RebootPending])
    );
    assert_eq!((nodes.queues.len(), node(&nodes, "c006").takes_jobs()), (5, Some(true)));
    let waiting = of("B-21-slurm-nodes-draining-for-reboot/squeue-reason.txt").remove(0).scene;
    assert_eq!(waiting.jobs[0].reasons[0].named_nodes.len(), 56);
    let jobs = of("B-18-slurm-exclusive-counts-both-gpus/jobs.csv").remove(0).scene.jobs;
    assert_eq!((known(&jobs[1].exclusive), known(&jobs[0].asked_per_node.cards)), (Some(true), Some(1)));
    let limits = of("B-18-slurm-exclusive-counts-both-gpus/qos.txt");
    assert_eq!(known(&limits[0].scene.quotas[0].most.cards), Some(2));
    assert_eq!(known(&limits[1].scene.cluster[0].has.cards), Some(2));
    let counted = of("B-23-slurm-472-pending-mostly-held/partitions.csv").remove(0).scene.jobs;
    let waiting: u64 = counted
        .iter()
        .filter(|job| job.phase == Reading::Known(JobPhase::Waiting))
        .map(|job| job.alike + 1)
        .sum();
    assert_eq!(waiting, 1 + 472 + 112);
    let running = of("B-20-slurm-account-full-sleep-jobs/running-jobs.csv").remove(0).scene.jobs;
    let cards: u64 = running.iter().filter_map(|job| known(&job.asked.cards)).sum();
    assert_eq!((running.len(), running[0].alike, cards), (5, 5, 16));
    let used = of("B-08-seff-gpu-10-percent/seff.txt").remove(0).scene.jobs;
    assert_eq!((known(&used[0].given.cards), known(&used[0].elapsed)), (Some(1), Some(Seconds(399.0))));
    let used = of("B-33-slurm-job-gpu-33-cpu-12/jobstats.txt").remove(0).scene.jobs;
    assert_eq!((known(&used[0].given.cpus), known(&used[0].given.cards)), (Some(Cores(56.0)), Some(8)));
}
