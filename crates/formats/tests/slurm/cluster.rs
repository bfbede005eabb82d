//! Nodes, partitions, limits and the scheduler: `sinfo`, `scontrol show node` and its like, `sacctmgr`, `sprio`, `sdiag`.

use gpuwhy_formats::Format;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{NodeActivity, NodeCondition, NodeCounts, QuotaHolder, QuotaReach};
use gpuwhy_model::units::{Bytes, Cores, Seconds};

use super::{jobs, known, node, one};

#[test]
fn the_default_table_names_every_node() {
    let text = "\
PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST
gpu*         up 2-00:00:00      2  drng@ g[01-02]
gpu*         up 2-00:00:00      1   mix- g03
gpu*         up 2-00:00:00      1 drain* g04
long       down   infinite      1   idle g05
debug        up      30:00      0    n/a
";
    let scene = one(text, Format::Sinfo);
    assert_eq!(scene.cluster.len(), 5);
    let conditions = |name: &str| known(&node(&scene, name).conditions).unwrap();
    assert_eq!(conditions("g01"), [NodeCondition::Drained, NodeCondition::RebootPending]);
    assert_eq!(conditions("g03"), [NodeCondition::Planned]);
    assert_eq!(conditions("g04"), [NodeCondition::Drained, NodeCondition::NotResponding]);
    assert_eq!(node(&scene, "g02").queues, ["gpu"]);
    assert_eq!(
        (node(&scene, "g05").takes_jobs(), node(&scene, "g04").takes_jobs()),
        (Some(true), Some(false))
    );
    let open: Vec<(&str, Option<bool>)> =
        scene.queues.iter().map(|queue| (queue.name.as_str(), known(&queue.is_open))).collect();
    assert_eq!(open, [("debug", Some(true)), ("gpu", Some(true)), ("long", Some(false))]);
    let limit = scene.quotas.iter().find(|quota| quota.name == "gpu").unwrap();
    assert_eq!(
        (limit.holder, limit.reach, &limit.most.time),
        (QuotaHolder::Queue, QuotaReach::Job, &Reading::Known(Seconds(172_800.0)))
    );
    let rows = text.split_once('\n').unwrap().1;
    assert_eq!(one(rows, Format::Sinfo).cluster, scene.cluster, "without its head");
}

#[test]
fn nodes_one_by_one_with_reasons() {
    let text = "\
Mon Nov 30 10:00:00 2026
NODELIST   NODES PARTITION       STATE CPUS    S:C:T MEMORY TMP_DISK WEIGHT AVAIL_FE REASON
g01            1      gpu*        idle 64     2:32:1 515000        0      1   a100,ib none
g02            1      gpu*    draining 64     2:32:1 515000        0      1   a100,ib Kill task failed
g02            1      long    draining 64     2:32:1 515000        0      1   a100,ib Kill task failed
";
    let scene = one(text, Format::Sinfo);
    assert_eq!(scene.cluster.len(), 2);
    let draining = node(&scene, "g02");
    assert_eq!(known(&draining.reason).as_deref(), Some("Kill task failed"));
    assert_eq!(
        (draining.queues.join(","), draining.features.join(",")),
        ("gpu,long".to_owned(), "a100,ib".to_owned())
    );
    assert_eq!(
        (draining.activity.clone(), &draining.has.memory),
        (Reading::Known(NodeActivity::Mixed), &Reading::Known(Bytes(515_000 << 20)))
    );
    assert_eq!(known(&node(&scene, "g01").reason), None);
}

#[test]
fn reasons_and_summaries_are_read() {
    let text = "\
REASON               USER      TIMESTAMP           NODELIST
gres/gpu count repor slurm     2026-11-28T03:11:09 g[07-08]
Not responding       root      2026-11-29T01:00:00 g09
";
    let scene = one(text, Format::Sinfo);
    let found = node(&scene, "g08");
    assert_eq!(known(&found.reason).as_deref(), Some("gres/gpu count repor"));
    assert_eq!(
        (known(&found.reason_by).as_deref(), known(&found.reason_at).as_deref()),
        (Some("slurm"), Some("2026-11-28T03:11:09"))
    );
    assert_eq!(found.takes_jobs(), None, "a reason alone is no state");
    let summary = "PARTITION AVAIL  TIMELIMIT   NODES(A/I/O/T) NODELIST\ngpu*         up 2-00:00:00         10/2/4/16 g[01-16]\n";
    let scene = one(summary, Format::Sinfo);
    assert_eq!(
        scene.queues[0].node_counts,
        Reading::Known(NodeCounts { allocated: 10, idle: 2, other: 4, total: 16 })
    );
    assert_eq!(scene.queues[0].nodes.len(), 16);
}

