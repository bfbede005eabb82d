//! Secrets in every form that people write them, and words that must stay readable.

use super::{CommandLine, masked_text};

fn line(arguments: &[&str]) -> String {
    CommandLine::masked(arguments).line()
}

#[test]
fn secrets_are_masked() {
    for (arguments, shown) in [
        (&["python", "train.py", "--api-key=abc"][..], "python train.py --api-key=***"),
        (&["run", "--token", "abc", "--lr", "3"], "run --token *** --lr 3"),
        (&["env", "HF_TOKEN=hf_aB3dE5gH7jK9mN1pQ3"], "env HF_TOKEN=***"),
        (&["psql", "postgres://bob:hunter2@db/x"], "psql postgres://***@db/x"),
        (&["x", "bob:hunter2@db:5432/x"], "x bob:***@db:5432/x"),
        (&["x", "sk-proj-4f9Gk2Lm8Qr1Tz6Wv3Xy"], "x ***"),
        (&["x", "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"], "x ***"),
        (&["x", "--seedphrase=AKIA4f9gk2lm8qr1tz6w"], "x --seedphrase=***"),
        (&["wget", "https://h.example/a?sig=1&key=s3"], "wget https://h.example/a?sig=***&key=***"),
        (&["open", "http://h/#access_token=x"], "open http://h/#access_token=***"),
        (&["sh", "-c", "export WANDB_API_KEY=77aa; go"], "sh -c export WANDB_API_KEY=***; go"),
        (&["docker", "--env=WANDB_API_KEY:x"], "docker --env=WANDB_API_KEY:***"),
        (
            &["notify", "https://hooks.example/services/T0/B0/a8Kd02mZp4Wq9Lr7Xc1v"],
            "notify https://hooks.example/services/T0/B0/***",
        ),
        (&["tool", "-password", "x"], "tool -password ***"),
        (&["mysql", "-psecret", "-u", "bob"], "mysql -p*** -u bob"),
        (&["sshpass", "-p", "secret", "ssh", "h"], "sshpass -p *** ssh h"),
        (&["/usr/bin/curl", "-u", "bob:secret", "h"], "/usr/bin/curl -u *** h"),
        (&["x", "--pass", "abc", "--secret-key-base", "abc"], "x --pass *** --secret-key-base ***"),
        (&["x", "wJalrXUtnF3MI/K7MDENG/bPxRfiCYEXAMPLEK1Y"], "x ***"),
        (&["x", "dGhpc2lzYXNlY3JldDEyMzQ1Njc4OTA="], "x ***"),
        (&["curl", "-H", "Authorization: Bearer abc.def"], "curl -H Authorization: Bearer ***"),
        (&["curl -H \"Authorization: Basic dXNlcjpwYXNz\" u"], "curl -H \"Authorization: Basic ***\" u"),
        (&["x", "Bearer abc.def"], "x Bearer ***"),
        (&["x", "{\"password\": \"hunter2\", \"n\": 3}"], "x {\"password\": \"***\", \"n\": 3}"),
        (&["x", "{\\\"api_key\\\":\\\"x1\\\"}"], "x {\\\"api_key\\\":\\\"***\"}"),
        (&["python", "-c", "login(token='x', n=3)"], "python -c login(token='***', n=3)"),
        (
            &["python", "-c", "os.environ[\"OPENAI_API_KEY\"] = \"x\"; main()"],
            "python -c os.environ[\"OPENAI_API_KEY\"] = \"***\"; main()",
        ),
        (&["x", "dbPassword=a b"], "x dbPassword=*** b"),
    ] {
        assert_eq!(line(arguments), shown);
    }
}

#[test]
fn a_web_token_is_masked_in_all_its_parts() {
    let token = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4ifQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c";
    let shown = line(&["run", token]);
    assert!(!token.split('.').any(|part| shown.contains(part)), "{shown}");
}

#[test]
fn ordinary_arguments_stay_readable() {
    for arguments in [
        &["python", "train.py", "--model", "resnet50-imagenet-run-12", "--workers", "12"][..],
        &["python", "/home/alice/projects/vision2024/train_v3.py", "--data", "/data/imagenet1k/train"],
        &["vllm", "serve", "meta-llama/Llama-3.1-70B-Instruct", "--tensor-parallel-size", "4"],
        &["x", "GPU-8f6a1c3e-1111-2222-3333-444455556666"],
        &["y", "123e4567-e89b-12d3-a456-426614174000"],
        &["z", &"0123456789abcdef".repeat(4)],
        &["--out", "outputs/exp3b2/checkpoint", "/mnt/Data2024/Run7b3/a1b2c3d4"],
        &["--monkey", "banana", "--keyframes", "12", "--max-tokens", "512", "--primary-key", "id"],
        &["python", "-m", "torch.distributed.run", "--nproc_per_node=8"],
        &["--rdzv_endpoint=node-017.cluster.local:29500"],
        &["--class", "LlamaForQuestionAnsweringWithPastKeyValues", "AutoModelForSequenceClassification"],
        &["rsync", "alice@node:/data", "registry.example/app:v1@sha256:abc"],
        &["python", "-p", "8080", "-u", "train.py", "author=bob", "--tokenizer", "llama"],
    ] {
        assert_eq!(line(arguments), arguments.join(" "));
    }
}

#[test]
fn masking_twice_changes_nothing() {
    for text in [
        "a --token b",
        "postgres://u:p@h/d?password=1",
        "Authorization: Bearer q",
        "Authorization: Basic q",
        "{\"secret\": \"a b\"} x:y@h",
        "mysql -pabc",
    ] {
        assert_eq!(masked_text(&masked_text(text)), masked_text(text));
    }
}

#[test]
fn control_characters_cannot_reach_a_terminal() {
    assert_eq!(line(&["a\u{1b}[31m", "b\nc"]), "a\\u{1b}[31m b\\nc");
}

#[test]
fn reading_back_masks() {
    let read: CommandLine = serde_json::from_str(r#"["x","--password=abc"]"#).unwrap();
    assert_eq!(read.line(), "x --password=***");
}
