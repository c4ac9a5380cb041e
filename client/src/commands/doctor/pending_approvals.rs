//! Reports calls that wait for an approval.

use mux_client::{Session, within_seconds};
use mux_proto::{ApprovalState, ApprovalsRequest};

use super::CheckGroup;

pub(super) async fn check_pending_approvals(group: &mut CheckGroup, session: &Session) {
    let request = ApprovalsRequest::default();
    match session.client.approvals(within_seconds(10), request).await {
        Ok(Ok(list)) => {
            let states = list.approvals.iter().map(|waiting| &waiting.state);
            let open = states
                .filter(|state| matches!(state, ApprovalState::Waiting | ApprovalState::Pending));
            let count = open.count();
            if count > 0 {
                let calls = match count {
                    1 => "1 call is waiting".to_owned(),
                    count => format!("{count} calls are waiting"),
                };
                group.note(
                    format!("{calls} for approval"),
                    Some("`mux approvals` lists them, `mux approve ID` approves one"),
                );
            }
        }
        Ok(Err(error)) => group.warn(
            format!(
                "cannot list the calls that are waiting for approval: {}",
                error.message
            ),
            "`mux logs` shows more",
        ),
        Err(error) => group.warn(
            format!("cannot list the calls that are waiting for approval: {error}"),
            "`mux logs` shows more",
        ),
    }
}
