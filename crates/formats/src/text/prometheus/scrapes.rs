//! Several answers of exporters in one text: which values belong together, and when each was taken.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::exposition::{Value, Written, written};
use super::known;
use crate::paste::{Line, command_after_prompt};
use crate::text::Remark;

/// So many lines of something else may stand between two answers.
const BETWEEN_MAX: usize = 3;

/// What was answered at one time.
#[derive(Debug, Default)]
pub(super) struct Scrape {
    pub(super) values: Vec<Value>,
    /// When, in seconds since 1970, where that is known.
    pub(super) at_s: Option<f64>,
    /// Seconds since the first answer, where that is known.
    pub(super) since_s: Option<f64>,
}

/// All answers of one block.
#[derive(Debug, Default)]
pub(super) struct Scrapes {
    /// Oldest first; at least one.
    pub(super) list: Vec<Scrape>,
    /// What is said of each metric.
    pub(super) help: BTreeMap<String, String>,
    /// The kind of each metric.
    pub(super) kinds: BTreeMap<String, String>,
    /// How many lines it is.
    pub(super) lines: usize,
    pub(super) remarks: Vec<Remark>,
}

/// Reads the answers that begin with the first of these lines.
pub(super) fn scrapes(lines: &[Line<'_>], command: Option<&str>) -> Option<Scrapes> {
    if !begins(&lines.first()?.text) {
        return None;
    }
    let mut gathered = Gathering { delay_s: command.and_then(delay_s), ..Gathering::default() };
    let mut place = 0;
    while let Some(line) = lines.get(place) {
        if line.text.trim().is_empty() {
            place += 1;
            continue;
        }
        if let Some(written) = written(&line.text).filter(|written| is_ours(written)) {
            gathered.take(written);
            place += 1;
            gathered.lines = place;
            continue;
        }
        let Some(between) = between(&lines[place..]) else { break };
        for line in &lines[place..place + between] {
            gathered.between(line);
        }
        place += between;
    }
    Some(gathered.finish())
}

/// Returns whether metrics surely begin with this line.
fn begins(text: &str) -> bool {
    match written(text) {
        Some(Written::Help { .. } | Written::Type { .. }) => true,
        Some(Written::Value(value)) => !value.labels.is_empty() || known(&value.name),
        Some(Written::Comment) | None => false,
    }
}

/// Returns whether a line inside of metrics belongs to them: a bare word with a number may be anything.
fn is_ours(written: &Written<'_>) -> bool {
    match written {
        Written::Value(value) => {
            !value.labels.is_empty() || known(&value.name) || value.name.contains(['_', ':'])
        }
        _ => true,
    }
}

/// Returns how many lines of something else stand before the next metrics, if they follow soon.
fn between(lines: &[Line<'_>]) -> Option<usize> {
    let written = |line: &&Line<'_>| !line.text.trim().is_empty();
    let mut number = 0;
    for (place, line) in lines.iter().enumerate() {
        if !written(&line) {
            continue;
        }
        if begins(&line.text) {
            return Some(place);
        }
        number += 1;
        if number > BETWEEN_MAX || is_other_command(&line.text) {
            return None;
        }
    }
    None
}

/// Returns whether a line is a prompt with a command that does not ask an exporter or wait.
fn is_other_command(text: &str) -> bool {
    const ASKING: &[&str] = &["curl", "wget", "http", "metrics", "sleep", "date", "promtool", "nc ", "watch"];
    command_after_prompt(text).is_some_and(|command| !ASKING.iter().any(|word| command.contains(word)))
}

#[derive(Default)]
struct Gathering {
    done: Vec<Scrape>,
    current: Scrape,
    seen: BTreeSet<String>,
    help: BTreeMap<String, String>,
    kinds: BTreeMap<String, String>,
    /// What the lines before the current answer say of its time.
    said_at_s: Option<f64>,
    /// Seconds between two answers, by the command.
    delay_s: Option<f64>,
    /// Seconds since the answer before, by the lines between.
    said_delay_s: Option<f64>,
    delays: Vec<Option<f64>>,
    lines: usize,
    remarks: Vec<Remark>,
}

impl Gathering {
    fn take(&mut self, written: Written<'_>) {
        match written {
            Written::Help { name, text } => drop(self.help.insert(name.to_owned(), text.to_owned())),
            Written::Type { name, kind } => drop(self.kinds.insert(name.to_owned(), kind.to_owned())),
            Written::Comment => {}
            Written::Value(value) => {
                if !self.seen.insert(value.key()) {
                    self.end();
                    self.seen.insert(value.key());
                }
                if self.current.values.is_empty() {
                    self.current.at_s = self.said_at_s.take();
                    let delay_s = self.said_delay_s.take().or(self.delay_s);
                    self.delays.push(delay_s);
                }
                // Where the values bear their own time, the newest counts.
                let own = value.at_s.or((value.name == "node_time_seconds").then_some(value.number));
                if let Some(own) = own {
                    self.current.at_s = Some(self.current.at_s.map_or(own, |known| known.max(own)));
                }
                self.current.values.push(value);
            }
        }
    }

    /// Looks at a line between two answers.
    fn between(&mut self, line: &Line<'_>) {
        let text = line.text.trim();
        if text.is_empty() {
            return;
        }
        let command = command_after_prompt(text);
        let at_s = time_in(text);
        let delay_s = delay_s(command.unwrap_or(text)).or_else(|| later_s(text));
        self.said_at_s = at_s.or(self.said_at_s);
        self.said_delay_s = delay_s.or(self.said_delay_s);
        if command.is_none() && at_s.is_none() && delay_s.is_none() {
            self.remarks.push(Remark::NotUnderstood { line: line.number });
        }
    }

    fn end(&mut self) {
        self.seen.clear();
        if !self.current.values.is_empty() {
            self.done.push(std::mem::take(&mut self.current));
        }
    }

    fn finish(mut self) -> Scrapes {
        self.end();
        let mut scrapes = self.done;
        if scrapes.is_empty() {
            scrapes.push(Scrape::default());
        }
        if scrapes.iter().all(|scrape| scrape.at_s.is_some()) {
            let first_s = scrapes[0].at_s;
            for scrape in &mut scrapes {
                scrape.since_s = scrape.at_s.zip(first_s).map(|(at_s, first_s)| at_s - first_s);
            }
            // Times that go back are no times.
            if scrapes.windows(2).any(|pair| pair[0].since_s >= pair[1].since_s) {
                for scrape in &mut scrapes {
                    scrape.since_s = None;
                }
            }
        } else {
            let mut since_s = Some(0.0);
            for (place, scrape) in scrapes.iter_mut().enumerate() {
                if place > 0 {
                    let delay_s = self.delays.get(place).copied().flatten();
                    since_s = since_s.zip(delay_s).map(|(since_s, delay_s)| since_s + delay_s);
                }
                scrape.since_s = since_s;
            }
            if scrapes.last().is_some_and(|last| last.since_s.is_none()) {
                for scrape in &mut scrapes {
                    scrape.since_s = None;
                }
            }
        }
        Scrapes {
            list: scrapes,
            help: self.help,
            kinds: self.kinds,
            lines: self.lines,
            remarks: self.remarks,
        }
    }
}

/// Returns how long a command waits: `sleep 10`, `watch -n 5 …`.
fn delay_s(text: &str) -> Option<f64> {
    let words: Vec<&str> = text.split(|part: char| part.is_whitespace() || ";&'\"".contains(part)).collect();
    let after = |wanted: &[&str]| {
        let place = words.iter().position(|word| wanted.contains(word))?;
        words.get(place + 1)?.trim_end_matches('s').parse::<f64>().ok()
    };
    let seconds = after(&["sleep"])
        .or_else(|| if words.contains(&"watch") { after(&["-n", "--interval"]) } else { None });
    seconds.filter(|seconds| (0.1..=86400.0).contains(seconds))
}

/// Returns how much later something is said to be: `10 s later`, `after 30 seconds`, `+5s`, `t=60s`.
fn later_s(text: &str) -> Option<f64> {
    let lower = text.to_ascii_lowercase();
    let is_about_time = ["later", "after", "+"].iter().any(|word| lower.contains(word));
    if !is_about_time {
        return None;
    }
    let digits = lower.find(|part: char| part.is_ascii_digit())?;
    let rest = &lower[digits..];
    let length = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    let number: f64 = rest[..length].parse().ok()?;
    let unit = rest[length..].trim_start();
    let factor = match unit {
        _ if unit.starts_with("ms") => return None,
        _ if unit.starts_with('s') => 1.0,
        _ if unit.starts_with('m') => 60.0,
        _ => return None,
    };
    Some(number * factor).filter(|seconds| (0.1..=86400.0).contains(seconds))
}

/// Returns the time that a line says, in seconds since 1970.
fn time_in(text: &str) -> Option<f64> {
    let seconds = |at: Timestamp| at.as_millisecond() as f64 / 1000.0;
    if let Ok(number) = text.parse::<f64>() {
        // Ten digits: seconds since 1970, of this century.
        return (1e9..4.2e9).contains(&number).then_some(number);
    }
    for word in text.split(|part: char| part.is_whitespace() || "[](),".contains(part)) {
        if let Ok(at) = word.parse::<Timestamp>() {
            return Some(seconds(at));
        }
    }
    // What `date` prints; of a zone only its name is there, and only differences count.
    let words: Vec<&str> = text.split_whitespace().collect();
    for five in words.windows(5) {
        let local = [five[0], five[1], five[2], five[3], five[4]].join(" ");
        if let Ok(at) = DateTime::strptime("%a %b %d %H:%M:%S %Y", &local) {
            return TimeZone::UTC.to_timestamp(at).ok().map(seconds);
        }
    }
    for six in words.windows(6) {
        // `Mon Nov 30 10:00:00 UTC 2026`
        let local = [six[0], six[1], six[2], six[3], six[5]].join(" ");
        if let Ok(at) = DateTime::strptime("%a %b %d %H:%M:%S %Y", &local) {
            return TimeZone::UTC.to_timestamp(at).ok().map(seconds);
        }
    }
    words.windows(2).find_map(|two| {
        let at = DateTime::strptime("%Y-%m-%d %H:%M:%S", two.join(" ")).ok()?;
        TimeZone::UTC.to_timestamp(at).ok().map(seconds)
    })
}

#[cfg(test)]
mod tests {
    use super::{delay_s, later_s, scrapes, time_in};
    use crate::paste::Paste;

    fn since(text: &str, command: Option<&str>) -> Vec<Option<f64>> {
        let paste = Paste::of(text);
        scrapes(&paste.lines, command).unwrap().list.iter().map(|scrape| scrape.since_s).collect()
    }

    #[test]
    fn answers_are_told_apart_by_what_comes_again() {
        let two = "# TYPE a_total counter\na_total{x=\"1\"} 5\na_total{x=\"2\"} 6\na_total{x=\"1\"} 9\na_total{x=\"2\"} 9\n";
        assert_eq!(since(two, None), [None, None]);
        assert_eq!(
            since(two, Some("while true; do curl -s h/metrics; sleep 10; done")),
            [Some(0.0), Some(10.0)]
        );
    }

    #[test]
    fn times_between_answers_are_read() {
        let by_date = "a{x=\"1\"} 5\nMon Nov 30 10:00:30 UTC 2026\na{x=\"1\"} 9";
        assert_eq!(since(by_date, None), [None, None]);
        let both = "a{x=\"1\"} 5 1700000000000\na{x=\"1\"} 9 1700000015000";
        assert_eq!(since(both, None), [Some(0.0), Some(15.0)]);
        let typed = "a{x=\"1\"} 5\n$ sleep 30; curl -s h:8000/metrics\na{x=\"1\"} 9";
        assert_eq!(since(typed, None), [Some(0.0), Some(30.0)]);
        let by_node =
            "node_time_seconds 1.7e+09\na{x=\"1\"} 5\nnode_time_seconds 1.70000006e+09\na{x=\"1\"} 9";
        assert_eq!(since(by_node, None), [Some(0.0), Some(60.0)]);
    }

    #[test]
    fn what_follows_is_left_alone() {
        let paste = Paste::of("a{x=\"1\"} 5\n\n$ nvidia-smi\nb{x=\"1\"} 5\n");
        assert_eq!(scrapes(&paste.lines, None).unwrap().lines, 1);
        let paste = Paste::of("a{x=\"1\"} 5\nhello\nb{x=\"1\"} 5\n");
        let read = scrapes(&paste.lines, None).unwrap();
        assert_eq!((read.lines, read.remarks.len()), (3, 1));
        assert!(scrapes(&Paste::of("hello 3").lines, None).is_none());
    }

    #[test]
    fn words_about_time_are_read() {
        assert_eq!(delay_s("for i in 1 2; do curl x; sleep 5; done"), Some(5.0));
        assert_eq!(delay_s("watch -n 2 'curl -s x'"), Some(2.0));
        assert_eq!(delay_s("curl -n 2 x"), None);
        assert_eq!(later_s("--- 30 s later ---"), Some(30.0));
        assert_eq!(later_s("after 2 minutes:"), Some(120.0));
        assert_eq!(later_s("2 retries later"), None);
        assert_eq!(time_in("1700000000"), Some(1.7e9));
        assert_eq!(time_in("== 2026-11-30T10:00:00Z =="), time_in("Mon Nov 30 10:00:00 UTC 2026"));
        assert_eq!(time_in("nothing"), None);
    }
}
