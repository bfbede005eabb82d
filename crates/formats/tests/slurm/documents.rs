//! JSON of Slurm's tools in the versions of its data parser.

use gpuwhy_formats::Format;
use gpuwhy_formats::text::understand;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{JobPhase, NodeCondition, QuotaReach};
use gpuwhy_model::units::{Bytes, Seconds};

use super::{jobs, known, node, one};

const OLD: &str = r#"{
  "meta": { "plugin": { "type": "openapi/v0.0.38", "name": "Slurm OpenAPI v0.0.38" } },
  "errors": [],
  "jobs": [
    { "account": "vision", "array_job_id": 0, "array_task_id": null, "cpus": 16, "features": "",
      "job_id": 9001, "job_state": "PENDING", "memory_per_node": 64000, "memory_per_cpu": null, "name": "a",
      "node_count": 1, "nodes": "", "partition": "gpu", "priority": 4294901759, "qos": "normal",
      "state_reason": "QOSMaxGRESPerUser", "tres_per_node": "gpu:a100:4", "tres_req_str": "cpu=16,mem=64000M,node=1,gres/gpu=4",
      "time_limit": 1440, "submit_time": 1796000000, "user_name": "mia", "required_nodes": "g[01-02]" }
  ]
}
"#;

const NEW: &str = r#"{
  "jobs": [
    {
      "account": "vision",
      "accrue_time": { "set": true, "infinite": false, "number": 1796000000 },
      "array_job_id": { "set": true, "infinite": false, "number": 9100 },
      "array_task_id": { "set": false, "infinite": false, "number": 0 },
      "array_task_string": "2-9%3",
      "cpus": { "set": true, "infinite": false, "number": 4 },
      "exclusive": ["true"],
      "job_id": 9100,
      "job_state": ["PENDING"],
      "memory_per_node": { "set": true, "infinite": false, "number": 8000 },
      "node_count": { "set": true, "infinite": false, "number": 1 },
      "partition": "gpu,long",
      "priority": { "set": true, "infinite": false, "number": 900 },
      "state_reason": "JobArrayTaskLimit",
      "state_description": "",
      "tres_per_node": "gres/gpu:1",
      "time_limit": { "set": false, "infinite": true, "number": 0 },
      "user_name": "bob"
    },
    {
      "job_id": 9101,
      "job_state": ["RUNNING", "COMPLETING"],
      "state_reason": "None",
      "user_name": "bob",
      "nodes": "g03"
    }
  ],
  "meta": { "plugin": { "data_parser": "data_parser/v0.0.41" } }
}
"#;

#[test]
fn plain_numbers_and_words() {
    let jobs = jobs(OLD, Format::SlurmJson);
    let job = &jobs[0];
    assert_eq!(
        (job.id.as_str(), known(&job.phase), job.reasons[0].word.as_str()),
        ("9001", Some(JobPhase::Waiting), "QOSMaxGRESPerUser")
    );
    assert_eq!(
        (known(&job.asked.cards), known(&job.asked_per_node.memory)),
        (Some(4), Some(Bytes(64_000 << 20)))
    );
    assert_eq!((&job.asked.time, job.wanted_nodes.len()), (&Reading::Known(Seconds(86_400.0)), 2));
}

#[test]
fn numbers_that_may_be_unset_and_states_in_lists() {
    let jobs = jobs(NEW, Format::SlurmJson);
    assert_eq!((jobs[0].id.as_str(), jobs[0].alike), ("9100_[2-9%3]", 7));
    assert_eq!((jobs[0].queues.join(","), known(&jobs[0].exclusive)), ("gpu,long".to_owned(), Some(true)));
    assert_eq!((&jobs[0].asked.time, known(&jobs[0].asked.cards)), (&Reading::Unsupported, Some(1)));
    assert_eq!((known(&jobs[1].phase), jobs[1].nodes.join(",")), (Some(JobPhase::Ending), "g03".to_owned()));
}

#[test]
fn what_is_whole_of_a_cut_document_counts() {
    let lines: Vec<&str> = NEW.lines().collect();
    let end = lines.iter().position(|line| line.contains("9101")).unwrap();
    let understood = understand(&lines[..end].join("\n"));
    assert_eq!(understood.pieces[0].format, Format::SlurmJson);
    assert_eq!(understood.pieces[0].scene.jobs.len(), 1);
    assert!(!understood.pieces[0].remarks.is_empty());
    let begin = lines.iter().position(|line| line.trim() == "{" && lines[2] != *line).unwrap_or(2);
    let understood = understand(&lines[begin.max(2)..].join("\n"));
    assert!(
        understood.pieces.iter().any(|piece| piece.scene.jobs.iter().any(|job| job.id == "9101")),
        "without its begin"
    );
}

