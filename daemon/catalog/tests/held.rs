//! Measures the memory of a tool list by counting every byte that this process allocates.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering},
};

use mux_catalog::{ToolDescription, ToolSet};
use mux_settings::ToolOverrides;
use serde_json::{Map, Value, json};

/// The number of tools of a large API.
const TOOLS: usize = 100;
/// The memory of a tool besides its text: its own fields, its names and its index in a set.
const BESIDE: usize = 2 << 10;

static HELD: AtomicUsize = AtomicUsize::new(0);

struct Counting;

#[expect(unsafe_code, reason = "an allocator is made of nothing else")]
// SAFETY: all calls are forwarded unchanged to the system allocator, and nothing is allocated here.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller upholds the requirements of `System.alloc`, which are the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller upholds the requirements of `System.dealloc`, which are the same.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A tool definition with a schema like those of large APIs: many small nested objects.
fn definition(number: usize) -> Value {
    let member = |place: usize| {
        let schema = json!({
            "type": ["string", "null"],
            "description": format!("The part {place} of it."),
            "enum": ["one", "two"],
        });
        (format!("member_{place}"), schema)
    };
    let members: Map<String, Value> = (0..40).map(member).collect();
    json!({
        "name": format!("parts.change{number}"),
        "description": "Changes a part.",
        "inputSchema": { "type": "object", "properties": members, "required": ["member_1"] },
        "outputSchema": { "type": "object", "properties": members },
        "annotations": { "readOnlyHint": false, "idempotentHint": true },
        "_meta": { "mux/http": { "method": "PUT", "path": "/parts/{part}" } },
    })
}

#[test]
fn tool_takes_little_more_memory_than_its_text() {
    // The patterns of signs are compiled once for all lists.
    let first = ToolDescription::of_definition(&definition(0)).unwrap();
    drop(ToolSet::new(
        "first",
        vec![first],
        &[],
        &ToolOverrides::default(),
    ));
    let before = HELD.load(Ordering::Relaxed);
    let mut text = 0;
    let described = (0..TOOLS).map(|number| {
        let definition = definition(number);
        text += definition.to_string().len();
        ToolDescription::of_definition(&definition).unwrap()
    });
    let described = described.collect();
    let set = ToolSet::new("api", described, &[], &ToolOverrides::default());
    let held = HELD.load(Ordering::Relaxed) - before;
    assert!(held < text + TOOLS * BESIDE, "{held} bytes for {text}");

    // Using every tool adds no more than a line for each.
    for tool in set.iter() {
        assert!(tool.signature().contains("member_1"));
        assert_eq!(tool.input_schema()["required"][0], "member_1");
        assert_eq!(tool.definition(), definition_of(&tool.name));
    }
    let held = HELD.load(Ordering::Relaxed) - before;
    assert!(held < text + TOOLS * BESIDE, "{held} bytes for {text}");
}

fn definition_of(name: &str) -> Value {
    definition(name.trim_start_matches("parts.change").parse().unwrap())
}
