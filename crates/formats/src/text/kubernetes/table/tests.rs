use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{JobPhase, NodeCondition, Scene};
use gpuwhy_model::units::Percent;

use crate::text::{Remark, understand};

/// Reads a text that must be one output and nothing else.
fn scene(text: &str) -> Scene {
    let mut understood = understand(text);
    assert_eq!(understood.unknown_lines, [0; 0], "{text}");
    assert_eq!(understood.pieces.len(), 1, "{:?}", understood.pieces);
    understood.pieces.remove(0).scene
}

fn jobs(scene: &Scene) -> Vec<(&str, Option<JobPhase>, &str)> {
    scene
        .jobs
        .iter()
        .map(|job| {
            (job.id.as_str(), job.phase.known().copied(), job.nodes.first().map_or("", String::as_str))
        })
        .collect()
}

#[test]
fn pods_wide_and_of_all_namespaces() {
    let scene = scene(
        "NAMESPACE   NAME             READY   STATUS             RESTARTS        AGE    IP           NODE     NOMINATED NODE   READINESS GATES\n\
         ml          trainer-0        1/1     Running            0               3d2h   10.0.0.7     gpu-01   <none>           <none>\n\
         ml          trainer-1        0/1     Pending            0               96m    <none>       <none>   <none>           <none>\n\
         serve       chat-6d5f-x2x9   0/1     CrashLoopBackOff   17 (3m2s ago)   75m    10.0.0.9     gpu-02   <none>           <none>\n\
         serve       embed-77b-k8z    0/1     OOMKilled          2 (20s ago)     5m     10.0.0.11    gpu-02   <none>           <none>\n",
    );
    assert_eq!(
        jobs(&scene),
        [
            ("ml/trainer-0", Some(JobPhase::Running), "gpu-01"),
            ("ml/trainer-1", Some(JobPhase::Waiting), ""),
            ("serve/chat-6d5f-x2x9", Some(JobPhase::Failed), "gpu-02"),
            ("serve/embed-77b-k8z", Some(JobPhase::OutOfMemory), "gpu-02"),
        ]
    );
    assert_eq!(scene.jobs[0].elapsed.known().map(|time| time.0), Some(266_400.0));
    assert!(scene.jobs[1].elapsed.is_not_in_source(), "it does not run");
    assert_eq!(scene.program.len(), 1, "one was ended for want of memory");
}

#[test]
fn pods_in_a_paste_that_lost_its_blanks_or_its_head() {
    let squeezed =
        scene("NAME READY STATUS RESTARTS AGE\na-0 1/1 Running 3 (5m ago) 2d\na-1 0/1 Pending 0 4m\n");
    assert_eq!(jobs(&squeezed), [("a-0", Some(JobPhase::Running), ""), ("a-1", Some(JobPhase::Waiting), "")]);
    let headless = scene("ml   a-0   1/1   Running   0   2d\nml   a-1   0/1   ContainerCreating   0   9s\n");
    assert_eq!(
        jobs(&headless),
        [("ml/a-0", Some(JobPhase::Running), ""), ("ml/a-1", Some(JobPhase::Starting), "")]
    );
    let understood = understand("ml   a-0   1/1   Running   0   2d\n");
    assert_eq!(understood.pieces[0].remarks, [Remark::HasNoBegin { line: 1 }]);
}

#[test]
fn nodes() {
    let scene = scene(
        "NAME     STATUS                     ROLES           AGE    VERSION\n\
         cp-1     Ready                      control-plane   400d   v1.31.4\n\
         gpu-01   Ready,SchedulingDisabled   <none>          90d    v1.31.4\n\
         gpu-02   NotReady                   worker          90d    v1.31.4\n",
    );
    let found: Vec<(&str, Vec<NodeCondition>)> = scene
        .cluster
        .iter()
        .map(|node| (node.name.as_str(), node.conditions.known().cloned().unwrap_or_default()))
        .collect();
    assert_eq!(
        found,
        [("cp-1", vec![]), ("gpu-01", vec![NodeCondition::Drained]), ("gpu-02", vec![NodeCondition::Down])]
    );
}

#[test]
fn events_of_a_pod_that_was_placed_later_do_not_say_that_it_waits() {
    let scene = scene(
        "LAST SEEN   TYPE      REASON             OBJECT          MESSAGE\n\
         2m          Normal    Scheduled          pod/trainer-0   Successfully assigned ml/trainer-0 to gpu-03\n\
         7m          Warning   FailedScheduling   pod/trainer-0   0/9 nodes are available: 9 Insufficient nvidia.com/gpu. preemption: 0/9 nodes are available: 9 No preemption victims found for incoming pod.\n\
         30s         Warning   FailedScheduling   pod/trainer-1   0/9 nodes are available: 5 Insufficient nvidia.com/gpu, 4 node(s) had untolerated taint {node.kubernetes.io/unschedulable: }.\n",
    );
    assert_eq!(
        jobs(&scene),
        [("trainer-0", Some(JobPhase::Starting), "gpu-03"), ("trainer-1", Some(JobPhase::Waiting), "")]
    );
    assert!(scene.jobs[0].reasons.is_empty());
    let reasons: Vec<(Option<u64>, &str)> =
        scene.jobs[1].reasons.iter().map(|reason| (reason.nodes, reason.word.as_str())).collect();
    assert_eq!(
        reasons,
        [
            (Some(5), "Insufficient nvidia.com/gpu"),
            (Some(4), "node(s) had untolerated taint {node.kubernetes.io/unschedulable: }")
        ]
    );
    assert_eq!(scene.jobs[1].nodes_tried, Reading::Known(9));
}

