//! Jobs that wait and run: `squeue`, `scontrol show job`, tables that people make, messages, scripts.

use gpuwhy_formats::Format;
use gpuwhy_formats::text::understand;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{JobPhase, QuotaHolder, QuotaReach};
use gpuwhy_model::units::{Bytes, Cores, Seconds};

use super::{formats, jobs, known, one};

const DEFAULT: &str = "\
             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)
             90211       gpu  llm pre    alice PD       0:00      4 (Resources)
        90212_[3-9%2]       gpu    sweep      bob PD       0:00      1 (QOSMaxGRESPerUser)
             90199       gpu    train    carol  R 1-03:22:10      2 g[03-04]
             90120     debug     bash      bob CG      12:01      1 g07
";

#[test]
fn the_default_table_is_read() {
    let jobs = jobs(DEFAULT, Format::Squeue);
    assert_eq!(jobs.len(), 4);
    assert_eq!((jobs[0].id.as_str(), known(&jobs[0].name).as_deref()), ("90211", Some("llm pre")));
    assert_eq!(known(&jobs[0].user).as_deref(), Some("alice"));
    assert_eq!(jobs[0].phase, Reading::Known(JobPhase::Waiting));
    assert_eq!((jobs[0].reasons[0].word.as_str(), known(&jobs[0].asked.nodes)), ("Resources", Some(4)));
    assert_eq!((jobs[1].alike, jobs[1].reasons[0].word.as_str()), (6, "QOSMaxGRESPerUser"));
    assert_eq!(jobs[2].nodes, ["g03", "g04"]);
    assert_eq!(jobs[2].elapsed, Reading::Known(Seconds(98_530.0)));
    assert_eq!(jobs[3].phase, Reading::Known(JobPhase::Ending));
    assert!(jobs[2].reasons.is_empty());
}

#[test]
fn blanks_may_be_lost_and_the_head_cut_off() {
    let narrow: String =
        DEFAULT.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect();
    assert_eq!(jobs(&narrow, Format::Squeue), jobs(DEFAULT, Format::Squeue));
    let rows = DEFAULT.split_once('\n').unwrap().1;
    assert_eq!(jobs(rows, Format::Squeue), jobs(DEFAULT, Format::Squeue));
    let alone = "86001 gpu train dave PD 0:00 1 (ReqNodeNotAvail, UnavailableNodes:g[1-2])";
    let jobs = jobs(alone, Format::Squeue);
    assert_eq!(jobs[0].reasons[0].named_nodes, ["g1", "g2"]);
}

#[test]
fn long_and_start_forms_are_read() {
    let long = "Mon Nov 30 09:14:02 2026
             JOBID PARTITION     NAME     USER    STATE       TIME TIME_LIMI  NODES NODELIST(REASON)
             77001       gpu    train    alice  PENDING       0:00 2-00:00:00      2 (Priority)
";
    let jobs_of_long = jobs(long, Format::Squeue);
    assert_eq!(jobs_of_long[0].asked.time, Reading::Known(Seconds(172_800.0)));
    let start = "\
             JOBID PARTITION     NAME     USER ST          START_TIME  NODES SCHEDNODES           NODELIST(REASON)
             77001       gpu    train    alice PD 2026-12-02T04:00:00      2 g[01-02]             (Resources)
             77002       gpu    train    alice PD                 N/A      2 (null)               (BeginTime)
";
    let jobs = jobs(start, Format::Squeue);
    assert_eq!(known(&jobs[0].expected_start).as_deref(), Some("2026-12-02T04:00:00"));
    assert_eq!((known(&jobs[1].expected_start), jobs[1].reasons[0].word.as_str()), (None, "BeginTime"));
}

#[test]
fn columns_that_somebody_chose_are_read() {
    let text = "\
JOBID|USER|ST|REASON|TRES_PER_NODE|NODES|CPUS|MIN_MEMORY|TIME_LIMIT|PRIORITY|OVER_SUBSCRIBE|QOS|DEPENDENCY
51|eve|PD|QOSMaxMemoryPerUser|gres/gpu:a100:4|2|64|500G|UNLIMITED|1203|NO|high|(null)
52|eve|R|None|gpu:2|1|16|4000M|1:00:00|0.0001|OK|high|(null)
53|eve|PD|Dependency|N/A|1|1|1G|10:00|7|OK|normal|afterok:51(unfulfilled)
";
    let jobs = jobs(text, Format::Squeue);
    assert_eq!((known(&jobs[0].asked.cards), known(&jobs[0].asked_per_node.cards)), (Some(8), Some(4)));
    assert_eq!(jobs[0].asked.card_kinds.get("a100"), Some(&8));
    assert_eq!((known(&jobs[0].exclusive), known(&jobs[1].exclusive)), (Some(true), Some(false)));
    assert_eq!(known(&jobs[0].asked_per_node.memory), Some(Bytes(500 << 30)));
    assert_eq!((&jobs[0].asked.time, known(&jobs[0].priority)), (&Reading::Unsupported, Some(1203.0)));
    assert!(jobs[1].reasons.is_empty(), "None of a running job says nothing");
    assert_eq!(known(&jobs[2].dependency).as_deref(), Some("afterok:51(unfulfilled)"));
    let blanks = "\
JOBID      STATE      REASON                         GRES
51         PENDING    AssocGrpGRES                   gpu:8
52         RUNNING    None                           gpu:1
";
    let jobs_between_blanks = super::jobs(blanks, Format::Squeue);
    assert_eq!(jobs_between_blanks[0].reasons[0].word, "AssocGrpGRES");
    assert_eq!(known(&jobs_between_blanks[0].asked_per_node.cards), Some(8));
}

