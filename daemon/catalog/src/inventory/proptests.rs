//! Properties for every pool of tools and every budget.

use proptest::{collection::vec, prelude::*};

use super::*;

/// Servers with any number of tools, with ordinary and odd names.
fn servers() -> impl Strategy<Value = Vec<InventoryServer>> {
    let name = prop_oneof![
        6 => "[a-z]{2,9}(_[a-z]{2,9}){0,3}",
        2 => "[a-zA-Z0-9_]{1,40}",
        1 => "\\PC{1,30}",
        1 => "[a-z]{300,600}",
    ];
    let server = ("[a-z][a-z-]{1,12}", vec(name, 0..40));
    vec(server, 0..12).prop_map(|servers| {
        servers
            .into_iter()
            .map(|(server, tools)| InventoryServer {
                spelled: server.replace('-', "_"),
                order: (0..tools.len()).rev().collect(),
                levels: (0..tools.len()).map(|n| u32::from(n % 7 == 3)).collect(),
                has_instructions: tools.len() % 3 == 0,
                server,
                tools,
            })
            .collect()
    })
}

fn line(servers: &[InventoryServer], server: usize, tool: usize) -> InventoryLine {
    let (server, tool) = (&servers[server].spelled, &servers[server].tools[tool]);
    let arguments = "path: string; ".repeat(tool.len() % 7);
    InventoryLine {
        signature: format!("{server}.{tool}(args: {{ {arguments}}})"),
        summary: tool
            .len()
            .is_multiple_of(2)
            .then(|| format!("Does {tool}.")),
    }
}

fn of_all(servers: &[InventoryServer], unknown: &[String], budget: usize) -> Inventory {
    render_inventory(servers, unknown, budget, |server, tool| {
        line(servers, server, tool)
    })
}

/// The number of a server's tools that a partial text names.
fn shown(text: &str, server: &InventoryServer) -> usize {
    let tools = count_with_noun(server.tools.len(), "tool");
    let head = format!("{} ({tools})", server.spelled);
    let mut lines = text.lines().skip_while(|line| !line.starts_with(&head));
    let names = lines.next().unwrap().strip_prefix(&head).unwrap();
    let names = names.strip_prefix(": ").unwrap_or_default();
    let names = names
        .split(", ")
        .filter(|name| !name.is_empty() && *name != "…")
        .count();
    names + lines.take_while(|line| line.starts_with(' ')).count()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn text_fits_the_budget_and_states_correct_counts(
        servers in servers(),
        unknown in vec("[a-z]{1,8}", 0..3),
        budget in 0_usize..3_000,
    ) {
        let inventory = of_all(&servers, &unknown, budget);
        let text = &inventory.text;
        prop_assert!(tokens(text) <= budget, "{} of {budget}: {text}", tokens(text));
        prop_assert_eq!(inventory.total, servers.iter().map(|s| s.tools.len()).sum::<usize>());
        prop_assert_eq!(&inventory, &of_all(&servers, &unknown, budget));
        if text.starts_with("COMPLETE") {
            prop_assert_eq!(inventory.shown, inventory.total);
            for (place, server) in servers.iter().enumerate() {
                for tool in 0..server.tools.len() {
                    prop_assert!(text.contains(&line(&servers, place, tool).signature));
                }
            }
        } else if !text.is_empty() {
            let tools = count_with_noun(inventory.total, "tool");
            let starts = match (inventory.shown, inventory.total) {
                (shown, total) if shown == total => {
                    vec!["PARTIAL: the signatures of ".to_owned(), format!("PARTIAL: the names of all {tools}")]
                }
                (0, _) => vec![format!("PARTIAL: the servers of {tools}"), format!("PARTIAL: the names of 0 of {tools}")],
                (shown, _) => vec![format!("PARTIAL: the names of {shown} of {tools}")],
            };
            let is_true = starts.iter().any(|start| text.starts_with(start));
            prop_assert!(is_true || inventory.total == 0, "{text}");
        }
    }

    #[test]
    fn every_server_is_named_and_tools_are_shared_evenly(
        sizes in vec(0_usize..60, 1..10),
        budget in 150_usize..1_500,
    ) {
        let servers: Vec<InventoryServer> = sizes.iter().enumerate().map(|(place, size)| InventoryServer {
            server: format!("server{place}x"),
            spelled: format!("server{place}x"),
            tools: (0..*size).map(|n| format!("do_thing_{n:03}")).collect(),
            ..InventoryServer::default()
        }).collect();
        let inventory = of_all(&servers, &[], budget);
        let text = &inventory.text;
        if text.starts_with("COMPLETE") {
            return Ok(());
        }
        for server in &servers {
            prop_assert!(text.contains(&server.server), "{text}");
        }
        prop_assert!(text.contains("(0 tools)") || !sizes.contains(&0), "{text}");
        let shown: Vec<usize> = servers.iter().map(|server| shown(text, server)).collect();
        prop_assert_eq!(shown.iter().sum::<usize>(), inventory.shown);
        let most = shown.iter().max().copied().unwrap_or_default();
        for (shown, size) in shown.iter().zip(&sizes) {
            prop_assert!(shown == size || shown + 1 >= most, "{text}");
        }
    }

    #[test]
    fn tokens_of_parts_are_never_fewer_than_of_the_whole(a in "\\PC{0,40}", b in "\\PC{0,40}") {
        let whole = [a.as_str(), b.as_str()].concat();
        prop_assert!(tokens(&whole) <= tokens(&a) + tokens(&b), "{whole}");
    }
}

