//! Words that mean the same in tool names and in user requests.
//!
//! Invariant: a word has the same synonyms in every query, and the table is not tailored to any particular server.

use std::{borrow::Cow, collections::HashMap, sync::LazyLock};

use super::vocabulary::stem;

/// Words on one line are synonyms. A word may be on several lines.
const GROUPS: &[&str] = &[
    // Actions of a tool.
    "create add new make insert generate start",
    "create open file raise submit",
    "create register setup",
    "create schedule plan book",
    "write compose draft save store put",
    "delete remove erase drop clear wipe purge destroy discard forget trash",
    "cancel revoke withdraw abort",
    "list show display enumerate view see",
    "get read fetch retrieve load show view open see",
    "update edit change modify set alter patch adjust replace",
    "search find look locate query lookup",
    "send post publish message mail deliver submit",
    "send broadcast publish",
    "run execute invoke trigger call",
    "start begin launch open",
    "stop end cancel terminate kill abort close halt",
    "copy duplicate clone fork",
    "move transfer relocate drag push",
    "move rename",
    "download save export get",
    "upload attach import push",
    "merge combine join",
    "compare diff difference change",
    "approve accept confirm",
    "decline reject deny refuse",
    "assign hand delegate",
    "enable on activate",
    "disable off deactivate",
    "restore recover undelete",
    "reset revert undo unstage rollback",
    "describe explain detail info information",
    "check verify validate test",
    "watch follow subscribe",
    "share invite",
    "star favorite bookmark like",
    "login signin authenticate",
    "click press tap",
    "type enter fill",
    "play resume",
    "skip next",
    "translate convert",
    "deploy release rollout",
    "restart reboot",
    "backup snapshot",
    "remind notify notification alert",
    "buy purchase order",
    "ship deliver shipment delivery",
    "compute calculate",
    "count number total many",
    "suggest recommend",
    // Objects of a tool.
    "directory folder subfolder",
    "path folder",
    "file document",
    "doc document docx word",
    "spreadsheet sheet excel workbook",
    "presentation slide deck powerpoint",
    "row record entry item",
    "row cell value",
    "column field",
    "table sheet",
    "column schema structure",
    "message mail email",
    "message post",
    "mailbox inbox",
    "conversation chat discussion thread",
    "channel room",
    "comment remark note reply",
    "reply answer respond",
    "reaction emoji",
    "repository repo",
    "pull pr merge mr",
    "issue ticket bug",
    "task todo",
    "task job",
    "job pipeline workflow",
    "commit revision",
    "version release",
    "history past version previous",
    "function method symbol",
    "package dependency library",
    "user person people member colleague",
    "member participant attendee",
    "contact person phone",
    "customer client buyer",
    "employee staff",
    "group team",
    "organization org company",
    "author creator owner",
    "event meeting appointment",
    "calendar schedule agenda",
    "busy free availability",
    "deadline due",
    "picture image photo screenshot",
    "picture screenshot capture",
    "video film movie recording",
    "audio sound voice",
    "track song music",
    "volume sound loud quiet",
    "label tag category",
    "url link address website site",
    "page website site web",
    "webpage page",
    "browser tab window",
    "log output history",
    "error exception failure fail",
    "config setting preference option configuration",
    "status state progress",
    "detail metadata property attribute",
    "metric statistic stat usage analytics",
    "report summary",
    "chart graph plot diagram",
    "invoice bill",
    "payment money charge",
    "balance money",
    "refund money",
    "price cost fee",
    "coupon discount promotion",
    "product article",
    "command shell terminal",
    "process program",
    "database db",
    "query sql statement",
    "server machine instance vm",
    "server host",
    "container pod",
    "network ip",
    "domain dns",
    "key password secret credential token",
    "permission access right restriction",
    "entity node",
    "relation link connection relationship",
    "observation fact note",
    "vector embedding similarity",
    "location place spot",
    "direction route",
    "drive travel",
    "weather forecast temperature",
    "light lamp bulb",
    "paper publication article study",
    "time date clock",
    "size large big",
];

/// The stems of all words that may stand for the word with this stem.
pub(super) fn synonyms(stem: &str) -> &'static [Cow<'static, str>] {
    TABLE.get(stem).map_or(&[], Vec::as_slice)
}

static TABLE: LazyLock<HashMap<Cow<'static, str>, Vec<Cow<'static, str>>>> = LazyLock::new(|| {
    let mut table: HashMap<_, Vec<_>> = HashMap::new();
    for group in GROUPS {
        let stems: Vec<_> = group.split(' ').map(stem).collect();
        for word in &stems {
            let others = table.entry(word.clone()).or_default();
            for other in &stems {
                if other != word && !others.contains(other) {
                    others.push(other.clone());
                }
            }
        }
    }
    table
});

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn words_of_a_group_stand_for_each_other() {
        assert!(synonyms(&stem("folders")).contains(&stem("directory")));
        assert!(synonyms(&stem("directories")).contains(&stem("folder")));
        assert!(synonyms("zebra").is_empty());
        for (word, others) in TABLE.iter() {
            assert!(!others.contains(word), "{word}");
        }
    }

    #[test]
    fn groups_have_no_word_twice() {
        for group in GROUPS {
            let words: Vec<_> = group.split(' ').map(stem).collect();
            let distinct: HashSet<_> = words.iter().collect();
            assert_eq!(words.len(), distinct.len(), "{group}");
        }
    }
}
