//! What jobs made of what they were given: `sacct`, `seff`, summaries of sites.

use gpuwhy_formats::Format;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::JobPhase;
use gpuwhy_model::units::{Bytes, Cores, Percent, Seconds, Share};

use super::{jobs, known};

#[test]
fn the_default_table_joins_a_job_with_its_steps() {
    let text = "\
JobID           JobName  Partition    Account  AllocCPUS      State ExitCode
------------ ---------- ---------- ---------- ---------- ---------- --------
70011           train_a        gpu     vision         16     FAILED      1:0
70011.batch       batch                vision         16     FAILED      1:0
70011.0          python                vision         16 OUT_OF_ME+    0:125
70012             sweep        gpu     vision          8 CANCELLED+      0:0
";
    let jobs_of_table = jobs(text, Format::Sacct);
    assert_eq!(jobs_of_table.len(), 2);
    assert_eq!(jobs_of_table[0].phase, Reading::Known(JobPhase::OutOfMemory));
    assert_eq!(
        (known(&jobs_of_table[0].name).as_deref(), known(&jobs_of_table[0].asked.cpus)),
        (Some("train_a"), Some(Cores(16.0)))
    );
    assert_eq!(jobs_of_table[1].phase, Reading::Known(JobPhase::Cancelled));
    let rows = text.lines().skip(2).collect::<Vec<_>>().join("\n");
    assert_eq!(jobs(&rows, Format::Sacct), jobs_of_table, "without its head");
}

#[test]
fn columns_between_bars_tell_what_was_used() {
    let text = "\
JobID|User|State|ReqTRES|AllocTRES|Elapsed|TotalCPU|ReqMem|MaxRSS|NodeList|TRESUsageInAve
70020|mia|OUT_OF_MEMORY|billing=8,cpu=8,gres/gpu=2,mem=64G,node=1|billing=8,cpu=8,gres/gpu=2,mem=64G,node=1|01:00:00|04:00:00|64G||g03|
70020.batch||OUT_OF_MEMORY|||01:00:00|04:00:00||67000000K|g03|cpu=04:00:00,gres/gpumem=30000M,gres/gpuutil=46
";
    let jobs = jobs(text, Format::Sacct);
    assert_eq!(jobs.len(), 1);
    let job = &jobs[0];
    assert_eq!((known(&job.given.cards), known(&job.given.memory)), (Some(2), Some(Bytes(64 << 30))));
    assert_eq!(job.usage.cpu_share, Reading::Known(Share(0.5)));
    assert_eq!(
        (&job.usage.gpu_busy, known(&job.usage.memory)),
        (&Reading::Known(Percent(46.0)), Some(Bytes(67_000_000 << 10)))
    );
    assert!(known(&job.usage.memory_share).unwrap().0 > 0.99);
}

#[test]
fn rows_without_a_head_are_known_by_their_cells() {
    let text = "80001|80001|u1|a1|PENDING|Unknown|Unknown|||0|0:0|32|128G|2026-11-01T10:00:00|20160|None assigned|accel|billing=32,cpu=32,gres/gpu:a100=4,gres/gpu=4,mem=128G,node=1|x\n80001.batch|80001.batch||a1|RUNNING|||cpu=32,gres/gpu=4,node=1|\n";
    let jobs = jobs(text, Format::Sacct);
    assert_eq!((jobs[0].id.as_str(), known(&jobs[0].asked.cards)), ("80001", Some(4)));
    assert_eq!(jobs[0].phase, Reading::Known(JobPhase::Waiting));
}

