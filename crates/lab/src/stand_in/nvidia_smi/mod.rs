//! `nvidia-smi`, as far as programs and people ask it first: list, query, settings, reset.

mod change;
mod query;

use super::Said;
use super::library::{Code, Device, Library};
use crate::board::BoxDirectory;

/// `nvidia-smi` ends with this code when the driver does not answer.
const NO_DRIVER: u8 = 9;

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Request {
    List,
    Version,
    Query { fields: Vec<String>, has_header: bool, has_units: bool },
    Processes { fields: Vec<String>, has_header: bool, has_units: bool },
    Reset,
    Persistence(u32),
    PowerLimit(String),
    ComputeMode(u32),
    LockClocks([u32; 2]),
    UnlockClocks,
}

/// A request and the cards that it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Command {
    request: Request,
    /// As the caller named them; all cards when absent.
    cards: Option<Vec<String>>,
}

/// A card that the driver lists.
struct Listed {
    index: u32,
    handle: Result<Device, Code>,
    bus_id: String,
}

/// Answers a call.
pub(super) fn answer(directory: &BoxDirectory, arguments: &[String]) -> Said {
    let command = match Command::of(arguments) {
        Ok(command) => command,
        Err(said) => return said,
    };
    let Some(library) = Library::load(&directory.library()) else {
        return Said::failure(
            12,
            "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that the \
             NVIDIA Display Driver is properly installed and present in your system.\n",
        );
    };
    if let Err(code) = library.initialise() {
        return cannot_start(&library, code);
    }
    let cards = match listed(&library, command.cards.as_deref()) {
        Ok(cards) => cards,
        Err(said) => return said,
    };
    match &command.request {
        Request::List => query::list(&library, &cards),
        Request::Version => query::version(&library),
        Request::Query { fields, has_header, has_units } => {
            query::table(&library, &cards, fields, *has_header, *has_units)
        }
        Request::Processes { fields, has_header, has_units } => {
            query::processes(&library, &cards, fields, *has_header, *has_units)
        }
        change => change::answer(directory, &library, &cards, change),
    }
}

fn cannot_start(library: &Library, code: Code) -> Said {
    const NOT_LOADED: Code = 9;
    const MISMATCH: Code = 18;
    match code {
        NOT_LOADED => Said::failure(
            NO_DRIVER,
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that \
             the latest NVIDIA driver is installed and running.\n\n",
        ),
        MISMATCH => Said::failure(18, "Failed to initialize NVML: Driver/library version mismatch\n"),
        _ => Said::failure(
            u8::try_from(code).unwrap_or(255),
            format!("Failed to initialize NVML: {}\n", library.words(code)),
        ),
    }
}

fn listed(library: &Library, wanted: Option<&[String]>) -> Result<Vec<Listed>, Said> {
    let count = library.count().unwrap_or(0);
    if count == 0 {
        return Err(Said::failure(6, "No devices were found\n"));
    }
    let mut cards = Vec::new();
    for index in 0..count {
        let handle = library.handle(index);
        let uuid = handle.and_then(|device| library.text("nvmlDeviceGetUUID", device)).unwrap_or_default();
        let bus_id = handle.and_then(|device| query::bus_id(library, device)).unwrap_or_default();
        let names = [index.to_string(), uuid, bus_id.clone()];
        let is_wanted = wanted.is_none_or(|wanted| {
            wanted.iter().any(|wanted| names.iter().any(|name| name.eq_ignore_ascii_case(wanted)))
        });
        if is_wanted {
            cards.push(Listed { index, handle, bus_id });
        }
    }
    if cards.is_empty() {
        return Err(Said::failure(6, "No devices were found\n"));
    }
    Ok(cards)
}