#[test]
fn larger_budget_shows_more() {
    let server = |name: &str, tools: usize| InventoryServer {
        server: name.to_owned(),
        spelled: name.to_owned(),
        tools: (0..tools)
            .map(|n| format!("tool_{}", ["one", "two", "three"][n]))
            .collect(),
        ..InventoryServer::default()
    };
    let servers = [server("files", 3), server("git", 2), server("web", 1)];
    let unknown = ["later".to_owned()];
    for (budget, begins, holds) in [
        (5, "", vec![]),
        (
            30,
            "PARTIAL: the servers of 6 tools: ",
            vec!["files", "and ", "more server"],
        ),
        (
            45,
            "PARTIAL: the servers of 6 tools: files, git, web, later;",
            vec!["mux.search"],
        ),
        (
            80,
            "PARTIAL: the names of 4 of 6 tools,",
            vec![
                "files (3 tools): tool_one, tool_two, …\n",
                "git (2 tools): tool_one, …\n",
            ],
        ),
        (
            1_000,
            "COMPLETE: the signatures of all 6 tools of 3 servers.\nfiles.tool_one(",
            vec!["// Does tool_one.", "not connected yet: later\n"],
        ),
    ] {
        let inventory = of_all(&servers, &unknown, budget);
        assert!(
            inventory.text.starts_with(begins),
            "{budget}: {inventory:?}"
        );
        for part in holds {
            assert!(
                inventory.text.contains(part),
                "{budget} {part:?}: {inventory:?}"
            );
        }
    }
}

#[test]
fn used_tools_have_signatures_even_if_not_all_names_fit() {
    let server = |name: &str, used: usize| InventoryServer {
        server: name.to_owned(),
        spelled: name.to_owned(),
        tools: (0..200).map(|n| format!("tool_{n:03}")).collect(),
        levels: (0..200).map(|n| u32::from(n == used) * 2).collect(),
        ..InventoryServer::default()
    };
    let mut servers = [server("files", 150), server("git", 7)];
    let inventory = of_all(&servers, &[], 300);
    let text = &inventory.text;
    assert!(inventory.shown < inventory.total, "{text}");
    assert!(
        text.contains(", 2 of them, the most used ones, with signatures;"),
        "{text}"
    );
    for signature in ["\n files.tool_150(", "\n git.tool_007("] {
        assert!(text.contains(signature), "{text}");
    }
    // The most used tool comes first where only one signature fits.
    servers[1].levels[7] = 3;
    let inventory = of_all(&servers, &[], 110);
    let text = &inventory.text;
    assert!(
        text.contains("\n git.tool_007(") && !text.contains("files.tool_150("),
        "{text}"
    );
    assert!(tokens(text) <= 110, "{text}");
}
