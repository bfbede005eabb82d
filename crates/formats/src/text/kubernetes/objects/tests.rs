use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{JobPhase, LimitHit, NodeCondition, PluginEvent, ProgramFact, QuotaHolder, Scene};
use gpuwhy_model::units::Bytes;

use crate::text::understand;

fn scene(text: &str) -> Scene {
    let mut understood = understand(text);
    assert_eq!(understood.unknown_lines, [0; 0], "{text}");
    assert_eq!(understood.pieces.len(), 1, "{:?}", understood.pieces);
    understood.pieces.remove(0).scene
}

const LIST: &str = "\
apiVersion: v1
items:
- apiVersion: v1
  kind: Pod
  metadata:
    creationTimestamp: \"2026-11-30T09:00:00Z\"
    labels:
      kueue.x-k8s.io/queue-name: research
    name: bert-0
    namespace: ml
  spec:
    containers:
    - args:
      - train.py
      - --token=abcdefgh12345678abcdefgh
      command:
      - python
      image: registry.local/bert:2
      name: main
      resources:
        limits:
          memory: 32Gi
          nvidia.com/gpu: \"4\"
        requests:
          cpu: 500m
          memory: 32Gi
          nvidia.com/gpu: \"4\"
      volumeMounts:
      - mountPath: /dev/shm
        name: dshm
    nodeSelector:
      gpu: a100
    priority: 10
    volumes:
    - emptyDir:
        medium: Memory
        sizeLimit: 8Gi
      name: dshm
  status:
    conditions:
    - lastProbeTime: null
      message: '0/6 nodes are available: 2 Insufficient nvidia.com/gpu, 4 node(s)
        didn''t match Pod''s node affinity/selector. preemption: 0/6 nodes are available:
        2 No preemption victims found for incoming pod, 4 Preemption is not helpful
        for scheduling.'
      reason: Unschedulable
      status: \"False\"
      type: PodScheduled
    phase: Pending
    qosClass: Burstable
- apiVersion: v1
  kind: Pod
  metadata:
    name: old-0
    namespace: ml
  spec:
    containers:
    - image: x
      name: main
      resources: {}
    nodeName: gpu-01
  status:
    containerStatuses:
    - lastState:
        terminated:
          exitCode: 137
          finishedAt: \"2026-11-30T08:00:00Z\"
          reason: OOMKilled
      name: main
      ready: true
      restartCount: 2
      state:
        running:
          startedAt: \"2026-11-30T08:00:05Z\"
    phase: Running
kind: List
metadata:
  resourceVersion: \"\"
";

#[test]
fn pods_in_a_list() {
    let scene = scene(LIST);
    let waiting = &scene.jobs[0];
    assert_eq!((waiting.id.as_str(), &waiting.phase), ("ml/bert-0", &Reading::Known(JobPhase::Waiting)));
    assert_eq!((&waiting.asked.cards, &waiting.nodes_tried), (&Reading::Known(4), &Reading::Known(6)));
    assert_eq!(waiting.queues, ["research"]);
    assert_eq!(waiting.constraint, Reading::Known("gpu=a100".to_owned()));
    let reasons: Vec<(Option<u64>, &str)> =
        waiting.reasons.iter().map(|reason| (reason.nodes, reason.word.as_str())).collect();
    assert_eq!(
        reasons,
        [
            (Some(2), "Insufficient nvidia.com/gpu"),
            (Some(4), "node(s) didn't match Pod's node affinity/selector")
        ]
    );
    assert_eq!(waiting.preemption[1].word, "Preemption is not helpful for scheduling");
    assert_eq!(waiting.containers[0].shared_memory, Reading::Known(Bytes(8 << 30)));
    assert!(!format!("{waiting:?}").contains("abcdefgh12345678"), "secrets are masked");
    let running = &scene.jobs[1];
    assert_eq!(
        (&running.phase, &running.asked.cards),
        (&Reading::Known(JobPhase::Running), &Reading::Known(0))
    );
    assert!(running.containers[0].ends[0].for_memory);
    assert_eq!(scene.program.len(), 1);
    assert_eq!(scene.program[0].fact, Some(ProgramFact::LimitHit(LimitHit::Memory)));
}

#[test]
fn the_same_as_json_whole_and_cut() {
    let json = r#"{
    "apiVersion": "v1",
    "items": [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "gpu-01", "labels": {"nvidia.com/gpu.count": "8", "nvidia.com/gpu.present": "true"}},
            "spec": {"taints": [{"effect": "NoSchedule", "key": "node.kubernetes.io/unreachable"}]},
            "status": {
                "allocatable": {"cpu": "95", "nvidia.com/gpu": "0"},
                "capacity": {"cpu": "96", "nvidia.com/gpu": "8"},
                "conditions": [
                    {"message": "Kubelet stopped posting node status.", "status": "Unknown", "type": "Ready"}
                ]
            }
        }
    ],
    "kind": "List"
}"#;
    let node = &scene(json).cluster[0];
    assert_eq!((&node.built_in.cards, &node.has.cards), (&Reading::Known(8), &Reading::Known(0)));
    assert_eq!(node.conditions, Reading::Known(vec![NodeCondition::Tainted, NodeCondition::NotResponding]));
    assert_eq!(node.reason, Reading::Known("Kubelet stopped posting node status.".to_owned()));
    let cut = &scene(&json[..json.find("\"conditions\"").unwrap()]).cluster[0];
    assert_eq!((&cut.has.cards, cut.conditions.is_known()), (&Reading::Known(0), true), "its taint is known");
    let part = "\"allocatable\": {\n  \"cpu\": \"8\",\n  \"nvidia.com/gpu\": \"1\"\n},\n\"capacity\": {\n  \"nvidia.com/gpu\": \"2\"\n},\n";
    assert_eq!(scene(part).cluster[0].built_in.cards, Reading::Known(2));
}

