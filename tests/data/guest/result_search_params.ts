return { query: new URLSearchParams("a=1") };
