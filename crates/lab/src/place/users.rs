//! The people of a box: real user ids, so that ownership means what it means on a real machine.

use std::fmt::Write as _;

/// One line of the box's `/etc/passwd`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Login name.
    pub name: String,
    /// User id, and group id too.
    pub id: u32,
}

const PEOPLE: [(&str, u32); 6] =
    [("root", 0), ("alice", 2001), ("bob", 2002), ("carol", 2003), ("dave", 2004), ("serving", 2010)];

/// The user called `name`, if the box has one.
pub fn user_named(name: &str) -> Option<User> {
    PEOPLE.iter().find(|(known, _)| *known == name).map(|&(name, id)| User { name: name.to_owned(), id })
}

/// The text of the box's `/etc/passwd`; the machine's own users are kept, so that files have owners.
pub fn passwd(machine: &str) -> String {
    let mut text = String::new();
    for line in machine.lines() {
        let name = line.split(':').next().unwrap_or_default();
        if user_named(name).is_none() || name == "root" {
            text.push_str(line);
            text.push('\n');
        }
    }
    for (name, id) in PEOPLE {
        if name != "root" {
            let _ = writeln!(text, "{name}:x:{id}:{id}:{name}:/home/{name}:/bin/sh");
        }
    }
    text
}

/// The name of user `id` by a passwd text, or the number itself.
pub fn name_of(passwd: &str, id: u32) -> String {
    for line in passwd.lines() {
        let mut fields = line.split(':');
        let (Some(name), Some(number)) = (fields.next(), fields.nth(1)) else { continue };
        if number.parse() == Ok(id) {
            return name.to_owned();
        }
    }
    id.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_box_passwd_keeps_the_machine_and_adds_its_people() {
        let text =
            passwd("root:x:0:0:root:/root:/bin/bash\nalice:x:7:7::/:/bin/sh\nwww:x:33:33::/:/bin/sh\n");
        assert_eq!(name_of(&text, 0), "root");
        assert_eq!(name_of(&text, 33), "www");
        assert_eq!(name_of(&text, 2001), "alice");
        assert_eq!(name_of(&text, 7), "7");
    }
}
