//! Search, descriptions and the inventory of tools, as clients see them.

use std::time::Duration;

use mux_proto as wire;
use mux_wire::Fault;
use serde::Serialize;

use super::{
    answer_budget::AnswerBudget,
    catalog::{ToolDetail, tool_info},
    connection::ConnectionState,
    convert,
};
use crate::daemon::Daemon;
use mux_runs::tool_discovery::{InventoryLimits, ToolDiscovery};

pub(super) async fn search(
    daemon: &Daemon,
    connection: &ConnectionState,
    request: wire::SearchRequest,
) -> wire::Result<wire::SearchPage> {
    let scope = connection.scope();
    let identity = connection.identity();
    let reader = connection.reader(&scope);
    let discovery = ToolDiscovery {
        upstreams: daemon.gateway.upstreams(),
        scope: &scope,
        identity: &identity,
        reader: &reader,
    };
    let wire::SearchRequest {
        query,
        server,
        limit,
        cursor,
        budget_tokens,
        wait_ms,
    } = request;
    discovery
        .connect_unlisted(Duration::from_millis(wait_ms))
        .await;
    let page = discovery.search(query, server.as_deref(), limit, cursor);
    let mut page = page.await?;
    let shown = discovery.fit_page(&mut page, budget_tokens.unwrap_or(usize::MAX));
    let hits = page.hits.into_iter().zip(shown);
    let results = hits.map(|(hit, (signature, description))| wire::ToolHit {
        path: hit.tools.path(&hit.tool),
        server: hit.tool.server.to_string(),
        name: hit.tools.shown(&hit.tool),
        description,
        signature,
        score: hit.score,
    });
    Ok(wire::SearchPage {
        results: take_while_fitting(results, &mut AnswerBudget::new())?,
        total: page.total,
        next: page.next,
        unknown: discovery.unlisted_server_names(),
    })
}

pub(super) async fn describe(
    daemon: &Daemon,
    connection: &ConnectionState,
    request: wire::DescribeRequest,
) -> wire::Result<wire::Descriptions> {
    let scope = connection.scope();
    let identity = connection.identity();
    let reader = connection.reader(&scope);
    let discovery = ToolDiscovery {
        upstreams: daemon.gateway.upstreams(),
        scope: &scope,
        identity: &identity,
        reader: &reader,
    };
    let (described, missing) = discovery.describe(&request.paths).await?;
    // Servers that had never been connected are connected now.
    let named = (!request.all_instructions).then_some(request.paths.as_slice());
    let instructions = discovery.instructions(named).into_iter();
    let catalog = discovery.catalog();
    let detail = ToolDetail {
        schemas: request.schemas,
        ..ToolDetail::default()
    };
    let mut budget = AnswerBudget::new();
    let tools = described.iter().map(|found| wire::Description {
        tool: wire::ToolInfo {
            description: found.tool.whole_description().map(str::to_owned),
            ..tool_info(
                catalog,
                (&scope, &reader),
                &found.tools,
                &found.tool,
                detail,
            )
        },
        declaration: catalog.declaration(&found.tool, &reader),
        learned: catalog.learned_outline(&found.tool, &reader),
    });
    Ok(wire::Descriptions {
        tools: take_while_fitting(tools, &mut budget)?,
        instructions: take_while_fitting(
            instructions.map(convert::server_instructions),
            &mut budget,
        )?,
        missing: take_while_fitting(missing.into_iter().map(wire::Error::from), &mut budget)?,
    })
}

fn take_while_fitting<T: Serialize>(
    parts: impl Iterator<Item = T>,
    budget: &mut AnswerBudget,
) -> Result<Vec<T>, Fault> {
    let fitting = parts.map(|part| budget.take(&part).map(|()| part));
    fitting
        .collect::<Result<_, Fault>>()
        .map_err(|fault| fault.hint("name fewer tools, or request them without schemas"))
}

pub(super) async fn inventory(
    daemon: &Daemon,
    connection: &ConnectionState,
    request: wire::InventoryRequest,
) -> wire::Result<wire::Inventory> {
    let scope = connection.scope();
    let identity = connection.identity();
    let reader = connection.reader(&scope);
    let discovery = ToolDiscovery {
        upstreams: daemon.gateway.upstreams(),
        scope: &scope,
        identity: &identity,
        reader: &reader,
    };
    discovery
        .connect_unlisted(Duration::from_millis(request.wait_ms))
        .await;
    let limits = InventoryLimits {
        tokens: request.budget_tokens,
        overview_chars: request.max_overview_chars,
        chars: request.max_chars,
    };
    let (inventory, unknown) = discovery.inventory(limits);
    Ok(wire::Inventory {
        overview: inventory.overview,
        text: inventory.text,
        shown: inventory.shown,
        signed: inventory.signed,
        total: inventory.total,
        servers: inventory.servers,
        unknown,
        profile: daemon.profile_of(connection.agent()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_exceed_an_answer_are_an_error_with_a_hint() {
        let parts = |count| std::iter::repeat_with(|| "x".repeat(1 << 20)).take(count);
        assert_eq!(
            take_while_fitting(parts(11), &mut AnswerBudget::new())
                .unwrap()
                .len(),
            11
        );
        let fault = take_while_fitting(parts(20), &mut AnswerBudget::new()).unwrap_err();
        assert_eq!(fault.kind, mux_wire::FaultKind::Limit);
        assert!(fault.hint.unwrap().contains("fewer"));
    }
}
