return "x".repeat(9 * 1024 * 1024);
