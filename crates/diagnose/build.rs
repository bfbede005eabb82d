//! Collects the words and pages of every rule, refuses incomplete ones, and makes constructors of the words.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result, ensure};
use gpuwhy_model::text::{Catalogue, Language, TextFile, constructors};

/// The headings of a page, in their order.
const HEADINGS: [(Language, [&str; 7]); 2] = [
    (
        Language::English,
        [
            "What you see",
            "What it means",
            "How we tell",
            "What else looks like this",
            "Safe fix",
            "When not to",
            "References",
        ],
    ),
    (
        Language::SimplifiedChinese,
        ["现象", "含义", "判断依据", "容易混淆的情况", "安全的处理办法", "什么时候不要这样做", "参考"],
    ),
];

/// A folder with words: that of a rule, or that of the engine.
struct Folder {
    path: PathBuf,
    /// Name of the generated file.
    name: String,
    /// What stands before the key in a text's id.
    prefix: String,
}

fn main() -> Result<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(env::var("OUT_DIR")?);
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=build.rs");
    fs::create_dir_all(out.join("text"))?;

    let rules = rule_folders(&root.join("src/rules"))?;
    ensure!(!rules.is_empty(), "no rule folder below `src/rules`");
    let shared = Folder { path: root.join("src"), name: "shared".to_owned(), prefix: "diagnose".to_owned() };

    let mut texts = String::new();
    let mut pages = String::new();
    let mut files = Vec::new();
    for folder in std::iter::once(&shared).chain(&rules) {
        let english = fs::read_to_string(folder.path.join("text.en.toml"))
            .with_context(|| format!("{}: text.en.toml", folder.name))?;
        let source = constructors(&folder.prefix, &english).with_context(|| folder.name.clone())?;
        fs::write(out.join("text").join(format!("{}.rs", folder.name)), source)?;
        for (language, variant) in languages() {
            let path = folder.path.join(format!("text.{}.toml", language.tag()));
            let toml = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            files.push(TextFile { prefix: folder.prefix.clone().leak(), language, toml: toml.leak() });
            writeln!(
                texts,
                "    TextFile {{ prefix: {:?}, language: Language::{variant}, toml: include_str!({:?}) }},",
                folder.prefix,
                path.display().to_string()
            )?;
        }
    }
    for folder in &rules {
        for (language, variant) in languages() {
            let path = folder.path.join(format!("page.{}.md", language.tag()));
            check_page(&path, language, &folder.prefix)?;
            writeln!(
                pages,
                "    Page {{ cause: {:?}, language: Language::{variant}, text: include_str!({:?}) }},",
                folder.prefix,
                path.display().to_string()
            )?;
        }
        ensure!(folder.path.join("cases.md").is_file(), "{}: no cases.md", folder.name);
    }
    Catalogue::join(files).context("the words of the rules")?;
    fs::write(
        out.join("words.rs"),
        format!(
            "/// The words of this crate, in every language.\npub static TEXTS: &[TextFile] = &[\n{texts}];\n\n\
             static PAGES: &[Page] = &[\n{pages}];\n"
        ),
    )?;
    Ok(())
}

/// Returns every language with the name of its variant.
fn languages() -> [(Language, &'static str); 2] {
    [(Language::English, "English"), (Language::SimplifiedChinese, "SimplifiedChinese")]
}

/// Returns the folders `<area>/<cause>` that hold a `mod.rs`, sorted.
fn rule_folders(rules: &Path) -> Result<Vec<Folder>> {
    let mut folders = Vec::new();
    for area in sorted_folders(rules)? {
        for path in sorted_folders(&area)? {
            if !path.join("mod.rs").is_file() {
                continue;
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let prefix = name.replace('_', "-");
            folders.push(Folder { path, name, prefix });
        }
    }
    Ok(folders)
}

fn sorted_folders(path: &Path) -> Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(path).with_context(|| path.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            folders.push(path);
        }
    }
    folders.sort();
    Ok(folders)
}

/// Refuses a page that lacks a heading, has them in another order, or leaves one empty.
fn check_page(path: &Path, language: Language, cause: &str) -> Result<()> {
    let page = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    ensure!(page.starts_with(&format!("# {cause}\n")), "{}: must begin with `# {cause}`", path.display());
    let sections: Vec<(&str, &str)> = page
        .split("\n## ")
        .skip(1)
        .map(|section| section.split_once('\n').unwrap_or((section, "")))
        .collect();
    let (_, wanted) =
        HEADINGS.iter().find(|(of, _)| *of == language).context("a language without headings")?;
    let found: Vec<&str> = sections.iter().map(|(heading, _)| heading.trim()).collect();
    ensure!(found == wanted, "{}: headings must be {wanted:?}, are {found:?}", path.display());
    for (heading, body) in sections {
        ensure!(!body.trim().is_empty(), "{}: nothing under `{heading}`", path.display());
    }
    Ok(())
}
