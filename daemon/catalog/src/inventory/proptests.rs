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
                purpose: (tools.len() % 4 == 1)
                    .then(|| "Reads and writes things. ".repeat(tools.len() % 9)),
                server,
                tools,
            })
            .collect()
    })
}

fn line(servers: &[InventoryServer], server: usize, tool: usize) -> InventoryLine {
    let InventoryServer { spelled, tools, .. } = &servers[server];
    let tool = &tools[tool];
    let arguments = "path: string; ".repeat(tool.len() % 7);
    InventoryLine {
        signature: format!("{spelled}.{tool}(args: {{ {arguments}}})"),
        summary: tool
            .len()
            .is_multiple_of(2)
            .then(|| format!("Does {tool}.")),
        is_read_only: tool.len().is_multiple_of(3),
    }
}

fn of_all(servers: &[InventoryServer], unknown: &[String], tokens: usize) -> Inventory {
    let budget = InventoryBudget {
        tokens,
        overview_chars: usize::MAX,
        chars: usize::MAX,
    };
    within(servers, unknown, budget)
}

fn within(servers: &[InventoryServer], unknown: &[String], budget: InventoryBudget) -> Inventory {
    render_inventory(servers, unknown, budget, |server, tool| {
        line(servers, server, tool)
    })
}

/// The number of a server's tools that a partial text names.
fn shown(text: &str, server: &InventoryServer) -> usize {
    let head = format!("{}: ", server.spelled);
    let is_head = |line: &&str| line.starts_with(&head) || *line == server.spelled;
    let mut lines = text.lines().skip_while(|line| !is_head(line));
    let names = lines.next().unwrap_or_default();
    let names = names.strip_prefix(&head).unwrap_or_default();
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
        tokens_budget in 0_usize..3_000,
        overview_chars in prop_oneof![Just(usize::MAX), 0_usize..3_000],
        chars in prop_oneof![Just(usize::MAX), 0_usize..6_000],
    ) {
        let budget = InventoryBudget { tokens: tokens_budget, overview_chars, chars };
        let inventory = within(&servers, &unknown, budget);
        let Inventory { overview, text, shown, signed, total, .. } = &inventory;
        prop_assert!(tokens(text) + tokens(overview) <= tokens_budget, "{tokens_budget}: {inventory:?}");
        prop_assert!(TextSize::of(text).chars <= chars, "{chars}: {text}");
        prop_assert!(TextSize::of(overview).chars <= overview_chars, "{overview_chars}: {overview}");
        prop_assert_eq!(*total, servers.iter().map(|s| s.tools.len()).sum::<usize>());
        prop_assert_eq!(&inventory, &within(&servers, &unknown, budget));
        let is_signed = |place: usize, tool: usize| text.contains(&line(&servers, place, tool).signature);
        if text.starts_with("COMPLETE") {
            prop_assert!(unknown.is_empty(), "{text}");
            prop_assert_eq!((shown, signed), (total, total));
            for (place, server) in servers.iter().enumerate() {
                prop_assert!((0..server.tools.len()).all(|tool| is_signed(place, tool)), "{text}");
            }
        } else if !text.is_empty() {
            let all_known = format!("PARTIAL: {signed} of {}", count_with_noun(*total, "known signature"));
            let start = format!("PARTIAL: {signed} of {}", count_with_noun(*total, "signature"));
            if text.starts_with(&all_known) {
                prop_assert!(signed == total && !unknown.is_empty(), "{text}");
                return Ok(());
            }
            prop_assert!(text.starts_with(&start), "{text}");
            prop_assert_eq!(text.lines().filter(|line| line.starts_with(' ')).count(), *signed);
            prop_assert_eq!(text.contains("shows the others"), shown == total);
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
            prop_assert!(inventory.overview.contains(&server.server), "{inventory:?}");
        }
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
    for (budget, overview, begins, holds) in [
        (5, "", "", vec![]),
        (24, "4 servers: files, git, web, later\n", "", vec![]),
        (
            110,
            "files (3 tools): tool_one, tool_two, tool_three\ngit (2 tools): tool_one, tool_two\n",
            "PARTIAL: 0 of 6 signatures, and 5 other names; `search` ",
            vec![
                "files: tool_one, tool_two, …\n",
                "git: tool_one, tool_two\n",
            ],
        ),
        (
            1_000,
            "3 servers, each with its number of tools: files (3), git (2), web (1)\nnot connected yet: later\n",
            "PARTIAL: 6 of 6 known signatures, without those of 1 server not connected yet; `describe` connects a server.\nfiles.tool_one(",
            vec!["// Does tool_one."],
        ),
    ] {
        let inventory = of_all(&servers, &unknown, budget);
        let Inventory {
            overview: servers,
            text,
            ..
        } = &inventory;
        assert!(servers.starts_with(overview), "{budget}: {inventory:?}");
        assert!(text.starts_with(begins), "{budget}: {inventory:?}");
        for part in holds {
            assert!(text.contains(part), "{budget} {part:?}: {inventory:?}");
        }
    }
}

#[test]
fn overview_states_purposes_as_far_as_there_is_room() {
    let mut servers = vec![
        InventoryServer {
            server: "bank".into(),
            spelled: "bank".into(),
            tools: vec!["get_balance".into(), "send_money".into()],
            purpose: Some("Accounts, transfers and the standing orders of a customer.".into()),
            ..InventoryServer::default()
        },
        InventoryServer {
            server: "mail".into(),
            spelled: "mail".into(),
            tools: (0..5).map(|n| format!("tool_{n}")).collect(),
            ..InventoryServer::default()
        },
    ];
    let with_room = |servers: &[InventoryServer], overview_chars: usize, chars: usize| {
        let budget = InventoryBudget {
            tokens: 2_000,
            overview_chars,
            chars,
        };
        within(servers, &[], budget).overview
    };
    let stated = "bank (2 tools): Accounts, transfers and the standing orders of a customer.\n";
    assert_eq!(
        with_room(&servers, 500, 5_000),
        format!("{stated}mail (5 tools)\n")
    );
    // Tools are examples where not all signatures are shown.
    assert_eq!(
        with_room(&servers, 500, 200),
        format!("{stated}mail (5 tools): tool_0, tool_1, tool_2, …\n")
    );
    assert_eq!(
        with_room(&servers, 85, 5_000),
        "bank (2 tools): Accounts, transfers and the standing…\nmail (5 tools)\n"
    );
    let counts = "2 servers, each with its number of tools: bank (2), mail (5)\n";
    assert_eq!(with_room(&servers, 65, 5_000), counts);
    assert_eq!(with_room(&servers, 50, 5_000), "2 servers: bank, mail\n");
    assert_eq!(with_room(&servers, 10, 5_000), "");
    servers[0].has_instructions = true;
    let told = with_room(&servers, 700, 5_000);
    assert!(
        told.ends_with("`describe` shows the instructions of bank\n"),
        "{told}"
    );
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
        text.starts_with("PARTIAL: 2 of 400 signatures (the most used tools), and "),
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
