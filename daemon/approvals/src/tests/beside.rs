//! Approvals during a handover between two daemons: the successor restores them once the predecessor is done with them.

use super::*;

#[tokio::test]
async fn successor_restores_approvals_only_after_their_runs_ended_in_the_predecessor() {
    let home = tempfile::tempdir().unwrap();
    let old = open(&home);
    let settings = ApprovalSettings {
        wait: Duration::from_millis(1),
        ..ApprovalSettings::default()
    };
    old.set_settings(settings);
    let caller = caller(None);
    let goes_on = run("r-1", None);
    let over = run("r-2", None);
    for (n, run) in [(1, &goes_on), (2, &over)] {
        assert_eq!(
            ask(&old, n, &caller, Some(run)).await,
            Err(FaultKind::Pending)
        );
    }
    assert_eq!(records(&home), 2);
    old.end_run(&over, true).await;
    let new = open_beside(&home, false);
    assert!(new.list().await.is_empty(), "they are still the other's");
    new.read_left_by_predecessor(vec!["r-1".into()]).await;
    let runs = |views: Vec<ApprovalSnapshot>| -> Vec<String> {
        let runs = views.iter().filter_map(|view| view.owner.run());
        runs.map(str::to_owned).collect()
    };
    assert_eq!(runs(new.list().await), ["r-2"]);
    // An answer here, while the other run continues in the predecessor.
    new.decide("A2", &ALL, UserDecision::Once).await.unwrap();
    old.end_run(&goes_on, true).await;
    new.read_left_by_predecessor(Vec::new()).await;
    let views = new.list().await;
    assert_eq!(
        views[1].state,
        AnswerStatus::Answered(ApprovalVerdict::Approved)
    );
    assert_eq!(runs(views), ["r-1", "r-2"]);
}
