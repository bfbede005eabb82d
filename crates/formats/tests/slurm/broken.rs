//! Outputs that are cut anywhere or damaged: nothing panics, and nothing goes on for ever.

use gpuwhy_formats::text::understand;
use proptest::prelude::*;

/// A piece of each format.
const ALL: &str = "\
JOBID PARTITION NAME USER ST TIME NODES NODELIST(REASON)
90211 gpu llm pre alice PD 0:00 4 (ReqNodeNotAvail, UnavailableNodes:g[01-02])
90212_[3-9%2] gpu sweep bob R 1-03:22:10 1 g[03-04]

PARTITION AVAIL TIMELIMIT NODES STATE NODELIST
gpu* up 2-00:00:00 2 drng@ g[01-02,7]

JobId=61240 JobName=fine UserId=mia(5012) JobState=PENDING Reason=Priority TimeLimit=3-00:00:00 ReqTRES=cpu=64,mem=512G,gres/gpu:h100=16
NodeName=g11 State=IDLE+DRAIN Gres=gpu:a100:8(S:0-1) CfgTRES=cpu=64,mem=1M,gres/gpu=8 AllocTRES= Reason=x y [root@2026-11-28T03:11:09]

JobID|State|ReqTRES|Elapsed|MaxRSS|TRESUsageInAve
70020|OUT_OF_MEMORY|cpu=8,gres/gpu=2|01:00:00|67000000K|gres/gpuutil=46

Name|GrpTRES|MaxTRESPU|MaxWall
big|gres/gpu=64|gres/gpu=8(2)|1-00:00:00

Job ID: 5822001
State: COMPLETED (exit code 0)
Cores per node: 8
CPU Efficiency: 20.00% of 16:00:00 core-walltime
GPU Utilized: 31%

*******************************************************
sdiag output at Mon Nov 30 02:01:26 2026
Jobs pending: 412

partition,pending,reasons
a100,40,(JobHeldUser):22; (Priority):15

#SBATCH --gres=gpu:a100:4 -N2 --mem=4G
sbatch: error: Batch job submission failed: Invalid qos specification
QOS big: MaxTRESPerUser gres/gpu=2
cpu=00:08:24,gres/gpuutil=10|
{ \"jobs\": [ { \"job_id\": 9100, \"job_state\": [\"PENDING\"], \"array_job_id\": {\"set\": true, \"number\": 4}, \"array_task_string\": \"2-9%3\" } ] }
";

#[test]
fn cut_at_every_byte() {
    for end in 0..ALL.len() {
        if ALL.is_char_boundary(end) {
            let _ = understand(&ALL[..end]);
            let _ = understand(&ALL[end..]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn with_damaged_bytes(changes in prop::collection::vec((0..ALL.len(), any::<u8>()), 1..12)) {
        let mut bytes = ALL.as_bytes().to_vec();
        for (place, byte) in changes {
            bytes[place] = byte;
        }
        let _ = understand(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn with_lines_of_strange_cells(cells in prop::collection::vec("[A-Za-z0-9_(),:=/\\[\\]%+*-]{0,12}", 1..20)) {
        let _ = understand(&format!("JOBID NAME USER ST REASON NODELIST(REASON)\n{}\n", cells.join(" ")));
        let _ = understand(&format!("JobId|State|Gres|NodeList\n{}\n", cells.join("|")));
    }
}

#[test]
fn no_list_or_row_takes_long() {
    let wide = format!("JOBID NAME USER ST\n{}\n", "1 x ".repeat(60));
    let _ = understand(&wide);
    let long = format!(
        "PARTITION AVAIL TIMELIMIT NODES STATE NODELIST\n{}",
        "gpu up 1:00 1 idle n[0-9999][0-9999]\n".repeat(300)
    );
    let scene = &understand(&long).pieces[0].scene;
    assert!(scene.cluster.len() <= 65_536);
}
