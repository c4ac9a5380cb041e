const seen = new Map<string, number>();
seen.set("a", 1);