impl Command {
    fn of(arguments: &[String]) -> Result<Self, Said> {
        let mut request = None;
        let mut cards = None;
        let mut fields: Option<Vec<String>> = None;
        let mut asks_processes = false;
        let mut format = Vec::new();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let (name, inline) = match argument.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (argument.as_str(), None),
            };
            let mut value =
                || inline.clone().or_else(|| rest.next().cloned()).ok_or_else(|| invalid(argument));
            match name {
                "-L" | "--list-gpus" => request = Some(Request::List),
                "--version" => request = Some(Request::Version),
                "-r" | "--gpu-reset" => request = Some(Request::Reset),
                "-rgc" | "--reset-gpu-clocks" => request = Some(Request::UnlockClocks),
                "-pl" | "--power-limit" => request = Some(Request::PowerLimit(value()?)),
                "-pm" | "--persistence-mode" => {
                    request = Some(Request::Persistence(mode(&value()?, argument)?));
                }
                "-c" | "--compute-mode" => request = Some(Request::ComputeMode(mode(&value()?, argument)?)),
                "-lgc" | "--lock-gpu-clocks" => {
                    request = Some(Request::LockClocks(clocks(&value()?, argument)?));
                }
                "-i" | "--id" => cards = Some(split(&value()?)),
                "--query-gpu" => fields = Some(split(&value()?)),
                "--query-compute-apps" => {
                    asks_processes = true;
                    fields = Some(split(&value()?));
                }
                "--format" => format = split(&value()?),
                _ => return Err(invalid(argument)),
            }
        }
        if let Some(fields) = fields {
            let has = |word: &str| format.iter().any(|part| part == word);
            if !has("csv") {
                return Err(Said::failure(
                    2,
                    "\"--format=\" switch is missing. Please run 'nvidia-smi -h' for help.\n",
                ));
            }
            let (has_header, has_units) = (!has("noheader"), !has("nounits"));
            request = Some(if asks_processes {
                Request::Processes { fields, has_header, has_units }
            } else {
                Request::Query { fields, has_header, has_units }
            });
        }
        let request = request.ok_or_else(|| invalid("nothing that this stand-in answers"))?;
        Ok(Self { request, cards })
    }
}

fn split(text: &str) -> Vec<String> {
    text.split(',').map(|part| part.trim().to_owned()).collect()
}

fn mode(value: &str, argument: &str) -> Result<u32, Said> {
    match value {
        "DEFAULT" => Ok(0),
        "PROHIBITED" => Ok(2),
        "EXCLUSIVE_PROCESS" => Ok(3),
        number => number.parse().map_err(|_| invalid(argument)),
    }
}

fn clocks(value: &str, argument: &str) -> Result<[u32; 2], Said> {
    let numbers: Vec<u32> =
        value.split(',').map(str::parse).collect::<Result<_, _>>().map_err(|_| invalid(argument))?;
    match numbers[..] {
        [both] => Ok([both, both]),
        [lowest, highest] => Ok([lowest, highest]),
        _ => Err(invalid(argument)),
    }
}

fn invalid(argument: &str) -> Said {
    Said::failure(
        2,
        format!(
            "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n\nOption \
             \"{argument}\" is not recognized.\n"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(text: &str) -> Result<Command, Said> {
        Command::of(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_understood_in_both_spellings() {
        let all = |request| Ok(Command { request, cards: None });
        assert_eq!(command("-L"), all(Request::List));
        assert_eq!(command("-pm 1"), all(Request::Persistence(1)));
        assert_eq!(command("--power-limit=250"), all(Request::PowerLimit("250".to_owned())));
        assert_eq!(command("-lgc 300,900"), all(Request::LockClocks([300, 900])));
        let reset = Command { request: Request::Reset, cards: Some(vec!["0".to_owned(), "2".to_owned()]) };
        assert_eq!(command("--gpu-reset -i 0,2"), Ok(reset));
        assert_eq!(
            command("--query-gpu=index,name --format=csv,noheader"),
            all(Request::Query {
                fields: vec!["index".to_owned(), "name".to_owned()],
                has_header: false,
                has_units: true
            })
        );
        for wrong in ["", "--no-such", "-pm", "--query-gpu=name", "-lgc 1,2,3"] {
            assert_eq!(command(wrong).unwrap_err().code, 2, "{wrong}");
        }
    }
}
