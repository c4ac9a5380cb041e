return await fetch("https://example.com");
