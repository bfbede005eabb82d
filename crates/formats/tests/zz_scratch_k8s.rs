//! Scratch.
use gpuwhy_formats::text::understand;
#[test]
fn show() {
    let Ok(show) = std::env::var("SHOW") else { return };
    for path in show.split(':') {
        let text = std::fs::read_to_string(path).unwrap();
        let understood = understand(&text);
        println!("=== {path} unknown {:?}", understood.unknown_lines.len());
        for piece in understood.pieces {
            println!("--- {} {}..{} {:?}", piece.format, piece.first_line, piece.last_line, piece.remarks);
            let scene = &piece.scene;
            if std::env::var("JSON").is_ok() {
                for (what, value) in [
                    ("jobs", serde_json::to_value(&scene.jobs).unwrap()),
                    ("nodes", serde_json::to_value(&scene.cluster).unwrap()),
                    ("queues", serde_json::to_value(&scene.queues).unwrap()),
                    ("quotas", serde_json::to_value(&scene.quotas).unwrap()),
                    ("program", serde_json::to_value(&scene.program).unwrap()),
                    ("containers", serde_json::to_value(&scene.machine.containers).unwrap()),
                    ("cgroups", serde_json::to_value(&scene.cgroups).unwrap()),
                    ("runtimes", serde_json::to_value(&scene.machine.container_runtimes).unwrap()),
                    ("library", serde_json::to_value(&scene.machine.driver.library).unwrap()),
                ] {
                    fn strip(v: serde_json::Value) -> serde_json::Value {
                        match v {
                            serde_json::Value::Object(m) => {
                                let m: serde_json::Map<_, _> = m
                                    .into_iter()
                                    .map(|(k, v)| (k, strip(v)))
                                    .filter(|(_, v)| {
                                        !v.is_null()
                                            && *v != serde_json::json!({"failed":"not_in_source"})
                                            && *v != serde_json::json!([])
                                            && *v != serde_json::json!({})
                                            && *v != serde_json::json!("")
                                    })
                                    .collect();
                                if m.len() == 1 && m.contains_key("known") {
                                    m["known"].clone()
                                } else {
                                    m.into()
                                }
                            }
                            serde_json::Value::Array(a) => {
                                a.into_iter().map(strip).collect::<Vec<_>>().into()
                            }
                            o => o,
                        }
                    }
                    let value = strip(value);
                    if value != serde_json::json!([]) && value != serde_json::json!({}) {
                        println!("{what}: {}", serde_json::to_string(&value).unwrap());
                    }
                }
            }
        }
        if std::env::var("UNK").is_ok() {
            for n in understood.unknown_lines.iter().take(10) {
                println!("??? {}", text.lines().nth(*n as usize - 1).unwrap_or(""));
            }
        }
    }
}
