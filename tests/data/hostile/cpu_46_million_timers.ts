// must: error limit
// says: more than 10000 timers
for (let i = 0; i < 1e6; i++) setTimeout(() => {}, 1e9);