#[test]
fn several_documents_and_parts() {
    let documents = "\
apiVersion: v1
kind: ResourceQuota
metadata:
  name: gpus
  namespace: ml
status:
  hard:
    requests.nvidia.com/gpu: \"8\"
  used:
    requests.nvidia.com/gpu: \"8\"
---
apiVersion: v1
kind: Event
involvedObject:
  kind: Pod
  name: x-0
  namespace: ml
lastTimestamp: \"2026-11-30T09:00:00Z\"
message: 'Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. Requested: 1, Available: 0, which is unexpected'
reason: UnexpectedAdmissionError
type: Warning
";
    let both = scene(documents);
    assert_eq!((both.quotas[0].holder, both.quotas[0].name.as_str()), (QuotaHolder::Namespace, "ml/gpus"));
    assert_eq!(both.jobs[0].phase, Reading::Known(JobPhase::Refused));
    assert!(
        matches!(&both.program[0].fact, Some(ProgramFact::Plugin(report)) if report.event == PluginEvent::TooFew)
    );
    let part = scene(
        "lastState:\n  terminated:\n    exitCode: 137\n    reason: OOMKilled\nname: main\nrestartCount: 3\n",
    );
    assert!(part.jobs[0].containers[0].ends[0].for_memory);
    let asked = scene("resources:\n  limits:\n    nvidia.com/gpu: 2\n");
    assert_eq!(asked.jobs[0].asked.cards, Reading::Known(2));
}

#[test]
fn workloads_and_queues_of_kueue() {
    let workload = |conditions: &str| {
        format!(
            "apiVersion: kueue.x-k8s.io/v1beta1\nkind: Workload\nmetadata:\n  name: job-a\n  namespace: ml\nspec:\n  active: true\n  podSets:\n  - \
             count: 2\n    name: main\n    template:\n      spec:\n        containers:\n        - name: m\n          resources:\n            \
             requests:\n              nvidia.com/gpu: \"8\"\n  queueName: research\nstatus:\n  conditions:\n{conditions}"
        )
    };
    let waiting = scene(&workload(
        "  - message: The workload requires more than the queue can ever give\n    reason: ExceedsMaxQuota\n    status: \"False\"\n    type: QuotaReserved\n",
    ));
    let job = &waiting.jobs[0];
    assert_eq!((&job.phase, &job.asked.cards), (&Reading::Known(JobPhase::Waiting), &Reading::Known(16)));
    assert_eq!(job.reasons[0].word, "ExceedsMaxQuota");
    let admitted = scene(&workload(
        "  - reason: QuotaReserved\n    status: \"True\"\n    type: QuotaReserved\n  - reason: Admitted\n    status: \"True\"\n    type: Admitted\n",
    ));
    assert_eq!(admitted.jobs[0].phase, Reading::Known(JobPhase::Running));
    let evicted = scene(&workload(
        "  - message: Preempted to accommodate a higher priority Workload\n    reason: Preempted\n    status: \"True\"\n    type: Evicted\n",
    ));
    assert_eq!(evicted.jobs[0].phase, Reading::Known(JobPhase::Preempted));
    let queue = scene(
        "apiVersion: kueue.x-k8s.io/v1beta1\nkind: ClusterQueue\nmetadata:\n  name: all\nspec:\n  resourceGroups:\n  - coveredResources:\n    - \
         nvidia.com/gpu\n    flavors:\n    - name: a100\n      resources:\n      - name: nvidia.com/gpu\n        nominalQuota: 16\n    - name: t4\n      \
         resources:\n      - name: nvidia.com/gpu\n        nominalQuota: \"4\"\nstatus:\n  conditions:\n  - reason: Ready\n    status: \"True\"\n    type: \
         Active\n  flavorsUsage:\n  - name: a100\n    resources:\n    - name: nvidia.com/gpu\n      total: \"16\"\n",
    );
    assert_eq!(
        (&queue.queues[0].is_open, &queue.quotas[0].most.cards),
        (&Reading::Known(true), &Reading::Known(20))
    );
    assert_eq!(queue.quotas[0].used.cards, Reading::Known(16));
}

#[test]
fn other_objects_are_recognised_and_other_texts_are_not() {
    let deployment =
        scene("apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: x\nspec:\n  replicas: 1\n");
    assert!(deployment.jobs.is_empty());
    for text in [
        "version: '3'\nservices:\n  a:\n    image: x\n",
        "message: hello\n",
        "status: ok\n",
        "{\n  \"a\": 1\n}\n",
        "spec: see below\nand more: text\n",
    ] {
        assert!(understand(text).pieces.is_empty(), "{text}");
    }
}
