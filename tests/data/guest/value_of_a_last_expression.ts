const sums = [1, 2, 3].map((n) => n * 2);
sums.reduce((sum, n) => sum + n, 0);
