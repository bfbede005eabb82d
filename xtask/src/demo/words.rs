//! What the demonstration says around gpuwhy's own answer, in both languages.

/// The words of one language.
pub(super) struct Words {
    pub(super) building: &'static str,
    pub(super) bringing_up: &'static str,
    /// What each card is for, by index.
    pub(super) stories: [&'static str; 4],
    pub(super) not_here: &'static str,
    pub(super) slow_store: &'static str,
    pub(super) wrong: &'static str,
    pub(super) all_right: &'static str,
    pub(super) try_yourself: &'static str,
}

const ENGLISH: Words = Words {
    building: "building",
    bringing_up: "bringing up an emulated box with four cards; all but the cards is real:",
    stories: [
        "alice trains; her data come from a slow disk",
        "bob's run died; a child of it still holds the memory",
        "a serving process that computes as fast as the card can",
        "nobody uses it",
    ],
    not_here: "not here:",
    slow_store: "instead: the slow disk is a slow FUSE file system",
    wrong: "wrong:",
    all_right: "cards shown and named right (state, cause and culprit):",
    try_yourself: "look around in such a box yourself:\n  target/debug/lab up demo --dir /var/tmp/box\n  \
                   target/debug/lab shell /var/tmp/box -- target/debug/gpuwhy\n  target/debug/lab down /var/tmp/box",
};

const CHINESE: Words = Words {
    building: "正在编译",
    bringing_up: "正在启动一台有四张卡的模拟服务器，除显卡外都是真实的：",
    stories: [
        "alice 在训练，数据来自一块慢盘",
        "bob 的任务已经死掉，留下的子进程还占着显存",
        "一个推理服务，确实把卡跑满了",
        "没有人用",
    ],
    not_here: "本机无法展示：",
    slow_store: "代替：慢盘改用一个慢速 FUSE 文件系统",
    wrong: "判断有误：",
    all_right: "展示的卡全部判断正确（状态、原因、责任进程），张数：",
    try_yourself: "想自己在这样的服务器里看看：\n  target/debug/lab up demo --dir /var/tmp/box\n  \
                   target/debug/lab shell /var/tmp/box -- target/debug/gpuwhy --lang zh-CN\n  \
                   target/debug/lab down /var/tmp/box",
};

impl Words {
    /// Returns the words of a language: the one that was asked for, else the locale's.
    pub(super) fn of(language: Option<&str>) -> &'static Self {
        let from_locale = || {
            let variables = ["LC_ALL", "LC_MESSAGES", "LANG"];
            variables.iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
        };
        let tag = language.map(str::to_owned).or_else(from_locale).unwrap_or_default();
        if tag.to_ascii_lowercase().starts_with("zh") { &CHINESE } else { &ENGLISH }
    }
}

#[cfg(test)]
mod tests {
    use super::Words;

    #[test]
    fn the_language_asked_for_counts() {
        assert_eq!(Words::of(Some("zh-CN")).building, "正在编译");
        assert_eq!(Words::of(Some("en")).building, "building");
    }
}
