//! The size of the inventory, measured with two real tokenizers: never above its budget, and never far below.

use mux_tests::TestEnv;
use tiktoken_rs::{cl100k_base_singleton, o200k_base_singleton};

use super::{client, inventory};
use crate::real;

const BUDGETS: [usize; 6] = [60, 200, 500, 2_000, 4_000, 20_000];

fn real_tokens(text: &str) -> [usize; 2] {
    let of = |tokenizer: &tiktoken_rs::CoreBPE| tokenizer.encode_ordinary(text).len();
    [of(cl100k_base_singleton()), of(o200k_base_singleton())]
}

/// Checks that inventories stay within their budgets, and that partial ones use most of it.
async fn check(env: &TestEnv, tools: usize) {
    let session = client(env, None).await;
    // Connect to all servers first.
    let first = inventory(&session, 2_000, 10_000).await;
    assert_eq!((first.total, first.unknown.len()), (tools, 0), "{first:?}");
    for budget in BUDGETS {
        let inventory = inventory(&session, budget, 0).await;
        let said = &format!("{}{}", inventory.text, inventory.overview);
        let used = real_tokens(said);
        let least = used[0].min(used[1]);
        let most = used[0].max(used[1]);
        assert!(most <= budget, "{most} of {budget}: {said}");
        let is_complete = said.starts_with("COMPLETE: the signatures of all ");
        assert_eq!(is_complete, inventory.signed == tools, "{said}");
        if is_complete {
            assert_eq!(inventory.shown, tools);
        } else if budget >= 200 {
            // Below that, only the server names fit.
            assert!(least * 10 >= budget * 7, "{least} of {budget}: {said}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn inventory_of_real_servers_stays_within_its_budget() {
    let env = TestEnv::new();
    let servers = [
        real::everything(),
        real::files(&env),
        real::git(),
        real::memory(&env),
        real::thinking(),
        real::time(),
    ];
    env.write_config(&servers.concat());
    let total = env.mux(["--json", "tools", "--limit", "0"]).ok().json()["total"]
        .as_u64()
        .unwrap();
    check(&env, usize::try_from(total).unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn inventory_of_ten_thousand_tools_stays_within_its_budget() {
    let env = TestEnv::with_fixtures(&[
        ("many", &["--tools", "5000"]),
        ("more", &["--tools", "4900"]),
    ]);
    let total = env.mux(["--json", "tools", "--limit", "0"]).ok().json()["total"]
        .as_u64()
        .unwrap();
    assert!(total > 9_900, "{total}");
    check(&env, usize::try_from(total).unwrap()).await;
}