#[test]
fn events_of_old_and_wide_forms() {
    let old = scene(
        "LASTSEEN   FIRSTSEEN   COUNT     NAME                       KIND      SUBOBJECT   TYPE      REASON             SOURCE              MESSAGE\n\
         9m         2h          40        bert.15a8d4c5f0e1b2c3      Pod                   Warning   FailedScheduling   default-scheduler   0/3 nodes are available: 3 Insufficient nvidia.com/gpu.\n",
    );
    assert_eq!(jobs(&old), [("bert", Some(JobPhase::Waiting), "")]);
    let wide = scene(
        "NAMESPACE   LAST SEEN   TYPE      REASON         OBJECT           SUBOBJECT   SOURCE                  MESSAGE                                                                                       FIRST SEEN   COUNT   NAME\n\
         ml          3m          Warning   FailedCreate   job/bert         <none>      job-controller          Error creating: pods \"bert-x\" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=4, used: requests.nvidia.com/gpu=6, limited: requests.nvidia.com/gpu=8   9m           5       bert.17\n",
    );
    assert_eq!(jobs(&wide), [("ml/bert", Some(JobPhase::Refused), "")]);
    let quota = &wide.quotas[0];
    assert_eq!(
        (quota.name.as_str(), &quota.most.cards, &quota.used.cards),
        ("ml/gpus", &Reading::Known(8), &Reading::Known(6))
    );
    assert_eq!(wide.jobs[0].asked.cards, Reading::Known(4));
}

#[test]
fn workloads_queues_and_quotas() {
    let workloads = scene(
        "NAMESPACE   NAME              QUEUE      RESERVED IN   ADMITTED   FINISHED   AGE\n\
         ml          job-bert-1a2b3    research   cluster-q     True                  2h\n\
         ml          job-gpt-9f8e7     research                                       40m\n\
         ml          job-old-11111     research   cluster-q     True       True       3d\n",
    );
    assert_eq!(
        jobs(&workloads).into_iter().map(|(_, phase, _)| phase).collect::<Vec<_>>(),
        [Some(JobPhase::Running), Some(JobPhase::Waiting), Some(JobPhase::Completed)]
    );
    assert_eq!(workloads.jobs[1].queues, ["research"]);
    let queues = scene(
        "NAME        COHORT   STRATEGY         PENDING WORKLOADS   ADMITTED WORKLOADS\ncluster-q   all      BestEffortFIFO   7                   3\n",
    );
    assert_eq!(queues.queues[0].name, "cluster-q");
    let quotas = scene(
        "NAME   AGE   REQUEST                                                     LIMIT\n\
         gpus   90d   requests.cpu: 40/100, requests.nvidia.com/gpu: 8/8          limits.memory: 1Gi/2Gi\n",
    );
    assert_eq!(
        (&quotas.quotas[0].most.cards, &quotas.quotas[0].used.cards),
        (&Reading::Known(8), &Reading::Known(8))
    );
    assert_eq!(quotas.quotas[0].most.cpus.known().map(|cores| cores.0), Some(100.0));
}

#[test]
fn columns_that_somebody_chose() {
    let nodes = scene(
        "$ kubectl get nodes -o custom-columns=NAME:.metadata.name,GPU:.status.allocatable.nvidia\\.com/gpu\n\
         NAME     GPU\ncp-1     <none>\ngpu-01   8\ngpu-02   0\n",
    );
    let cards: Vec<&Reading<u64>> = nodes.cluster.iter().map(|node| &node.has.cards).collect();
    assert_eq!(cards, [&Reading::Unsupported, &Reading::Known(8), &Reading::Known(0)]);
    let both = scene("NODE     CAPACITY   ALLOCATABLE   ALLOCATED\ngpu-01   8          6             6\n");
    let node = &both.cluster[0];
    assert_eq!(
        (&node.built_in.cards, &node.has.cards, &node.given.cards),
        (&Reading::Known(8), &Reading::Known(6), &Reading::Known(6))
    );
    let pods = scene(
        "NAMESPACE   NAME    NODE     GPU\nml          a-0     gpu-01   4\nml          a-1     <none>   2\n",
    );
    assert_eq!(
        pods.jobs.iter().map(|job| job.asked.cards.known().copied()).collect::<Vec<_>>(),
        [Some(4), Some(2)]
    );
    let list = scene(
        "pod,phase,gpu_count,gpu_util_pct,gpu_processes,age\nnb-1,Running,2,0,0,5 d\nnb-2,Pending,1,,,12 min\n",
    );
    let job = &list.jobs[0];
    assert_eq!((&job.given.cards, &job.usage.gpu_busy), (&Reading::Known(2), &Reading::Known(Percent(0.0))));
    assert_eq!(job.usage.gpu_processes, Reading::Known(0));
    assert!(list.jobs[1].usage.gpu_busy.is_not_in_source());
}

#[test]
fn tables_of_others_are_left_alone() {
    for text in [
        "NAME  SIZE\na  5\n",
        "name,value\na,5\n",
        "USER PID %CPU COMMAND\nroot 1 0.0 init\n",
        "NAME   TYPE   CLUSTER-IP   EXTERNAL-IP   PORT(S)   AGE\nx   ClusterIP   10.0.0.1   <none>   443/TCP   5d\n",
        "Epoch 1/1 Running 5 things",
        "count,util\n1,2\n",
    ] {
        assert!(
            understand(text)
                .pieces
                .iter()
                .all(|piece| piece.scene.jobs.is_empty() && piece.scene.cluster.is_empty()),
            "{text}"
        );
    }
}
