//! Learns the names in a scene by its written form: what a field is called says what it names, in every section.

use serde_json::Value;

use super::Redactor;
use super::kind::Kind;
use crate::scene::Scene;

/// Learns every name that a field of a scene holds.
pub(super) fn learn(redactor: &mut Redactor, scene: &Scene) {
    // A scene that could not be written would have no answer either.
    let Ok(written) = serde_json::to_value(scene) else {
        return;
    };
    let Value::Object(sections) = written else {
        return;
    };
    for (section, value) in &sections {
        walk(redactor, section, section, value);
    }
}

fn walk(redactor: &mut Redactor, section: &str, field: &str, value: &Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                // A reading stands for its value.
                let field = if name == "known" { field } else { name };
                walk(redactor, section, field, value);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| walk(redactor, section, field, value)),
        Value::String(text) => {
            if let Some(kind) = kind(section, field) {
                let lower = text.to_ascii_lowercase();
                redactor.learn(kind, if kind == Kind::Uuid { &lower } else { text });
            }
        }
        _ => {}
    }
}

/// Returns what a field of a section names.
fn kind(section: &str, field: &str) -> Option<Kind> {
    let field = field.to_ascii_lowercase();
    let ends = |ends: &[&str]| ends.iter().any(|end| field == *end || field.ends_with(&format!("_{end}")));
    Some(match (section, field.as_str()) {
        ("jobs", "name") => Kind::Job,
        ("cluster", "name") => Kind::Host,
        // What a container is told by, not its name.
        ("machine", "container") => return None,
        _ if ends(&["user", "users", "username", "reason_by"]) => Kind::User,
        _ if ends(&["hostname", "host", "hosts", "node", "nodes", "nodename", "nodelist", "node_list"]) => {
            Kind::Host
        }
        _ if ends(&["uuid", "uuids"]) => Kind::Uuid,
        _ if ends(&["serial", "serials", "serial_number"]) => Kind::Serial,
        _ if ends(&["job", "jobs", "job_name", "jobname", "workload_name"]) => Kind::Job,
        _ if ends(&["container", "container_name"]) => Kind::Container,
        _ if ends(&["pod", "pod_name"]) => Kind::Pod,
        _ if ends(&["unit"]) => Kind::Unit,
        _ if ends(&["account", "accounts"]) => Kind::Account,
        _ if ends(&["namespace"]) => Kind::Namespace,
        _ if ends(&["notebook", "executable"]) => Kind::Path,
        _ => return None,
    })
}