#[test]
fn cards_by_kind_and_use() {
    let text = "\
HOSTNAMES|PARTITION|STATE|GRES|GRES_USED|CPUS(A/I/O/T)|REASON
g01|gpu*|mixed|gpu:a100:8(S:0-1)|gpu:a100:5(IDX:0-4)|60/4/0/64|none
g02|gpu*|idle|gpu:h100:4|gpu:h100:0(IDX:N/A)|0/64/0/64|none
c01|cpu|allocated|(null)|(null)|64/0/0/64|none
";
    let scene = one(text, Format::Sinfo);
    let mixed = node(&scene, "g01");
    assert_eq!((known(&mixed.has.cards), known(&mixed.given.cards)), (Some(8), Some(5)));
    assert_eq!(
        (mixed.has.card_kinds.get("a100"), &mixed.given.cpus),
        (Some(&8), &Reading::Known(Cores(60.0)))
    );
    assert_eq!(known(&node(&scene, "g02").given.cards), Some(0));
    assert_eq!(known(&node(&scene, "c01").has.cards), Some(0));
    let bare = "gpu-1.example.org   gpu:t4:8(S:0-7)   gpu:t4:4(IDX:0-3)   mixed\ngpu-2.example.org   gpu:t4:8(S:0-7)   gpu:t4:0(IDX:N/A)   drained\n";
    let scene = one(bare, Format::Sinfo);
    assert_eq!(known(&node(&scene, "gpu-1.example.org").given.cards), Some(4));
    assert_eq!(node(&scene, "gpu-2.example.org").takes_jobs(), Some(false));
}

#[test]
fn nodes_without_names_are_counted() {
    let text = "PARTITION NODES CPUS GRES\ngpu* 12 128 gpu:h100:8\ncpu 40 96 (null)\n";
    let scene = one(text, Format::Sinfo);
    assert_eq!(
        (scene.cluster[0].number(), known(&scene.cluster[0].has.cards), scene.cluster[0].queues.join(",")),
        (12, Some(8), "gpu".to_owned())
    );
    assert_eq!((scene.cluster[1].number(), known(&scene.cluster[1].has.cards)), (40, Some(0)));
}

#[test]
fn a_node_of_scontrol_is_idle_and_closed_at_once() {
    let text = "\
NodeName=g11 Arch=x86_64 CoresPerSocket=32
   CPUAlloc=0 CPUEfctv=64 CPUTot=64 CPULoad=0.11
   AvailableFeatures=a100,ib
   ActiveFeatures=a100,ib
   Gres=gpu:a100:8(S:0-1)
   NodeAddr=g11 NodeHostName=g11 Version=24.05.4
   OS=Linux 5.14.0-427.el9.x86_64 #1 SMP PREEMPT_DYNAMIC
   RealMemory=1031000 AllocMem=0 FreeMem=1002110 Sockets=2 Boards=1
   State=IDLE+DRAIN ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   Partitions=gpu,long
   BootTime=2026-11-01T08:00:00 SlurmdStartTime=2026-11-01T08:02:00
   CfgTRES=cpu=64,mem=1031000M,billing=64,gres/gpu=8
   AllocTRES=
   Reason=gres/gpu count reported lower than configured (7 < 8) [slurm@2026-11-28T03:11:09]

NodeName=g12 Arch=x86_64
   State=MIXED ThreadsPerCore=1
   CfgTRES=cpu=64,mem=1031000M,billing=64,gres/gpu=8
   AllocTRES=cpu=60,mem=960000M,gres/gpu=3
";
    let scene = one(text, Format::Scontrol);
    let closed = node(&scene, "g11");
    assert_eq!(
        (closed.activity.clone(), closed.takes_jobs()),
        (Reading::Known(NodeActivity::Idle), Some(false))
    );
    assert_eq!(
        known(&closed.reason).as_deref(),
        Some("gres/gpu count reported lower than configured (7 < 8)")
    );
    assert_eq!(
        (known(&closed.reason_by).as_deref(), known(&closed.has.cards), known(&closed.given.cards)),
        (Some("slurm"), Some(8), Some(0))
    );
    assert_eq!(closed.queues, ["gpu", "long"]);
    let mixed = node(&scene, "g12");
    assert_eq!((known(&mixed.given.cards), &mixed.given.cpus), (Some(3), &Reading::Known(Cores(60.0))));
    assert_eq!(known(&mixed.given.memory), Some(Bytes(960_000 << 20)));
}

