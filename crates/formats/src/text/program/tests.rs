use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::scene::{ErrorClass, LogLine, ProgramFact, Scene, Standing};

use super::read;
use crate::paste::Paste;
use crate::text::{Context, understand};

/// Reads a text that is a log from its first line on; returns the scene and how many lines were taken.
fn taken(text: &str) -> (Scene, usize) {
    let paste = Paste::of(text);
    let block = read(&paste.lines, &Context::default()).unwrap_or_else(|| panic!("no log: {text}"));
    (block.scene, block.lines)
}

fn program(text: &str) -> Vec<LogLine> {
    taken(text).0.program
}

/// Returns the kinds of the errors that ended programs.
fn classes(text: &str) -> Vec<ErrorClass> {
    let of = |line: LogLine| match line.fact {
        Some(ProgramFact::Exception(exception)) if line.standing == Some(Standing::Final) => {
            Some(exception.class)
        }
        _ => None,
    };
    program(text).into_iter().filter_map(of).collect()
}

const MISSING_FILE: &str = r#"Traceback (most recent call last):
  File "/home/ana/missing_file.py", line 7, in <module>
    main()
    ~~~~^^
  File "/home/ana/missing_file.py", line 6, in main
    settings = load("conf/train.json")
  File "/home/ana/missing_file.py", line 3, in load
    with open(path) as handle:
         ~~~~^^^^^^
FileNotFoundError: [Errno 2] No such file or directory: 'conf/train.json'
"#;

/// Printed by a real program under Python 3.11.
const CHAINED: &str = r#"Traceback (most recent call last):
  File "/home/ana/chained.py", line 5, in main
    load()
  File "/home/ana/chained.py", line 2, in load
    open("weights.bin")
FileNotFoundError: [Errno 2] No such file or directory: 'weights.bin'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/home/ana/chained.py", line 8, in <module>
    main()
  File "/home/ana/chained.py", line 7, in main
    raise RuntimeError("cannot start without weights") from error
RuntimeError: cannot start without weights
"#;

#[test]
fn a_traceback_ends_in_one_error() {
    let (scene, lines) = taken(MISSING_FILE);
    assert_eq!(lines, 10);
    assert_eq!(scene.program.len(), 1);
    assert_eq!(
        scene.program[0].text,
        "FileNotFoundError: [Errno 2] No such file or directory: 'conf/train.json'"
    );
    assert_eq!(classes(MISSING_FILE), [ErrorClass::MissingFile]);
}

#[test]
fn of_a_chain_the_last_decides() {
    assert_eq!(classes(CHAINED), [ErrorClass::RuntimeError]);
    assert_eq!(program(CHAINED)[0].standing, Some(Standing::Earlier));
}

/// Each was printed by a real program that was made to fail so, under several versions of Python.
#[test]
fn real_programs_of_every_kind_are_read() {
    let traceback = |end: &str| {
        format!("Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    f()\n{end}\n")
    };
    for (end, class) in [
        ("PermissionError: [Errno 13] Permission denied: '/root/model.bin'", ErrorClass::Permission),
        ("ModuleNotFoundError: No module named 'flash_attention_xyz'", ErrorClass::MissingModule),
        ("ImportError: No module named flash_attention_xyz", ErrorClass::MissingModule),
        (
            "ImportError: cannot import name 'loadz' from 'json' (/x/json/__init__.py). Did you mean: 'load'?",
            ErrorClass::MissingModule,
        ),
        (
            "OSError: libcudart.so.11.0: cannot open shared object file: No such file or directory",
            ErrorClass::MissingModule,
        ),
        ("IOError: [Errno 2] No such file or directory: 'conf/train.json'", ErrorClass::MissingFile),
        ("AssertionError: batch 10 is not a multiple of 4", ErrorClass::Assertion),
        ("AssertionError", ErrorClass::Assertion),
        ("ZeroDivisionError: division by zero", ErrorClass::DivisionByZero),
        ("ZeroDivisionError: integer division or modulo by zero", ErrorClass::DivisionByZero),
        ("RuntimeError: shape of the head does not fit: [8, 5] and [4, 8]", ErrorClass::RuntimeError),
        ("KeyError: 'learning_rate'", ErrorClass::UncaughtException),
        ("StepFailed: step 17 gave no gradient", ErrorClass::UncaughtException),
        ("__main__.StepFailed: step 17 gave no gradient", ErrorClass::UncaughtException),
        ("ValueError: loss is nan at step 0", ErrorClass::NanLoss),
        ("RecursionError: maximum recursion depth exceeded", ErrorClass::UncaughtException),
        (
            "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
            ErrorClass::UncaughtException,
        ),
    ] {
        assert_eq!(classes(&traceback(end)), [class], "{end}");
    }
    for end in ["MemoryError", "OSError: [Errno 12] Cannot allocate memory"] {
        let program = program(&traceback(end));
        let is_memory = matches!(program[0].fact, Some(ProgramFact::OutOfHostMemory { .. }))
            || classes(&traceback(end)) == [ErrorClass::HostMemoryError];
        assert!(is_memory, "{program:?}");
    }
}