const BLOCK: &str = "\
JobId=61240 ArrayJobId=61200 ArrayTaskId=40 JobName=fine tune
   UserId=mia(5012) GroupId=ml(500) MCS_label=N/A
   Priority=10042 Nice=0 Account=vision QOS=normal
   JobState=PENDING Reason=Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved_for_jobs_in_higher_priority_partitions Dependency=(null)
   RunTime=00:00:00 TimeLimit=3-00:00:00 TimeMin=N/A
   SubmitTime=2026-11-29T21:10:02 EligibleTime=2026-11-29T21:10:02
   StartTime=Unknown EndTime=Unknown Deadline=N/A
   Partition=h100 AllocNode:Sid=login2:1123
   ReqNodeList=(null) ExcNodeList=h[09]
   NumNodes=2-2 NumCPUs=64 NumTasks=16 CPUs/Task=4 ReqB:S:C:T=0:0:*:*
   ReqTRES=cpu=64,mem=512G,node=2,billing=64,gres/gpu=16,gres/gpu:h100=16
   AllocTRES=(null)
   MinCPUsNode=4 MinMemoryNode=256G MinTmpDiskNode=0
   Features=ib&h100 DelayBoot=00:00:00
   OverSubscribe=NO Contiguous=0 Licenses=(null) Network=(null)
   Command=/home/mia/run.sh --token=0123456789abcdef0123456789abcdef
   TresPerNode=gres/gpu:h100:8
";

#[test]
fn a_job_of_scontrol_is_read() {
    let jobs_of_lines = jobs(BLOCK, Format::Scontrol);
    let job = &jobs_of_lines[0];
    assert_eq!((job.id.as_str(), known(&job.name).as_deref()), ("61200_40", Some("fine tune")));
    assert_eq!((known(&job.user).as_deref(), known(&job.account).as_deref()), (Some("mia"), Some("vision")));
    assert!(
        job.reasons[0].word.to_lowercase().starts_with("nodes required for job")
            || job.reasons[0].word.starts_with("Nodes_required")
    );
    assert_eq!((known(&job.asked.nodes), known(&job.asked.cards)), (Some(2), Some(16)));
    assert_eq!(known(&job.asked_per_node.cards), Some(8));
    assert_eq!(job.asked.cpus, Reading::Known(Cores(64.0)));
    assert_eq!(known(&job.asked_per_node.memory), Some(Bytes(256 << 30)));
    assert_eq!(job.excluded_nodes, ["h09"]);
    assert_eq!((known(&job.exclusive), known(&job.expected_start)), (Some(true), None));
    assert_eq!(known(&job.constraint).as_deref(), Some("ib&h100"));
    assert!(!format!("{:?}", job.command).contains("0123456789abcdef"));
    let line = BLOCK.lines().map(str::trim).collect::<Vec<_>>().join(" ") + "\n";
    assert_eq!(jobs(&line, Format::Scontrol), jobs_of_lines);
}

#[test]
fn the_middle_of_a_job_says_what_it_says() {
    let cut = BLOCK.lines().skip(3).collect::<Vec<_>>().join("\n");
    let jobs = jobs(&cut, Format::Scontrol);
    assert_eq!((jobs[0].id.as_str(), known(&jobs[0].asked.cards)), ("", Some(16)));
    assert_eq!(jobs[0].phase, Reading::Known(JobPhase::Waiting));
}

#[test]
fn single_lines_of_a_job_belong_to_the_job_that_was_asked_for() {
    let text = "[mia@login1 ~]$ scontrol show job 481200 | grep -E 'TRES|NumNodes'\n   RunTime=00:00:00 TimeLimit=2-00:00:00 TimeMin=N/A\n   NumNodes=4-4 NumCPUs=256 NumTasks=32 CPUs/Task=8\n   ReqTRES=cpu=256,mem=1600G,node=4,billing=256,gres/gpu=32\n";
    let jobs = jobs(text, Format::Scontrol);
    assert_eq!(
        (jobs[0].id.as_str(), known(&jobs[0].asked.cards), known(&jobs[0].asked.nodes)),
        ("481200", Some(32), Some(4))
    );
}

