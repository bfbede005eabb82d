//! Puts the lines of the text together as the elements that its XML has.

use crate::nvidia_smi_xml::Element;

use super::names::{
    CARD, COMPUTE_PROCESSES, INSTANCE, INSTANCES, PROCESS, PROCESSES, ROOT, is_section, name_elsewhere,
    name_within, only_section, path_to,
};

/// No output is deeper.
const OPEN_MAX: usize = 16;

/// One element while it is put together.
#[derive(Debug, Default)]
struct Node {
    name: String,
    id: Option<String>,
    text: String,
    line: u64,
    /// How far its line is indented; none for what has no line of its own.
    indent: Option<usize>,
    children: Vec<usize>,
}

/// The elements, and which of them are open.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    /// Places of the open ones, outermost first; the first is the root.
    open: Vec<usize>,
    /// Whether indentation tells what stands in what.
    is_indented: bool,
    /// The value that was added last.
    newest: Option<usize>,
    /// Numbers of instances, which stand before the process that they belong to.
    instance_ids: Vec<(&'static str, String)>,
}

/// A label with its value, and where it stands in the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Label<'line> {
    pub(super) plain: &'line str,
    pub(super) value: &'line str,
    pub(super) indent: usize,
    pub(super) line: u64,
}

/// Where a label belongs.
enum Home {
    /// Into this open element, under this name.
    Open(usize, &'static str),
    /// Into a section whose heading is not there.
    Missing(&'static str),
    /// Nowhere that is known.
    Unknown,
}

impl Tree {
    /// Begins with an empty output.
    pub(super) fn new(line: u64, is_indented: bool) -> Self {
        let root = Node { name: ROOT.to_owned(), line, ..Node::default() };
        Self { nodes: vec![root], open: vec![0], is_indented, newest: None, instance_ids: Vec::new() }
    }

    /// Returns how many cards there are.
    pub(super) fn cards(&self) -> usize {
        self.nodes[0].children.iter().filter(|place| self.nodes[**place].name == CARD).count()
    }

    /// Returns whether the processes of a card are being listed.
    pub(super) fn is_in_processes(&self) -> bool {
        self.open
            .iter()
            .any(|place| [PROCESSES, COMPUTE_PROCESSES].contains(&self.nodes[*place].name.as_str()))
    }

    /// Begins a card.
    pub(super) fn add_card(&mut self, address: &str, indent: usize, line: u64) {
        self.open.truncate(1);
        let id = Some(address.to_owned());
        let card =
            self.push(0, Node { name: CARD.to_owned(), id, line, indent: Some(indent), ..Node::default() });
        self.open.push(card);
    }

    /// Adds a value; returns whether it is known. A value without its section's heading is trusted only if something
    /// shows that it is one of this tool.
    pub(super) fn add_value(&mut self, label: &Label<'_>, is_trusted: bool) -> bool {
        let Label { plain, value, indent, line } = *label;
        self.close_for(indent);
        let (parent, name) = match self.home(plain, value, false) {
            Home::Missing(_) if !is_trusted => return false,
            Home::Open(place, name) => (self.come_back_to(place, name), name),
            Home::Missing(section) => {
                let Some(name) = name_within(section, plain) else {
                    return false;
                };
                (self.open_missing(section, name, line), name)
            }
            Home::Unknown => {
                let parent = self.innermost();
                let name = name_elsewhere(plain);
                let node = Node { name, text: value.to_owned(), line, ..Node::default() };
                self.newest = Some(self.push(parent, node));
                return false;
            }
        };
        if self.nodes[parent].name == PROCESSES && name != PROCESS {
            self.instance_ids.push((name, value.to_owned()));
            return true;
        }
        let (parent, name) =
            if name == PROCESS { (self.open_process(parent, indent, line), "pid") } else { (parent, name) };
        self.newest = Some(self.push_path(parent, name, value, line));
        true
    }

    /// Opens a section; returns whether it is known.
    pub(super) fn add_heading(&mut self, plain: &str, indent: usize, line: u64) -> bool {
        self.close_for(indent);
        let (parent, name) = match self.home(plain, "", true) {
            Home::Open(place, name) => (self.come_back_to(place, name), name.to_owned()),
            Home::Missing(section) => {
                let Some(name) = name_within(section, plain) else {
                    return false;
                };
                (self.open_missing(section, name, line), name.to_owned())
            }
            Home::Unknown => (self.innermost(), name_elsewhere(plain)),
        };
        let is_known = is_section(&name) || !name.starts_with('?');
        let parent = if name == INSTANCE { self.only_child(parent, INSTANCES, line) } else { parent };
        let place = self.push(parent, Node { name, line, indent: Some(indent), ..Node::default() });
        if self.open.len() < OPEN_MAX {
            self.open.push(place);
        }
        self.newest = None;
        is_known
    }

    /// Goes on with the newest value, which was wrapped.
    pub(super) fn go_on(&mut self, rest: &str) -> bool {
        if let Some(newest) = self.newest {
            self.nodes[newest].text.push_str(rest);
        }
        self.newest.is_some()
    }

    /// Forgets the newest value: its end is missing.
    pub(super) fn forget_newest(&mut self) {
        if let Some(newest) = self.newest {
            self.nodes[newest].text.clear();
        }
    }

    /// Returns the elements.
    pub(super) fn finish(mut self) -> Element {
        self.element(0)
    }

    fn element(&mut self, place: usize) -> Element {
        let node = std::mem::take(&mut self.nodes[place]);
        let children = node.children.iter().map(|child| self.element(*child)).collect();
        Element { name: node.name, id: node.id, text: node.text, children, line: node.line }
    }

    fn push(&mut self, parent: usize, node: Node) -> usize {
        let place = self.nodes.len();
        self.nodes.push(node);
        self.nodes[parent].children.push(place);
        place
    }

    /// Adds a value whose name may be a path.
    fn push_path(&mut self, parent: usize, name: &str, value: &str, line: u64) -> usize {
        let (parent, name) = match name.split_once('/') {
            Some((outer, inner)) => (self.only_child(parent, outer, line), inner),
            None => (parent, name),
        };
        self.push(parent, Node { name: name.to_owned(), text: value.to_owned(), line, ..Node::default() })
    }

    fn child(&self, parent: usize, name: &str) -> Option<usize> {
        self.nodes[parent].children.iter().copied().find(|place| self.nodes[*place].name == name)
    }

    fn only_child(&mut self, parent: usize, name: &str, line: u64) -> usize {
        self.child(parent, name)
            .unwrap_or_else(|| self.push(parent, Node { name: name.to_owned(), line, ..Node::default() }))
    }

    fn innermost(&self) -> usize {
        self.open.last().copied().unwrap_or(0)
    }

    /// Closes what a line that is indented so far does not stand in.
    fn close_for(&mut self, indent: usize) {
        if !self.is_indented {
            return;
        }
        while self.open.len() > 1
            && self.nodes[self.innermost()].indent.is_some_and(|opened_at| opened_at >= indent)
        {
            self.open.pop();
        }
    }

    /// Finds where a label belongs, from the innermost open element outwards.
    fn home(&self, plain: &str, value: &str, is_heading: bool) -> Home {
        let mut places = self.open.iter().rev();
        // Where lines are indented, a value stands in the section around it, whatever others have such a label.
        let reach = if self.is_indented && !is_heading && self.open.len() > 1 { 1 } else { OPEN_MAX };
        let accepting = places
            .by_ref()
            .take(reach)
            .find_map(|place| Some((*place, accepted(&self.nodes[*place].name, plain, value)?)));
        if let Some((place, name)) = accepting {
            return Home::Open(place, name);
        }
        // What is left out at the top was a section's heading, or a card's.
        let is_headless = self.open.get(1).is_none_or(|card| self.nodes[*card].id.is_none());
        let innermost = &self.nodes[self.innermost()].name;
        let is_free = innermost == ROOT || innermost == CARD || !self.is_indented || is_heading;
        let is_repeated = self.open.len() > 1 && self.nodes[self.innermost()].indent.is_none();
        if is_headless
            && (is_free || is_repeated)
            && let Some(section) = only_section(plain, value)
        {
            return Home::Missing(section);
        }
        Home::Unknown
    }

    /// Closes everything inside an open element. A value that a card without a heading already has is the next card's.
    fn come_back_to(&mut self, place: usize, name: &str) -> usize {
        while self.innermost() != place && self.open.len() > 1 {
            self.open.pop();
        }
        if self.is_next_card(place, name) {
            let path: Vec<String> =
                self.open.iter().skip(2).map(|place| self.nodes[*place].name.clone()).collect();
            let line = self.nodes[place].line;
            self.open_headless_card(line);
            for name in path {
                let place = self.only_child(self.innermost(), &name, line);
                self.open.push(place);
            }
        }
        self.innermost()
    }

    /// Returns whether a card without a heading has such a value already.
    fn is_next_card(&self, parent: usize, name: &str) -> bool {
        let is_headless = self.open.get(1).is_some_and(|card| self.nodes[*card].id.is_none());
        let may_repeat = [PROCESS, INSTANCE, "gpu_instance_id", "compute_instance_id"].contains(&name)
            || [PROCESS, PROCESSES, INSTANCE].contains(&self.nodes[parent].name.as_str())
            || name_within(ROOT, name).is_some() && parent == 0;
        let has = |name: &str| self.child(parent, name).is_some();
        is_headless && !may_repeat && (has(name) || name.split_once('/').is_some_and(|(outer, _)| has(outer)))
    }

    /// Opens a section whose heading is not there; returns its place.
    fn open_missing(&mut self, section: &'static str, name: &str, line: u64) -> usize {
        self.open.truncate(2);
        if self.open.len() < 2 {
            self.open_headless_card(line);
        }
        let path = path_to(section);
        let target = path.iter().try_fold(self.open[1], |place, name| self.child(place, name));
        if target.is_some_and(|place| self.is_next_card(place, name)) {
            self.open_headless_card(line);
        }
        for name in path {
            let place = self.only_child(self.innermost(), name, line);
            self.open.push(place);
        }
        self.innermost()
    }

    fn open_headless_card(&mut self, line: u64) {
        self.open.truncate(1);
        let card = self.push(0, Node { name: CARD.to_owned(), line, ..Node::default() });
        self.open.push(card);
    }

    fn open_process(&mut self, parent: usize, indent: usize, line: u64) -> usize {
        let process = self
            .push(parent, Node { name: PROCESS.to_owned(), line, indent: Some(indent), ..Node::default() });
        for (name, value) in std::mem::take(&mut self.instance_ids) {
            self.push_path(process, name, &value, line);
        }
        self.open.push(process);
        process
    }
}

/// Returns the name of a label in a section that it can stand in, by its value too: reasons and their counters have the
/// same labels.
fn accepted(section: &str, plain: &str, value: &str) -> Option<&'static str> {
    let is_time = value.ends_with(" us");
    let is_other = match section {
        "clocks_event_reasons" => is_time,
        "clocks_event_reasons_counters" => value.ends_with("Active"),
        _ => false,
    };
    name_within(section, plain).filter(|_| !is_other)
}
