//! A warm REST call inside a run, against a bare HTTP client that asks the same server.

use std::{fs, io::Write as _, time::Instant};

use axum::{Json, Router, routing::get};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{
    commands::Place,
    figures::{Samples, fact, millis, row},
    sessions::{BATCH, WARM_UP, batches, in_program},
};

/// About what an API says of one thing.
fn pet(id: u64) -> Value {
    json!({ "id": id, "name": "doggie", "status": "available", "photoUrls": ["https://example.com/1.png"],
        "category": { "id": 1, "name": "dogs" }, "tags": [{ "id": 7, "name": "good" }] })
}

fn description(base: &str) -> Value {
    let id =
        json!({ "name": "petId", "in": "path", "required": true, "schema": { "type": "integer" } });
    let schema = json!({ "type": "object", "properties": {
        "id": { "type": "integer" }, "name": { "type": "string" }, "status": { "type": "string" } } });
    json!({
        "openapi": "3.1.0",
        "info": { "title": "bench", "version": "1" },
        "servers": [{ "url": base }],
        "paths": { "/pet/{petId}": { "get": {
            "tags": ["pet"], "operationId": "getPetById", "parameters": [id],
            "responses": { "200": { "description": "it", "content": { "application/json": { "schema": schema } } } },
        } } },
    })
}

pub(crate) async fn measure(place: &Place, rounds: usize) -> anyhow::Result<()> {
    let router = Router::new().route("/pet/{id}", get(async || Json(pet(7))));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let base = format!("http://{}", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, router).await });

    let file = place.home.path().join("bench-api.json");
    fs::write(&file, description(&base).to_string())?;
    let mut config = fs::File::options()
        .append(true)
        .open(place.home.path().join("config.toml"))?;
    writeln!(config, "[sources.rest]\nopenapi = {file:?}")?;
    place.mux(&["reload"])?;

    drop(rustls::crypto::ring::default_provider().install_default());
    let client = reqwest::Client::builder()
        .no_proxy()
        .tcp_nodelay(true)
        .build()?;
    let url = format!("{base}/pet/7");
    let mut alone = Samples::default();
    for batch in 0..batches(rounds) {
        let began = Instant::now();
        for _ in 0..BATCH {
            let text = client
                .get(&url)
                .send()
                .await?
                .error_for_status()?
                .bytes()
                .await?;
            let _pet: Value = serde_json::from_slice(&text)?;
        }
        if batch >= WARM_UP {
            alone.push(began.elapsed() / BATCH as u32);
        }
    }
    row("bare reqwest client (mean of 10)", &alone);
    let inside = in_program(place, "rest.pet.getPetById", &json!({ "petId": 7 }), rounds).await?;
    row("inside a run (mean of 10)", &inside);
    let over = millis(inside.median()) - millis(alone.median());
    fact("overhead at p50", &format!("{over:.3} ms"));
    let mut whole = Samples::default();
    for _ in 0..rounds {
        whole.time(|| place.mux(&["call", "rest.pet.getPetById", "petId=7"]))?;
    }
    row("mux call, the whole command", &whole);
    Ok(())
}