#[test]
fn tables_that_people_make_are_read() {
    let text = "job_id,state,reason,gpus_requested,alloc_tres\n771,PENDING,AssocGrpGRES,4,(null)\n772,PENDING,AssocGrpGRES,,(null)\n773,RUNNING,,2,cpu=8,mem=64G,gres/gpu=2\n";
    let jobs_by_hand = jobs(text, Format::JobTable);
    assert_eq!((known(&jobs_by_hand[0].asked.cards), known(&jobs_by_hand[1].asked.cards)), (Some(4), None));
    assert_eq!(known(&jobs_by_hand[2].given.cards), Some(2));
    let running = "job_id,name,gpus,main_command\n500-505,core run,6,\n510,hold,2,sleep infinity\n";
    let jobs = jobs(running, Format::JobTable);
    assert_eq!((jobs[0].alike, known(&jobs[0].asked.cards)), (5, Some(6)));
    assert_eq!(jobs[1].command.known().unwrap().line(), "sleep infinity");
    let markdown =
        "| Job ID | State | Reason | GPUs |\n|---|---|---|---|\n| 12 | PENDING | (Priority) | 8 |\n";
    assert_eq!(super::jobs(markdown, Format::Squeue)[0].reasons[0].word, "Priority");
}

#[test]
fn rows_that_only_count_stand_for_many() {
    let text = "partition,pending,running,reasons\na100,40,9,(JobHeldUser):22; (Priority):15; (Resources):1\nv100,3,4,\n";
    let scene = one(text, Format::JobTable);
    let counted: Vec<(&str, Option<&str>, u64)> = scene
        .jobs
        .iter()
        .map(|job| {
            (job.queues[0].as_str(), job.reasons.first().map(|reason| reason.word.as_str()), job.alike + 1)
        })
        .collect();
    assert_eq!(
        counted,
        [
            ("a100", Some("JobHeldUser"), 22),
            ("a100", Some("Priority"), 15),
            ("a100", Some("Resources"), 1),
            ("a100", None, 2),
            ("a100", None, 9),
            ("v100", None, 3),
            ("v100", None, 4),
        ]
    );
    assert_eq!(scene.jobs[4].phase, Reading::Known(JobPhase::Running));
}

#[test]
fn what_submitting_says_is_read() {
    let text = "$ sbatch big.sh\nsbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)\n";
    let jobs_refused = jobs(text, Format::SlurmMessages);
    assert_eq!(jobs_refused.len(), 1);
    assert_eq!(jobs_refused[0].phase, Reading::Known(JobPhase::Refused));
    assert_eq!(
        (jobs_refused[0].reasons.len(), jobs_refused[0].reasons[0].word.as_str()),
        (2, "QOSMaxSubmitJobPerUserLimit")
    );
    let waits = "srun: job 4471 queued and waiting for resources\n";
    let jobs = jobs(waits, Format::SlurmMessages);
    assert_eq!((jobs[0].id.as_str(), known(&jobs[0].phase)), ("4471", Some(JobPhase::Waiting)));
    assert!(
        understand("srun: error: g1: task 0: Exited with exit code 1\n")
            .pieces
            .iter()
            .all(|piece| piece.format != Format::SlurmMessages)
    );
}

#[test]
fn a_script_asks_for_what_it_says() {
    let text = "#!/bin/bash\n#SBATCH --job-name=train\n#SBATCH -p gpu -N 2\n#SBATCH --ntasks=8\n#SBATCH --cpus-per-task 4\n#SBATCH --gres=gpu:a100:4   # all of them\n#SBATCH --mem-per-cpu=4G\n#SBATCH -t 90\n\npython train.py\n";
    let understood = understand(text);
    assert_eq!(formats(&understood)[0], Format::JobScript);
    let job = &understood.pieces[0].scene.jobs[0];
    assert_eq!((job.id.as_str(), job.queues[0].as_str()), ("", "gpu"));
    assert_eq!((known(&job.asked.cards), known(&job.asked_per_node.cards)), (Some(8), Some(4)));
    assert_eq!(job.asked.cpus, Reading::Known(Cores(32.0)));
    assert_eq!(
        (known(&job.asked.memory), &job.asked.time),
        (Some(Bytes(128 << 30)), &Reading::Known(Seconds(5400.0)))
    );
    assert!(!job.phase.is_known());
}

#[test]
fn single_lines_are_read() {
    let jobs = jobs("(ReqNodeNotAvail, UnavailableNodes:d[001-003],f1)\n", Format::Squeue);
    assert_eq!((jobs[0].reasons[0].named_nodes.len(), jobs[0].id.as_str()), (4, ""));
    let scene = one("QOS big: MaxTRESPerUser gres/gpu=2\n", Format::Sacctmgr);
    let quota = &scene.quotas[0];
    assert_eq!((quota.holder, quota.name.as_str(), quota.reach), (QuotaHolder::Qos, "big", QuotaReach::User));
    assert_eq!(known(&quota.most.cards), Some(2));
    let scene = one("node: Gres=gpu:2 (2x A100 80GB)\n", Format::Scontrol);
    assert_eq!(known(&scene.cluster[0].has.cards), Some(2));
}
