//! Model test: after any operations the cache is a map that may have lost some values.

use std::{collections::HashMap, time::Instant};

use mux_cache::{Cache, CacheSpace};
use mux_text::digest::DigestKey;
use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{Config, RngSeed, TestCaseError, TestRunner},
};

use crate::values::{HANG, SPACES, close, key, open, quick_folder};

#[derive(Clone, Debug)]
enum Step {
    Put(usize, u64, u16),
    Remove(usize, u64),
    Get(usize, u64),
    Clear(usize),
    Flush,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let space = 0..4_usize;
    let key = 0..12_u64;
    prop_oneof![
        8 => (space.clone(), key.clone(), any::<u16>()).prop_map(|(s, k, v)| Step::Put(s, k, v)),
        3 => (space.clone(), key.clone()).prop_map(|(s, k)| Step::Remove(s, k)),
        6 => (space.clone(), key).prop_map(|(s, k)| Step::Get(s, k)),
        1 => space.prop_map(Step::Clear),
        1 => Just(Step::Flush),
        1 => Just(Step::Reopen),
    ]
}

/// A different value for each number. Some are longer than the store keeps inline.
fn content(number: u16) -> Vec<u8> {
    let length = match number % 16 {
        0 => 150_000,
        1 => 0,
        _ => usize::from(number % 3000),
    };
    number
        .to_le_bytes()
        .into_iter()
        .cycle()
        .take(length + 2)
        .collect()
}

#[test]
fn cache_is_a_map_that_may_lose_values() {
    let mut runner = TestRunner::new(Config {
        cases: 150,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(0x6d75_7864),
        max_shrink_iters: 200,
        ..Config::default()
    });
    let runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = { runtime }.worker_threads(1).enable_all().build().unwrap();
    let held = runner.run(&vec(step(), 1..80), |steps| runtime.block_on(holds(steps)));
    if let Err(error) = held {
        panic!("{error}");
    }
}

async fn holds(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let home = quick_folder();
    let (mut cache, _) = open(home.path()).await;
    let mut model: HashMap<(CacheSpace, DigestKey), Vec<u8>> = HashMap::new();
    for step in steps {
        match step {
            Step::Put(space, number, value) => {
                cache.put(SPACES[space], key(number), content(value));
                model.insert((SPACES[space], key(number)), content(value));
            }
            Step::Remove(space, number) => {
                cache.remove(SPACES[space], key(number));
                model.remove(&(SPACES[space], key(number)));
            }
            Step::Get(space, number) => {
                let found = cache.get(SPACES[space], key(number)).await;
                agrees(&model, SPACES[space], key(number), found)?;
            }
            Step::Clear(space) => {
                cache.clear(SPACES[space]).await;
                model.retain(|(of, _), _| *of != SPACES[space]);
            }
            Step::Flush => cache.flush().await,
            Step::Reopen => {
                cache.flush().await;
                close(cache, home.path());
                cache = open(home.path()).await.0;
            }
        }
    }
    cache.flush().await;
    compare(&cache, &model).await
}

async fn compare(
    cache: &Cache,
    model: &HashMap<(CacheSpace, DigestKey), Vec<u8>>,
) -> Result<(), TestCaseError> {
    let began = Instant::now();
    loop {
        let mut count = 0;
        for space in SPACES {
            for (key, value) in cache.all(space).await {
                agrees(model, space, key, Some(value))?;
                count += 1;
            }
        }
        // Without a fault no value is lost, but on a busy machine an answer may come too late.
        if count == model.len() {
            return Ok(());
        }
        prop_assert!(began.elapsed() < HANG, "{} and not {}", count, model.len());
    }
}

fn agrees(
    model: &HashMap<(CacheSpace, DigestKey), Vec<u8>>,
    space: CacheSpace,
    key: DigestKey,
    found: Option<Vec<u8>>,
) -> Result<(), TestCaseError> {
    if let Some(found) = found {
        prop_assert!(
            model.get(&(space, key)) == Some(&found),
            "{space:?} {key:x?}"
        );
    }
    Ok(())
}