#[test]
fn nodes_of_both_generations() {
    let old = r#"{ "meta": { "plugin": { "type": "openapi/v0.0.37" } }, "nodes": [
      { "name": "g01", "state": "idle", "state_flags": ["DRAIN"], "partitions": ["gpu"], "gres": "gpu:a100:8", "gres_used": "gpu:a100:0(IDX:N/A)",
        "reason": "bad disk", "cpus": 64, "alloc_cpus": 0, "real_memory": 500000, "tres": "cpu=64,mem=500000M,gres/gpu=8", "tres_used": null } ] }"#;
    let scene = one(old, Format::SlurmJson);
    assert_eq!(
        (node(&scene, "g01").takes_jobs(), known(&node(&scene, "g01").has.cards)),
        (Some(false), Some(8))
    );
    let new = r#"{ "sinfo": [ { "node": { "state": ["MIXED", "PLANNED"] }, "nodes": { "allocated": 1, "idle": 0, "other": 0, "total": 2, "nodes": ["g02", "g03"] },
        "gres": { "total": "gpu:h100:8", "used": "gpu:h100:2" }, "partition": { "name": "gpu", "partition": { "state": ["UP"] }, "maximums": { "time": { "set": true, "infinite": false, "number": 2880 } } },
        "reason": { "description": "", "user": "" } } ], "meta": { "plugin": { "data_parser": "data_parser/v0.0.42" } } }"#;
    let scene = one(new, Format::SlurmJson);
    assert_eq!(scene.cluster.len(), 2);
    assert_eq!(
        (known(&node(&scene, "g03").conditions), known(&node(&scene, "g03").given.cards)),
        (Some(vec![NodeCondition::Planned]), Some(2))
    );
    assert_eq!(
        (known(&scene.queues[0].is_open), known(&scene.quotas[0].most.time)),
        (Some(true), Some(Seconds(172_800.0)))
    );
}

#[test]
fn accounting_and_limits() {
    let text = r#"{ "jobs": [ { "account": "vision", "job_id": 77, "name": "t", "partition": "gpu", "nodes": "g1", "association": { "user": "mia" },
      "state": { "current": ["OUT_OF_MEMORY"], "reason": "None" }, "time": { "elapsed": 120, "limit": { "set": true, "infinite": false, "number": 60 } },
      "tres": { "requested": [ { "type": "cpu", "name": "", "id": 1, "count": 8 }, { "type": "mem", "name": "", "id": 2, "count": 32000 }, { "type": "gres", "name": "gpu", "id": 1001, "count": 2 } ], "allocated": [] } } ],
      "meta": { "plugin": { "data_parser": "data_parser/v0.0.40" } } }"#;
    let jobs = jobs(text, Format::SlurmJson);
    assert_eq!(
        (known(&jobs[0].phase), known(&jobs[0].asked.cards), known(&jobs[0].asked.memory)),
        (Some(JobPhase::OutOfMemory), Some(2), Some(Bytes(32_000 << 20)))
    );
    assert_eq!(
        (&jobs[0].elapsed, known(&jobs[0].user).as_deref()),
        (&Reading::Known(Seconds(120.0)), Some("mia"))
    );
    let limits = r#"{ "qos": [ { "name": "big", "limits": { "max": { "tres": { "total": [], "per": { "user": [ { "type": "gres", "name": "gpu", "count": 4 } ] } } } } } ],
      "meta": { "plugin": { "data_parser": "data_parser/v0.0.40" } } }"#;
    let scene = one(limits, Format::SlurmJson);
    assert_eq!((scene.quotas[0].reach, known(&scene.quotas[0].most.cards)), (QuotaReach::User, Some(4)));
}

#[test]
fn documents_of_others_are_left_alone() {
    for text in
        ["{ \"jobs\": [ { \"id\": 1 } ] }", "{\"gpus\": []}", "{ \"kind\": \"List\", \"items\": [] }", "{"]
    {
        assert!(understand(text).pieces.iter().all(|piece| piece.format != Format::SlurmJson), "{text}");
    }
}
