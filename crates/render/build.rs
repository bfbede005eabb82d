//! Checks the words in `text/` in every language and makes Rust functions of them.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use gpuwhy_model::text::{Catalogue, Language, TextFile, constructors};

/// Files whose texts are asked for by a closed list's id, not by a function.
const BY_ID: &[&str] = &["cause", "reader", "signal", "state"];

/// Files whose functions the binary calls too.
const PUBLIC: &[&str] = &["input", "message"];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("text");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    let mut list = String::new();
    let mut modules = String::new();
    for prefix in prefixes(&folder)? {
        let prefix: &'static str = prefix.leak();
        for language in Language::ALL {
            let path = folder.join(format!("{prefix}.{}.toml", language.tag()));
            let toml: &'static str = fs::read_to_string(&path)
                .map_err(|error| format!("cannot read `{}`: {error}", path.display()))?
                .leak();
            files.push(TextFile { prefix, language: *language, toml });
            let place = path.to_str().ok_or("the path of the checkout is not UTF-8")?;
            writeln!(
                list,
                "    TextFile {{ prefix: {prefix:?}, language: Language::{language:?}, toml: include_str!({place:?}) }},"
            )?;
            if *language == Language::English && !BY_ID.contains(&prefix) {
                modules.push_str(&module(prefix, toml)?);
            }
        }
    }
    Catalogue::join(files)?;
    let source =
        format!("/// The words of this crate.\npub static TEXTS: &[TextFile] = &[\n{list}];\n{modules}");
    fs::write(PathBuf::from(env::var("OUT_DIR")?).join("words.rs"), source)?;
    Ok(())
}

/// Returns the prefixes of all files of words in English, sorted.
fn prefixes(folder: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let mut prefixes = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        if let Some(prefix) = name.to_str().and_then(|name| name.strip_suffix(".en.toml")) {
            prefixes.push(prefix.to_owned());
        }
    }
    prefixes.sort();
    Ok(prefixes)
}

/// Returns a module with one function for each text of a file.
fn module(prefix: &str, english: &str) -> Result<String, Box<dyn Error>> {
    let mut functions = constructors(prefix, english)?;
    let mut visibility = "pub(crate)";
    if PUBLIC.contains(&prefix) {
        visibility = "pub";
        functions = functions.replace("pub(crate) fn", "pub fn");
    }
    Ok(format!("/// Texts of `text/{prefix}.*.toml`.\n{visibility} mod {prefix} {{\n{functions}}}\n"))
}