#[test]
fn without_header_and_with_a_mark_a_syntax_error_is_read() {
    let text = "  File \"/home/ana/syntax.py\", line 2\n    x = [1, 2\n        ^\nSyntaxError: '[' was never closed\n";
    assert_eq!(classes(text), [ErrorClass::UncaughtException]);
    let text = "    main()\nKeyError: 'rank'\n";
    assert_eq!(understand(text).pieces.len(), 1);
}

#[test]
fn what_only_speaks_of_others_does_not_decide() {
    let text = r#"Traceback (most recent call last):
  File "<string>", line 1, in <module>
ModuleNotFoundError: No module named 'nothing_here'
Traceback (most recent call last):
  File "/home/ana/subproc.py", line 2, in <module>
    subprocess.run([sys.executable, "-c", "import nothing_here"], check=True)
  File "/usr/lib/python3.11/subprocess.py", line 571, in run
    raise CalledProcessError(retcode, process.args,
subprocess.CalledProcessError: Command '['/usr/bin/python', '-c', 'import nothing_here']' returned non-zero exit status 1.
"#;
    assert_eq!(classes(text), [ErrorClass::MissingModule]);
    let ignored = r#"Exception ignored in: <function A.__del__ at 0x7faa8e645bc0>
Traceback (most recent call last):
  File "/home/ana/ignored.py", line 3, in __del__
    raise RuntimeError("closed twice")
RuntimeError: closed twice
Traceback (most recent call last):
  File "/home/ana/ignored.py", line 6, in <module>
    open("late.txt")
FileNotFoundError: [Errno 2] No such file or directory: 'late.txt'
"#;
    assert_eq!(classes(ignored), [ErrorClass::MissingFile]);
}

#[test]
fn groups_and_pools_are_unpacked() {
    let group = r#"  + Exception Group Traceback (most recent call last):
  |   File "/home/ana/group.py", line 1, in <module>
  |     raise ExceptionGroup("two workers failed", [ValueError("bad row 5"), OSError(2, "No such file or directory", "a.tar")])
  | ExceptionGroup: two workers failed (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | ValueError: bad row 5
    +---------------- 2 ----------------
    | FileNotFoundError: [Errno 2] No such file or directory: 'a.tar'
    +------------------------------------
"#;
    assert_eq!(classes(group), [ErrorClass::UncaughtException, ErrorClass::MissingFile]);
    let pool = r#"multiprocessing.pool.RemoteTraceback: 
"""
Traceback (most recent call last):
  File "/usr/lib/python3.11/multiprocessing/pool.py", line 125, in worker
    result = (True, func(*args, **kwds))
                    ^^^^^^^^^^^^^^^^^^^
  File "/home/ana/pool.py", line 3, in work
    return 10 // n
           ~~~^^~~
ZeroDivisionError: integer division or modulo by zero
"""

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/home/ana/pool.py", line 6, in <module>
    pool.map(work, [1, 0])
ZeroDivisionError: integer division or modulo by zero
"#;
    assert_eq!(classes(pool), [ErrorClass::DivisionByZero]);
}

#[test]
fn members_that_write_at_once_are_told_apart() {
    let text = r#"[rank1]: Traceback (most recent call last):
[rank0]: Traceback (most recent call last):
[rank1]:   File "/home/ana/train.py", line 88, in <module>
[rank0]:   File "/home/ana/train.py", line 90, in <module>
[rank1]:     step(batch)
[rank0]:     dist.barrier()
[rank1]: AssertionError: 7 rows of 8
[rank0]:   File "/usr/lib/distributed_c10d.py", line 4159, in barrier
[rank0]:     work = group.barrier(opts=opts)
[rank0]: torch.distributed.DistBackendError: NCCL error in: ../ProcessGroupNCCL.cpp:2027, remote process exited or there was a network error, NCCL version 2.21.5
[rank0]: ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.
"#;
    let program = program(text);
    let of_rank = |rank| program.iter().find(|line| line.rank == Some(rank)).unwrap();
    assert_eq!(of_rank(1).standing, Some(Standing::Final));
    assert_eq!(of_rank(0).standing, Some(Standing::Echo));
    let open_mpi = "[1,0]<stderr>:Traceback (most recent call last):\n[1,0]<stderr>:  File \"a.py\", line 1, in <module>\n\
                    [1,0]<stderr>:KeyError: 'x'\n";
    assert_eq!(classes(open_mpi), [ErrorClass::UncaughtException]);
}

/// Printed by `IPython` 8.12.
#[test]
fn tracebacks_of_notebooks_are_read() {
    let text = r#"---------------------------------------------------------------------------
FileNotFoundError                         Traceback (most recent call last)
Cell In[1], line 1
----> 1 import nb; nb.load("conf.json")

File /home/ana/nb.py:2, in load(path)
      1 def load(path):
----> 2     with open(path) as handle:
      3         return handle.read()

FileNotFoundError: [Errno 2] No such file or directory: 'conf.json'
"#;
    let below = text.split_once('\n').unwrap().1;
    assert_eq!(classes(below), [ErrorClass::MissingFile]);
    assert_eq!(taken(below).1, 10);
    let named = "StepFailed                                Traceback (most recent call last)\nCell In[1], line 1\n\
                 ----> 1 import nb; raise nb.StepFailed(\"no gradient\")\n\nStepFailed: no gradient\n";
    assert_eq!(classes(named), [ErrorClass::UncaughtException]);
    let chain = "KeyError                                  Traceback (most recent call last)\nCell In[1], line 2\n\
                 ----> 2     {}[\"a\"]\n\nKeyError: 'a'\n\nThe above exception was the direct cause of the following \
                 exception:\n\nRuntimeError                              Traceback (most recent call last)\n\
                 Cell In[1], line 4\n----> 4     raise RuntimeError(\"no key\") from e\n\nRuntimeError: no key\n";
    assert_eq!(classes(chain), [ErrorClass::RuntimeError]);
}

#[test]
fn a_loader_hands_its_error_on() {
    let text = r#"Traceback (most recent call last):
  File "/home/ana/train.py", line 30, in <module>
    for batch in loader:
RuntimeError: Caught FileNotFoundError in DataLoader worker process 0.
Original Traceback (most recent call last):
  File "/usr/lib/torch/utils/data/_utils/worker.py", line 309, in _worker_loop
    data = fetcher.fetch(index)
  File "/home/ana/data.py", line 12, in __getitem__
    return open(self.paths[index]).read()
FileNotFoundError: [Errno 2] No such file or directory: '/data/0007.txt'

"#;
    assert_eq!(classes(text), [ErrorClass::MissingFile]);
}

#[test]
fn launchers_say_how_a_member_ended() {
    let text = r#"E1130 20:57:27.620000 2606 site-packages/torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -9) local_rank: 5 (pid: 2630) of binary: /usr/bin/python
Traceback (most recent call last):
  File "/usr/bin/torchrun", line 8, in <module>
    sys.exit(main())
torch.distributed.elastic.multiprocessing.errors.ChildFailedError: 
=====================================================
train.py FAILED
-----------------------------------------------------
Failures:
  <NO_OTHER_FAILURES>
-----------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-30_15:43:03
  host      : node7
  rank      : 5 (local_rank: 5)
  exitcode  : -9 (pid: 2630)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 2630
=====================================================
"#;
    let (scene, lines) = taken(text);
    assert_eq!(lines, 20);
    for line in &scene.program {
        let Some(ProgramFact::ProcessEnd(end)) = &line.fact else { panic!("{line:?}") };
        assert_eq!((end.signal, end.pid.map(|pid| pid.0)), (Some(9), Some(2630)));
        assert_eq!(line.standing, Some(Standing::Final));
    }
}

#[test]
fn wrapped_messages_are_read_as_one() {
    let text = "ValueError: Free memory on device cuda:0 (10.50/40.00 GiB) on startup is less\nthan desired GPU memory \
                utilization (0.9, 36.00 GiB). Decrease GPU memory\nutilization or reduce GPU memory used by other \
                processes.\n";
    let (scene, lines) = taken(text);
    assert_eq!(lines, 3);
    let Some(ProgramFact::ServerMemory(memory)) = &scene.program[0].fact else { panic!("{scene:?}") };
    assert_eq!(memory.wanted.map(|bytes| bytes.0), Some(36 << 30));
    let text = "UserWarning: This DataLoader will create 6 worker\nprocesses in total. Our suggested max number of worker \
                in\ncurrent system is 3, which is smaller\n";
    let Some(ProgramFact::TooManyWorkers(workers)) = &program(text)[0].fact else { panic!("{text}") };
    assert_eq!((workers.wanted, workers.suggested), (6, 3));
}

#[test]
fn a_program_that_goes_on_has_handled_its_error() {
    let text = format!("{MISSING_FILE}iteration 12/ 99 | elapsed time per iteration (ms): 25.5 |\n");
    assert_eq!(program(&text)[0].standing, Some(Standing::Handled));
}

#[test]
fn a_log_that_goes_on_calmly_has_handled_its_error() {
    let after = |lines: &str| {
        program(&format!("2026-11-30 20:07:55,932 ERROR trainer: no shard\n{MISSING_FILE}{lines}"))
    };
    let calm = "2026-11-30 20:07:56,100 INFO trainer: next shard\n2026-11-30 20:07:57,100 INFO trainer: epoch 2\n\
                2026-11-30 20:07:58,100 INFO trainer: epoch 3\n";
    assert_eq!(after(calm)[0].standing, Some(Standing::Handled));
    let taken_down = "2026-11-30 20:07:56,100 INFO trainer: shutting down\n2026-11-30 20:07:57,100 INFO trainer: closing \
                      the queue\n2026-11-30 20:07:58,100 INFO trainer: exit\n";
    assert_eq!(after(taken_down)[0].standing, Some(Standing::Final));
}

#[test]
fn a_code_of_the_library_is_the_machines() {
    let (scene, _) =
        taken("pynvml.NVMLError_LibRmVersionMismatch: RM has detected an NVML/RM version mismatch.\n");
    assert_eq!(
        scene.machine.driver.library,
        Reading::Failed(Failure::Nvml { call: "nvmlInit_v2".to_owned(), code: 18 })
    );
}

#[test]
fn summaries_of_allocators_are_read() {
    let text = "|===========================================================================|\n\
                |                  PyTorch CUDA memory summary, device ID 1                 |\n\
                |---------------------------------------------------------------------------|\n\
                |            CUDA OOMs: 2            |        cudaMalloc retries: 2         |\n\
                |===========================================================================|\n\
                |        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n\
                |---------------------------------------------------------------------------|\n\
                | Allocated memory      |    1000 MB |    4877 MB |   89299 MB |   88237 MB |\n\
                |       from large pool |     990 MB |    4865 MB |   89263 MB |   88215 MB |\n\
                | GPU reserved memory   |    9000 MB |   12420 MB |   16924 MB |    4504 MB |\n";
    let (scene, lines) = taken(text);
    assert_eq!(lines, 10);
    let Some(ProgramFact::AllocatorState(state)) = &scene.program[0].fact else { panic!("{scene:?}") };
    let mebibytes = |bytes: Option<gpuwhy_model::units::Bytes>| bytes.map(|bytes| bytes.0 >> 20);
    assert_eq!((state.card, state.failures), (Some(1), Some(2)));
    assert_eq!((mebibytes(state.allocated), mebibytes(state.reserved)), (Some(1000), Some(9000)));
    let text = "Limit:                 10952015872\nInUse:                 10866223360\nMaxInUse:              10866223360\n\
                NumAllocs:                    5128\nMaxAllocSize:           3221225472\n";
    assert_eq!(taken(text).1, 5);
}

#[test]
fn secrets_in_a_log_are_masked() {
    let text = "ValueError: cannot log in with token=hf_abcdefghij0123456789ABCD\n";
    assert!(!program(text)[0].text.contains("hf_abcdef"), "{:?}", program(text));
}

#[test]
fn other_text_is_left_alone() {
    for text in [
        "Hello, my training is slow. Any idea?",
        "+-----------------------------------------+",
        "| GPU  Name  Persistence-M |",
        "  PID TTY          TIME CMD",
        "[12345.678] NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.",
        "$ python train.py",
        "total        used        free",
        "2026/08/10 19:09:42 XidCriticalError: Xid=69 on Device=GPU-0, the device will go unhealthy.",
        "CreateContainerConfigError: secret not found",
    ] {
        let paste = Paste::of(text);
        assert!(read(&paste.lines, &Context::default()).is_none(), "{text}");
    }
}
