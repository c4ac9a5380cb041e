return { "total count": 10n, largest: 2n ** 64n - 1n, least: -(2n ** 63n) };