#[test]
fn seff_is_read() {
    let text = "\
Job ID: 5822001
Array Job ID: 5822000_1
Cluster: north
User/Group: mia/ml
State: COMPLETED (exit code 0)
Nodes: 2
Cores per node: 8
CPU Utilized: 03:12:00
CPU Efficiency: 20.00% of 16:00:00 core-walltime
Job Wall-clock time: 01:00:00
Memory Utilized: 12.50 GB (estimated maximum)
Memory Efficiency: 19.53% of 64.00 GB (4.00 GB/core)
GPUs reserved: a100 (x2)
GPU Utilized: 31%
GPU VRAM Utilized: 20480 MB
";
    let jobs = jobs(text, Format::JobEfficiency);
    let job = &jobs[0];
    assert_eq!((job.id.as_str(), known(&job.phase)), ("5822001", Some(JobPhase::Completed)));
    assert_eq!(
        (known(&job.given.cards), known(&job.given.cpus), known(&job.given.memory)),
        (Some(2), Some(Cores(16.0)), Some(Bytes(64 << 30)))
    );
    assert_eq!(
        (&job.usage.gpu_busy, &job.usage.cpu_share),
        (&Reading::Known(Percent(31.0)), &Reading::Known(Share(0.2)))
    );
    assert_eq!(
        (known(&job.usage.gpu_memory), known(&job.usage.memory)),
        (Some(Bytes(20 << 30)), Some(Bytes(25 << 29)))
    );
    assert_eq!(job.elapsed, Reading::Known(Seconds(3600.0)));
}

#[test]
fn a_summary_with_bars_is_read() {
    let text = "\
================================================================================
                              Slurm Job Statistics
================================================================================
         Job ID: 994411
  NetID/Account: mia/physics
       Job Name: tune.sh
          State: RUNNING
          Nodes: 2
      CPU Cores: 48
     CPU Memory: 96GB (2GB per CPU-core)
           GPUs: 8
  QOS/Partition: gpu-test/gpu
        Cluster: north
     Start Time: Fri Oct 7, 2026 at 12:48 PM
       Run Time: 00:16:10 (in progress)
     Time Limit: 01:00:00

                              Overall Utilization
================================================================================
  CPU utilization  [||||||                                         14%]
  CPU memory usage [||||||||||||||||||||||||||||||                 60%]
  GPU utilization  [||||||||||||||||                               33%]
  GPU memory usage [|||||||||||||||||||||||||||||||||||||          74%]

                              Detailed Utilization
================================================================================
  GPU utilization per node
      g11 (GPU 0): 65.7%
";
    let jobs = jobs(text, Format::JobEfficiency);
    let job = &jobs[0];
    assert_eq!((known(&job.account).as_deref(), job.queues.join(",")), (Some("physics"), "gpu".to_owned()));
    assert_eq!((known(&job.given.cpus), known(&job.given.cards)), (Some(Cores(48.0)), Some(8)));
    assert_eq!(
        (&job.usage.gpu_busy, &job.usage.cpu_share, &job.usage.memory_share),
        (&Reading::Known(Percent(33.0)), &Reading::Known(Share(0.14)), &Reading::Known(Share(0.6)))
    );
    assert_eq!(job.usage.gpu_memory_share, Reading::Known(Share(0.74)));
}

#[test]
fn a_list_of_what_was_used_stands_alone() {
    let jobs = jobs(
        "cpu=00:08:24,energy=95240,gres/gpumem=15114M,gres/gpuutil=10,mem=2207116K,pages=3|\n",
        Format::Sacct,
    );
    assert_eq!(
        (&jobs[0].usage.gpu_busy, known(&jobs[0].usage.memory)),
        (&Reading::Known(Percent(10.0)), Some(Bytes(2_207_116 << 10)))
    );
}

#[test]
fn cells_that_name_what_they_hold() {
    let text = "v=1,JobID=700_3,JobIDRaw=744,User=mia,State=FAILED,ReqMem=100G,Partition=gpu,\"AllocTRES=cpu=8,mem=100G,gres/gpu=2\",JobName=x\nv=1,JobID=700_3.batch,JobIDRaw=744.batch,State=OUT_OF_MEMORY,MaxRSS=99G\n";
    let jobs = jobs(text, Format::Sacct);
    assert_eq!((jobs.len(), jobs[0].id.as_str(), known(&jobs[0].given.cards)), (1, "700_3", Some(2)));
    assert_eq!(jobs[0].phase, Reading::Known(JobPhase::OutOfMemory));
}
