//! Runs the cases that stand beside every rule: prose with a scene and what must be found in it.

mod expectation;
mod shorthand;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use gpuwhy_diagnose::{REGISTRY, diagnose};
use gpuwhy_model::limits::Limits;

use expectation::Expectation;
use shorthand::SceneFile;

/// One case: a heading, a scene, perhaps limits, and what must be found.
struct Case {
    title: String,
    fences: BTreeMap<String, String>,
}

fn cases(page: &str) -> Vec<Case> {
    page.split("\n## ")
        .skip(1)
        .map(|section| {
            let (title, body) = section.split_once('\n').unwrap_or((section, ""));
            let mut fences = BTreeMap::new();
            for fence in format!("\n{body}").split("\n```").skip(1).step_by(2) {
                let (kind, text) = fence.split_once('\n').unwrap_or((fence, ""));
                fences.insert(kind.trim().to_owned(), text.to_owned());
            }
            Case { title: title.trim().to_owned(), fences }
        })
        .collect()
}

fn run(path: &Path) -> datatest_stable::Result<()> {
    let cases = cases(&format!("\n{}", std::fs::read_to_string(path)?));
    let cause =
        path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().replace('_', "-");
    let rule = REGISTRY
        .iter()
        .find(|rule| rule.cause.id() == cause)
        .ok_or_else(|| format!("no rule of `{cause}` in src/registry.rs"))?;
    let (mut fires, mut is_silent) = (false, false);
    for case in &cases {
        let fence = |kind: &str| case.fences.get(kind).map_or("", String::as_str);
        let failed = |error: &dyn Error| format!("`{}`: {error}", case.title);
        let file: SceneFile = toml::from_str(fence("scene")).map_err(|error| failed(&error))?;
        let scene = file.scene().map_err(|error| failed(&*error))?;
        let changes: toml::Table = toml::from_str(fence("limits")).map_err(|error| failed(&error))?;
        let limits = Limits::with_changes(&changes).map_err(|error| failed(&error))?;
        let verdict = diagnose(&scene, &limits);
        if verdict != diagnose(&scene, &limits) {
            return Err(format!("`{}`: judged twice, two verdicts", case.title).into());
        }
        for finding in verdict.findings.iter().chain(&verdict.candidates) {
            let Some(rule) = REGISTRY.iter().find(|rule| rule.cause == finding.cause) else {
                return Err(format!("{} has no rule", finding.cause).into());
            };
            let mut evidence = finding.evidence.iter().chain(&finding.against);
            if let Some(unnamed) = evidence.find(|one| !rule.needs.signals.contains(&one.signal)) {
                return Err(
                    format!("{} judges by {}, not in its needs", finding.cause, unnamed.signal).into()
                );
            }
        }
        let found = verdict.findings.iter().any(|finding| finding.cause == rule.cause);
        fires |= found;
        is_silent |= !found;
        let expectation = Expectation::parse(fence("findings")).map_err(|error| failed(&*error))?;
        let misses = expectation.misses(&verdict);
        if !misses.is_empty() {
            let seen = expectation::shown(&verdict);
            return Err(format!("`{}`:\n  {}\n--- seen\n{seen}", case.title, misses.join("\n  ")).into());
        }
    }
    if !fires || !is_silent {
        return Err("needs at least one case in which it fires and one in which it is silent".into());
    }
    Ok(())
}

datatest_stable::harness! {
    { test = run, root = "src/rules", pattern = r".*/cases\.md$" },
}
