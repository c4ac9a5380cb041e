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
use mux_runs::tool_discovery::ToolDiscovery;

pub(super) async fn search(
    daemon: &Daemon,
    connection: &ConnectionState,
    request: wire::SearchRequest,
) -> wire::Result<wire::SearchPage> {
    let discovery = ToolDiscovery {
        upstreams: daemon.gateway.upstreams(),
        viewer: connection.viewer(),
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
    let discovery = ToolDiscovery {
        upstreams: daemon.gateway.upstreams(),
        viewer: connection.viewer(),
    };
    let (described, missing) = discovery.describe(&request.paths).await?;
    // Servers that had never been connected are connected now.
    let named = (!request.all_instructions).then_some(request.paths.as_slice());
    let instructions = discovery.instructions(named).into_iter();
    let catalog = discovery.catalog();
    let viewer = &discovery.viewer;
    let detail = ToolDetail {
        schemas: request.schemas,
        ..ToolDetail::default()
    };
    let mut budget = AnswerBudget::new();
    let tools = described.iter().map(|found| wire::Description {
        tool: wire::ToolInfo {
            description: found.tool.whole_description().map(str::to_owned),
            ..tool_info(catalog, viewer, &found.tools, &found.tool, detail)
        },
        declaration: catalog.declaration(&found.tool, &viewer.reader),
        learned: catalog.learned_outline(&found.tool, &viewer.reader),
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
    let fitting = parts.map(|part| budget.take(part));
    fitting
        .collect::<Result<_, Fault>>()
        .map_err(|fault| fault.hint("name fewer tools, or request them without schemas"))
}

pub(super) async fn inventory(
    daemon: &Daemon,
    connection: &ConnectionState,
    request: wire::InventoryRequest,
) -> wire::Result<wire::Inventory> {
    let discovery = ToolDiscovery {
        upstreams: daemon.gateway.upstreams(),
        viewer: connection.viewer(),
    };
    discovery
        .connect_unlisted(Duration::from_millis(request.wait_ms))
        .await;
    Ok(wire::Inventory {
        profile: daemon.profile_of(connection.agent()),
        ..discovery.inventory(&request)
    })
}
