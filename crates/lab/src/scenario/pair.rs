//! Two scenarios in one box: the cards of the second lie behind those of the first, and both causes must be named.

use std::fmt::Write as _;

use super::proof::Proof;
use super::template::{Acceptable, Drawn, Expectation, member_and_card};
use crate::place::plan::{KernelLine, Member, Plan};
use crate::workloads::{Data, Work};

/// What the names of the second scenario's members begin with.
const SECOND: &str = "second-";

/// One box of two; `first_cards` is the number of cards of the first.
pub(super) fn join(name: &str, first: Drawn, second: Drawn, first_cards: usize) -> Drawn {
    let second = Shift { by: first_cards }.drawn(second);
    let mut needs = first.needs;
    needs.extend(second.needs);
    needs.sort_unstable();
    needs.dedup();
    let mut proofs = first.proofs;
    proofs.extend(second.proofs);
    let plan = join_plans(name, first.plan, second.plan);
    Drawn {
        name: name.to_owned(),
        seed: first.seed,
        window_s: first.window_s.max(second.window_s),
        settle_s: first.settle_s.max(second.settle_s),
        needs,
        plan,
        expect: first.expect.zip(second.expect).map(|(first, second)| join_expectations(first, second)),
        proofs,
    }
}

fn join_plans(name: &str, mut first: Plan, second: Plan) -> Plan {
    name.clone_into(&mut first.name);
    let board = &mut first.board;
    if board.driver == crate::board::Driver::default() {
        board.driver = second.board.driver;
    }
    board.cards.extend(second.board.cards);
    board.faults.extend(second.board.faults);
    board.events.extend(second.board.events);
    first.members.extend(second.members);
    first.stores.extend(second.stores);
    first.servers.extend(second.servers);
    first.kernel_log.extend(second.kernel_log);
    first.data_set = first.data_set.or(second.data_set);
    first.shared_memory_bytes = first.shared_memory_bytes.or(second.shared_memory_bytes);
    first.shortage = first.shortage.or(second.shortage);
    first.library_installed &= second.library_installed;
    first
}

fn join_expectations(mut first: Expectation, second: Expectation) -> Expectation {
    first.also.push(Acceptable { cause: second.cause, culprits: second.culprits, cards: second.cards });
    first.also.extend(second.also);
    first.accept.extend(second.accept);
    first
}

/// Moves a scenario behind the cards of another one, and gives its members other names.
struct Shift {
    by: usize,
}

impl Shift {
    fn drawn(&self, mut drawn: Drawn) -> Drawn {
        let board = &mut drawn.plan.board;
        for card in board.faults.iter_mut().filter_map(|fault| fault.card.as_mut()) {
            *card += self.by;
        }
        for card in board.events.iter_mut().filter_map(|event| event.card.as_mut()) {
            *card += self.by;
        }
        for member in &mut drawn.plan.members {
            self.member(member);
        }
        for store in &mut drawn.plan.stores {
            store.name = second(&store.name);
        }
        for server in &mut drawn.plan.servers {
            server.name = second(&server.name);
        }
        for line in &mut drawn.plan.kernel_log {
            self.kernel_line(line);
        }
        for Proof { member, .. } in &mut drawn.proofs {
            *member = second(member);
        }
        if let Some(expect) = &mut drawn.expect {
            self.answer(&mut expect.culprits, &mut expect.cards);
            for other in expect.also.iter_mut().chain(&mut expect.accept) {
                self.answer(&mut other.culprits, &mut other.cards);
            }
        }
        drawn
    }

    fn member(&self, member: &mut Member) {
        member.name = second(&member.name);
        for card in &mut member.cards {
            *card += self.by;
        }
        match &mut member.work {
            Work::Train(train) => {
                if let Data::Store(name) | Data::Server(name) = &mut train.data {
                    *name = second(name);
                }
            }
            Work::Frozen(frozen) => frozen.store = second(&frozen.store),
            _ => {}
        }
    }

    fn answer(&self, culprits: &mut [String], cards: &mut [usize]) {
        for culprit in culprits {
            let (member, card) = member_and_card(culprit);
            *culprit = match card {
                Some(card) => format!("{}@{}", second(member), card + self.by),
                None => second(member),
            };
        }
        for card in cards {
            *card += self.by;
        }
    }

    /// `<pci:N>` of the second box is another card in the joint one.
    fn kernel_line(&self, line: &mut KernelLine) {
        let mut text = String::new();
        let mut rest = line.text.as_str();
        while let Some((before, after)) = rest.split_once("<pci:") {
            let (number, after) = after.split_once('>').unwrap_or((after, ""));
            let card = number
                .parse::<usize>()
                .map_or_else(|_| number.to_owned(), |card| (card + self.by).to_string());
            let _ = write!(text, "{before}<pci:{card}>");
            rest = after;
        }
        text.push_str(rest);
        line.text = text;
    }
}

fn second(name: &str) -> String {
    format!("{SECOND}{name}")
}

#[cfg(test)]
mod tests {
    use super::Shift;
    use crate::place::plan::KernelLine;

    #[test]
    fn cards_in_kernel_lines_move_behind_the_others() {
        let mut line = KernelLine {
            seconds_ago: 1.0,
            level: 3,
            text: "Xid (PCI:<pci:1>): 79 and <pci:0>.0 too".to_owned(),
        };
        Shift { by: 4 }.kernel_line(&mut line);
        assert_eq!(line.text, "Xid (PCI:<pci:5>): 79 and <pci:4>.0 too");
    }

    #[test]
    fn culprits_get_the_names_and_cards_of_the_joint_box() {
        let mut culprits = ["run".to_owned(), "run@2".to_owned()];
        let mut cards = [0, 1];
        Shift { by: 3 }.answer(&mut culprits, &mut cards);
        assert_eq!(culprits, ["second-run", "second-run@5"]);
        assert_eq!(cards, [3, 4]);
    }
}
