return "x".repeat(16 * 1024 * 1024);
