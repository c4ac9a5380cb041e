for (let n = 0; n < 10_001; n += 1) setTimeout(() => {}, 60_000);