#[test]
fn partitions_reservations_and_uses_of_limits() {
    let text = "\
PartitionName=gpu
   AllowGroups=ALL AllowAccounts=vision,nlp AllowQos=ALL
   AllocNodes=ALL Default=YES QoS=N/A
   MaxNodes=4 MaxTime=2-00:00:00 MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED
   Nodes=g[01-04]
   PriorityJobFactor=1 PriorityTier=10 RootOnly=NO ReqResv=NO OverSubscribe=EXCLUSIVE
   State=DRAIN TotalCPUs=256 TotalNodes=4 SelectTypeParameters=NONE
   TRES=cpu=256,mem=2000000M,node=4,billing=256,gres/gpu=32
";
    let scene = one(text, Format::Scontrol);
    let queue = &scene.queues[0];
    assert_eq!(
        (known(&queue.is_open), known(&queue.exclusive), known(&queue.has.cards)),
        (Some(false), Some(true), Some(32))
    );
    assert_eq!((queue.accounts.join(","), queue.nodes.len()), ("vision,nlp".to_owned(), 4));
    assert_eq!(
        (known(&scene.quotas[0].most.nodes), known(&scene.quotas[0].most.time)),
        (Some(4), Some(Seconds(172_800.0)))
    );
    let reservation = "ReservationName=fix StartTime=2026-12-01T06:00:00 EndTime=2026-12-01T18:00:00 Duration=12:00:00\n   Nodes=g[01-02] NodeCnt=2 CoreCnt=128 Features=(null) PartitionName=(null) Flags=MAINT,SPEC_NODES\n   Users=root Groups=(null) Accounts=(null) Licenses=(null) State=INACTIVE\n";
    let scene = one(reservation, Format::Scontrol);
    assert_eq!(
        (scene.reservations[0].is_maintenance, known(&scene.reservations[0].is_active)),
        (true, Some(false))
    );
    assert_eq!(scene.reservations[0].nodes, ["g01", "g02"]);
    let uses = "QOS=gpu(5)\n    UsageRaw=0.000000\n    GrpJobs=N(3) GrpSubmitJobs=N(7) GrpWall=N(0.00)\n    GrpTRES=cpu=N(96),mem=N(1000),node=N(3),gres/gpu=16(16)\n    MaxTRESPJ=\n";
    let scene = one(uses, Format::Scontrol);
    let group = scene.quotas.iter().find(|quota| quota.reach == QuotaReach::Group).unwrap();
    assert_eq!(
        (group.name.as_str(), known(&group.most.cards), known(&group.used.cards)),
        ("gpu", Some(16), Some(16))
    );
}

#[test]
fn limits_of_sacctmgr_are_read() {
    let text = "\
Name|Priority|GrpTRES|GrpJobs|MaxTRES|MaxWall|MaxTRESPU|MaxJobsPU|MaxSubmitPU|MaxTRESPA|MinTRES
normal|0|||||||||
big|10|cpu=512,gres/gpu=64|||1-00:00:00|gres/gpu=8|4|20||gres/gpu=2
";
    let scene = one(text, Format::Sacctmgr);
    let of = |reach: QuotaReach| {
        scene.quotas.iter().find(|quota| quota.name == "big" && quota.reach == reach).unwrap()
    };
    assert!(scene.quotas.iter().all(|quota| quota.name == "big"));
    assert_eq!(known(&of(QuotaReach::Group).most.cards), Some(64));
    assert_eq!(
        (
            known(&of(QuotaReach::User).most.cards),
            known(&of(QuotaReach::User).most.jobs),
            known(&of(QuotaReach::User).submitted_most)
        ),
        (Some(8), Some(4), Some(20))
    );
    assert_eq!(
        (known(&of(QuotaReach::Job).most.time), known(&of(QuotaReach::JobAtLeast).most.cards)),
        (Some(Seconds(86_400.0)), Some(2))
    );
    let shares =
        "Account|User|RawShares|NormShares|RawUsage|EffectvUsage|FairShare\nvision|mia|1|0.1|99|0.9|0.02\n";
    let scene = one(shares, Format::Sshare);
    assert_eq!((scene.quotas[0].user.as_str(), known(&scene.quotas[0].fair_share)), ("mia", Some(0.02)));
}

#[test]
fn parts_of_priorities_are_read() {
    let text = "\
          JOBID PARTITION   PRIORITY       SITE        AGE  FAIRSHARE    JOBSIZE  PARTITION        QOS
          77001 gpu            10123          0         12        111          0      10000          0
";
    let jobs = jobs(text, Format::Sprio);
    assert_eq!((known(&jobs[0].priority), jobs[0].queues.join(",")), (Some(10_123.0), "gpu".to_owned()));
    assert_eq!(jobs[0].priority_parts.get("fair share"), Some(&111.0));
    assert_eq!(jobs[0].priority_parts.get("partition"), Some(&10_000.0));
}

#[test]
fn the_scheduler_tells_of_itself() {
    let text = "\
*******************************************************
sdiag output at Mon Nov 30 02:01:26 2026 (1796004086)
Data since      Mon Nov 30 00:11:10 2026 (1795997470)
*******************************************************
Server thread count:  3
Agent queue size:     41
Jobs pending:   412
Jobs running:   90
Main schedule statistics (microseconds):
\tLast cycle:   2400000
\tMax cycle:    3605000
Backfilling stats
\tLast cycle: 61000000
";
    let state = one(text, Format::Sdiag).scheduler;
    assert_eq!(
        (known(&state.waiting), known(&state.running), known(&state.unsent)),
        (Some(412), Some(90), Some(41))
    );
    assert_eq!(
        (state.cycle, state.backfill_cycle),
        (Reading::Known(Seconds(2.4)), Reading::Known(Seconds(61.0)))
    );
}
