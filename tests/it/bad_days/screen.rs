//! `mux status` fits on one screen.

use std::fmt::Write as _;

use mux_tests::TestEnv;

#[test]
fn status_table_fits_on_a_screen_and_is_cut_if_long() {
    let env = TestEnv::new();
    let config = |count: usize| {
        let mut config = String::new();
        for number in 0..count {
            writeln!(
                config,
                "[servers.server{number}]\ncommand = \"/usr/local/bin/some-server-with-a-long-name\"\nargs = [{:?}]",
                "x".repeat(60)
            )
            .unwrap();
        }
        env.write_config(&config);
    };
    for (count, cut) in [(9, false), (60, true)] {
        config(count);
        env.mux(["servers"]).ok();
        env.mux(["reload"]).ok();
        let shown = env.mux(["status"]).ok().stdout;
        assert!(shown.lines().count() < 24, "{shown}");
        let table = shown.split("\n\n").nth(1).unwrap();
        assert!(
            table.lines().all(|line| line.chars().count() <= 80),
            "{shown}"
        );
        assert_eq!(
            table.contains("`mux status --all` shows them"),
            cut,
            "{shown}"
        );
        let all = env.mux(["status", "--all"]).ok().stdout;
        let rows = all.lines().filter(|line| line.starts_with("server"));
        assert_eq!(rows.count(), count, "{all}");
    }
}
